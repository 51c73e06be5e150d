//! The page of `balancer-manager`: tables of balancers and members in mod_proxy_balancer's columns, and the form for what
//! is selected. Programs read it, so fields, columns and their order are an interface.

use super::{Managed, Selection};
use crate::module::status::{self, auto::state};
use crate::request::Request;
use crate::request::settings;
use crate::request::variables::{absolute_url, server_name};
use hostler_config::directives::alias::escape_path;
use hostler_config::directives::proxy::checks::{Check, CheckMethod, INTERVAL};
use hostler_config::directives::proxy::parameters::Method;
use hostler_gateway::upstream::{States, Upstream};
use std::fmt::Write;

const STYLE: &str = "table{border-collapse:collapse;background:white;text-align:center}\
    th,td{border:1px dotted gray;padding:2px}th{background:lightgray}";

/// The states of a form, in the order in which they are shown; the last but one is that of checks.
const STATES: [(&str, char, Option<States>); 7] = [
    ("Ignore Errors", 'I', Some(States::IGNORE_ERRORS)),
    ("Draining Mode", 'N', Some(States::DRAIN)),
    ("Disabled", 'D', Some(States::DISABLED)),
    ("Hot Standby", 'H', Some(States::HOT_STANDBY)),
    ("Hot Spare", 'R', Some(States::HOT_SPARE)),
    ("HC Fail", 'C', None),
    ("Stopped", 'S', Some(States::STOPPED)),
];

pub(super) fn text(request: &Request, all: &[Managed<'_>], selection: Option<Selection<'_>>) -> String {
    let has_checks = all.iter().any(has_checks);
    let mut out = String::with_capacity(4096);
    head(&mut out, request);
    let path = String::from_utf8_lossy(&escape_path(&request.target.uri)).into_owned();
    for managed in all {
        one(&mut out, managed, &path, has_checks);
    }
    if let Some(selection) = selection {
        let action = String::from_utf8_lossy(&absolute_url(request, path.as_bytes())).into_owned();
        match selection.member {
            Some(member) => member_form(&mut out, selection.balancer, member, &action, has_checks),
            None => balancer_form(&mut out, selection.balancer, &action),
        }
    }
    out.push_str("</body></html>\n");
    out
}

fn head(out: &mut String, request: &Request) {
    let name = escaped(&String::from_utf8_lossy(&server_name(request)));
    let proxy = &request.server.conf.proxy;
    let inherited = |what: &str, setting: Option<bool>| {
        let not = if setting == Some(false) { " NOT" } else { "" };
        format!("<dt>{what} are{not} inherited from main server.</dt>")
    };
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html><head><title>Balancer Manager</title>\n<style>{STYLE}</style>\n</head>\n\
         <body><h1>Load Balancer Manager for {name}</h1>\n\n<dl><dt>Server Version: {}</dt>\n\
         <dt>Server Built: {}</dt>\n<dt>Balancer changes will NOT be persisted on restart.</dt>{}{}</dl>\n<hr />\n",
        escaped(settings::product(&request.server)),
        escaped(&status::built()),
        inherited("Balancers", proxy.inherit_balancers),
        inherited("ProxyPass settings", proxy.inherit),
    );
}

fn one(out: &mut String, managed: &Managed<'_>, path: &str, has_checks: bool) {
    let name = escaped(managed.balancer.name());
    let nonce = escaped(&managed.label.nonce);
    let link = format!("{}?b={}", escaped(path), escaped(&in_query(managed.balancer.name())));
    let parameters = managed.parameters();
    let members = managed.balancer.members();
    let _ = write!(
        out,
        "<h3>LoadBalancer Status for <a href=\"{link}&amp;nonce={nonce}\">balancer://{name}</a> [{name}]</h3>\n\
         <table><tr><th>MaxMembers</th><th>StickySession</th><th>DisableFailover</th><th>Timeout</th>\
         <th>FailoverAttempts</th><th>Method</th><th>Path</th><th>Active</th></tr>\n\
         <tr><td>{0} [{0} Used]</td>\n<td>{1}</td><td>{2}</td>\n<td>{3}</td><td>{4}</td>\n<td>{5}</td>\n<td>{6}</td>\n\
         <td>Yes</td>\n</tr>\n</table>\n<br />\n<table><tr>{7}</tr>\n",
        members.len(),
        sticky(&parameters.sticky).map_or_else(|| " (None) ".to_owned(), |names| escaped(&names)),
        on(managed.balancer.no_failover()),
        parameters.timeout.unwrap_or_default().as_secs(),
        managed.max_attempts(&parameters),
        crate::technique::upstreams::method_name(managed.balancer.method()),
        escaped(managed.path.unwrap_or_default()),
        columns(has_checks),
    );
    for (member, config) in members.iter().zip(&managed.config.members) {
        let to = format!("{link}&amp;w={}&amp;nonce={nonce}", escaped(&in_query(member.name())));
        row(out, member, &to, has_checks.then_some(&config.worker.parameters.check));
    }
    out.push_str("</table>\n<hr />\n");
}

