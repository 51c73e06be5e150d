use super::*;
use crate::{Config, read_text};

fn config(text: &str) -> Config {
    match read_text(text, "/etc/apache2").and_then(|tree| Config::build(&tree)) {
        Ok(config) => config,
        Err(errors) => panic!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

fn vhost(name: &str, lines: &str) -> String {
    format!("<VirtualHost *:80>\nServerName {name}\n{lines}\n</VirtualHost>\n")
}

fn engine(name: &str) -> &'static Engine {
    technique::engines().iter().find(|engine| engine.name == name).unwrap()
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
    let engine = engine("perl");
    let share = |server: u32| pools.share(server, engine).unwrap();
    let pool_of = |server: u32| &pools.all[share(server).pool as usize];
    let groups: Vec<_> = (0..10).map(|server| pool_of(server).key.group).collect();
    assert_eq!(groups, [0, 0, 0, 3, 4, 5, 0, 7, 0, 0]);
    assert_eq!(pool_of(1).servers, [0, 1, 2, 8]);
    assert_eq!(pool_of(6).key.generation, 1);
    assert_eq!(pool_of(9).key.site, 1);
    assert_eq!(pool_of(4).settings.max_workers, 3);
    // What programs call them: the main server is 0, and others are counted within their pool.
    let places: Vec<_> = (0..10).map(|server| share(server).place).collect();
    assert_eq!(places, [0, 1, 2, 1, 1, 1, 1, 1, 3, 1]);
}

#[test]
fn a_virtual_host_has_a_share_in_a_pool_of_each_engine() {
    let both = "PerlModule Own\nPerlResponseHandler X\n<Location /e>\nSetHandler echo\n</Location>";
    let config = config(&[vhost("a", both), vhost("b", "SetHandler psgi")].concat());
    let pools = pools(&config, &[0; 3]);
    let groups = |server: u32| {
        ["echo", "perl"].map(|name| {
            let share = pools.share(server, engine(name)).unwrap();
            let pool = &pools.all[share.pool as usize];
            assert!(pool.key.engine.name == name && pool.servers.contains(&server));
            pool.key.group
        })
    };
    assert_eq!((groups(0), groups(1), groups(2)), ([0, 0], [0, 1], [0, 0]));
    let used = |server: usize| ["echo", "perl"].map(|name| uses(&config.servers[server], engine(name)));
    assert_eq!((used(0), used(1), used(2)), ([false; 2], [true; 2], [false, true]));
    assert!(!uses_any(config.main()) && uses_any(&config.servers[2]));
    assert_eq!(pools.share(3, engine("perl")), None);
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
