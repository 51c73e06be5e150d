//! Access, for `hostler explain`: whether it is granted or denied for all requests, and by which lines, or what it
//! depends on. In the front's order.

use hostler_config::directives::authz::Verdict;
use hostler_perl_frames::Phase;

use super::About;
use super::steps::Line;

/// Phases in which Perl may decide, with what they do.
const DECIDING: [(Phase, &str); 3] = [
    (Phase::Access, "PerlAccessHandler"),
    (Phase::Authen, "PerlAuthenHandler"),
    (Phase::Authz, "PerlAuthzHandler"),
];

/// Phases before those, in which Perl may add rules and handlers to a request.
const BEFORE: [(Phase, &str); 4] = [
    (Phase::PostReadRequest, "PerlPostReadRequestHandler"),
    (Phase::Trans, "PerlTransHandler"),
    (Phase::MapToStorage, "PerlMapToStorageHandler"),
    (Phase::HeaderParser, "PerlHeaderParserHandler"),
];

pub(crate) fn lines(about: &About<'_>) -> Vec<String> {
    let dir = &about.merged.dir;
    let (settled, conditional) = about.merged.lines.split_at(about.merged.conditional);
    let require = last_section(settled, |name| name.starts_with("Require"), dir.authz.merging.is_some());
    let allow = last_section(settled, is_of_compat, false);
    let by_require = dir.authz.static_verdict();
    let by_address = if dir.access_compat.is_set() { dir.access_compat.static_answer() } else { Some(true) };
    let any = dir.access_compat.satisfies_any("GET");
    let mut said = Vec::new();
    let tls = about.url.tls.unwrap_or(false);
    if dir.ssl.require_ssl == Some(true) && !tls {
        said.push("denied: the URL is not https:// (SSLRequireSSL)".to_owned());
    }
    let both = [&require[..], &allow[..]].concat();
    said.push(match (by_require, by_address) {
        (Some(Verdict::Granted), Some(true)) if both.is_empty() => "granted: nothing restricts it".to_owned(),
        (Some(Verdict::Granted), Some(true)) => format!("granted to everybody{}", by(&both)),
        (_, Some(false)) if !any => format!("denied to everybody{}", by(&allow)),
        (Some(verdict), _) if verdict != Verdict::Granted && !any => {
            format!("denied to everybody{}", by(&require))
        }
        _ => format!(
            "depends on the request{}{}",
            if any { " (one of both is enough: Satisfy any)" } else { "" },
            by(&both)
        ),
    });
    if dir.core.allow_methods.is_some()
        && let Some(line) = settled.iter().rfind(|line| line.directive == "AllowMethods")
    {
        said.push(format!("only by some methods: AllowMethods {} ({})", line.args, line.place));
    }
    for (phase, directive) in DECIDING {
        for name in dir.perl.handlers.of(phase) {
            said.push(format!("and {directive} {name} has a say"));
        }
    }
    let server = &about.server.conf.perl.handlers;
    for (phase, directive) in BEFORE {
        for name in server.of(phase).iter().chain(dir.perl.handlers.of(phase)) {
            said.push(format!("but {directive} {name} is called before and may add rules of its own"));
        }
    }
    let is_guard = |line: &&Line| line.directive.starts_with("Require") || is_of_compat(line.directive);
    if let Some(line) = conditional.iter().find(is_guard) {
        said.push(format!(
            "but a condition may say otherwise: {} {} ({})",
            line.directive, line.args, line.place
        ));
    }
    said.iter()
        .enumerate()
        .map(|(at, line)| format!("{:<11}{line}", if at == 0 { "access" } else { "" }))
        .collect()
}

fn is_of_compat(name: &str) -> bool {
    matches!(name, "Order" | "Allow" | "Deny" | "Satisfy")
}

/// Such lines of the last section that has any, whose rules replace those from further out; of all, where they are
/// `merged`.
fn last_section(lines: &[Line], is_meant: impl Fn(&str) -> bool, merged: bool) -> Vec<&Line> {
    let meant = || lines.iter().filter(|line| is_meant(line.directive));
    let last = meant().map(|line| line.step).max();
    meant().filter(|line| merged || Some(line.step) == last).collect()
}

fn by(lines: &[&Line]) -> String {
    let shown = lines
        .iter()
        .map(|line| format!("{} {} ({})", line.directive, line.args, line.place).replace("  ", " "));
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { String::new() } else { format!(": {}", shown.join(", ")) }
}
