//! Reading: Include, Define, conditions, LoadModule and macros, from real files.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::{LoadOptions, Tree, attempt, load, read, read_text};
use std::fs;
use std::path::Path;

/// Reads a main file in a fresh ServerRoot with the other files in it.
fn tree(files: &[(&str, &str)], defines: &[&str]) -> Result<Tree, Vec<String>> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let file = root.path().join(files[0].0);
    let defines = defines.iter().map(|define| (*define).to_owned()).collect();
    let options = LoadOptions { file, defines, ..LoadOptions::default() };
    let prefix = format!("{}/", root.path().display());
    read(&options, None)
        .map_err(|errors| errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect())
}

fn lines(tree: &Tree) -> Vec<String> {
    let plain = tree.nodes.iter().filter(|node| node.name != "TypesConfig");
    plain.map(|node| format!("{} {}", node.name, node.args)).collect()
}

fn text(text: &str) -> Vec<String> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    lines(&read_text(text, "/nowhere").unwrap_or_else(|errors| panic!("{}", errors[0])))
}

fn error(text: &str) -> String {
    assert_eq!(hostler_techniques::install(), Ok(()));
    read_text(text, "/nowhere").expect_err(text)[0].to_string()
}

#[test]
fn includes_read_files_directories_and_patterns_in_order() {
    let files = [
        (
            "httpd.conf",
            "Include a.conf\nInclude d\nInclude p/*.conf\nIncludeOptional none/*.conf\nIncludeOptional no.conf",
        ),
        ("a.conf", "ServerName a"),
        ("d/2", "ServerName d2"),
        ("d/1/x", "ServerName d1x"),
        ("p/b.conf", "ServerName pb"),
        ("p/a.conf", "ServerName pa"),
        ("p/.c.conf", "ServerName hidden"),
        ("p/c.conf~", "ServerName backup"),
    ];
    let names = ["a", "d1x", "d2", "pa", "pb"].map(|name| format!("ServerName {name}"));
    assert_eq!(lines(&tree(&files, &[]).unwrap()), names);
}

#[test]
fn what_cannot_be_included_is_told_with_its_line() {
    let told = |text: &str| tree(&[("httpd.conf", text)], &[]).unwrap_err().join("\n");
    assert!(told("\nInclude no.conf").starts_with("httpd.conf:2: Include: cannot open "));
    assert!(told("Include no*.conf").contains("no file matches"));
    assert!(told("Include httpd.conf").contains("deeper than"));
    assert!(
        told("Include a b").contains("takes one argument, not 2; expected: Include file|directory|pattern")
    );
}

#[test]
fn errors_of_several_files_come_together() {
    let files = [("httpd.conf", "Include a.conf\n</Directory>\nUse x"), ("a.conf", "<Files x>\n")];
    let told = tree(&files, &[]).unwrap_err();
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(
        told.iter().any(|error| error.starts_with("a.conf:1: Files: <Files> is not closed")),
        "{told:#?}"
    );
}

/// All that is wrong with a main file, without the folder's name.
fn all_errors(text: &str) -> Vec<String> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("httpd.conf");
    fs::write(&file, text).unwrap();
    let found = attempt(&LoadOptions { file, ..LoadOptions::default() }, None);
    let prefix = format!("{}/", root.path().display());
    found.errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect()
}

#[test]
fn a_missing_include_hides_no_other_error() {
    let told = all_errors(
        "Nonsense 1\nInclude no.conf\nLimitRequestFieldSize x\n<Directory /x>\nOptions No\n</Directory>",
    );
    let begin = [
        "httpd.conf:1: Nonsense:",
        "httpd.conf:2: Include:",
        "httpd.conf:3: LimitRequestFieldSize:",
        "httpd.conf:5: Options:",
    ];
    assert_eq!(told.len(), begin.len(), "{told:#?}");
    for (told, begin) in told.iter().zip(begin) {
        assert!(told.starts_with(begin), "{told}");
    }
}

#[test]
fn a_directive_from_elsewhere_is_told_with_its_module() {
    let told = all_errors("LoadModule zork_module modules/mod_zork.so\nZorkLevel 3\nMellonEnable auth");
    assert!(told[0].contains("ZorkLevel: unknown directive; it seems to belong to zork_module"), "{told:#?}");
    assert!(told[0].contains("httpd.conf:1 loads"), "{told:#?}");
    assert!(told[1].contains("it seems to belong to mod_auth_mellon,"), "{told:#?}");
}

#[test]
fn variables_come_from_define_the_command_line_and_the_environment() {
    let files = [(
        "httpd.conf",
        "Define A 1\nDefine B ${A}2\nX ${A}${B}${C} ${PATH}\nUnDefine A\n<IfDefine A>\nY\n</IfDefine>",
    )];
    let tree = tree(&files, &["C=3"]).unwrap();
    assert_eq!(lines(&tree), [format!("X 1123 {}", std::env::var("PATH").unwrap())]);
}

#[test]
fn unknown_variables_stay_with_a_warning() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let tree = read_text("X ${NOPE_X} ${map:key} ${ $", "/nowhere").unwrap();
    assert_eq!(lines(&tree), ["X ${NOPE_X} ${map:key} ${ $"]);
    assert_eq!(tree.warnings.len(), 1);
    assert!(tree.warnings[0].1.contains("NOPE_X"));
}

