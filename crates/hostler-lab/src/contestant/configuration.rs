//! Configurations: a prologue for each server, then the site's text, the same for all that read Apache's language.

use super::apache::Apache;
use super::kind::Kind;
use super::users::{second_user, site_user};
use super::{SERVER_USER, Site};
use rustix::process::geteuid;
use std::fmt::Write;
use std::path::Path;

/// The files and address of one start of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) port: u16,
    /// For a second server behind it.
    pub(super) second: u16,
    /// Configuration and logs: kept.
    pub(super) folder: &'a Path,
    /// Sockets and temporary files: short, and removed.
    pub(super) run: &'a Path,
}

/// The whole text of a server's configuration; empty for those that have none.
pub(super) fn text(kind: Kind, site: &Site, place: Place<'_>) -> String {
    let own = site.own.get(kind.name()).map_or("", String::as_str);
    let apache = site.own.get("apache").map_or("", String::as_str);
    let text = match kind {
        Kind::Hostler => {
            let user = if geteuid().is_root() && !site.names_users { ASSIGN } else { "" };
            let text = format!("{COMMON}{user}{}{}\n{own}\n", environment(site), site.configuration);
            site.workers.map_or_else(|| text.clone(), |workers| with_pool_of(&text, workers))
        }
        Kind::ApachePrefork | Kind::ApacheEvent | Kind::ApacheItk => {
            let rest = format!("{}{}\n{apache}\n{own}\n", environment(site), site.configuration);
            let user = if kind == Kind::ApacheItk && !site.names_users { ASSIGN } else { "" };
            let workers = site.workers.map_or_else(String::new, of_workers);
            format!("{}{COMMON}{}{user}{rest}{workers}", modules(kind, &rest), pool(kind))
        }
        // What others than the server behind answer is none of it: they may not bear threads.
        Kind::ApacheAjp | Kind::ApacheFpm => format!("{}{COMMON}{}{own}\n", modules(kind, own), pool(kind)),
        Kind::HostlerAjp => {
            let user = if geteuid().is_root() { ASSIGN } else { "" };
            format!("{COMMON}{user}{own}\n")
        }
        Kind::Nginx | Kind::NginxFpm => nginx(own, site.own.get("nginx-http").map_or("", String::as_str)),
        Kind::Starman | Kind::Gunicorn | Kind::Uvicorn | Kind::Granian | Kind::GranianAsgi | Kind::Tomcat => {
            String::new()
        }
    };
    filled(&text, kind, site, place)
}

/// Replaces what stands for places and users.
pub(super) fn filled(text: &str, kind: Kind, site: &Site, place: Place<'_>) -> String {
    text.replace("@IDENTITY@", &identity(kind, site))
        .replace("@LOGS@", &place.folder.to_string_lossy())
        .replace("@RUN@", &place.run.to_string_lossy())
        .replace("@PORT@", &place.port.to_string())
        .replace("@SECOND_PORT@", &place.second.to_string())
        .replace("@SITE_USER@", &format!("#{}", site_user()))
        .replace("@SECOND_USER@", &format!("#{}", second_user()))
        .replace(WORKERS, "")
        .replace("@ROOT@", &site.root.to_string_lossy())
}

/// A pool of exactly so many. What is said last stands.
fn of_workers(workers: u32) -> String {
    format!(
        "StartServers {workers}\nMinSpareServers {workers}\nMaxSpareServers {workers}\nMaxRequestWorkers {workers}\n"
    )
}

/// The same for Hostler, where virtual hosts have pools of their own too.
fn with_pool_of(text: &str, workers: u32) -> String {
    let lines = of_workers(workers);
    text.replace(WORKERS, &lines) + &lines
}

/// The mark that a pool's size replaces.
const WORKERS: &str = "@WORKERS@\n";

/// The directives for the identity of the server's processes. Without a user for each site, the server itself runs as
/// the site's user, so that programs may write the site's files.
fn identity(kind: Kind, site: &Site) -> String {
    if !geteuid().is_root() || site.names_users {
        return String::new();
    }
    let user = match kind {
        Kind::Hostler | Kind::HostlerAjp => SERVER_USER,
        _ => site_user(),
    };
    format!("User \"#{user}\"\nGroup \"#{user}\"")
}

