//! Building servers from a tree: virtual hosts, sections in merge order, errors with place and form.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::directives::core::{AcceptPathInfo, OptionBits};
use hostler_config::lookup::{self, Step};
use hostler_config::{Config, DirConfig, Server, VhostAddress, read_text};

fn config(text: &str) -> Config {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let tree = read_text(text, "/srv").unwrap_or_else(|errors| panic!("{}", errors[0]));
    Config::build(&tree).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

fn errors(text: &str) -> Vec<String> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let tree = read_text(text, "/srv").unwrap_or_else(|errors| panic!("{}", errors[0]));
    Config::build(&tree).expect_err(text).iter().map(ToString::to_string).collect()
}

/// Describes the sections that a walk passes; .htaccess files in brackets.
fn walk(server: &Server, path: &str, resource: &str) -> Vec<String> {
    let steps = lookup::directory_walk(server, path.as_bytes(), resource.as_bytes()).unwrap();
    let name = |step: &Step<'_>| match step {
        Step::Section(section) => section.title.to_string(),
        Step::Htaccess(directory) => format!("[{}]", String::from_utf8_lossy(directory)),
    };
    steps.iter().map(name).collect()
}

fn merged(server: &Server, path: &str) -> DirConfig {
    let mut conf = (*server.defaults).clone();
    for step in lookup::directory_walk(server, path.as_bytes(), path.as_bytes()).unwrap() {
        if let Step::Section(section) = step {
            conf = conf.merge(&section.conf);
        }
    }
    conf
}

#[test]
fn virtual_hosts_inherit_but_not_their_names() {
    let config = config(
        "ServerName main\nServerAdmin a@b\nTimeout 5\n<VirtualHost *:80>\nServerName One:81\nServerAlias *.one two\n\
         Timeout 6\n</VirtualHost>\n<VirtualHost 127.0.0.1 [::1]:443 _default_:*>\nDocumentRoot docs//x/\n</VirtualHost>",
    );
    let [main, one, two] = &config.servers[..] else { panic!() };
    assert_eq!(
        (main.conf.core.timeout, one.conf.core.timeout, two.conf.core.timeout),
        (Some(5), Some(6), Some(5))
    );
    let name = one.conf.core.server_name.as_ref().unwrap();
    assert_eq!((name.host.as_str(), name.port), ("one", Some(81)));
    assert_eq!(
        (&one.conf.core.aliases[..], &one.conf.core.wild_aliases[..]),
        (&["two".to_owned()][..], &["*.one".to_owned()][..])
    );
    assert_eq!(two.conf.core.server_name, None);
    assert_eq!(two.conf.core.admin.as_deref(), Some("a@b"));
    assert_eq!(two.conf.core.document_root.as_deref(), Some("/srv/docs/x"));
    let expected = [
        VhostAddress { ip: Some("127.0.0.1".parse().unwrap()), port: None },
        VhostAddress { ip: Some("::1".parse().unwrap()), port: Some(443) },
        VhostAddress { ip: None, port: None },
    ];
    assert_eq!(two.addresses, expected);
    assert_eq!((main.id, one.id, two.id), (0, 1, 2));
}

#[test]
fn directories_merge_by_depth_then_by_place_then_patterns() {
    let config = config(
        "<DirectoryMatch \"^/a\">\n</DirectoryMatch>\n<Directory /a/b>\n</Directory>\n<Directory />\n</Directory>\n\
         <Directory /a/*>\n</Directory>\n<VirtualHost *>\n<Directory /a>\n</Directory>\n<Directory ~ \"/b/$\">\n</Directory>\n\
         <Directory \"/a/b/\">\n</Directory>\n</VirtualHost>",
    );
    let expected = [
        "<Directory />",
        "[/]",
        "<Directory /a>",
        "[/a]",
        "<Directory /a/b>",
        "<Directory /a/*>",
        "<Directory \"/a/b/\">",
        "[/a/b]",
        "[/a/b/c]",
        "<DirectoryMatch \"^/a\">",
    ];
    assert_eq!(walk(&config.servers[1], "/a/b/c", "/a/b/c"), expected);
    assert_eq!(walk(&config.servers[1], "/a/b", "/a/b/").last().unwrap(), "<Directory ~ \"/b/$\">");
    assert_eq!(walk(&config.servers[0], "/", "/"), ["<Directory />", "[/]"]);
}

