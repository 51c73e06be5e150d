//! mod_alias's actions, in cases that were tried with Apache 2.4 first.

use super::request::{Answer, Request, Translated, redirect_early, redirect_late, translate};
use crate::{Config, DirConfig};
use hostler_expr::{Answer as Fact, Captures, Host, Variable};
use std::borrow::Cow;

struct Path<'a>(&'a [u8]);

impl Host for Path<'_> {
    fn variable(&self, variable: Variable) -> Fact<Option<Cow<'_, [u8]>>> {
        Fact::Ready((variable == Variable::RequestUri).then_some(Cow::Borrowed(self.0)))
    }

    fn request_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn response_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn request_env<'a>(&'a self, _name: &[u8], _captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        None
    }
}

fn config(text: &str) -> Config {
    Config::build(&crate::read_text(text, "/etc/apache2").expect(text)).expect(text)
}

/// Returns the settings for a path: those of the Location sections whose path is its first component.
fn dir(config: &Config, path: &str) -> DirConfig {
    let main = config.main();
    let first = path.split('/').find(|part| !part.is_empty()).unwrap_or("-");
    let fits = |title: &str| title.contains(&format!(" /{first}>"));
    let sections = main.locations.iter().filter(|section| fits(&section.title));
    sections.fold(DirConfig::clone(&main.defaults), |dir, section| dir.merge(&section.conf))
}

/// A redirect as `status location`, `relative` in front of a path that lacks scheme and host.
fn redirected(config: &Config, url: &str) -> String {
    let (path, query) =
        url.split_once('?').map_or((url, None), |(path, query)| (path, Some(query.as_bytes())));
    let (dir, host) = (dir(config, path), Path(path.as_bytes()));
    let request = Request { path: path.as_bytes(), query, host: &host };
    let early = redirect_early(&config.main().conf.alias, &dir.alias, request).unwrap();
    match early.or_else(|| redirect_late(&dir.alias, request).unwrap()) {
        None => "-".into(),
        Some(Answer::Status(status)) => status.to_string(),
        Some(Answer::Broken(_)) => "broken".into(),
        Some(Answer::Location { status, url, relative }) => {
            let scheme = if relative { "relative " } else { "" };
            format!("{status} {scheme}{}", String::from_utf8_lossy(&url))
        }
    }
}

const REDIRECTS: &str = r#"
Redirect 404 /r404
RedirectMatch 404 ^/rm404
Redirect gone /gone
Redirect /plain http://other/base
Redirect 301 /slash/ /else/
RedirectMatch 302 ^/m/(.*)$ http://o.example:80/x%20y/$1?k=$1#f\$1
RedirectMatch ^/n/(.*)\.x$ /n2/$1
RedirectMatch ^/rel$ foo/bar
Redirect 305 /use http://h/q?own=1
RedirectPermanent /perm /p2
RedirectTemp /temp /t2
<Location /ld>
Redirect 301 http://ld/%{REQUEST_URI}?x
</Location>
<Location /le>
Redirect gone
</Location>
<Location /lf>
Redirect http://lf/a%20b/
</Location>
<Location /lg>
Redirect /lg/x http://lg/
RedirectRelative On
</Location>
<Location /lh>
RedirectRelative On
Redirect /newlh
</Location>
<Location /li>
Redirect 404
</Location>
"#;

#[test]
fn redirects() {
    let config = config(REDIRECTS);
    for (url, expected) in [
        ("/r404", "404"),
        ("/r404/x", "404"),
        ("/r404x", "-"),
        ("/rm404x", "404"),
        ("/gone", "410"),
        ("/plain", "302 http://other/base"),
        ("/plain/a b%c;x~y?z=1", "302 http://other/base/a%20b%25c;x~y?z=1"),
        ("/plainx", "-"),
        ("//slash///a", "301 relative /else/a"),
        ("/slash", "-"),
        ("/m/a b?z=1", "302 http://o.example/x%2520y/a%20b?k=a b#f$1"),
        ("/m/a\nb", "302 http://o.example/x%2520y/a%0ab?k=a%0ab#f$1"),
        ("/n/a&b.x?q", "302 relative /n2/a&b?q"),
        ("/rel", "broken"),
        ("/use/x?y", "305 http://h/q?own=1/x"),
        ("/perm", "301 relative /p2"),
        ("/temp/x", "302 relative /t2/x"),
        ("/ld/z?y", "301 http://ld//ld/z?x"),
        ("/le", "410"),
        ("/lf/x", "302 http://lf/a%2520b/"),
        ("/lg/x/y?q", "302 http://lg//y?q"),
        ("/lh/a?b", "302 /newlh?b"),
        ("/li", "404"),
        ("*", "-"),
    ] {
        assert_eq!(redirected(&config, url), expected, "{url}");
    }
}

