//! The logic of Require, and of Order, Allow, Deny: who may pass.

use super::*;
use crate::directives::access_compat;
use crate::{Config, DirConfig};
use hostler_expr::{Answer, Captures, Host, Variable};
use std::borrow::Cow;
use std::net::IpAddr;

/// A request; what is not known yet is pending.
#[derive(Clone, Copy)]
struct Client {
    method: &'static str,
    user: Option<&'static str>,
    ip: &'static str,
    name: Option<Option<&'static str>>,
    env: &'static [&'static str],
}

const CLIENT: Client = Client { method: "GET", user: None, ip: "10.1.2.3", name: None, env: &["SET"] };

impl Facts for Client {
    fn method(&self) -> &str {
        self.method
    }

    fn user(&self) -> Option<&str> {
        self.user
    }

    fn has_env(&self, name: &str) -> bool {
        self.env.contains(&name)
    }

    fn client_ip(&self) -> IpAddr {
        self.ip.parse().unwrap()
    }

    fn local_ip(&self) -> IpAddr {
        "10.0.0.1".parse().unwrap()
    }

    fn is_encrypted(&self) -> bool {
        false
    }

    fn has_valid_certificate(&self) -> bool {
        false
    }

    fn client_name(&self) -> Answer<Option<Cow<'_, str>>> {
        self.name.map_or(Answer::Pending, |name| Answer::Ready(name.map(Cow::Borrowed)))
    }

    fn addresses(&self, name: &str) -> Answer<Vec<IpAddr>> {
        match name {
            "here" => Answer::Ready(vec!["10.1.2.3".parse().unwrap()]),
            "there" => Answer::Ready(Vec::new()),
            _ => Answer::Pending,
        }
    }

    fn program(&self, function: &str, words: &str) -> Answer<u16> {
        match function {
            "My::Program" => words.parse().map_or(Answer::Pending, Answer::Ready),
            _ => Answer::Pending,
        }
    }

    fn is_member(&self, group: &str, groups: &Groups) -> Answer<bool> {
        let is = match groups {
            Groups::File => group == "staff" && self.user == Some("ann"),
            Groups::OwnFile(path) => &**path == "/etc/own" && group == "own",
            Groups::Dbm | Groups::OwnDbm(_) => group == "dbm",
            Groups::Script => group == "script",
        };
        Answer::Ready(is)
    }

    fn owners(&self) -> Answer<Owners<'_>> {
        Answer::Ready(Owners { user: Some("ann".into()), group: Some("staff".into()) })
    }

    fn expression_host(&self) -> &dyn Host {
        self
    }
}

