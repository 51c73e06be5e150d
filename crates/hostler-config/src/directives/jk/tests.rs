use super::mounts::find;
use super::*;
use crate::directives::proxy::parameters::States;
use crate::{Config, read_text};
use std::time::Duration;

fn built(text: &str) -> Config {
    Config::build(&read_text(text, "/nowhere").unwrap()).unwrap()
}

fn refusal(text: &str) -> String {
    let errors = Config::build(&read_text(text, "/nowhere").unwrap()).unwrap_err();
    errors[0].to_string()
}

fn containers<'c>(config: &'c Config, name: &str) -> &'c crate::directives::proxy::Balancer {
    match &config.servers[0].conf.jk.worker(name).unwrap().kind {
        Kind::Containers(containers) => containers,
        Kind::Status => panic!("{name} is a status page"),
    }
}

const TWO: &str = "\
    JkWorkerProperty worker.list=lb,one,show\n\
    JkWorkerProperty worker.common.port=8010\n\
    JkWorkerProperty worker.common.secret=shh\n\
    JkWorkerProperty worker.common.reply_timeout=1500\n\
    JkWorkerProperty worker.one.reference=worker.common\n\
    JkWorkerProperty worker.one.host=10.0.0.1\n\
    JkWorkerProperty worker.two.reference=worker.common\n\
    JkWorkerProperty worker.two.host=10.0.0.2\n\
    JkWorkerProperty worker.two.lbfactor=3\n\
    JkWorkerProperty worker.two.route=second\n\
    JkWorkerProperty worker.two.activation=D\n\
    JkWorkerProperty worker.lb.type=lb\n\
    JkWorkerProperty worker.lb.balance_workers=one\n\
    JkWorkerProperty worker.lb.balance_workers=two\n\
    JkWorkerProperty worker.show.type=status\n";

