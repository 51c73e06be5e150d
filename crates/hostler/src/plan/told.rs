//! The lines for the operator once the server serves: its addresses, and its logs.

use hostler_config::{Config, Listen};
use hostler_sys::process;
use std::path::Path;

use super::Roles;
use super::logs;

/// As many addresses as one wants to read in a line.
const SHOWN: usize = 8;

/// For `hostler run`.
pub(crate) fn of_files(file: &Path, config: &Config) -> Vec<String> {
    let mut urls: Vec<String> = config.process.listen.iter().map(|listen| url(config, listen)).collect();
    urls.dedup();
    let more = urls.len().saturating_sub(SHOWN);
    urls.truncate(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let hosts = match config.servers.len() - 1 {
        0 => String::new(),
        1 => " (1 virtual host)".to_owned(),
        hosts => format!(" ({hosts} virtual hosts)"),
    };
    vec![
        format!("hostler: serving {}{hosts} on {}{more}", file.display(), urls.join(" ")),
        format!("hostler: {}", logs(config)),
    ]
}

/// For `hostler serve`.
pub(crate) fn of_directory(served: &Path, config: &Config, roles: &Roles) -> Vec<String> {
    let urls: Vec<String> = config.process.listen.iter().map(|listen| url(config, listen)).collect();
    let user = match roles.sites.first() {
        Some(site) if process::is_root() => format!(", programs as {}", site.name),
        _ => String::new(),
    };
    vec![
        format!("hostler: serving {} on {}{user}", served.display(), urls.join(" ")),
        format!("hostler: {}", logs(config)),
    ]
}

/// Returns the URL for a browser.
fn url(config: &Config, listen: &Listen) -> String {
    let here = |port: Option<u16>| port.is_none_or(|port| port == listen.port);
    let speaks_tls = config.servers.iter().any(|server| {
        let reached =
            server.addresses.is_empty() || server.addresses.iter().any(|address| here(address.port));
        reached && server.conf.ssl.is_on()
    });
    let scheme = if listen.protocol == "https" || speaks_tls { "https" } else { "http" };
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = if listen.port == usual { String::new() } else { format!(":{}", listen.port) };
    match listen.ip {
        Some(ip) if !ip.is_unspecified() && ip.is_ipv6() => format!("{scheme}://[{ip}]{port}/"),
        Some(ip) if !ip.is_unspecified() => format!("{scheme}://{ip}{port}/"),
        _ => format!("{scheme}://localhost{port}/ (all addresses)"),
    }
}

fn logs(config: &Config) -> String {
    let main = config.main();
    let mut access: Vec<String> = main.conf.log_config.logs().iter().map(|log| target(&log.target)).collect();
    access.dedup();
    let access =
        if access.is_empty() { String::new() } else { format!(", requests to {}", access.join(" and ")) };
    let own = config.servers[1..].iter().any(|server| {
        let own = |name| server.settings.iter().any(|setting| setting.directive == name);
        own("ErrorLog") || own("CustomLog") || own("TransferLog")
    });
    let own = if own { "; virtual hosts have logs of their own" } else { "" };
    format!("errors are logged to {}{access}{own}", target(&logs::error_log(config, main)))
}

fn target(target: &str) -> String {
    match target {
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => "stderr".to_owned(),
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => "stdout".to_owned(),
        target => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &str) -> Vec<String> {
        hostler_techniques::install().ok().unwrap();
        let tree = hostler_config::read_text(lines, "/srv").ok().unwrap();
        of_files(Path::new("/etc/httpd.conf"), &Config::build(&tree).ok().unwrap())
    }

    #[test]
    fn addresses_and_logs_are_told() {
        assert_eq!(
            told("Listen 80\nListen 127.0.0.1:8080\nListen [::1]:81\nErrorLog /dev/stderr"),
            [
                "hostler: serving /etc/httpd.conf on http://localhost/ (all addresses) http://127.0.0.1:8080/ http://[::1]:81/",
                "hostler: errors are logged to stderr"
            ]
        );
        let tls = "<VirtualHost *:8443>\nSSLEngine on\nSSLCertificateFile x\nErrorLog own\n</VirtualHost>";
        assert_eq!(
            told(&format!(
                "Listen 127.0.0.1:8443\nListen 127.0.0.1:443 https\nCustomLog logs/a common\n{tls}"
            )),
            [
                "hostler: serving /etc/httpd.conf (1 virtual host) on https://127.0.0.1:8443/ https://127.0.0.1/",
                "hostler: errors are logged to /srv/logs/error_log, requests to /srv/logs/a; virtual hosts have logs of their own"
            ]
        );
        let many: String = (1..=10).map(|port| format!("Listen 127.0.0.1:{port}\n")).collect();
        assert!(told(&many)[0].ends_with("http://127.0.0.1:8/ and 2 more"));
    }
}
