//! `.htaccess` files: what AllowOverride permits, and that any bytes give an answer.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::directives::core::{Allow, OptionBits};
use hostler_config::{
    Config, Htaccess, HtaccessScope, Stands, parse_htaccess, parse_htaccess_beside, read_text,
};
use std::sync::Arc;

fn config() -> Config {
    assert_eq!(hostler_techniques::install(), Ok(()));
    Config::build(&read_text("Define KNOWN value\nServerName x", "/srv").unwrap()).unwrap()
}

/// Returns the meaning of an AllowOverride line.
fn allow(line: &str) -> Arc<Allow> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let text = format!("<Directory /x>\n{line}\n</Directory>");
    let config = Config::build(&read_text(&text, "/srv").unwrap()).unwrap();
    Arc::new(config.main().directories[0].conf.core.allow())
}

fn parse(text: &[u8], allow: &Arc<Allow>) -> Result<Htaccess, String> {
    let config = config();
    let scope = HtaccessScope {
        config: &config,
        host: config.main().origin,
        file: "/srv/www/.htaccess",
        directory: "/srv/www",
        allow: Arc::clone(allow),
    };
    parse_htaccess(text, &scope).map_err(|error| error.to_string())
}

#[test]
fn files_that_one_asks_for_are_told_by_somebody_else() {
    let config = config();
    let scope = HtaccessScope {
        config: &config,
        host: config.main().origin,
        file: "/srv/www/.htaccess",
        directory: "/srv/www",
        allow: allow("AllowOverride All"),
    };
    let text = b"<IfFile !/srv/a>\nError \"a is missing\"\n</IfFile>\n<IfFile x/../b>\nBroken\n</IfFile>";
    let read = |known: &[(&str, bool)]| {
        let known = known.iter().map(|(path, stands)| ((*path).to_owned(), *stands)).collect();
        parse_htaccess_beside(text, &scope, Stands::Known(known))
    };
    // What an answer may change is no mistake before the answer is there.
    assert_eq!(read(&[]).unwrap().asks, ["/srv/a", "/srv/b"]);
    assert_eq!(read(&[("/srv/a", true)]).unwrap().asks, ["/srv/b"]);
    assert!(read(&[("/srv/a", true), ("/srv/b", false)]).unwrap().asks.is_empty());
    assert!(read(&[("/srv/a", true), ("/srv/b", true)]).unwrap_err().to_string().contains("Broken"));
    assert!(read(&[("/srv/a", false), ("/srv/b", false)]).unwrap_err().to_string().contains("a is missing"));
    let many: String = (0..17).map(|n| format!("<IfFile /f{n}>\n</IfFile>\n")).collect();
    let known = (0..16).map(|n| (format!("/f{n}"), false)).collect();
    let refused = parse_htaccess_beside(many.as_bytes(), &scope, Stands::Known(known)).unwrap_err();
    assert!(refused.to_string().contains("more than 16 files"), "{refused}");
}

#[test]
fn override_classes_gate_each_directive() {
    let all = allow("AllowOverride All");
    assert!(parse(b"Options +Indexes\nAcceptPathInfo On\n", &all).is_ok());
    assert!(parse(b"Options +Indexes", &allow("AllowOverride Options")).is_ok());
    let error = parse(b"\nOptions +Indexes", &allow("AllowOverride FileInfo")).unwrap_err();
    assert!(
        error.starts_with(
            "/srv/www/.htaccess:2: Options: is not allowed here (requires AllowOverride Options)"
        ),
        "{error}"
    );
    assert!(parse(b"ServerName x", &all).unwrap_err().contains("is not allowed in .htaccess files"));
    assert!(
        parse(b"<Directory /x>\n</Directory>", &all).unwrap_err().contains("is not allowed in .htaccess")
    );
    assert!(parse(b"Include x", &all).unwrap_err().contains("is not allowed in .htaccess"));
    assert!(
        parse(b"<IfFile /etc/shadow>\n</IfFile>", &all).unwrap_err().contains("cannot look at files here")
    );
}

#[test]
fn lists_name_options_and_directives() {
    let options = allow("AllowOverride Options=Indexes,MultiViews");
    assert!(parse(b"Options +Indexes", &options).is_ok());
    assert!(parse(b"Options +ExecCGI", &options).unwrap_err().contains("the option ExecCGI is not allowed"));
    let list = allow("AllowOverrideList acceptpathinfo");
    assert!(list.reads());
    assert!(parse(b"AcceptPathInfo On", &list).is_ok());
    assert!(parse(b"Options +Indexes", &list).is_err());
    assert!(!allow("AllowOverride None").reads());
}

#[test]
fn nonfatal_mistakes_are_logged() {
    let soft = allow("AllowOverride FileInfo Nonfatal=All");
    let read = parse(b"Options +Indexes\nNonsense\nAcceptPathInfo On", &soft).unwrap();
    assert_eq!(read.warnings.len(), 2);
    assert!(!read.conf.core.options.contains(OptionBits::INDEXES));
    assert!(read.conf.core.accept_path_info.is_some());
    let unknown = allow("AllowOverride All Nonfatal=Override");
    assert!(parse(b"Nonsense", &unknown).unwrap_err().contains("unknown directive"));
}