fn columns(has_checks: bool) -> String {
    let usual = [
        "Worker URL",
        "Route",
        "RouteRedir",
        "Factor",
        "Set",
        "Status",
        "Elected",
        "Busy",
        "Load",
        "To",
        "From",
    ];
    let of_checks = ["HC Method", "HC Interval", "Passes", "Fails", "HC uri", "HC Expr"];
    let shown = usual.into_iter().chain(of_checks.into_iter().filter(|_| has_checks));
    shown.map(|title| format!("<th>{title}</th>")).collect()
}

fn row(out: &mut String, member: &Upstream, to: &str, check: Option<&Check>) {
    let [busy, chosen, _, sent, received] = member.figures();
    let routes = member.routes();
    let _ = write!(
        out,
        "<tr>\n<td><a href=\"{to}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{chosen}</td>\
         <td>{busy}</td><td>{}</td><td>{}</td><td>{}</td>",
        escaped(member.name()),
        escaped(&routes.own),
        escaped(&routes.redirect),
        factor(member),
        member.set(),
        state(member),
        member.score(),
        size(sent),
        size(received),
    );
    if let Some(check) = check {
        let _ = write!(
            out,
            "<td>{}</td><td>{}ms</td><td>{} (0)</td><td>{} (0)</td><td>{}</td><td>{}</td>",
            method(check.method),
            check.interval.unwrap_or(INTERVAL).as_millis(),
            check.passes.unwrap_or(1),
            check.fails.unwrap_or(1),
            escaped(check.uri.as_deref().unwrap_or_default()),
            escaped(check.expr.as_deref().unwrap_or_default()),
        );
    }
    out.push_str("</tr>\n");
}

fn member_form(out: &mut String, managed: &Managed<'_>, member: &Upstream, action: &str, has_checks: bool) {
    let routes = member.routes();
    let _ = write!(
        out,
        "<h3>Edit worker settings for {}</h3>\n{}<table>\
         <tr><td>Load factor:</td><td><input name='w_lf' id='w_lf' type=text value='{}'></td></tr>\n\
         <tr><td>LB Set:</td><td><input name='w_ls' id='w_ls' type=text value='{}'></td></tr>\n\
         <tr><td>Route:</td><td><input name='w_wr' id='w_wr' type=text value=\"{}\"></td></tr>\n\
         <tr><td>Route Redirect:</td><td><input name='w_rr' id='w_rr' type=text value=\"{}\"></td></tr>\n",
        escaped(member.name()),
        form(action),
        factor(member),
        member.set(),
        escaped(&routes.own),
        escaped(&routes.redirect),
    );
    let shown = || STATES.into_iter().filter(|(.., state)| has_checks || state.is_some());
    let titles: String = shown().map(|(title, ..)| format!("<th>{title}</th>")).collect();
    let _ = write!(out, "<tr><td>Status:</td><td><table><tr>{titles}</tr>\n<tr>");
    for (_, letter, state) in shown() {
        let is_on = state.map_or(member.has_failed_checks(), |state| member.states().has(state));
        let _ = writeln!(out, "<td>{}</td>", radio(&format!("w_status_{letter}"), is_on));
    }
    let _ = write!(
        out,
        "</tr></table></td></tr>\n<tr><td colspan='2'><input type=submit value='Submit'></td></tr>\n</table>\n\
         <input type=hidden name='w' id='w' value=\"{}\">\n",
        escaped(member.name())
    );
    form_end(out, managed);
}

fn balancer_form(out: &mut String, managed: &Managed<'_>, action: &str) {
    let parameters = managed.parameters();
    let chosen = crate::technique::upstreams::method_name(managed.balancer.method());
    let option = |(name, _): (&str, Method)| {
        let selected = if name == chosen { " selected" } else { "" };
        format!("<option value='{name}'{selected}>{name}\n")
    };
    let _ = write!(
        out,
        "<h3>Edit balancer settings for balancer://{}</h3>\n{}<table>\n<tr><td>LBmethod:</td><td>\n\
         <select name='b_lbm' id='b_lbm'>{}</select>\n</td></tr>\n\
         <tr><td>Timeout:</td><td><input name='b_tmo' id='b_tmo' type=text value='{}'></td></tr>\n\
         <tr><td>Failover Attempts:</td><td><input name='b_max' id='b_max' type=text value='{}'></td></tr>\n\
         <tr><td>Disable Failover:</td><td>{}</td>\n</tr>\n\
         <tr><td>Sticky Session:</td><td><input name='b_ss' id='b_ss' size=64 type=text value =\"{}\"> \
         (Use '-' to delete)</td></tr>\n<tr><td colspan=2><input type=submit value='Submit'></td></tr>\n</table>\n",
        escaped(managed.balancer.name()),
        form(action),
        Method::NAMES.map(option).concat(),
        parameters.timeout.unwrap_or_default().as_secs(),
        managed.max_attempts(&parameters),
        radio("b_sforce", managed.balancer.no_failover()),
        escaped(&sticky(&parameters.sticky).unwrap_or_default()),
    );
    form_end(out, managed);
}