#[test]
fn options_add_and_replace_from_level_to_level() {
    let config = config(
        "<Directory />\nOptions Indexes\nAcceptPathInfo On\n</Directory>\n<Directory /a>\nOptions +ExecCGI -Indexes\n\
         </Directory>\n<Directory /a/b>\nOptions Includes\n</Directory>\n<Directory /a/b/c>\nOptions +IncludesNOEXEC\n</Directory>",
    );
    let options = |path: &str| merged(config.main(), path).core.options.bits();
    assert_eq!(options("/x"), OptionBits::INDEXES);
    assert_eq!(options("/a"), OptionBits::EXEC_CGI);
    assert_eq!(options("/a/b"), OptionBits::INCLUDES | OptionBits::INCLUDES_EXEC);
    assert_eq!(options("/a/b/c"), OptionBits::INCLUDES);
    assert_eq!(merged(config.main(), "/a/b").core.accept_path_info, Some(AcceptPathInfo::On));
}

#[test]
fn locations_end_where_a_part_of_the_path_ends() {
    let config = config(
        "<Location /a>\n</Location>\n<Location /b/>\n</Location>\n<Location \"/c*\">\n</Location>\n\
         <LocationMatch \"^/d//\">\n</LocationMatch>\n<Location ~ e$>\n</Location>",
    );
    let titles = |path: &str| -> Vec<String> {
        let found = lookup::locations(config.main(), path.as_bytes()).unwrap();
        found.iter().map(|section| section.title.to_string()).collect()
    };
    for (path, title) in [
        ("/a", "<Location /a>"),
        ("/a/x", "<Location /a>"),
        ("//a//x", "<Location /a>"),
        ("/b/", "<Location /b/>"),
        ("/b//x", "<Location /b/>"),
        ("/cx", "<Location \"/c*\">"),
        ("/d//x", "<LocationMatch \"^/d//\">"),
        ("/xe", "<Location ~ e$>"),
    ] {
        assert_eq!(titles(path), [title], "{path}");
    }
    for path in ["/ax", "/b", "/cx/y", "/d/x", "/ex"] {
        assert!(titles(path).is_empty(), "{path}");
    }
}

#[test]
fn named_groups_become_variables() {
    let config = config("<LocationMatch \"^/(?<user>[^/]+)(?<rest>/x)?\">\n</LocationMatch>");
    let groups = lookup::named_groups(&config.main().locations[0], b"/joe/y").unwrap();
    assert_eq!(groups, [("MATCH_USER".to_owned(), b"joe".to_vec())]);
}

#[test]
fn files_and_conditions_belong_to_the_section_around_them() {
    let config = config(
        "<Files \"*.inc\">\n</Files>\n<Directory /a>\n<FilesMatch \"\\.x$\">\n<If \"true\">\n</If>\n</FilesMatch>\n\
         <If \"false\">\n</If>\n<ElseIf \"true\">\n</ElseIf>\n<Else>\n</Else>\n</Directory>",
    );
    let conf = merged(config.main(), "/a");
    assert_eq!(conf.core.ifs.len(), 3);
    let titles = |name: &str| -> Vec<String> {
        lookup::files(&conf, name.as_bytes())
            .unwrap()
            .iter()
            .map(|section| section.title.to_string())
            .collect()
    };
    assert_eq!(titles("a.inc"), ["<Files \"*.inc\">"]);
    assert_eq!(titles("a.x"), ["<FilesMatch \"\\.x$\">"]);
    assert!(lookup::files(&conf, b"a.x").unwrap()[0].conf.core.ifs.len() == 1);
    assert!(merged(config.main(), "/b").core.ifs.is_empty());
}