#[test]
fn what_is_not_implemented_is_refused_or_logged() {
    let all = allow("AllowOverride All");
    assert!(parse(b"RewriteRule ^ http://x/ [P]", &all).unwrap_err().contains("not supported in .htaccess"));
    assert_eq!(parse(b"LuaScope once", &all).unwrap().warnings.len(), 1);
}

#[test]
fn variables_come_from_the_configuration_only() {
    let all = allow("AllowOverride All");
    let conf = parse(b"ForceType ${KNOWN}\nAddDefaultCharset ${PATH}", &all).unwrap();
    assert_eq!(format!("{:?}", conf.conf.core.force_type), "Some(Word(\"value\"))");
    assert!(format!("{:?}", conf.conf.core.default_charset).contains("${PATH}"));
}

#[test]
fn sections_for_files_and_conditions_may_be_used() {
    let text = b"<FilesMatch \"\\.x$\">\nForceType a/b\n</FilesMatch>\n<If \"true\">\nForceType c/d\n</If>\n";
    let read = parse(text, &allow("AllowOverride FileInfo")).unwrap();
    assert_eq!((read.conf.core.files.len(), read.conf.core.ifs.len()), (1, 1));
    assert_ne!(read.conf.core.files[0].id, read.conf.core.ifs[0].id);
}

/// A small generator of numbers; the same ones in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap_or(0) % sides
    }
}

const PIECES: &[&str] = &[
    "\n",
    " ",
    "\\\n",
    "\"",
    "'",
    "\\",
    "<",
    ">",
    "</",
    "#",
    "${",
    "}",
    "${KNOWN}",
    "\0",
    "\u{fc}",
    "%{REQUEST_URI}",
    "(",
    "[",
    "*",
    "~",
    "On",
    "Off",
    "None",
    "All",
    "-1",
    "99999999999999999999",
    "/",
    "..",
    "expr=",
    "env=",
    "Options ",
    "<Files ",
    "<FilesMatch ",
    "</Files>",
    "<If ",
    "</If>",
    "<Else>",
    "<Limit ",
    "</Limit>",
    "Require ",
    "<RequireAll>",
    "</RequireAll>",
    "Order ",
    "Deny from ",
    "ErrorDocument 404 ",
    "Header set ",
    "AddType ",
    "AddHandler ",
    "SetEnvIf ",
    "Redirect ",
    "RedirectMatch ",
    "DirectoryIndex ",
    "ExpiresByType ",
    "FileETag ",
    "<IfModule ",
    "</IfModule>",
    "<Macro ",
    "</Macro>",
    "Use ",
    "AuthUserFile ",
    "AddIcon ",
    "IndexOptions ",
    "AddDescription ",
    "AllowOverride ",
    "<Perl>",
    "RewriteRule ",
    "FallbackResource ",
    "LimitRequestBody ",
    "RLimitCPU ",
    "SSIErrorMsg ",
    "SetOutputFilter ",
];

#[test]
fn any_bytes_give_an_answer() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let (mut dice, all) = (Dice(0x9e37_79b9_7f4a_7c15), allow("AllowOverride All Nonfatal=All"));
    let config = config();
    for _ in 0..1500 {
        let mut text = Vec::new();
        for _ in 0..dice.roll(60) {
            match dice.roll(12) {
                0 => text.push(u8::try_from(dice.roll(256)).unwrap_or(0)),
                _ => text.extend_from_slice(PIECES[dice.roll(PIECES.len())].as_bytes()),
            }
        }
        let scope = HtaccessScope {
            config: &config,
            host: config.main().origin,
            file: "f",
            directory: "/d",
            allow: Arc::clone(&all),
        };
        let _ = parse_htaccess(&text, &scope);
        let _ = read_text(&String::from_utf8_lossy(&text).replace("Include", ""), "/nowhere")
            .map(|t| Config::build(&t));
    }
}

#[test]
fn floods_end_soon() {
    let all = allow("AllowOverride All");
    let began = std::time::Instant::now();
    for text in [
        "<Files x>\n".repeat(90_000),
        "<If \"true\">\n".repeat(60),
        "\\\n".repeat(500_000),
        "#\n".repeat(500_000),
        "Options +Indexes\n".repeat(60_000),
        format!("Options {}", "+Indexes ".repeat(100_000)),
        "${".repeat(300_000),
        "x".repeat(2_000_000),
        "Nonsense\n".repeat(40_000),
        "RedirectMatch \"((((a{1,200}){1,20}){1,9}))\" /x\n".repeat(20_000),
    ] {
        let _ = parse(text.as_bytes(), &all);
    }
    // Time: what is not stopped takes hours.
    assert!(began.elapsed().as_secs() < 60);
}

#[test]
fn macros_within_sections_do_not_exhaust_the_stack() {
    let mut text = "<Macro M0>\n</Macro>\n".to_owned();
    for level in 1..40 {
        text += &format!("<Macro M{level}>\n{}", "<If \"true\">\n".repeat(60));
        text += &format!("Use M{}\n{}</Macro>\n", level - 1, "</If>\n".repeat(60));
    }
    text += "Use M39";
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let done =
        thread.spawn(move || parse(text.as_bytes(), &allow("AllowOverride All"))).unwrap().join().unwrap();
    assert!(done.unwrap_err().contains("deeper than"));
}
