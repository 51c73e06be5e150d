//! The configuration that applies to a request, as a worker is told of it: encoded once, then named by number.

use super::state::HasPerl;
use crate::module::cgi;
use crate::request::Request;
use crate::request::settings;
use crate::technique::directories::{Directories, EncodedSettings, tell_limits};
use crate::technique::pools::Engines;
use hostler_config::directives::authz::Requirement;
use hostler_config::directives::authz::{Condition, Groups, Rule, Words};
use hostler_config::directives::core::{OptionBits, Options};
use hostler_config::directives::perl::layers_text;
use hostler_config::{DirConfig, Overrides, Server};
use hostler_expr::Captures;
use hostler_perl_frames::{Directory, Phase, directory_flag};
use hostler_perl_technique::psgi;
use std::cell::RefCell;
use std::rc::Rc;

/// Configurations remembered per thread, and the bytes of their messages.
const MAX: usize = 4096;
const MAX_BYTES: usize = 16 << 20;

/// The functions that answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Programs {
    /// The configured functions.
    Configured,
    /// The request's file, as a script of `Isolation fork`.
    File,
}

/// The function that runs a script in a process of its own.
const SCRIPT: &str = "Hostler::Script";

/// The same of configurations to which programs have added something: there may be as many as requests.
const MAX_ADDED: usize = 64;

/// The settings that distinguish several of one configuration.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    programs: Programs,
    /// `Satisfy` in a `<Limit>` is some methods'; and whether it stands there at all.
    satisfy: (bool, bool),
    /// A realm that follows from the request.
    realm: Option<String>,
}

impl Kind {
    fn of(request: &Request, programs: Programs) -> Self {
        let dir = &request.resource.dir;
        let method = String::from_utf8_lossy(&request.target.method);
        let access = &dir.access_compat;
        Self {
            programs,
            satisfy: (access.satisfies_any(&method), access.says_satisfy(&method)),
            realm: if has_own_realm(request) { realm(request) } else { None },
        }
    }
}

/// Returns whether AuthName depends on the request, so that the settings sent to workers are for this request alone.
pub(super) fn has_own_realm(request: &Request) -> bool {
    request.resource.dir.auth.realm.as_ref().is_some_and(|realm| realm.literal().is_none())
}

