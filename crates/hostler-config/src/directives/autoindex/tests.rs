//! Listings compared with those that Apache 2.4 made of the same files: `listings.txt` has, for each, the
//! lines of its `<Directory>` section, the query, the media type and the page.

use super::*;
use crate::directives::log_config::Zone;

const RECORDED: &str = include_str!("listings.txt");

/// Name, whether it is a directory, size, last change, media type, content coding.
type File = (&'static str, bool, u64, i64, Option<&'static str>, Option<&'static str>);

const FILES: [File; 23] = [
    ("#x#", false, 3, 1707613860, None, None),
    (".hidden", false, 2, 1718428500, None, None),
    ("A.txt", false, 2, 1710209520, TEXT, None),
    ("Zdir", true, 0, 1712977980, None, None),
    ("a.txt", false, 5, 1715660040, TEXT, None),
    ("a:b", false, 2, 1718428500, None, None),
    (
        "averyveryveryverylongfilename-thatisverylong.tar.gz",
        false,
        20,
        1721110560,
        Some("application/gzip"),
        Some("x-gzip"),
    ),
    ("b1023", false, 1023, 1723879020, None, None),
    ("b1024", false, 1024, 1726647480, None, None),
    ("bak~", false, 2, 1704845400, None, None),
    ("big.iso", false, 15728640, 1707613860, Some("application/x-iso9660-image"), None),
    ("core", false, 2, 1710209520, None, None),
    ("d r", true, 0, 1712977980, None, None),
    ("empty", false, 0, 1715660040, None, None),
    ("huge.bin", false, 2147483648, 1718428500, None, None),
    ("mid.gz", false, 1100000, 1721110560, Some("application/gzip"), Some("x-gzip")),
    ("page.html", false, 42, 1723879020, HTML, None),
    ("pic.png", false, 2, 1726647480, Some("image/png"), None),
    ("sp ace&<\">%?.txt", false, 99, 1704845400, TEXT, None),
    ("sub", true, 0, 1707613860, None, None),
    ("x10.html", false, 10239, 1710209520, HTML, None),
    ("x9.html", false, 1500, 1712977980, HTML, None),
    ("ünï.txt", false, 2, 1715660040, TEXT, None),
];

const HTML: Option<&str> = Some("text/html");
const TEXT: Option<&str> = Some("text/plain");

struct Case<'t> {
    name: &'t str,
    configuration: &'t str,
    query: &'t str,
    media_type: &'t str,
    page: &'t str,
}

fn cases(text: &str) -> impl Iterator<Item = Case<'_>> {
    text.split("=== ").skip(1).map(|case| {
        let mut rest = case;
        let mut part = |mark: &str| {
            let (part, after) = rest.split_once(mark).expect("a part is missing");
            rest = after;
            part.trim_end_matches('\n')
        };
        let name = part("--- configuration\n");
        let configuration = part("--- query\n");
        let query = part("--- type\n");
        let media_type = part("--- page\n");
        Case { name, configuration, query, media_type, page: rest }
    })
}

/// Returns the settings that the lines make inside `<Directory /www/NAME>`.
fn dir(name: &str, lines: &str) -> Dir {
    let lines: String = lines
        .lines()
        .filter(|line| !line.starts_with("ServerSignature"))
        .map(|line| format!("{line}\n"))
        .collect();
    let text = format!("<Directory /www/{name}>\n{lines}</Directory>\n");
    let tree = crate::read_text(&text, "/etc/apache2").expect(&text);
    let config = crate::Config::build(&tree).expect(&text);
    let section = config.main().directories.last().expect("a section");
    Dir::default().merge(&section.conf.autoindex)
}

fn entry(file: &File) -> Entry<'static> {
    let (name, is_directory, size, modified, media_type, encoding) = *file;
    let title = (name == "page.html").then_some(&b"The Title &amp; more"[..]);
    Entry { name: name.as_bytes(), is_directory, size, modified, media_type, encoding, title }
}

fn part<'t>(configuration: &str, html: &'t str, text: &'t str, name: &str) -> Part<'t> {
    match () {
        () if configuration.contains(&format!("{name}.html")) => Part::Html(html.as_bytes()),
        () if configuration.contains(&format!("{name}.txt")) => Part::Text(text.as_bytes()),
        () => Part::None,
    }
}

fn rendered(case: &Case<'_>) -> String {
    let dir = dir(case.name, case.configuration);
    assert_eq!(dir.content_type(), case.media_type, "{}", case.name);
    let view = View::new(&dir, Some(case.query.as_bytes()));
    let mut entries: Vec<Entry<'_>> = FILES.iter().map(entry).collect();
    if case.name.starts_with("head") {
        let extra: [File; 4] = [
            ("HEADER.html", false, 19, 1_700_000_000, HTML, None),
            ("HEADER.txt", false, 21, 1_700_000_000, TEXT, None),
            ("README.html", false, 19, 1_700_000_000, HTML, None),
            ("README.txt", false, 21, 1_700_000_000, TEXT, None),
        ];
        entries.extend(extra.iter().map(entry));
    }
    let signed = case.configuration.contains("ServerSignature");
    let signature: &[u8] =
        if signed { b"<address>Apache Server at 127.0.0.1 Port 18931</address>\n" } else { b"" };
    let uri = format!("/{}/", case.name);
    let directory = format!("/www/{}/", case.name);
    let listing = Listing {
        uri: uri.as_bytes(),
        directory: directory.as_bytes(),
        entries: &entries,
        header: part(case.configuration, "<p>HEADER html</p>\n", "HEADER <text> & more\n", "HEADER"),
        readme: part(case.configuration, "<p>README html</p>\n", "README <text> & more\n", "README"),
        signature,
    };
    let page = render(&dir, &view, &listing, &|_| Zone { offset: 0, name: "UTC" });
    String::from_utf8(page).unwrap()
}

#[test]
fn pages_are_those_of_apache() {
    let mut seen = 0;
    for case in cases(RECORDED) {
        let page = rendered(&case);
        let differs = page.lines().zip(case.page.lines()).find(|(ours, apaches)| ours != apaches);
        assert_eq!(differs, None, "{} ?{}", case.name, case.query);
        assert_eq!(page, case.page, "{} ?{}", case.name, case.query);
        seen += 1;
    }
    assert!(seen > 10, "only {seen} cases");
}