#[test]
fn workers_are_balancers_in_older_words() {
    let config = built(TWO);
    let lb = containers(&config, "lb");
    let [one, two] = &lb.members[..] else { panic!("{:?}", lb.members) };
    assert_eq!(one.worker.url.to_string(), "ajp://10.0.0.1:8010");
    assert_eq!(one.worker.parameters.secret.as_deref(), Some("shh"));
    assert_eq!(one.worker.parameters.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(one.worker.parameters.route.as_deref(), Some("one"));
    assert_eq!(two.worker.parameters.route.as_deref(), Some("second"));
    assert_eq!(two.worker.parameters.load_factor, Some(300));
    assert_eq!(two.worker.parameters.states, Some(States::DRAIN));
    assert_eq!(lb.parameters.sticky.as_ref().map(|(cookie, _)| &**cookie), Some("JSESSIONID"));
    let alone = containers(&config, "one");
    assert_eq!((alone.members.len(), alone.members[0].worker.parameters.route.as_deref()), (1, None));
    assert_eq!(config.servers[0].conf.jk.worker("show").unwrap().kind, Kind::Status);
    // A member that is not in the list can't be mounted.
    assert!(config.servers[0].conf.jk.worker("two").is_none());
}

#[test]
fn values_of_other_properties_are_put_in() {
    let config = built(
        "JkWorkerProperty base=10.1.1\nJkWorkerProperty worker.list=a\nJkWorkerProperty worker.a.host=$(base).7\n\
         JkWorkerProperty worker.a.route=$(nothing)",
    );
    let worker = &containers(&config, "a").members[0].worker;
    assert_eq!(worker.url.to_string(), "ajp://10.1.1.7");
    assert_eq!(worker.parameters.route.as_deref(), Some("$(nothing)"));
    let doubling =
        (1..40).map(|n| format!("JkWorkerProperty v{n}=$(v{0})$(v{0})\n", n - 1)).collect::<String>();
    assert!(refusal(&format!("JkWorkerProperty v0=xxxxxxxxxx\n{doubling}")).contains("too long"));
}

#[test]
fn the_most_specific_mount_counts_and_an_unmount_says_no() {
    let config = built(&format!(
        "{TWO}JkMount /* lb\nJkMount /app|/* one\nJkMount /app/deep/page show\nJkUnMount /app/*.gif one\n\
         JkUnMount /app/static/* *\nJkMount /a[b]/* lb"
    ));
    let worker = |path: &str| {
        find(&config.servers[0].conf.jk.mounts, path.as_bytes()).map(|mount| mount.worker.to_string())
    };
    for (path, expected) in [
        ("/", Some("lb")),
        ("/apps", Some("lb")),
        ("/app", Some("one")),
        ("/app/", Some("one")),
        ("/app/deep/page", Some("show")),
        ("/app/deep/pages", Some("one")),
        ("/app/x.gif", None),
        ("/x.gif", Some("lb")),
        ("/app/static/x", None),
        ("/a[b]/x", Some("lb")),
    ] {
        assert_eq!(worker(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn mounts_are_a_virtual_host_s_own_unless_they_are_copied() {
    let text = format!(
        "{TWO}JkMount /main/* one\n<VirtualHost *:80>\nServerName a\n</VirtualHost>\n\
         <VirtualHost *:80>\nServerName b\nJkMountCopy On\nJkMount /own/* lb\n</VirtualHost>"
    );
    let of = |config: &Config, server: usize| -> Vec<String> {
        config.servers[server].conf.jk.mounts.iter().map(|mount| mount.path.to_string()).collect()
    };
    let config = built(&text);
    assert_eq!(of(&config, 0), ["/main/*"]);
    assert_eq!(of(&config, 1), [""; 0]);
    assert_eq!(of(&config, 2), ["/main/*", "/own/*"]);
    assert!(config.servers[2].conf.jk.worker("lb").is_some());
    assert_eq!(of(&built(&format!("JkMountCopy All\n{text}")), 1), ["/main/*"]);
}

#[test]
fn rules_of_a_mount_stand_behind_its_worker() {
    let config = built(&format!(
        "{TWO}JkMount /x lb;reply_timeout=250;use_server_errors=500;sticky_ignore=1;fail_on_status=503,-404"
    ));
    let rule = &config.servers[0].conf.jk.mounts[0].rule;
    assert_eq!((rule.timeout, rule.own_errors), (Some(Duration::from_millis(250)), Some(500)));
    assert_eq!((rule.ignores_sessions, &rule.fail_on_status[..]), (true, &[503][..]));
    assert!(refusal(&format!("{TWO}JkMount /x lb;disabled=one")).contains("not supported"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (text, why) in [
        ("JkWorkerProperty worker.list=a\nJkWorkerProperty worker.a.type=jni", "type=jni"),
        ("JkWorkerProperty worker.list=a\nJkWorkerProperty worker.a.port=x", "not a number"),
        ("JkWorkerProperty worker.list=a\nJkWorkerProperty worker.a.type=lb", "no members"),
        (
            "JkWorkerProperty worker.list=a\nJkWorkerProperty worker.a.type=lb\nJkWorkerProperty worker.a.balance_workers=b",
            "its member b has no settings",
        ),
        ("JkMount app lb", "slash"),
        ("JkMount lb", "needs a URL-path"),
        ("<Location /a>\nJkMount /a lb\n</Location>", "the Location's is meant"),
        ("<VirtualHost *:80>\nJkWorkerProperty worker.list=a\n</VirtualHost>", "belong to the whole server"),
        ("JkOptions +Nonsense", "unknown option"),
        ("JkOptions -ForwardURIProxy", "not supported"),
        ("JkHTTPSIndicator MY_HTTPS", "mod_ssl's variable HTTPS"),
        ("JkWorkersFile nowhere", "cannot read"),
        // In a circle.
        (
            "JkWorkerProperty worker.list=a\nJkWorkerProperty worker.a.reference=worker.a\nJkWorkerProperty worker.a.type=x",
            "type=x",
        ),
    ] {
        assert!(refusal(text).contains(why), "{text}: {}", refusal(text));
    }
}
