//! Apache's expressions: parsed, then evaluated against an imagined request.

use super::host::Host;
use crate::Dice;
use hostler_expr::{Captures, Expr, FileAccess, Flags, GlobMode, Kind, Regex, RegexOptions, Subnet, glob_matches};
use std::net::{IpAddr, Ipv4Addr};

/// The input is an expression; also read as a pattern, a regular expression and a subnet.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut dice = Dice::of(data);
    let host = Host::new(dice.clone());
    let flags = Flags {
        files: if dice.one_in(2) { FileAccess::Full } else { FileAccess::Nothing },
        ssi: dice.one_in(2),
        ssl_compat: dice.one_in(4),
        ..Flags::default()
    };
    for kind in [Kind::Boolean, Kind::String] {
        match Expr::parse(&text, kind, flags) {
            Ok(expr) => evaluate(&expr, &host),
            Err(error) => assert!(error.position() <= text.len(), "{error}"),
        }
    }
    let (pattern, subject) = data.split_at(data.len() / 2);
    for mode in [GlobMode::Path, GlobMode::AnythingIgnoreCase] {
        let _ = glob_matches(pattern, subject, mode);
    }
    if let Ok(regex) = Regex::new(&text, RegexOptions::default()) {
        let mut captures = Captures::new();
        let _ = regex.capture(subject, &mut captures);
        let _ = captures.expand(pattern);
    }
    if let Ok(subnet) = Subnet::parse(&text) {
        let _ = subnet.contains(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
}

fn evaluate(expr: &Expr, host: &Host) {
    let mut captures = Captures::new();
    for _ in 0..3 {
        let _ = expr.test(host, &mut captures);
        let _ = expr.string(host, &captures);
    }
    let _ = (expr.vary_headers(), expr.literal(), captures.group(9));
}