#[test]
fn errors_name_file_line_directive_and_form() {
    assert_eq!(
        errors("\nAcceptPathInfo maybe"),
        [
            "configuration:2: AcceptPathInfo: unknown value \"maybe\" (expected On, Off or Default); expected: AcceptPathInfo On|Off|Default"
        ]
    );
    for (text, says) in [
        ("DocumentRot /x", "unknown directive; did you mean DocumentRoot?"),
        ("KeepAlive maybe", "unknown value \"maybe\" (expected On or Off)"),
        ("ServerName", "takes one argument, not 0"),
        ("<Directory /x>\nServerName x\n</Directory>", "is not allowed inside a section"),
        ("<VirtualHost *>\nUser x\n</VirtualHost>", "is not allowed in <VirtualHost>"),
        ("AllowOverride All", "is only allowed inside a section"),
        (
            "<VirtualHost *>\n<VirtualHost *>\n</VirtualHost>\n</VirtualHost>",
            "is not allowed inside another section",
        ),
        ("<Location /x>\n<Directory /y>\n</Directory>\n</Location>", "is not allowed inside a section"),
        ("<Location /x>\n<Files y>\n</Files>\n</Location>", "is not allowed inside"),
        ("<Directory x>\n</Directory>", "is not an absolute path"),
        ("<Directory /x /y>\n</Directory>", "takes one path"),
        ("<Files ~ \"(\">\n</Files>", "does not compile"),
        ("<If true>\n</If>\n<If \"x ==\">\n</If>", "in the expression"),
        ("<If \"true\" x>\n</If>", "takes one argument"),
        ("<Else>\n</Else>", "no <If> before it"),
        ("<Location />\n<Limit TRACE>\n</Limit>\n</Location>", "TraceEnable"),
        ("<VirtualHost>\n</VirtualHost>", "needs an address"),
        ("<VirtualHost *:0>\n</VirtualHost>", "neither * nor a number"),
        ("Directory /x", "is a section and needs its brackets"),
        ("<DocumentRoot /x>\n</DocumentRoot>", "is not a section"),
        ("Options +None", "None cannot take + or -"),
        ("Options Indexes All", "must be the first"),
        ("Options +Indexes ExecCGI", "either all options"),
        ("User root", "root is refused"),
        ("AssignUserID #0 #0", "root is refused"),
        ("ErrorDocument 99 x", "not a number from 100 to 599"),
        ("Listen 80\nListen 80", "listened on already"),
        ("ChrootDir /x", "does not support chroot"),
        ("RewriteRule ^ - [X]", "unknown flag 'X'"),
        ("RewriteRule ( -", "cannot compile regular expression '('"),
        ("RewriteCond a", "bad argument line 'a'"),
        ("RewriteBase /x", "only valid in per-directory config files"),
        ("RewriteOptions Nothing", "unknown option 'Nothing'"),
        ("RewriteMap a dbd:x", "dbd"),
        ("RewriteMap a dbm=ndbm:/x", "ndbm"),
        ("LimitUIDRange 5 4", "the range is empty"),
    ] {
        assert!(errors(text)[0].contains(says), "{text}: {:?}", errors(text));
    }
}

#[test]
fn what_is_turned_off_or_harmless_only_warns() {
    let config =
        config("RewriteEngine off\nProxyRequests Off\nServerLimit 5\nServerLimit 6\nCacheEnable disk /");
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("configuration:3: ServerLimit is ignored"));
}

#[test]
fn several_errors_are_found_in_one_go() {
    assert_eq!(
        errors("Nope\n<VirtualHost *>\nNope\nLimitRequestFieldSize x\n</VirtualHost>\nKeepAlive x").len(),
        4
    );
}

#[test]
fn settings_remember_where_they_stand() {
    let config = config(
        "Timeout 5\n<VirtualHost *>\nTimeout 6\n<Directory /x>\nOptions None\n</Directory>\n</VirtualHost>",
    );
    let host = &config.servers[1];
    let one = |settings: &[hostler_config::Setting]| -> Vec<String> {
        settings.iter().map(|s| format!("{} {} {}", s.origin.line, s.directive, s.args)).collect()
    };
    assert_eq!(one(&config.main().settings).last().unwrap(), "1 Timeout 5");
    assert_eq!(one(&host.settings), ["3 Timeout 6"]);
    assert_eq!(one(&host.directories[0].settings), ["5 Options None"]);
}