const ALIASES: &str = r#"
Alias /a1 /www/p
Alias /a2/ /www/p/
Alias /a3/ /www/p
AliasMatch ^/am(.*) /www/p$1
ScriptAlias /cgit/ "/usr/lib/cgit/cgit.cgi/"
Alias /rel sub/dir
<Location /la>
Alias /www/p
</Location>
<Location /lb>
Alias /www/p
AliasPreservePath On
</Location>
<Location /lc>
ScriptAlias /www/%{REQUEST_URI}
</Location>
"#;

#[test]
fn translations() {
    let config = config(ALIASES);
    let context = |prefix, root| Some((prefix, root));
    for (path, expected) in [
        ("/a1/q/f.txt", Some(("/www/p/q/f.txt", context("/a1", "/www/p"), None))),
        ("//a1//q/f.txt", Some(("/www/p/q/f.txt", context("/a1", "/www/p"), None))),
        ("/a2/q", Some(("/www/p/q", context("/a2/", "/www/p/"), None))),
        ("/a2", None),
        ("/a3/q", Some(("/www/pq", context("/a3/", "/www/p"), None))),
        ("/am/q", Some(("/www/p/q", None, None))),
        (
            "/cgit/repo/log",
            Some((
                "/usr/lib/cgit/cgit.cgi/repo/log",
                context("/cgit/", "/usr/lib/cgit/cgit.cgi/"),
                Some("cgi-script"),
            )),
        ),
        ("/rel/x", Some(("/etc/apache2/sub/dir/x", context("/rel", "sub/dir"), None))),
        ("/la/q", Some(("/www/p", None, None))),
        ("/lb/q", Some(("/www/p/q", context("/lb", "/www/p"), None))),
        ("/lc/q", Some(("/www/lc/q", None, Some("cgi-script")))),
        ("/other", None),
    ] {
        let (dir, host) = (dir(&config, path), Path(path.as_bytes()));
        let request = Request { path: path.as_bytes(), query: None, host: &host };
        let expected = expected.map(|(filename, context, handler)| Translated {
            filename: filename.as_bytes().to_vec(),
            context,
            handler,
        });
        assert_eq!(translate(&config.main().conf.alias, &dir.alias, request).unwrap(), expected, "{path}");
    }
}

#[test]
fn mistakes() {
    for text in [
        "Alias /x",
        "<Location /x>\nAlias /x /y\n</Location>",
        "<Directory /x>\nAlias /y\n</Directory>",
        "AliasMatch ( /x",
        "Redirect soon /x http://y/",
        "Redirect 999 /x http://y/",
        "Redirect /x y",
        "Redirect 301",
        "Redirect gone /x http://y/",
        "RedirectMatch 301 ^/x",
        "RedirectTemp /x",
    ] {
        let tree = crate::read_text(text, "/etc/apache2").expect(text);
        assert!(Config::build(&tree).is_err(), "{text}");
    }
}

#[test]
fn a_virtual_hosts_aliases_come_first() {
    let text = "Alias /x /main\nAlias /y /main\n<VirtualHost *:80>\nAlias /x /own\n</VirtualHost>";
    let config = config(text);
    let targets: Vec<_> = config.servers[1].conf.alias.aliases.iter().map(|alias| &*alias.target).collect();
    assert_eq!(targets, ["/own", "/main", "/main"]);
}