impl Host for Client {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(match variable {
            Variable::RemoteUser => self.user.map(|user| Cow::Borrowed(user.as_bytes())),
            Variable::RequestMethod => Some(Cow::Borrowed(self.method.as_bytes())),
            _ => None,
        })
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

/// Returns the settings of `<Directory /x>` with these lines, and within it of each further list of lines.
fn dir(levels: &[&str]) -> Result<DirConfig, String> {
    let mut path = String::new();
    let mut text = String::new();
    for lines in levels {
        path.push_str("/x");
        text.push_str(&format!("<Directory {path}>\n{lines}\n</Directory>\n"));
    }
    let tree = crate::read_text(&text, "/etc/apache2").map_err(|errors| format!("{errors:?}"))?;
    let config = Config::build(&tree).map_err(|errors| format!("{errors:?}"))?;
    Ok(config.main().directories.iter().fold(DirConfig::default(), |dir, section| dir.merge(&section.conf)))
}

fn verdict(levels: &[&str], client: Client) -> Verdict {
    dir(levels).unwrap().authz.verdict(&client).unwrap()
}

#[test]
fn conditions() {
    let ann = Client { user: Some("ann"), ..CLIENT };
    let head = Client { method: "HEAD", ..CLIENT };
    let named = Client { name: Some(Some("a.b.example.org")), ..CLIENT };
    let six = Client { ip: "::ffff:127.0.0.1", ..CLIENT };
    use Verdict::{Denied, DeniedNoUser, Granted};
    for (line, client, expected) in [
        ("all granted", CLIENT, Granted),
        ("all Denied", CLIENT, Denied),
        ("ip 10", CLIENT, Granted),
        ("ip 192.168 10.1.2.0/24", CLIENT, Granted),
        ("ip 10.2", CLIENT, Denied),
        ("local", CLIENT, Denied),
        ("local", six, Granted),
        ("local", Client { ip: "10.0.0.1", ..CLIENT }, Granted),
        ("env OTHER SET", CLIENT, Granted),
        ("env OTHER", CLIENT, Denied),
        ("method POST", head, Denied),
        ("method GET", head, Granted),
        ("host example.org", named, Granted),
        ("host .example.org", named, Granted),
        ("host xample.org", named, Denied),
        ("host B.EXAMPLE.ORG", named, Granted),
        ("host b.example", Client { name: Some(None), ..CLIENT }, Denied),
        ("forward-dns there here", CLIENT, Granted),
        ("forward-dns there", CLIENT, Denied),
        ("user ann bob", CLIENT, DeniedNoUser),
        ("user ann bob", ann, Granted),
        ("user bob \"an n\"", ann, Denied),
        ("user %{REMOTE_USER}", ann, Granted),
        ("group users staff", ann, Granted),
        ("group users", ann, Denied),
        ("valid-user", ann, Granted),
        ("valid-user", CLIENT, DeniedNoUser),
        ("expr %{REMOTE_USER} == 'ann'", CLIENT, DeniedNoUser),
        ("expr \"%{REMOTE_USER} == 'ann'\"", ann, Granted),
        ("expr %{REQUEST_METHOD} == 'POST'", CLIENT, Denied),
        ("ssl", CLIENT, Denied),
    ] {
        assert_eq!(verdict(&[&format!("Require {line}")], client), expected, "{line}");
    }
}

#[test]
fn containers() {
    let ann = Client { user: Some("ann"), ..CLIENT };
    use Verdict::{Denied, DeniedNoUser, Granted};
    for (lines, client, expected) in [
        ("Require all denied\nRequire ip 10", CLIENT, Granted),
        ("Require all denied\nRequire valid-user", CLIENT, DeniedNoUser),
        ("Require valid-user\nRequire all denied", CLIENT, DeniedNoUser),
        ("<RequireAll>\nRequire ip 10\nRequire env SET\n</RequireAll>", CLIENT, Granted),
        ("<RequireAll>\nRequire ip 10\nRequire env NO\n</RequireAll>", CLIENT, Denied),
        ("<RequireAll>\nRequire valid-user\nRequire ip 9\n</RequireAll>", CLIENT, Denied),
        ("<RequireAll>\nRequire ip 10\nRequire valid-user\n</RequireAll>", CLIENT, DeniedNoUser),
        ("<RequireAll>\nRequire all granted\nRequire not ip 10.1\n</RequireAll>", CLIENT, Denied),
        ("<RequireAll>\nRequire all granted\nRequire not ip 11\n</RequireAll>", CLIENT, Granted),
        ("<RequireAll>\nRequire valid-user\nRequire not user ann\n</RequireAll>", ann, Denied),
        (
            "<RequireAll>\nRequire all granted\n<RequireNone>\nRequire ip 11\nRequire env SET\n</RequireNone>\n</RequireAll>",
            CLIENT,
            Denied,
        ),
        (
            "<RequireAll>\nRequire all granted\n<RequireNone>\nRequire ip 11\n</RequireNone>\n</RequireAll>",
            CLIENT,
            Granted,
        ),
        (
            "<RequireAny>\nRequire ip 11\n<RequireAll>\nRequire ip 10\nRequire env SET\n</RequireAll>\n</RequireAny>",
            CLIENT,
            Granted,
        ),
        ("<LimitExcept POST>\nRequire all denied\n</LimitExcept>", CLIENT, Denied),
        ("", CLIENT, Granted),
    ] {
        assert_eq!(verdict(&[lines], client), expected, "{lines}");
    }
}

#[test]
fn directories_merge() {
    use Verdict::{Denied, Granted};
    for (levels, expected) in [
        (&["Require all denied", "Require all granted"][..], Granted),
        (&["Require all denied", "AuthzSendForbiddenOnFailure On"], Denied),
        (&["Require all denied", "AuthMerging Off"], Granted),
        (&["Require ip 10", "AuthMerging And\nRequire env NO"], Denied),
        (&["Require ip 10", "AuthMerging And\nRequire env SET"], Granted),
        (&["Require ip 11", "AuthMerging Or\nRequire env SET"], Granted),
        (&["Require ip 11", "AuthMerging Or\nRequire env NO"], Denied),
    ] {
        assert_eq!(verdict(levels, CLIENT), expected, "{levels:?}");
    }
}

/// Each row was tried on Apache 2.4: GET, POST, PUT; true where it lets the request pass.
#[test]
fn rules_for_some_methods() {
    let post = |lines: &str| format!("<Limit POST>\n{lines}\n</Limit>");
    let put = |lines: &str| format!("<Limit PUT>\n{lines}\n</Limit>");
    let all = |lines: &str| format!("<RequireAll>\n{lines}\n</RequireAll>");
    let any = |lines: &str| format!("<RequireAny>\n{lines}\n</RequireAny>");
    let none = |lines: &str| format!("<RequireNone>\n{lines}\n</RequireNone>");
    let (granted, denied) = ("Require all granted", "Require all denied");
    let both = |one: &str, other: &str| format!("{one}\n{other}");
    for (lines, expected) in [
        (post(denied), [true, false, true]),
        (post(granted), [true, true, true]),
        (format!("<LimitExcept GET>\n{denied}\n</LimitExcept>"), [true, false, false]),
        (format!("<Limit HEAD>\n{denied}\n</Limit>"), [false, true, true]),
        (both(&post(denied), &put(granted)), [true, false, true]),
        (both(denied, &post(granted)), [false, true, false]),
        (both(&post(granted), denied), [false, true, false]),
        (both(granted, &post(denied)), [true, true, true]),
        (post(&all(&both(granted, "Require not ip 10"))), [true, false, true]),
        (all(&both(granted, &post(denied))), [true, false, true]),
        (all(&both(granted, &post("Require not all granted"))), [true, false, true]),
        (all(&post(denied)), [true, false, true]),
        (any(&post(denied)), [true, false, true]),
        (any(&both(denied, &post(granted))), [false, true, false]),
        (all(&both(granted, &none(&post(granted)))), [true, false, true]),
        (all(&both(granted, &any(&post(granted)))), [true, true, true]),
        (any(&all(&post(granted))), [true, true, true]),
        (all(&both(denied, &post(&any(granted)))), [false, false, false]),
    ] {
        assert_eq!(passing(&[&lines]), expected, "{lines}");
        let constant = dir(&[&lines]).unwrap().authz.static_verdict();
        assert_eq!(constant, None, "differs by method: {lines}");
    }
}

/// As above, for rules of two directories.
#[test]
fn rules_for_some_methods_merge() {
    let base = "<Limit POST>\nRequire all denied\n</Limit>";
    for (levels, expected) in [
        (&[base, "AuthMerging And\n<Limit PUT>\nRequire all denied\n</Limit>"][..], [true, false, false]),
        (&[base, "AuthMerging Or\n<Limit PUT>\nRequire all denied\n</Limit>"], [true, false, false]),
        (&[base, "AuthMerging And\nRequire all granted"], [true, false, true]),
        (&[base, "AuthMerging Or\nRequire all denied"], [false, false, false]),
        (&[base, "<Limit PUT>\nRequire all denied\n</Limit>"], [true, true, false]),
        (&[base, "AuthMerging Or"], [true, false, true]),
        (&["Require all denied", "AuthMerging And\n<Limit PUT>\nRequire all granted\n</Limit>"], [false; 3]),
        (
            &["Require all denied", "AuthMerging Or\n<Limit PUT>\nRequire all granted\n</Limit>"],
            [false, false, true],
        ),
    ] {
        assert_eq!(passing(levels), expected, "{levels:?}");
    }
}

/// Returns whether GET, POST and PUT may pass.
fn passing(levels: &[&str]) -> [bool; 3] {
    ["GET", "POST", "PUT"].map(|method| verdict(levels, Client { method, ..CLIENT }) == Verdict::Granted)
}

#[test]
fn what_every_request_gets() {
    for (lines, expected) in [
        ("", Some(Verdict::Granted)),
        ("Require all denied", Some(Verdict::Denied)),
        ("Require all denied\nRequire all granted", Some(Verdict::Granted)),
        ("Require ip 10", None),
        ("<Limit GET>\nRequire all granted\n</Limit>", None),
    ] {
        assert_eq!(dir(&[lines]).unwrap().authz.static_verdict(), expected, "{lines}");
    }
}

#[test]
fn what_is_not_known_yet() {
    let dir = dir(&["Require host example.org"]).unwrap();
    assert_eq!(dir.authz.verdict(&CLIENT), Err(Stop::Pending(Need::ClientName)));
}

#[test]
fn decisions() {
    let on = Dir { forbidden_on_failure: Some(true), ..Dir::default() };
    let off = Dir::default();
    for (verdict, logged_in, has_type, dir, expected) in [
        (Verdict::Granted, false, false, &off, Decision::Allow),
        (Verdict::DeniedNoUser, false, true, &off, Decision::Authenticate),
        (Verdict::DeniedNoUser, true, true, &off, Decision::Unauthorized),
        (Verdict::Denied, false, true, &off, Decision::Forbidden),
        (Verdict::Neutral, false, false, &off, Decision::Forbidden),
        (Verdict::Denied, true, true, &off, Decision::Unauthorized),
        (Verdict::Denied, true, true, &on, Decision::Forbidden),
        (Verdict::Denied, true, false, &off, Decision::Forbidden),
    ] {
        assert_eq!(decide(verdict, logged_in, has_type, dir), expected, "{verdict:?} {logged_in}");
    }
}

#[test]
fn mistakes() {
    for lines in [
        "Require",
        "Require not",
        "Require foo",
        "Require all",
        "Require all granted x",
        "Require ip",
        "Require ip 1.2.3.4/40",
        "Require ip 300.1",
        "Require expr (",
        "Require method FOO",
        "Require not ip 1.2.3.4",
        "<RequireAny>\nRequire not ip 1\n</RequireAny>",
        "<RequireNone>\nRequire ip 1\n</RequireNone>",
        "<RequireAll>\n</RequireAll>",
        "<RequireAll>\nRequire not ip 1\n</RequireAll>",
        "AuthMerging Maybe",
        "Order allow, deny",
        "Order none",
        "Allow all",
        "Allow from",
        "Allow from 1.2.3.4/99",
        "Deny from 300.1",
        "Deny from foo/8",
        "Satisfy some",
    ] {
        assert!(dir(&[lines]).is_err(), "{lines}");
    }
    assert!(Config::build(&crate::read_text("Require all granted", "/").unwrap()).is_err());
}

#[test]
fn allow_and_deny() {
    let named = Client { name: Some(Some("www.example.org")), ..CLIENT };
    let post = Client { method: "POST", ..CLIENT };
    for (lines, client, expected) in [
        ("", CLIENT, true),
        ("Deny from all", CLIENT, false),
        ("Order allow,deny", CLIENT, false),
        ("Order allow,deny\nAllow from all", CLIENT, true),
        ("Order allow,deny\nAllow from 10\nDeny from 10.1", CLIENT, false),
        ("Order deny,allow\nDeny from all\nAllow from 10.1.2.3", CLIENT, true),
        ("Order Deny,Allow\nDeny from all\nAllow from 10.1.2.4 11", CLIENT, false),
        ("Order mutual-failure\nAllow from 10", CLIENT, true),
        ("Order mutual-failure\nDeny from env=SET\nAllow from 10", CLIENT, false),
        ("Deny from env=!SET", CLIENT, true),
        ("Deny from all\nAllow from example.org", named, true),
        ("Deny from all\nAllow from ample.org", named, false),
        ("<Limit POST>\nDeny from all\n</Limit>", CLIENT, true),
        ("<Limit POST>\nDeny from all\n</Limit>", post, false),
        ("<LimitExcept GET>\nOrder allow,deny\n</LimitExcept>", CLIENT, true),
        ("<LimitExcept GET>\nOrder allow,deny\n</LimitExcept>", post, false),
    ] {
        assert_eq!(dir(&[lines]).unwrap().access_compat.allows(&client), Ok(expected), "{lines}");
    }
}

#[test]
fn a_section_of_its_own_discards_the_older_language() {
    let merged = dir(&["Order allow,deny\nSatisfy any", "Allow from all"]).unwrap();
    assert_eq!(merged.access_compat.order("GET"), access_compat::Order::DenyAllow);
    assert!(!merged.access_compat.satisfies_any("GET"));
    assert_eq!(dir(&["Deny from all"]).unwrap().access_compat.static_answer(), Some(false));
    assert_eq!(dir(&["Deny from 10"]).unwrap().access_compat.static_answer(), None);
    assert_eq!(dir(&[""]).unwrap().access_compat.static_answer(), Some(true));
}
