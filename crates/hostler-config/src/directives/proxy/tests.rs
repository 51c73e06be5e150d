use super::pass::{RequestUrl, Verdict, encoded};
use super::url::Url;
use super::*;
use crate::{Config, read_text};

fn config(text: &str) -> Config {
    Config::build(&read_text(text, "/nowhere").unwrap()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn error(text: &str) -> String {
    let errors = Config::build(&read_text(text, "/nowhere").unwrap()).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].to_string()
}

fn passed(text: &str, path: &str) -> Option<String> {
    let config = config(text);
    let (server, dir) = (&config.main().conf.proxy, &config.main().defaults.proxy);
    let asked =
        RequestUrl { path: path.as_bytes(), raw: path.as_bytes(), variable: &|_| Some(b"v".to_vec()) };
    for pass in &server.passes {
        match pass.apply(dir, asked).unwrap() {
            Verdict::No => {}
            Verdict::Never => return None,
            Verdict::To { url, .. } => return Some(String::from_utf8(url).unwrap()),
        }
    }
    None
}

#[test]
fn urls_of_servers() {
    let url = Url::parse("HTTP://Example.ORG:8080/A?b").unwrap();
    assert_eq!(
        (&*url.host, url.port(), &*url.path, url.base()),
        ("example.org", 8080, "/A?b", "http://example.org:8080".to_owned())
    );
    let unix = Url::parse("unix:/run/x.sock|http://localhost/a").unwrap();
    assert_eq!(
        (unix.unix.as_deref(), unix.to_string()),
        (Some("/run/x.sock"), "unix:/run/x.sock|http://localhost/a".into())
    );
    assert_eq!(Url::parse("http://[::1]:80").unwrap().base(), "http://[::1]");
    for bad in [
        "/x",
        "http:/x",
        "http://a:0/",
        "http://a:99999/",
        "http://u@a/",
        "http://a b/",
        "unix:x|http://a",
        "unix:/x",
        "unix:/x|http",
        "http:",
    ] {
        assert!(Url::parse(bad).is_err(), "{bad}");
    }
    for program in ["fcgi://127.0.0.1:9000/srv/", "unix:/run/x|scgi://h", "uwsgi://h", "ajp://h/app"] {
        let url = Url::parse(program).unwrap();
        assert!(url.check().is_ok() && url.is_program(), "{program}");
    }
    for bad in ["ftp://a/", "connect://a/", "unknown://a/", "unix:/x|balancer://b"] {
        assert!(Url::parse(bad).unwrap().check().is_err(), "{bad}");
    }
}

#[test]
fn the_first_rule_that_matches_counts() {
    let text =
        "ProxyPass /a/b !\nProxyPass /a http://one/x\nProxyPass / http://two/\nProxyPass /c http://never/";
    assert_eq!(passed(text, "/a/b/c"), None);
    assert_eq!(passed(text, "/a/y"), Some("http://one/x/y".into()));
    assert_eq!(passed(text, "/c/d"), Some("http://two/c/d".into()));
    assert_eq!(passed("ProxyPass /a/ http://one/x/", "/a/y"), Some("http://one/x/y".into()));
    assert_eq!(passed("ProxyPass /a http://one", "/ab"), None);
}

#[test]
fn patterns_put_groups_in_or_the_whole_path() {
    assert_eq!(passed("ProxyPassMatch ^/(x.*)$ http://one/$1", "/xy"), Some("http://one/xy".into()));
    assert_eq!(passed(r"ProxyPassMatch \.gif$ http://one", "/a.gif"), Some("http://one/a.gif".into()));
    assert_eq!(passed(r"ProxyPassMatch \.gif$ !", "/a.gif"), None);
}

#[test]
fn variables_are_put_in_where_both_say_so() {
    let pass = "ProxyPass /a http://one/${X}/ interpolate";
    assert_eq!(passed(pass, "/a/b"), Some("http://one/${X}//b".into()));
    assert_eq!(
        passed(&format!("ProxyPassInterpolateEnv On\n{pass}"), "/a/b"),
        Some("http://one/v//b".into())
    );
}

#[test]
fn the_url_of_a_socket_needs_no_host() {
    let url = Url::parse("unix:/run/a.sock|http:").unwrap();
    assert_eq!(url.to_string(), "unix:/run/a.sock|http://localhost");
    assert_eq!(Url::parse("unix:/run/a.sock|http://localhost"), Ok(url));
}

#[test]
fn what_cannot_be_carried_out_stops_the_start() {
    for (text, why) in [
        ("ProxyPass /a", "needs a URL-path and a URL"),
        ("ProxyPass /a b", "is not a URL"),
        ("ProxyPass /a http:", "is not a URL"),
        ("ProxyPass /a http://a/ retry", "is not a parameter"),
        ("ProxyPass /a http://a/ retry=x", "retry"),
        ("ProxyPass /a http://a/ xyzzy=1", "unknown server parameter \"xyzzy\""),
        ("ProxyPass /a ! retry=1", "has no meaning after !"),
        ("ProxyPass /a http://a/ mapping=decoded", "decoded"),
        ("ProxyPass /a balancer://x lbmethod=heartbeat", "heartbeat"),
        ("ProxyPass /a balancer://x lbmethod=best", "lbmethod"),
        ("BalancerMember balancer://x http://a route=", "route"),
        ("BalancerMember balancer://x http://a loadfactor=101", "loadfactor"),
        ("BalancerMember balancer://x http://a status=+Q", "state"),
        ("BalancerMember http://x http://a", "is not a balancer"),
        ("BalancerMember balancer://x balancer://y", "member of another"),
        ("<Proxy *>\nProxySet retry=1\n</Proxy>", "applies to several backends"),
        ("<Proxy * retry=1>\n</Proxy>", "applies to several backends"),
        ("ProxyRequests On", "forward proxy"),
        ("ProxyRemote * http://x", "forward proxy"),
        ("<Directory /x>\nProxyPass http://a/\n</Directory>", "is only allowed in <Location>"),
        ("<Location /x>\nProxyPass /y http://a/\n</Location>", "takes no URL-path"),
        ("ProxyPass /a http://a/ hcmethod=POST", "hcmethod"),
        ("ProxyErrorOverride On 200", "200"),
        ("ProxyTimeout 0", "one second"),
        ("ProxyPassMatch ( http://a/", "ProxyPassMatch"),
    ] {
        let said = error(text);
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn servers_and_balancers_are_known_by_their_names() {
    let text = "<Proxy balancer://App>\nBalancerMember http://one:1 route=a loadfactor=2.5\n\
                BalancerMember http://two status=+H retry=5s\nProxySet stickysession=SID|sid lbmethod=bybusyness\n</Proxy>\n\
                ProxyPass / balancer://app/ nofailover=On\nProxyPass /x http://a/x timeout=3\n\
                ProxySet http://a/x connectiontimeout=500ms\n\
                <VirtualHost *:80>\nServerName v\nProxyPass /y http://b/\n</VirtualHost>";
    let config = config(text);
    let server = &config.main().conf.proxy;
    let balancer = server.balancer("app").unwrap();
    assert_eq!(balancer.members.len(), 2);
    assert_eq!(balancer.members[0].worker.parameters.load_factor, Some(250));
    assert_eq!(balancer.parameters.sticky.as_ref().unwrap().1.as_ref(), "sid");
    assert_eq!(balancer.parameters.no_failover, Some(true));
    let worker = server.worker(&Url::parse("http://a").unwrap(), b"/x/y").unwrap();
    assert_eq!(worker.parameters.timeout, Some(Duration::from_secs(3)));
    assert_eq!(worker.parameters.connect_timeout, Some(Duration::from_millis(500)));
    assert!(server.worker(&Url::parse("http://a").unwrap(), b"/z").is_none());
    let host = &config.servers[1].conf.proxy;
    assert!(Arc::ptr_eq(host.balancer("app").unwrap(), balancer), "a host shares what it does not change");
    assert_eq!(host.passes.len(), 3);
}

#[test]
fn paths_are_encoded_as_apache_does() {
    assert_eq!(encoded(b"/a b%c\xc3?/;x", false).unwrap(), b"/a%20b%25c%C3%3F/;x");
    assert_eq!(encoded(b"/a%2fb", true).unwrap(), b"/a%2fb");
    assert_eq!(encoded(b"/a%zz", true), None);
}

fn mapped(text: &str, url: &str) -> Option<String> {
    let config = config(text);
    let asked = reverse::ReverseFacts {
        variable: &|_| None,
        absolute: &|path| [b"http://here", path].concat(),
        member: Some("http://two:8080"),
    };
    let (dir, server) = (&config.main().defaults.proxy, &config.main().conf.proxy);
    reverse::location(dir, server, url.as_bytes(), asked).map(|url| String::from_utf8(url).unwrap())
}

#[test]
fn locations_are_this_server_s_again() {
    let text = "ProxyPassReverse /a http://one/x\nProxyPassReverse /b balancer://app\nProxyPassReverse /c /d\n\
                BalancerMember balancer://app http://two:8080";
    for (there, here) in [
        ("http://one/x/y?z", Some("http://here/a/y?z")),
        ("HTTP://ONE/x/y", Some("http://here/a/y")),
        ("http://one/y", None),
        ("http://two:8080/q", Some("http://here/b/q")),
        ("/d/e", Some("http://here/c/e")),
        ("/x", None),
    ] {
        assert_eq!(mapped(text, there).as_deref(), here, "{there}");
    }
}

#[test]
fn cookies_are_this_server_s_again() {
    let config =
        config("ProxyPassReverseCookiePath /x /a\nProxyPassReverseCookieDomain one.example www.example");
    let asked = reverse::ReverseFacts { variable: &|_| None, absolute: &|path| path.to_vec(), member: None };
    let dir = &config.main().defaults.proxy;
    for (there, here) in [
        ("a=b; path=/x/y; Secure", "a=b; path=/a; Secure"),
        ("a=b;Domain=ONE.example;Path=/z", "a=b;Domain=www.example;Path=/z"),
        ("path=/x; path=/x", "path=/x; path=/a"),
    ] {
        assert_eq!(reverse::cookie(dir, there.as_bytes(), asked), here.as_bytes(), "{there}");
    }
}

#[test]
fn a_ping_that_nobody_would_understand_is_warned_of() {
    for (line, is_warned) in [
        ("ProxyPass /a ajp://one:8009/ ping=1", false),
        ("ProxyPass /a http://one/ ping=1", false),
        ("ProxyPass /a fcgi://one:9000/ ping=1", true),
        ("BalancerMember balancer://b scgi://one:4000 ping=1", true),
    ] {
        let config = config(line);
        let found = config.warnings.iter().any(|warning| warning.message.contains("ping= has no effect"));
        assert_eq!(found, is_warned, "{line}");
    }
}

#[test]
fn a_virtual_host_s_proxy_pass_leads_to_the_main_server_s_balancer() {
    let config = config(
        "<Proxy balancer://x>\nBalancerMember http://a\nBalancerMember http://b\nProxySet lbmethod=bybusyness\n</Proxy>\n\
         <Proxy http://c/>\nProxySet timeout=5 retry=3\n</Proxy>\n\
         <VirtualHost *>\nServerName one\nProxyPass / balancer://x/\nProxyPass /c http://c/\n</VirtualHost>\n\
         <VirtualHost *>\nServerName two\nProxyPass / balancer://X/ stickysession=S\nProxyPass /c http://c/ retry=4\n</VirtualHost>",
    );
    let main = &config.main().conf.proxy;
    let (one, two) = (&config.servers[1].conf.proxy, &config.servers[2].conf.proxy);
    // The same one: what is known of its members is known in both.
    assert!(Arc::ptr_eq(one.balancer("x").unwrap(), main.balancer("x").unwrap()));
    let own = two.balancer("x").unwrap();
    assert_eq!(own.members.len(), 2);
    assert!(
        own.parameters.sticky.is_some()
            && own.parameters.method == main.balancer("x").unwrap().parameters.method
    );
    let url = Url::parse("http://c/").unwrap();
    let of = |server: &Server| server.worker(&url, b"/").unwrap().parameters.clone();
    assert_eq!(of(one), of(main));
    assert_eq!((of(two).timeout, of(two).retry), (of(main).timeout, Some(Duration::from_secs(4))));
}
