//! The bytes of a request.

use crate::load::plan::Target;

/// One for each host that is to be asked.
pub(super) fn all(target: &Target, keep_alive: bool) -> Vec<Box<[u8]>> {
    if target.hosts.is_empty() {
        return vec![one(target, &target.host, keep_alive)];
    }
    target.hosts.iter().map(|host| one(target, host, keep_alive)).collect()
}

fn one(target: &Target, host: &str, keep_alive: bool) -> Box<[u8]> {
    let method = if target.form.is_some() { "POST" } else { "GET" };
    let mut text =
        format!("{method} {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: hostler-lab\r\n", target.path);
    text.push_str("Accept: */*\r\n");
    if !keep_alive {
        text.push_str("Connection: close\r\n");
    }
    if let Some(form) = &target.form {
        text.push_str("Content-Type: application/x-www-form-urlencoded\r\n");
        text.push_str(&format!("Content-Length: {}\r\n\r\n{form}", form.len()));
    } else {
        text.push_str("\r\n");
    }
    text.into_bytes().into()
}
