//! Names of files as Apache 2.4 read them with the same directives.

use super::{Dir, MimeFacts, Server, Types, check};
use crate::{Config, Merge};

const LINES: &str = "AddType Text/X-FOO;Charset=UTF-8;a=b .foo\nAddHandler My-Handler .hand\nAddHandler php .php\n\
    AddEncoding X-GZip .gz .tgz\nAddLanguage FR .fr\nAddLanguage en .en\nAddCharset UTF-8 .utf8\n\
    AddOutputFilter INCLUDES;DEFLATE .shtml\n";

fn parts(lines: &str) -> (Dir, Server) {
    let tree = crate::read_text(lines, "/etc/apache2").expect(lines);
    let config = Config::build(&tree).expect(lines);
    let main = config.main();
    let inner = main.directories.iter().fold(Dir::default(), |dir, section| dir.merge(&section.conf.mime));
    (Dir::clone(&main.defaults.mime).merge(&inner), Server::clone(&main.conf.mime))
}

fn shown(facts: &MimeFacts<'_>) -> String {
    let content_type = facts.content_type.as_deref().unwrap_or("-");
    let encoding = facts.encoding.as_deref().unwrap_or("-");
    format!("{content_type}|{encoding}|{}|{}", facts.languages.join(","), facts.handler.unwrap_or("-"))
}

#[test]
fn names_say_much() {
    let (dir, _) = parts(LINES);
    for (name, expected) in [
        (".html", "-|-||-"),
        (".htaccess.html", "text/html|-||-"),
        ("..txt", "-|-||-"),
        ("..txt.gz", "application/gzip|x-gzip||-"),
        ("a.HTML", "text/html|-||-"),
        ("b.php.jpg", "image/jpeg|-||php"),
        ("b.PHP", "-|-||php"),
        ("b.php5", "-|-||-"),
        ("c.unknown.html", "text/html|-||-"),
        ("e.fr.html", "text/html|-|fr|-"),
        ("f..html", "text/html|-||-"),
        ("h.css.fr.en", "text/css|-|fr,en|-"),
        ("i.tar.gz.gz", "application/gzip|x-gzip, x-gzip||-"),
        ("j.foo", "text/x-foo; charset=utf-8; a=b|-||-"),
        ("l.hand", "-|-||my-handler"),
        ("m.html.utf8", "text/html; charset=utf-8|-||-"),
        ("/www/x.html/name", "-|-||-"),
        ("\u{fe52}php", "-|-||-"),
        ("x.\u{23a}php", "-|-||-"),
    ] {
        let facts = check(name.as_bytes(), b"", &dir, Types::built_in());
        assert_eq!(shown(&facts), expected, "{name}");
    }
    let facts = check(b"/www/x.shtml", b"", &dir, Types::built_in());
    assert_eq!(facts.output_filters, ["includes", "deflate"]);
}

#[test]
fn sections_add_and_take_away() {
    let inner = "<Directory /x>\nRemoveHandler .php\nAddHandler late .php\nAddType text/late .hand\nRemoveType .foo\n\
        DefaultLanguage de\nModMimeUsePathInfo On\n</Directory>";
    let (dir, _) = parts(&format!("{LINES}{inner}"));
    for (name, info, expected) in [
        ("a.php", "", "-|-|de|-"),
        ("a.hand", "", "text/late|-|de|my-handler"),
        ("a.foo", "", "-|-|de|-"),
        ("a.fr", "", "-|-|fr|-"),
        ("a.foo", "/b.html", "text/html|-|de|-"),
    ] {
        let facts = check(name.as_bytes(), info.as_bytes(), &dir, Types::built_in());
        assert_eq!(shown(&facts), expected, "{name}{info}");
    }
}

#[test]
fn sources_of_programs_are_told_apart_from_texts() {
    let types = Types::parse(
        "text/plain txt\nimage/jpeg jpg\ntext/x-python py\napplication/x-ruby odd\napplication/gzip gz\napplication/x-trash old",
    );
    let source = |dir: &Dir, name: &str| check(name.as_bytes(), b"", dir, &types).is_source;
    let none = Dir::default();
    let hidden = "a.php A.PHP a.phps b.inc c.py d.pl e.cgi f.war g.wsgi \
                  h.psgi i.odd j.php.bak j.php.old k.php.en l.php~ m.php. n.txt.php /www/x.txt/o.Php7";
    for name in hidden.split(' ') {
        assert!(source(&none, name), "{name}");
    }
    let shown = "a.txt php .php b.php.txt c.pl.jpg d.php.gz x.php/e.txt f.\u{fe52}php g.js h.ph\u{17f}";
    for name in shown.split(' ') {
        assert!(!source(&none, name), "{name}");
    }
    let (dir, _) = parts(
        "AddType text/plain .py .PL\nAddType text/x-ruby .rb\nAddType application/x-php .php\n\
        RemoveType .phtml\nAddOutputFilter INCLUDES .inc\nAddOutputFilter DEFLATE .cgi\nAddEncoding x-gzip .gz\n\
        AddLanguage en .en\nAddCharset utf-8 .sh",
    );
    for name in "a.php a.phtml a.cgi a.jsp.gz a.jsp.en a.py.jsp a.sh".split(' ') {
        assert!(source(&dir, name), "{name}");
    }
    for name in "a.py a.pl a.rb a.inc a.py.en a.jsp.py".split(' ') {
        assert!(!source(&dir, name), "{name}");
    }
}

#[test]
fn removed_types() {
    let lines = "<Directory /a>\nAddType x/first .one\nRemoveType .one .TXT\nRemoveType .two\nAddType x/two .two\n</Directory>\n\
        <Directory /a/b>\nAddCharset utf-8 .txt\nAddType x/three .three\n</Directory>\n";
    let (dir, _) = parts(lines);
    for (name, expected) in
        [("a.one", "-"), ("a.txt", "-"), ("a.html.txt", "text/html; charset=utf-8"), ("a.two", "x/two")]
    {
        let facts = check(name.as_bytes(), b"", &dir, Types::built_in());
        assert_eq!(facts.content_type.as_deref().unwrap_or("-"), expected, "{name}");
    }
    let (dir, _) =
        parts(&format!("{lines}<Directory /a/b/c>\nAddType x/back .txt\nRemoveType .three\n</Directory>"));
    for (name, expected) in [("a.txt", "x/back; charset=utf-8"), ("a.three", "-")] {
        let facts = check(name.as_bytes(), b"", &dir, Types::built_in());
        assert_eq!(facts.content_type.as_deref().unwrap_or("-"), expected, "{name}");
    }
}

#[test]
fn mistakes() {
    for lines in [
        "AddType text/x",
        "MultiviewsMatch Sometimes",
        "MultiviewsMatch Any Filters",
        "ModMimeUsePathInfo On",
    ] {
        let tree = crate::read_text(lines, "/etc/apache2").expect(lines);
        assert!(Config::build(&tree).is_err(), "{lines}");
    }
}

#[test]
fn without_a_types_file_the_usual_types_count() {
    assert_eq!(Server::default().types().of("html"), Some("text/html"));
    let merged = Server::default().merge(&Server::default());
    assert!(merged.types.is_none());
}
