use super::*;
use crate::setup::setup;
use hostler_config::pools::pools;
use hostler_config::{Config, read_text, technique};
use hostler_perl_frames::PreloadKind;

static ROWS: &[&Technique] = &[&PERL, &PSGI];

pub(crate) fn install() {
    technique::install(ROWS).unwrap();
}

fn config(text: &str) -> Config {
    install();
    match read_text(text, "/etc/apache2").and_then(|tree| Config::build(&tree)) {
        Ok(config) => config,
        Err(errors) => panic!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

fn vhost(name: &str, lines: &str) -> String {
    format!("<VirtualHost *:80>\nServerName {name}\n{lines}\n</VirtualHost>\n")
}

#[test]
fn a_pool_is_told_of_its_virtual_hosts_by_the_places_that_they_have_in_it() {
    let text = [
        "PerlApiVersion 2\n".to_owned(),
        vhost("a", ""),
        vhost("b", "PerlModule Own"),
        vhost("c", "PerlApiVersion 1"),
        vhost("d", ""),
    ];
    let config = config(&text.concat());
    let pools = pools(&config, &[0; 5]);
    for server in 0..5 {
        let share = pools.share(server, &ENGINE).unwrap();
        let pool = &pools.all[share.pool as usize];
        let facts = setup(&config, &pool.servers, pool.key.generation, false).servers;
        assert_eq!(facts[share.place as usize].is_virtual, server != 0);
        assert_eq!(facts[share.place as usize].id, share.place);
    }
}

#[test]
fn answers_are_named() {
    let config = config(
        "SetHandler psgi\nPSGIApp /srv/app.psgi\nPerlResponseHandler My::Page\n<Location /x>\n</Location>",
    );
    let dir = &config.main().defaults;
    assert_eq!((PSGI.answers)(dir, "/x"), "the PSGI application /srv/app.psgi, in a warm worker");
    assert_eq!((PERL.answers)(dir, "/x"), "Perl, in a warm worker: My::Page");
    let none = hostler_config::DirConfig::default();
    assert_eq!((PSGI.answers)(&none, "/x"), "the PSGI application /x, in a warm worker");
    assert_eq!((PERL.answers)(&none, "/x"), "Perl, in a warm worker: no PerlResponseHandler");
}

#[test]
fn what_a_pool_loads_is_in_order_files_that_are_required_first() {
    let text = [
        "PerlModule Main\nPerlSetEnv A main\nPerlRequire /srv/startup.pl\n".to_owned(),
        vhost(
            "a",
            "PerlSetEnv A a\nPerlSetVar V 1\n<Perl>\nuse Own;\n</Perl>\nPerlChildInitHandler Own::init",
        ),
        vhost("b", "<Location /x>\nPerlResponseHandler +X::y\nPerlAccessHandler +X->m\n</Location>"),
    ];
    let config = config(&text.concat());
    let own = setup(&config, &[1], 2, false);
    let loaded: Vec<_> = own.preload.iter().map(|preload| (preload.kind, preload.text.as_str())).collect();
    assert_eq!(
        loaded,
        [
            (
                PreloadKind::Code,
                "require Apache2::ServerUtil; \
                 Apache2::ServerRec::_configured(1, 'PerlChildInitHandler', 'Own::init');"
            ),
            (PreloadKind::File, "/srv/startup.pl"),
            (PreloadKind::Module, "Main"),
            (PreloadKind::Code, "use Own;\n")
        ]
    );
    assert_eq!(own.preload[3].origin, "configuration:8");
    assert_eq!((own.env, own.child_init), (vec![("A".into(), "a".into())], vec!["Own::init".to_owned()]));
    assert_eq!(own.servers.iter().map(|facts| facts.id).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(own.vars[1], [("V".to_owned(), "1".to_owned())]);

    let shared = setup(&config, &[0, 2], 2, true);
    assert!(shared.one_shot && shared.child_init.is_empty());
    assert_eq!(shared.env, [("A".to_owned(), "main".to_owned())]);
    assert_eq!(shared.preload.len(), 4);
    assert!(
        shared.preload[2].text.contains("require X::y; 1") && shared.preload[2].text.contains("require X; 1")
    );
    assert_eq!((shared.preload[3].kind, shared.preload[3].text.as_str()), (PreloadKind::Module, "X"));
}

#[test]
fn an_interpreter_that_has_a_parent_of_its_own_begins_empty() {
    let own = "PerlSwitches -I/own\nPerlModule Own\n";
    let loaded = |options: &str| {
        let main = "PerlSwitches -I/main\nPerlModule Main\n".to_owned();
        let config = config(&(main + &vhost("a", &format!("{options}{own}"))));
        let setup = setup(&config, &[1], 2, false);
        let texts: Vec<_> = setup.preload.iter().map(|preload| preload.text.clone()).collect();
        (setup.switches, texts)
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let all = (texts(&["-I/main", "-I/own"]), texts(&["Main", "Own"]));
    assert_eq!([loaded(""), loaded("PerlOptions +Clone\n")], [all.clone(), all]);
    assert_eq!(loaded("PerlOptions +Parent\n"), (texts(&["-I/own"]), texts(&["Own"])));
    let inherited = loaded("PerlOptions +Parent +InheritSwitches\n");
    assert_eq!(inherited, (texts(&["-I/main", "-I/own"]), texts(&["Own"])));
}

#[test]
fn the_registry_that_sections_name_is_loaded_before_workers_are_forked() {
    let text = "<Location /a>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n</Location>\n\
                <Files *.pl>\nPerlResponseHandler ModPerl::PerlRun->handler My::Own\n</Files>\nPerlLogHandler Apache::Registry";
    let config = config(&format!("{text}\n{}", vhost("a", "PerlModule Own")));
    let text = |server, one_shot| {
        let last = setup(&config, &[server], 2, one_shot).preload.pop();
        last.map_or_else(String::new, |preload| preload.text)
    };
    let all = "sub { local ($@, $SIG{__DIE__}); eval { require ModPerl::PerlRun }; eval { require ModPerl::Registry }; 0 }";
    assert_eq!([text(0, false), text(1, false)], [all, all]);
    assert_eq!([text(0, true), text(1, true)], ["", "Own"]);
}
