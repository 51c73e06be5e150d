//! `<Perl>` sections that build configuration, as the reader sees them: what is asked to be run, by whom, in which order,
//! and what is taken of the answer. Here the code itself is what it builds.

use hostler_config::directives::perl::layers_text;
use hostler_config::pools::pools;
use hostler_config::{
    Config, ConfigError, HtaccessScope, LoadOptions, Origin, Output, PerlRequest, RunPerl, Tree, load,
    parse_htaccess, read, read_text,
};
use hostler_perl_frames::PreloadKind;
use hostler_perl_frames::configure::SourceFacts;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Lines `#= ...` of the code are the configuration; `#! ...` is a failure.
struct Echo(Rc<RefCell<Vec<String>>>);

impl RunPerl for Echo {
    fn run(&mut self, asked: &PerlRequest<'_>) -> Result<Output, String> {
        let (user, text) = (asked.run_as.user.as_deref().unwrap_or("-"), asked.preload.text.trim());
        let line = asked.preload.origin.rsplit(':').next().unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let generation = if asked.generation == 1 { " 1" } else { "" };
        self.0.borrow_mut().push(format!("{line} {user} {first}{generation}"));
        if let Some((_, why)) = text.split_once("#! ") {
            return Err(why.to_owned());
        }
        if text == "Fails" {
            return Err("it fails".to_owned());
        }
        if text.starts_with("Words") {
            let declared = "Words\tMyOne\t1\t31\tMyOne value\nWords\tMyFlag\t5\t128\tMyFlag command\nWords\tServerAdmin\t1\t128\t\n";
            return Ok(Output { declared: declared.to_owned(), ..Output::default() });
        }
        if text.starts_with("AddsName") {
            return Ok(Output { text: "ServerAlias other.test\n".to_owned(), ..Output::default() });
        }
        if text.starts_with("Adds") {
            let text =
                if asked.in_host { Err("not here".to_owned()) } else { Ok(format!("Alias /{text} /x\n")) };
            return text.map(|text| Output { text, ..Output::default() });
        }
        let lines = text.lines().filter_map(|line| line.strip_prefix("#= "));
        let text = lines.map(|line| format!("{line}\n")).collect();
        Ok(Output { text, ..Output::default() })
    }

    /// Names tell: of modules, files, and what code loads.
    fn look(&mut self, asked: &PerlRequest<'_>, places: &[String]) -> SourceFacts {
        let text = &asked.preload.text;
        let learned = text.contains("Learn").then(|| "/learned".to_owned());
        let (adds, fills) = (text.contains("Adds"), text.contains("Fills"));
        let places = places.iter().cloned().chain(learned).collect();
        let first = text.contains("Old");
        SourceFacts { adds, fills, first, second: false, places }
    }
}

type Loaded = Result<(Tree, Config), Vec<ConfigError>>;

/// Loads a text; returns the result, and the code that was run: line, user, first line of code.
fn loaded(text: &str) -> (Loaded, Vec<String>) {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let asked = Rc::default();
    let file = Empty::new();
    let before = vec![text.to_owned()];
    let options =
        LoadOptions { root: Some("/srv".into()), before, file: file.0.clone(), ..LoadOptions::default() };
    let result = load(&options, Some(Box::new(Echo(Rc::clone(&asked)))));
    let asked = asked.borrow().clone();
    (result, asked)
}

/// An empty configuration file.
struct Empty(PathBuf);

