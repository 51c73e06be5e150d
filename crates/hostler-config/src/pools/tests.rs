use super::*;
use crate::{Config, read_text};
use hostler_perl_frames::PreloadKind;

fn config(text: &str) -> Config {
    match read_text(text, "/etc/apache2").and_then(|tree| Config::build(&tree)) {
        Ok(config) => config,
        Err(errors) => panic!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

fn vhost(name: &str, lines: &str) -> String {
    format!("<VirtualHost *:80>\nServerName {name}\n{lines}\n</VirtualHost>\n")
}

const TWO: &str = "PerlResponseHandler ModPerl::Registry";

#[test]
fn hosts_of_one_site_share_a_pool_unless_they_ask_for_their_own() {
    let text = [
        "PerlModule Main\nPerlApiVersion 2\n".to_owned(),
        vhost("a", TWO),
        vhost("b", "<Location /x>\nPerlResponseHandler +X::y\n</Location>"),
        vhost("c", "PerlModule Own"),
        vhost("d", "MaxRequestWorkers 3"),
        vhost("e", "PerlOptions +Parent"),
        vhost("f", "PerlApiVersion 1"),
        vhost("g", "PerlSwitches -w"),
        vhost("h", "PerlSetVar A b"),
        vhost("i", ""),
    ];
    let config = config(&text.concat());
    let pools = pools(&config, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let groups: Vec<_> = pools.of.iter().map(|at| pools.all[*at as usize].key.group).collect();
    assert_eq!(groups, [0, 0, 0, 3, 4, 5, 0, 7, 0, 0]);
    assert_eq!(pools.pool_of(1).servers, [0, 1, 2, 8]);
    assert_eq!(pools.pool_of(6).key.generation, 1);
    assert_eq!(pools.pool_of(9).key.site, 1);
    assert_eq!(pools.pool_of(4).settings.max_workers, 3);
    // What programs call them: the main server is 0, and others are counted within their pool.
    assert_eq!(pools.places, [0, 1, 2, 1, 1, 1, 1, 1, 3, 1]);
    for (id, place) in pools.places.iter().enumerate() {
        let pool = pools.pool_of(id as u32);
        let facts = setup(&config, &pool.servers, pool.key.generation, false).servers;
        assert_eq!(facts[*place as usize].is_virtual, id != 0);
        assert_eq!(facts[*place as usize].id, *place);
    }
}

#[test]
fn what_a_pool_loads_is_in_the_order_of_the_files() {
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
            (PreloadKind::Module, "Main"),
            (PreloadKind::File, "/srv/startup.pl"),
            (PreloadKind::Code, "use Own;\n")
        ]
    );
    assert_eq!(own.preload[2].origin, "configuration:8");
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
fn sizes_have_defaults_that_fit_together() {
    let usual = settings(config("").main());
    assert_eq!((usual.start, usual.min_spare, usual.max_spare, usual.max_requests), (1, 1, 10, 0));
    assert!((16..=64).contains(&usual.max_workers));
    assert_eq!((usual.queue_length, usual.queue_timeout, usual.idle), (1000, 30, 300));
    let odd = settings(config("MaxClients 4\nStartServers 9\nMinSpareServers 7\nMaxSpareServers 2").main());
    assert_eq!((odd.start, odd.min_spare, odd.max_spare, odd.max_workers), (4, 4, 5, 4));
    // Numbers that prefork takes and corrects.
    let text = "StartServers -1\nMinSpareServers -2\nMaxSpareServers 0\nMaxRequestWorkers 0\nMaxConnectionsPerChild -1";
    let raised = settings(config(text).main());
    assert_eq!((raised.start, raised.min_spare, raised.max_workers, raised.max_requests), (1, 1, 1, 0));
}
