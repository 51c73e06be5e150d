//! `ServletApp` in a configuration: which application answers, what is refused, and what an examination finds.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::{Config, read_text};
use hostler_servlet_technique::{SERVER, SERVLET, Server};

fn built(text: &str) -> Result<Config, Vec<String>> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let tree = read_text(text, "/srv").unwrap();
    Config::build(&tree).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn an_application_answers_below_its_path() {
    let text = "ServletApp / root.war\nServletApp /shop/ /w/shop heap=64m jvm=-Xint threads=7 parameter=a:b=c\n\
                <VirtualHost *>\nServletApp /shop/new x.war reloadable=on java-home=/opt/java/\n</VirtualHost>";
    let config = built(text).unwrap();
    let main = config.main().conf.part(&SERVER);
    let path = |server: &Server, url: &str| server.find(url.as_bytes()).map(|app| app.path.to_string());
    for (url, expected) in
        [("/", "/srv/root.war"), ("/shop", "/w/shop"), ("/shop/a", "/w/shop"), ("/shopping", "/srv/root.war")]
    {
        assert_eq!(path(main, url).as_deref(), Some(expected), "{url}");
    }
    let host = config.servers[1].conf.part(&SERVER);
    for (url, expected) in
        [("/shop/new/x", "/srv/x.war"), ("/shop/newer", "/w/shop"), ("/x", "/srv/root.war")]
    {
        assert_eq!(path(host, url).as_deref(), Some(expected), "{url}");
    }
    let shop = main.find(b"/shop").unwrap();
    assert_eq!((shop.heap, shop.threads, shop.jvm.len()), (Some(64 << 20), Some(7), 1));
    assert_eq!(shop.parameters, [("a".into(), "b=c".into())]);
    assert_eq!(host.find(b"/shop/new").unwrap().java_home.as_deref(), Some("/opt/java"));
    assert_eq!(Server::default().find(b"/"), None);
}

#[test]
fn what_is_wrong_is_told() {
    for (line, why) in [
        ("ServletApp /shop", "needs a URL-path and"),
        ("ServletApp shop x.war", "not a valid application path"),
        ("ServletApp /a/../b x.war", "not a valid application path"),
        ("ServletApp /a//b x.war", "not a valid application path"),
        ("ServletApp \"/a b\" x.war", "not a valid application path"),
        ("ServletApp /web-inf x.war", "not a valid application path"),
        ("ServletApp /a x.war\nServletApp /a/ y.war", "is already mapped to"),
        ("ServletApp /a x.war heap=64", "heap: needs"),
        ("ServletApp /a x.war heap=m", "heap: needs"),
        ("ServletApp /a x.war java-home=jdk", "absolute"),
        ("ServletApp /a x.war descriptor=a.xml", "absolute"),
        ("ServletApp /a x.war jvm=Xint", "begins with -"),
        ("ServletApp /a x.war threads=0", "from 1 to"),
        ("ServletApp /a x.war parameter=a", "a colon"),
        ("ServletApp /a x.war nothing=1", "unknown parameter \"nothing\""),
        ("ServletApp /a x.war\nIsolation fork", "cannot fork"),
        ("ServletApp /a x.war\n<Location /a/b>\nIsolation exec\n</Location>", "cannot fork"),
        ("ServletApp / x.war\n<Location /b>\nIsolation exec\n</Location>", "cannot fork"),
    ] {
        let errors = built(line).err().unwrap_or_default();
        assert!(errors.len() == 1 && errors[0].contains(why), "{line}: {errors:?}");
    }
    for line in [
        "ServletApp /a x.war\nIsolation persistent",
        "ServletApp /a x.war\n<Location /b>\nIsolation fork\n</Location>",
    ] {
        assert_eq!(built(line).err(), None, "{line}");
    }
}

#[test]
fn one_virtual_machine_has_one_java() {
    let examine = SERVLET.applications.unwrap().examine;
    let found = |homes: [&str; 2]| {
        let [one, other] = homes;
        examine(&built(&format!("ServletApp /a a.war {one}\nServletApp /b b.war {other}")).unwrap(), |_| None)
    };
    assert_eq!(found(["java-home=/opt/a", "java-home=/opt/a"]), []);
    assert_eq!(found(["java-home=/opt/a", ""]), []);
    let why = found(["java-home=/opt/a", "java-home=/opt/b"]);
    assert!(why.len() == 1 && why[0].0.line == 2 && why[0].1 == "ServletApp", "{why:?}");
}

#[test]
fn a_program_that_cannot_run_is_told_with_the_first_application() {
    let config = built("ServletApp /a a.war").unwrap();
    let found = (SERVLET.applications.unwrap().examine)(&config, |name| Some(format!("{name}: no Java")));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0.line, found[0].1, &*found[0].2), (1, "ServletApp", "servlet: no Java"));
}