/// AuthName.
fn realm(request: &Request) -> Option<String> {
    let host = crate::request::expr_host::RequestHost::new(request);
    let text = request.resource.dir.auth.realm.as_ref()?.string(&host, &Captures::new()).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

type All = RefCell<Directories<Kind>>;

thread_local! {
    static KNOWN: All = RefCell::new(Directories::new(MAX, MAX_BYTES));
    static ADDED: All = RefCell::new(Directories::new(MAX_ADDED, MAX_BYTES));
}

/// The configuration of a request.
pub(super) fn known(request: &Request, programs: Programs) -> Rc<EncodedSettings> {
    let all = if request.progress().additions > 0 { &ADDED } else { &KNOWN };
    all.with_borrow_mut(|known| {
        known.of(&request.resource.dir, request.server.id, Kind::of(request, programs), || {
            tell_limits(request);
            directory(request, programs).encode()
        })
    })
}

fn directory(request: &Request, programs: Programs) -> Directory {
    let (server, dir) = (&request.server, &request.resource.dir);
    let (perl, psgi) = (&dir.perl, dir.part(&psgi::DIR));
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let method = String::from_utf8_lossy(&request.target.method);
    Directory {
        flags: perl.options.flags() | others(dir, &method),
        handlers: handlers(server, dir, programs),
        vars: perl.vars.iter().map(owned).collect(),
        env: perl.env.iter().map(|(name, value)| owned((name, value))).collect(),
        allow_options: options(dir.core.options),
        overrides: dir.core.allow_override.map_or(OR_UNSET, |allow| overrides(allow.classes)),
        override_options: match dir.core.allow_override {
            Some(allow) if allow.options != OptionBits::EVERY => bits(|bit| allow.options.contains(bit)),
            _ => EVERY_OPTION,
        },
        // An application is mounted where it is named, whatever else is said of Perl further in.
        location: match psgi.app {
            Some(_) => psgi.location.as_deref().map(str::to_owned),
            None => perl.location.as_deref().map(str::to_owned),
        },
        auth_name: realm(request),
        auth_type: dir.auth.type_name.as_deref().map(str::to_owned),
        requires: dir.authz.root.as_deref().map(requires).unwrap_or_default(),
        satisfy_any: dir.access_compat.satisfies_any(&method),
        psgi_app: psgi.app.as_deref().map(str::to_owned),
        signature: cgi::lasting_signature(request),
        server: request.thread.shared.of::<Engines>().place(server, super::engine(request)),
        limit_request_body: dir.core.limit_request_body.unwrap_or(1 << 30),
        default_charset: settings::default_charset(dir).map(str::to_owned),
        layers: (!perl.layers.is_empty()).then(|| layers_text(&perl.layers)),
    }
}

/// Flags of other modules' directives.
fn others(dir: &DirConfig, method: &str) -> u32 {
    let pass_auth = if dir.core.cgi_pass_auth == Some(true) { directory_flag::PASS_AUTH } else { 0 };
    let satisfy = if dir.access_compat.says_satisfy(method) { directory_flag::SATISFY_SET } else { 0 };
    pass_auth | satisfy
}

fn handlers(server: &Server, dir: &DirConfig, programs: Programs) -> Vec<(Phase, Vec<String>)> {
    if programs == Programs::File {
        return vec![(Phase::Response, vec![SCRIPT.to_owned()])];
    }
    let all = server.conf.perl.handlers.iter().chain(dir.perl.handlers.iter());
    all.map(|(phase, names)| (phase, names.iter().map(ToString::to_string).collect())).collect()
}

/// `OR_UNSET`: `AllowOverride` was never said.
const OR_UNSET: u32 = 32;
/// All of Apache's `OPT_` bits: what `AllowOverride` permits without a list of options.
const EVERY_OPTION: u32 = 255;

/// Apache's `OPT_` bits.
fn options(options: Options) -> u32 {
    bits(|bit| options.contains(bit))
}

fn bits(has: impl Fn(OptionBits) -> bool) -> u32 {
    let bits = [
        (OptionBits::INDEXES, 1),
        (OptionBits::INCLUDES, 2),
        (OptionBits::FOLLOW_SYM_LINKS, 4),
        (OptionBits::EXEC_CGI, 8),
        (OptionBits::INCLUDES_EXEC, 32),
        (OptionBits::SYM_LINKS_IF_OWNER_MATCH, 64),
        (OptionBits::MULTI_VIEWS, 128),
    ];
    bits.into_iter().filter(|(bit, _)| has(*bit)).fold(0, |all, (_, bit)| all | bit)
}

/// Apache's `OR_` bits.
fn overrides(classes: Overrides) -> u32 {
    let bits = [
        (Overrides::LIMIT, 1),
        (Overrides::OPTIONS, 2),
        (Overrides::FILE_INFO, 4),
        (Overrides::AUTH_CONFIG, 8),
        (Overrides::INDEXES, 16),
    ];
    bits.into_iter().filter(|(class, _)| classes.intersects(*class)).fold(0, |all, (_, bit)| all | bit)
}

/// The Require lines, as they would be written.
fn requires(rule: &Rule) -> Vec<String> {
    match &rule.condition {
        Condition::Section(_, rules) => rules.iter().flat_map(|rule| requires(rule)).collect(),
        Condition::Require(requirement) if !rule.negated => vec![text(requirement)],
        Condition::Require(requirement) => vec![format!("not {}", text(requirement))],
    }
}

fn text(requirement: &Requirement) -> String {
    let words = |name: &str, words: &[Box<str>]| format!("{name} {}", words.join(" "));
    match requirement {
        Requirement::All(true) => "all granted".to_owned(),
        Requirement::All(false) => "all denied".to_owned(),
        Requirement::Env(names) => words("env", names),
        Requirement::Method(names) => words("method", names),
        Requirement::User(Words::Plain(names)) => words("user", names),
        Requirement::Group(Words::Plain(names), groups) => words(group(groups), names),
        Requirement::Host(Words::Plain(names)) => words("host", names),
        Requirement::ForwardDns(Words::Plain(names)) => words("forward-dns", names),
        Requirement::User(_) => "user".to_owned(),
        Requirement::Group(_, groups) => group(groups).to_owned(),
        Requirement::FileOwner => "file-owner".to_owned(),
        Requirement::FileGroup(Groups::File | Groups::OwnFile(_)) => "file-group".to_owned(),
        Requirement::FileGroup(_) => "dbm-file-group".to_owned(),
        Requirement::Host(_) => "host".to_owned(),
        Requirement::ForwardDns(_) => "forward-dns".to_owned(),
        Requirement::Expr { .. } => "expr".to_owned(),
        Requirement::ValidUser => "valid-user".to_owned(),
        Requirement::Ip(_) => "ip".to_owned(),
        Requirement::Local => "local".to_owned(),
        Requirement::Ssl => "ssl".to_owned(),
        Requirement::SslVerifyClient => "ssl-verify-client".to_owned(),
        Requirement::OldProgram { name, words } | Requirement::Program { name, words, .. } => {
            format!("{name} {words}").trim_end().to_owned()
        }
    }
}

fn group(groups: &Groups) -> &'static str {
    match groups {
        Groups::File | Groups::OwnFile(_) => "group",
        Groups::Dbm | Groups::OwnDbm(_) => "dbm-group",
        Groups::Script => "wsgi-group",
    }
}