#[test]
fn define_inside_ifmodule_counts_for_what_follows() {
    let conf = "<IfModule mod_alias.c>\n<IfModule mod_cgi.c>\nDefine CGI\n</IfModule>\n</IfModule>\n\
                <IfDefine CGI>\nX\n</IfDefine>\n<IfDefine !CGI>\nY\n</IfDefine>";
    assert_eq!(text(conf), ["X "]);
}

#[test]
fn ifmodule_answers_truthfully_under_both_spellings() {
    for there in
        ["mod_alias.c", "alias_module", "\"mod_mime.c\"", "mod_rewrite.c", "rewrite_module", "core.c"]
    {
        assert_eq!(text(&format!("<IfModule {there}>\nX\n</IfModule>")), ["X "], "{there}");
    }
    // Of the MPMs one is true, as in Apache: the one whose words size pools.
    for there in ["mpm_prefork_module", "prefork.c", "!mpm_event_module", "!mpm_worker_module"] {
        assert_eq!(text(&format!("<IfModule {there}>\nX\n</IfModule>")), ["X "], "{there}");
    }
    for absent in [
        "mpm_event_module",
        "event.c",
        "worker.c",
        "!mod_rewrite.c",
        "!alias_module",
        "mod_lua.c",
        "php_module",
        "nonsense",
    ] {
        assert!(text(&format!("<IfModule {absent}>\nX\n</IfModule>")).is_empty(), "{absent}");
    }
}

#[test]
fn what_does_something_by_being_there_is_there_where_it_is_loaded() {
    let load =
        "<IfModule !mod_unique_id.c>\nLoadModule unique_id_module modules/mod_unique_id.so\n</IfModule>\n";
    let uses = "<IfModule mod_unique_id.c>\nX\n</IfModule>";
    assert!(text(uses).is_empty());
    assert_eq!(text(&format!("{load}{uses}")), ["X "]);
    let tree = read_text(load, "/etc").unwrap();
    assert!(tree.facts.loaded_modules.contains("unique_id_module"));
}

#[test]
fn iffile_ifdirective_and_ifsection_look() {
    assert_eq!(text("<IfFile /etc/passwd>\nX\n</IfFile>\n<IfFile !/etc/passwd>\nY\n</IfFile>"), ["X "]);
    assert_eq!(
        text("<IfDirective DocumentRoot>\nX\n</IfDirective>\n<IfDirective CacheEnable>\nY\n</IfDirective>"),
        ["X "]
    );
    assert_eq!(
        text("<IfSection VirtualHost>\nX\n</IfSection>\n<IfSection DocumentRoot>\nY\n</IfSection>"),
        ["X "]
    );
}

#[test]
fn skipped_parts_must_still_nest() {
    assert!(error("<IfModule nope>\n<Directory /x>\n</IfModule>").contains("</Directory> is expected"));
}

#[test]
fn loadmodule_of_what_is_built_in_or_harmless_is_fine() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    assert!(
        text("LoadModule alias_module modules/mod_alias.so\nLoadModule mpm_prefork_module x.so").is_empty()
    );
    // A module that is a handler and little else.
    let status = "<IfModule mod_status.c>\nLoadModule status_module x.so\nServerName there\n</IfModule>";
    assert_eq!(text(status), ["ServerName there"]);
    let tree = read_text("LoadModule dav_module a.so\nLoadModule cache_module b.so", "/nowhere").unwrap();
    assert_eq!(tree.warnings.len(), 1);
    assert!(tree.warnings[0].1.contains("dav_module cache_module"));
}

#[test]
fn loadmodule_of_what_may_guard_something_is_an_error() {
    for name in
        ["security2_module", "authnz_external_module", "auth_kerb_module", "php_module", "php7_module"]
    {
        assert!(error(&format!("LoadModule {name} x.so")).contains(name), "{name}");
    }
}

#[test]
fn error_and_warning_say_their_text() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    assert!(error("<IfDefine !X>\nError \"X must be defined\"\n</IfDefine>").contains("X must be defined"));
    let tree = read_text("Warning \"old\"", "/nowhere").unwrap();
    assert_eq!(tree.warnings[0].1, "old");
}

#[test]
fn the_tree_survives_its_way_to_the_front() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let tree = read_text(
        "<VirtualHost localhost:80>\n<Directory /x>\nOptions None\n</Directory>\n</VirtualHost>",
        "/",
    )
    .unwrap();
    assert!(!tree.facts.hosts["localhost"].is_empty());
    assert_eq!(Tree::decode(&tree.encode().unwrap()).unwrap(), tree);
    assert!(Tree::decode(b"\xff\xff\xff\xff\xff\xff").is_err());
}

/// Debian's own files, where they are installed.
#[test]
fn debians_files_are_understood() {
    let Ok(listed) = fs::read_dir("/etc/apache2/conf-available") else { return };
    for path in
        listed.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "conf"))
    {
        understood(&path);
    }
    if Path::new("/etc/apache2/apache2.conf").exists() {
        understood(Path::new("/etc/apache2/apache2.conf"));
    }
}

fn understood(path: &Path) {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let options =
        LoadOptions { file: path.into(), root: Some("/etc/apache2".into()), ..LoadOptions::default() };
    if let Err(errors) = load(&options, None) {
        panic!("{}", errors[0]);
    }
}