fn form(action: &str) -> String {
    let action = escaped(action);
    format!("<form method='POST' enctype='application/x-www-form-urlencoded' action=\"{action}\">\n")
}

fn form_end(out: &mut String, managed: &Managed<'_>) {
    let _ = write!(
        out,
        "<input type=hidden name='b' id='b' value=\"{}\">\n\
         <input type=hidden name='nonce' id='nonce' value='{}'>\n</form>\n<hr />\n",
        escaped(managed.balancer.name()),
        escaped(&managed.label.nonce),
    );
}

fn radio(name: &str, is_on: bool) -> String {
    let button = |value: u8, title: &str, is_checked: bool| {
        let checked = if is_checked { " checked" } else { "" };
        format!(
            "<label for='{name}{value}'>{title}</label> <input name='{name}' id='{name}{value}' value='{value}' \
             type=radio{checked}>"
        )
    };
    format!("{} <br/> {}", button(1, "On", is_on), button(0, "Off", !is_on))
}

/// Returns whether a member is checked.
fn has_checks(managed: &Managed<'_>) -> bool {
    let is_checked = |method: Option<CheckMethod>| !matches!(method, None | Some(CheckMethod::None));
    managed.config.members.iter().any(|member| is_checked(member.worker.parameters.check.method))
}

fn method(of: Option<CheckMethod>) -> String {
    match of {
        None | Some(CheckMethod::None) => "NONE".to_owned(),
        Some(CheckMethod::Tcp) => "TCP".to_owned(),
        Some(CheckMethod::Cping) => "CPING".to_owned(),
        Some(CheckMethod::Http(name, is_11)) => format!("{name}{}", if is_11 { "11" } else { "" }),
    }
}

fn sticky(names: &Option<(Box<str>, Box<str>)>) -> Option<String> {
    let (cookie, parameter) = names.as_ref()?;
    Some(if cookie == parameter { cookie.to_string() } else { format!("{cookie}|{parameter}") })
}

pub(super) const fn on(is_on: bool) -> &'static str {
    if is_on { "On" } else { "Off" }
}

/// `loadfactor` with two digits.
pub(super) fn factor(member: &Upstream) -> String {
    format!("{:.2}", f64::from(member.load_factor()) / 100.0)
}

/// A number of bytes in four places, as `apr_strfsize` writes it.
fn size(bytes: u64) -> String {
    const UNITS: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];
    if bytes < 973 {
        return format!("{bytes:3} ");
    }
    let (mut whole, mut unit) = (bytes, 0);
    loop {
        let rest = whole & 1023;
        whole >>= 10;
        if whole >= 973 {
            unit += 1;
            continue;
        }
        if whole < 9 || (whole == 9 && rest < 973) {
            let tenths = (rest * 5 + 256) / 512;
            let (whole, tenths) = if tenths >= 10 { (whole + 1, 0) } else { (whole, tenths) };
            return format!("{whole}.{tenths}{}", UNITS[unit]);
        }
        return format!("{:3}{}", if rest >= 512 { whole + 1 } else { whole }, UNITS[unit]);
    }
}

/// Escapes a value for a query: what a path may have, but none of the signs that separate fields.
fn in_query(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ if b"-._~/:@!$*'(),".contains(&byte) => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    };
    text.bytes().map(one).collect()
}

/// For a page in any character set.
pub(super) fn escaped(text: &str) -> String {
    let html = String::from_utf8_lossy(&hostler_cgi::escape_html(text.as_bytes())).into_owned();
    let one = |c: char| if c.is_ascii() { c.to_string() } else { format!("&#{};", u32::from(c)) };
    html.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_four_places() {
        let sizes = [
            (0, "  0 "),
            (972, "972 "),
            (973, "1.0K"),
            (1536, "1.5K"),
            (10 << 10, " 10K"),
            (5 << 20, "5.0M"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn values_stay_one_field_of_a_query() {
        assert_eq!(in_query("unix:/s|http://a:1/b&c=d"), "unix:/s%7chttp://a:1/b%26c%3dd");
    }

    #[test]
    fn texts_are_escaped_for_every_character_set() {
        assert_eq!(escaped("<\u{e4}\">"), "&lt;&#228;&quot;&gt;");
    }
}