impl Empty {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("hostler-sections-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "").expect("an empty file");
        Self(path)
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn errors(text: &str) -> Vec<String> {
    loaded(text).0.expect_err(text).iter().map(ToString::to_string).collect()
}

#[test]
fn what_a_section_builds_stands_in_its_place() {
    let (result, asked) = loaded(
        "User www\nGroup www\nAlias /1 /a\n<Perl>\n$Alias = 1;\n#= Alias /2 /b\n#= <Location /x>\n#= SetHandler y\n#= </Location>\n</Perl>\nAlias /3 /c\n<Perl>\nsub late { 1 }\n</Perl>",
    );
    let (tree, config) = result.unwrap();
    let names: Vec<_> = tree.nodes.iter().map(|node| format!("{} {}", node.name, node.args)).collect();
    let from = names.iter().position(|name| name == "Alias /1 /a").unwrap();
    assert_eq!(names[from..], ["Alias /1 /a", "Perl ", "Alias /2 /b", "Location /x", "Alias /3 /c", "Perl "]);
    assert_eq!(asked, ["4 www $Alias = 1;", "12 www sub late { 1 }"]);
    let kinds: Vec<_> =
        config.main().conf.perl.preload.iter().map(|preload| (preload.kind, preload.configured)).collect();
    assert_eq!(kinds, [(PreloadKind::Code, true), (PreloadKind::Code, true)]);
    // The front builds the same without running anything.
    let again = Config::build(&Tree::decode(&tree.encode().unwrap()).unwrap()).unwrap();
    assert_eq!(again.main().conf.perl.preload, config.main().conf.perl.preload);
}

#[test]
fn nothing_is_run_where_nothing_builds() {
    let (result, asked) = loaded("PerlModule X\n<Perl>\nsub f { 1 }\n</Perl>\nPerl use Y;");
    assert!(result.is_ok() && asked.is_empty(), "{asked:?}");
}

#[test]
fn what_stands_before_is_run_first_and_hosts_have_their_own_users() {
    let (result, asked) = loaded(
        "User www\nGroup www\nPerlRequire /a.pl\n<Perl>\nsub f {}\n</Perl>\n<VirtualHost 1.1.1.1>\nAssignUserID anna anna\nPerlModule Hers\n<Perl>\n$Alias=1;\n#= Alias /a /b\n</Perl>\n</VirtualHost>\n<Perl>\n%Location=f();\n</Perl>",
    );
    result.unwrap();
    assert_eq!(
        asked,
        [
            "3 anna /a.pl",
            "4 anna sub f {}",
            "9 anna Hers",
            "10 anna $Alias=1;",
            "3 www /a.pl",
            "4 www sub f {}",
            "15 www %Location=f();"
        ]
    );
}

#[test]
fn what_root_acts_on_is_refused_wherever_it_comes_from() {
    let built = |line: &str| format!("<Perl>\n$Alias = 1;\n#= {line}\n</Perl>");
    for line in [
        "Include /etc/passwd",
        "Listen 99",
        "User root",
        "ErrorLog |/bin/sh",
        "Use Something",
        "Define X y",
        "SSLCertificateFile /x",
        "PassEnv HOME",
    ] {
        let found = errors(&built(line));
        assert!(
            found[0].contains("-C:1 <Perl>:1: ")
                && found[0].contains("write it into the configuration itself"),
            "{found:?}"
        );
    }
    for line in [
        "<IfModule mod_alias.c>\n#= Include /etc/passwd\n#= </IfModule>",
        "<VirtualHost *>\n#= CustomLog /x y\n#= </VirtualHost>",
    ] {
        assert!(errors(&built(line))[0].contains("<Perl>:2: "), "{line}");
    }
    // A name that only variables make, and the end of a section that is not the code's.
    let host = format!("Define what Include\n{}", built("${what} /etc/passwd"));
    assert!(errors(&host)[0].contains("Include: cannot come from"), "{:?}", errors(&host));
    let host = format!("<VirtualHost *>\n{}\n</VirtualHost>", built("</VirtualHost>"));
    assert!(errors(&host)[0].contains("</VirtualHost> without"), "{:?}", errors(&host));
    // Code that code adds may do no more.
    let inner = |line: &str| built(&format!("<Perl>\n#= $Alias = 2;\n#= #= {line}\n#= </Perl>"));
    assert!(errors(&inner("Listen 99"))[0].contains("Listen: cannot come from"));
    assert!(loaded(&inner("Alias /a /b")).0.is_ok());
    // One site's code does not take another's requests; that of the main server makes whole virtual hosts.
    let host = format!("<VirtualHost *>\n{}\n</VirtualHost>", built("ServerAlias other.test"));
    assert!(errors(&host)[0].contains("must not take another site's requests"), "{:?}", errors(&host));
    let whole = built("<VirtualHost *>\n#= ServerAlias other.test\n#= </VirtualHost>");
    assert!(loaded(&whole).0.is_ok());
}

#[test]
fn the_environment_of_who_reads_is_not_the_code_s() {
    let text =
        "<Perl>\n$Alias = 1;\n#= SetEnv P \"${PATH}\"\n#= Header set X \"expr=%{osenv:PATH}\"\n</Perl>";
    let (tree, _) = loaded(text).0.unwrap();
    assert!(tree.facts.environment.is_empty());
    assert!(tree.nodes.iter().any(|node| node.args.contains("${PATH}")));
}

#[test]
fn failures_name_the_section() {
    assert_eq!(errors("\n<Perl>\n$Alias = 1; #! it broke\n</Perl>"), ["-C:2: <Perl> it broke"]);
    let late = "<Perl>\n$Alias = 1;\n</Perl>\nUser x";
    assert!(errors(late)[0].contains("-C:4: User: must stand before the Perl code"), "{:?}", errors(late));
    let hidden = "<Perl>\nhidden();\n#= Alias /a /b\n</Perl>\n<Perl>\n$Alias = 1;\n</Perl>";
    assert!(errors(hidden)[0].contains("-C:1: builds configuration in a way"), "{:?}", errors(hidden));
}

#[test]
fn without_somebody_to_run_it_a_section_that_builds_is_an_error() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let text = "<Perl>\nwhatever <\n%Location = ();\n</Perl>";
    let found = read_text(text, "/srv").unwrap_err()[0].to_string();
    assert!(found.contains("would build configuration in line 3 (%Location)"), "{found}");
    let file = Empty::new();
    let options =
        LoadOptions { file: file.0.clone(), before: vec![text.to_owned()], ..LoadOptions::default() };
    assert!(read(&options, None).is_err());
}

#[test]
fn the_generation_is_the_configuration_s_and_a_module_that_fails_is_only_warned_of() {
    for (before, end) in [
        ("PerlModule Apache::Registry", "= 1; 1"),
        ("PerlModule Apache2::Reload", "= 1;"),
        ("PerlHandler X", "= 1; 1"),
        ("PerlRequire Old.pl", "= 1; 1"),
        ("PerlRequire Old.pl\nPerlOptions +GlobalRequest", "= 1;"),
        ("PerlApiVersion 1", "= 1; 1"),
        ("ServerAdmin x", "= 1;"),
    ] {
        let (result, asked) = loaded(&format!("{before}\nPerlModule Fails\n<Perl>\n$Alias = 1;\n</Perl>"));
        let last = asked.last().expect("the section is run");
        assert!(result.is_ok() && last.ends_with(end), "{before}: {asked:?}");
    }
}

fn lines(tree: &Tree) -> Vec<String> {
    tree.nodes.iter().map(|node| format!("{} {}", node.name, node.args).trim().to_owned()).collect()
}

#[test]
fn what_files_and_modules_add_stands_behind_them() {
    let (result, asked) = loaded(
        "PerlModule Plain\nPerlRequire plain.pl Adds.pl\nAlias /c /d\nPerlSwitches -I/lib\nPerlModule Adds\nPerlPostConfigRequire Adds2.pl",
    );
    let (tree, config) = result.unwrap();
    let all = lines(&tree);
    let from = all.iter().position(|line| line == "PerlModule Plain").unwrap();
    let expected = [
        "PerlModule Plain",
        "PerlRequire plain.pl Adds.pl",
        "Alias /Adds.pl /x",
        "Alias /c /d",
        "PerlSwitches -I/lib",
        "PerlModule Adds",
        "Alias /Adds /x",
        "PerlPostConfigRequire Adds2.pl",
        "Alias /Adds2.pl /x",
    ];
    assert_eq!(all[from..], expected);
    // Files that are required come before modules, and directories count from where they stand.
    let at = "4 - unshift @INC, '/lib';";
    assert_eq!(asked, ["2 - plain.pl", "2 - Adds.pl", at, "1 - Plain", "5 - Adds", "6 - Adds2.pl"]);
    let preload = &config.main().conf.perl.preload;
    let configured: Vec<_> = preload.iter().map(|one| one.configured).collect();
    // Files that are required come before modules.
    assert_eq!(configured, [true, true, false, true, true]);
    // Nothing is run for what adds nothing.
    let (result, asked) = loaded("PerlModule Plain\nPerlRequire plain.pl\nPerlConfigRequire x.pl");
    assert!(result.is_ok() && asked.is_empty(), "{asked:?}");
    // Nothing that others than a directive load is looked at without a place for it.
    let (result, asked) = loaded("<Perl>\nuse Adds;\n</Perl>");
    assert!(result.is_ok() && asked.is_empty(), "{asked:?}");
    // A file tells where modules are.
    let (result, asked) = loaded("PerlRequire Learn.pl\nPerlModule Adds");
    assert!(result.is_ok() && asked.len() == 2, "{asked:?}");
}

#[test]
fn what_is_loaded_finds_the_main_server_s_variables() {
    let (result, asked) = loaded(
        "PerlSetEnv A \"it's \\\\ it\"\n<Location />\nPerlSetEnv B 2\n</Location>\n<VirtualHost *>\nPerlSetEnv C 3\n\
         </VirtualHost>\nPerlModule Adds",
    );
    assert!(result.is_ok(), "{:?}", result.err());
    assert_eq!(asked, [r"1 - $ENV{'A'} = 'it\'s \\ it';", "8 - Adds"]);
}

#[test]
fn what_a_file_in_a_virtual_host_adds_is_the_main_server_s() {
    let (result, _) = loaded(
        "<VirtualHost *>\nServerName a\nPerlRequire Adds.pl\nAlias /a /b\n</VirtualHost>\nAlias /c /d",
    );
    let (tree, config) = result.unwrap();
    let all = lines(&tree);
    assert_eq!(all[all.len() - 2..], ["Alias /Adds.pl /x", "Alias /c /d"]);
    assert_eq!(config.servers.len(), 2);
    // Another user's code does not change the main server, nor may it become another user's later.
    let (result, _) = loaded("<VirtualHost *>\nAssignUserID anna anna\nPerlRequire Adds.pl\n</VirtualHost>");
    let (tree, _) = result.unwrap();
    let host = tree.nodes.last().and_then(|node| node.children.as_ref()).expect("the virtual host");
    assert_eq!(host.last().map(|node| node.args.as_str()), Some("/Adds.pl /x"));
    let named = errors("<VirtualHost *>\nAssignUserID anna anna\nPerlRequire AddsName.pl\n</VirtualHost>");
    assert!(named[0].contains("ServerAlias: cannot come from Perl code in a virtual host"), "{named:?}");
    let late = errors("<VirtualHost *>\nPerlRequire Adds.pl\nAssignUserID anna anna\n</VirtualHost>");
    assert!(late[0].contains("-C:3: AssignUserID: must stand before"), "{late:?}");
    let late = errors("<VirtualHost *>\nPerlRequire Adds.pl\n</VirtualHost>\nUser x");
    assert!(late[0].contains("-C:4: User: must stand before"), "{late:?}");
}

#[test]
fn sections_build_through_what_they_load_and_through_variables_set_before() {
    let (result, asked) = loaded("PerlSwitches -I/lib\n<Perl>\nuse AddsMore;\n#= Alias /a /b\n</Perl>");
    assert!(result.is_ok() && asked == ["2 - use AddsMore;"], "{asked:?}");
    let (_, asked) = loaded("PerlRequire Fills.pl\n<Perl>\n1;\n</Perl>\n");
    assert_eq!(asked, ["1 - Fills.pl", "2 - 1;"]);
    let (_, asked) = loaded("PerlRequire plain.pl\n<Perl>\n1;\n</Perl>\n");
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn what_is_built_stays_untrusted_behind_a_file_that_builds_more() {
    let text = "<Perl>\n$Alias = 1;\n#= PerlRequire Adds.pl\n#= Include /etc/passwd\n</Perl>";
    let found = errors(text);
    assert!(found[0].contains("<Perl>:2: Include: cannot come from Perl code"), "{found:?}");
}

#[test]
fn what_builds_unseen_is_told_with_what_to_do() {
    let found = errors("<Perl>\nhidden();\n#= Alias /a /b\n</Perl>\nPerlRequire Adds.pl");
    assert!(found[0].contains("does not show: write a comment with the word add_config"), "{found:?}");
}

/// Returns the warm parent's calls to modules.
fn calls(config: &Config, server: usize) -> Vec<String> {
    let said =
        |text: &str| text.strip_prefix("require Apache2::Module; Apache2::Module::_said").map(str::to_owned);
    config.servers[server].conf.perl.preload.iter().filter_map(|preload| said(&preload.text)).collect()
}

#[test]
fn lines_with_directives_of_modules_are_calls() {
    let (result, asked) = loaded(
        "ServerAdmin early\nPerlLoadModule Words\nMyOne \"it's\"\nmyflag On\nServerAdmin both\n<Location /x>\nMyOne x\nMyOne y\n</Location>\n<VirtualHost 1.1.1.1>\nMyOne host\n</VirtualHost>",
    );
    let (tree, config) = result.unwrap();
    assert_eq!(asked, ["2 - Words"]);
    let said = calls(&config, 1);
    assert_eq!(said[0], r#"(0, 0, ['Words','MyOne',undef,'-C',3,150,'"it\'s"',['it\'s'],0]);"#);
    assert_eq!(said[1], "(0, 0, ['Words','MyFlag',undef,'-C',4,150,'On',['1'],0]);");
    assert_eq!(said[2], "(0, 0, ['Words','ServerAdmin',undef,'-C',5,150,'both',['both'],0]);");
    assert_eq!(said[3], "(1, 0, ['Words','MyOne','/x','-C',7,95,'x',['x'],8]);");
    assert!(
        said[4].starts_with("(1, 0, ") && said[5].starts_with("(2, 1, ['Words','MyOne',undef"),
        "{said:?}"
    );
    assert_eq!((said.len(), calls(&config, 0).len()), (6, 5));
    assert_eq!(config.main().conf.core.admin.as_deref(), Some("both"));
    // They ask for no interpreter of their own, and the front builds the same.
    let shared = pools(&config, &[0, 0]);
    let of_perl = shared.all.iter().filter(|pool| pool.key.engine.name == "perl");
    assert_eq!(of_perl.count(), 1);
    let again = Config::build(&Tree::decode(&tree.encode().unwrap()).unwrap()).unwrap();
    assert_eq!(calls(&again, 1), said);
}

#[test]
fn directives_of_modules_have_their_place_and_form() {
    for (text, why) in [
        (
            "MyOne x\nPerlLoadModule Words",
            "-C:1: MyOne: stands before the PerlLoadModule whose module adds it",
        ),
        ("PerlLoadModule Words\nMyOne", "-C:2: MyOne: takes one argument, not 0; expected: MyOne value"),
        ("PerlLoadModule Words\nMyFlag maybe", "unknown value \"maybe\" (expected On or Off)"),
        ("PerlLoadModule Words\n<Location />\nMyFlag on\n</Location>", "is not allowed inside a section"),
        ("PerlLoadModule Words\n<MyOne x>\n</MyOne>", "is not a section"),
        ("PerlModule Words\nMyOne x", "unknown directive"),
        (
            "<VirtualHost *>\nPerlLoadModule Words\nMyOne x\n</VirtualHost>\nMyOne y",
            "-C:5: MyOne: unknown directive",
        ),
    ] {
        let found = errors(text);
        assert!(found.len() == 1 && found[0].contains(why), "{text}: {found:?}");
    }
}

#[test]
fn htaccess_files_carry_their_calls_with_them() {
    let (result, _) = loaded("PerlLoadModule Words\n<Directory />\nAllowOverride FileInfo\n</Directory>");
    let config = result.unwrap().1;
    let allow = config.main().directories[0].conf.core.allow();
    let scope = |file| HtaccessScope {
        config: &config,
        host: Origin::default(),
        file,
        directory: "/d",
        allow: Arc::new(allow.clone()),
    };
    let read = parse_htaccess(b"MyOne a\nMyOne 'b\\\\'\n", &scope("/d/.htaccess")).unwrap();
    let text = layers_text(&read.conf.perl.layers);
    assert_eq!(
        text,
        r"[['Words','MyOne','/d/','/d/.htaccess',1,31,'a',['a'],4],['Words','MyOne','/d/','/d/.htaccess',2,31,'\'b\\\\\'',['b\\'],4]]"
    );
    assert!(parse_htaccess(b"MyFlag on", &scope("/d/.htaccess")).is_err());
}

/// Tells what it is asked with.
struct Facts(Rc<RefCell<String>>);

impl RunPerl for Facts {
    fn run(&mut self, asked: &PerlRequest<'_>) -> Result<Output, String> {
        let main = asked.main;
        *self.0.borrow_mut() =
            format!("{} {} {} {:?}", main.name, main.admin, main.document_root, asked.vars);
        Ok(Output::default())
    }

    fn look(&mut self, _: &PerlRequest<'_>, _: &[String]) -> SourceFacts {
        SourceFacts::default()
    }
}

#[test]
fn code_may_ask_what_the_main_server_has_been_told() {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let told = Rc::default();
    let file = Empty::new();
    let before = "ServerName http://a.test:81\nServerAdmin x@y\nDocumentRoot /srv\nPerlSetVar A 1\nPerlSetVar a 2\n\
                  PerlAddVar B 3 4\n<Location /x>\nPerlSetVar A 6\n</Location>\n\
                  <VirtualHost *>\nServerName b\nPerlSetEnv E 7\n</VirtualHost>\n<Perl>\n$Alias = 1;\n</Perl>";
    let options =
        LoadOptions { before: vec![before.to_owned()], file: file.0.clone(), ..LoadOptions::default() };
    assert!(load(&options, Some(Box::new(Facts(Rc::clone(&told))))).is_ok());
    let expected = r#"a.test x@y /srv [("a", "2"), ("B", "3"), ("B", "4")]"#;
    assert_eq!(*told.borrow(), expected);
}