/// Variables for programs of every kind: `SetEnv` for CGI, `PerlSetEnv` for Perl's handlers.
fn environment(site: &Site) -> String {
    let mut lines = String::new();
    for (name, value) in &site.environment {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        // Can't fail: it is a String.
        let _ = write!(
            lines,
            "SetEnv {name} \"{value}\"\n<IfModule mod_perl.c>\nPerlSetEnv {name} \"{value}\"\n</IfModule>\n"
        );
    }
    lines
}

fn modules(kind: Kind, configuration: &str) -> String {
    let first: &[&str] = match kind {
        Kind::ApacheEvent | Kind::ApacheAjp | Kind::ApacheFpm => &["mpm_event", "cgid"],
        Kind::ApacheItk => &["mpm_prefork", "mpm_itk", "cgi"],
        _ => &["mpm_prefork", "cgi"],
    };
    Apache::find().map_or_else(String::new, |apache| apache.load(first, configuration))
}

fn pool(kind: Kind) -> &'static str {
    match kind {
        Kind::ApacheEvent | Kind::ApacheAjp | Kind::ApacheFpm => EVENT,
        _ => PREFORK,
    }
}

fn nginx(own: &str, outside: &str) -> String {
    let user = if geteuid().is_root() { nginx_user() } else { String::new() };
    let server = if own.is_empty() { NGINX_SERVER } else { own };
    format!("{user}{NGINX}{outside}{NGINX_LISTEN}{server}\n    }}\n}}\n")
}

/// nginx takes names only, so one of the accounts that web servers usually have.
fn nginx_user() -> String {
    let has = |file, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().any(|line| line.split(':').next() == Some(name))
    };
    let pairs = [("www-data", "www-data"), ("nginx", "nginx"), ("http", "http"), ("nobody", "nogroup")];
    let found = pairs.into_iter().find(|(user, group)| has("/etc/passwd", user) && has("/etc/group", group));
    let (user, group) = found.unwrap_or(("nobody", "nobody"));
    format!("user {user} {group};\n")
}

/// Media types of Hostler and the Apaches (`TypesConfig`), wherever a distribution has its own.
pub(super) const TYPES: &str = "text/html html htm shtml\ntext/plain txt\ntext/css css\ntext/javascript js\n\
                                image/png png\nimage/jpeg jpg jpeg\nimage/svg+xml svg\n";

/// The same for Hostler and every Apache. No access log: nobody has one.
const COMMON: &str = r#"ServerRoot "@ROOT@"
Listen 127.0.0.1:@PORT@
ServerName localhost
PidFile "@RUN@/pid"
ErrorLog "@LOGS@/error.log"
LogLevel warn
@IDENTITY@
Timeout 60
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 300
EnableSendfile On
TypesConfig "@RUN@/mime.types"
"#;

const ASSIGN: &str = "AssignUserID @SITE_USER@ @SITE_USER@\n";

const PREFORK: &str = r#"DefaultRuntimeDir "@RUN@"
StartServers 64
MinSpareServers 64
MaxSpareServers 100
MaxRequestWorkers 150
"#;

const EVENT: &str = r#"DefaultRuntimeDir "@RUN@"
ScriptSock "@RUN@/cgid"
StartServers 2
ThreadsPerChild 64
MaxRequestWorkers 128
"#;

const NGINX: &str = r"daemon off;
pid @RUN@/pid;
error_log @LOGS@/error.log;
worker_processes auto;
events { worker_connections 20000; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    default_type '';
    types {
        text/html html htm shtml;
        text/plain txt;
        text/css css;
        text/javascript js;
        image/png png;
        image/jpeg jpg jpeg;
        image/svg+xml svg;
    }
    client_body_temp_path @RUN@/body;
    proxy_temp_path @RUN@/proxy;
    fastcgi_temp_path @RUN@/fastcgi;
    uwsgi_temp_path @RUN@/uwsgi;
    scgi_temp_path @RUN@/scgi;
";

const NGINX_LISTEN: &str = r"    server {
        listen 127.0.0.1:@PORT@ backlog=4096;
";

const NGINX_SERVER: &str = r"        root @ROOT@/htdocs;
        location ~ \.shtml$ { ssi on; }";
