//! `SetHandler server-info` (mod_info): which modules there are, their directives, and what the configuration says of
//! each. With `?server`, `?list`, `?config`, `?hooks` or a module's name (`?mod_alias.c`): a part of it.
//!
//! The page is for operators: access files can't have it. What is secret is not on it all the same: no value of a
//! directive that holds passphrases, and nothing of what keys and passwords files hold.

use crate::hook::phases::Phase;
use crate::hook::plan::plan;
use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::module::core::file;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::{methods, settings, variables};
use bytes::Bytes;
use hostler_cgi::escape_html;
use hostler_config::modules::{MORE_NAMES, all_modules};
use hostler_config::{Action, Config, Directive, Server, Setting};
use std::fmt::Write as _;

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: &["server-info"],
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    ..Module::new("info", |_| false)
};

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    if !request.is_get() {
        request.reply.headers_out.set("Allow", methods::allowed(request));
        return Err(Halt::Status(405));
    }
    file::drop_body(request).await?;
    let page = page(request, request.target.args.as_deref().unwrap_or_default());
    request.resource.content_type = Some(Bytes::from_static(b"text/html; charset=utf-8"));
    Ok(Body::Bytes(page.into()))
}

fn page(request: &Request, wanted: &[u8]) -> String {
    let mut out = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Server Information</title></head>\n\
         <body><h1>Apache Server Information</h1>\n",
    );
    match wanted {
        b"" => {
            names(&mut out);
            server(&mut out, request);
            hooks(&mut out);
            modules(&mut out, request, |_| true);
        }
        b"server" => server(&mut out, request),
        b"list" => names(&mut out),
        b"hooks" => hooks(&mut out),
        b"config" => all_settings(&mut out, request),
        wanted => modules(&mut out, request, |file| file.as_bytes() == wanted),
    }
    let _ = write!(out, "<hr>{}\n</body></html>\n", escaped(settings::product(&request.server)));
    out
}

fn escaped(text: &str) -> String {
    String::from_utf8_lossy(&escape_html(text.as_bytes())).into_owned()
}

/// The modules by their files: one file of Apache's may be several modules here.
fn by_file() -> Vec<(&'static str, Vec<&'static Directive>)> {
    let of_module = |module: &'static hostler_config::Module| (module.file, module.directives);
    let more = MORE_NAMES.iter().map(|(_, file)| (*file, &[][..]));
    let mut files: Vec<(&str, Vec<&Directive>)> = Vec::new();
    for (file, directives) in all_modules().map(of_module).chain(more) {
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, known)) => known.extend(directives),
            None => files.push((file, directives.iter().collect())),
        }
    }
    files
}

fn names(out: &mut String) {
    out.push_str("<h2><a name=\"modules\">Loaded Modules</a></h2>\n<p>");
    for (file, _) in by_file() {
        let _ = writeln!(out, "<a href=\"#{file}\">{file}</a>");
    }
    out.push_str("</p>\n");
}

fn server(out: &mut String, request: &Request) {
    let conf = &request.server.conf.core;
    let name = String::from_utf8_lossy(&variables::server_name(request)).into_owned();
    let port = variables::server_port(request);
    let config = &request.thread.shared.config;
    let file = config.files.first().map_or("", |file| file);
    let _ = write!(
        out,
        "<h2><a name=\"server\">Server Settings</a></h2>\n<dl>\
         <dt><strong>Server Version:</strong> <tt>{}</tt></dt>\n\
         <dt><strong>Hostname/port:</strong> <tt>{}:{port}</tt></dt>\n\
         <dt><strong>Timeouts:</strong> <tt>connection: {}</tt></dt>\n\
         <dt><strong>MPM Name:</strong> <tt>Hostler</tt></dt>\n\
         <dt><strong>Server Architecture:</strong> <tt>{}-bit</tt></dt>\n\
         <dt><strong>Server Root:</strong> <tt>{}</tt></dt>\n\
         <dt><strong>Config File:</strong> <tt>{}</tt></dt>\n\
         <dt><strong>Merge Slashes:</strong> <tt>{}</tt></dt></dl>\n",
        escaped(settings::product(&request.server)),
        escaped(&name),
        settings::timeout(&request.server).as_secs(),
        usize::BITS,
        escaped(&config.facts.server_root),
        escaped(file),
        conf.merge_slashes.unwrap_or(true),
    );
}

/// The phases, and the modules in them.
fn hooks(out: &mut String) {
    out.push_str("<h2><a name=\"hooks\">Request Hooks</a></h2>\n<dl>");
    for phase in Phase::ALL {
        let names = plan().names(phase).join(", ");
        let _ = writeln!(out, "<dt><strong>{phase:?}:</strong> <tt>{names}</tt></dt>");
    }
    out.push_str("</dl>\n");
}

fn modules(out: &mut String, request: &Request, is_wanted: impl Fn(&str) -> bool) {
    let config = &request.thread.shared.config;
    for (file, directives) in by_file().into_iter().filter(|(file, _)| is_wanted(file)) {
        let _ = write!(
            out,
            "<hr><dl><dt><a name=\"{file}\"><strong>Module Name:</strong></a> <tt><a href=\"?{file}\">{file}</a></tt></dt>\n\
             <dt><strong>Module Directives:</strong></dt>\n"
        );
        for directive in &directives {
            if !matches!(directive.action, Action::Refused(_) | Action::RefusedUnless(..)) {
                let _ = writeln!(
                    out,
                    "<dd><tt>{} - <em>{}</em></tt></dd>",
                    directive.name,
                    escaped(directive.doc)
                );
            }
        }
        out.push_str("<dt><strong>Current Configuration:</strong></dt>\n");
        let is_its = |setting: &Setting| directives.iter().any(|own| own.name == setting.directive);
        each_setting(config, |title, setting| {
            if is_its(setting) {
                line(out, config, title, setting);
            }
        });
        let notes = request.server.conf.info.notes.iter().filter(|(of, _)| **of == *file);
        for (_, note) in notes {
            let _ = writeln!(out, "<dt><strong>Additional Information:</strong></dt>\n<dd>{note}</dd>");
        }
        out.push_str("</dl>\n");
    }
}

fn all_settings(out: &mut String, request: &Request) {
    let config = &request.thread.shared.config;
    out.push_str("<dl><dt><strong>Configuration:</strong></dt>\n");
    each_setting(config, |title, setting| line(out, config, title, setting));
    out.push_str("</dl>\n");
}

/// All lines that took effect, with the section that they are in.
fn each_setting(config: &Config, mut tell: impl FnMut(&str, &Setting)) {
    for server in &config.servers {
        let host = host_of(server);
        server.settings.iter().for_each(|setting| tell(&host, setting));
        for section in server.directories.iter().chain(server.locations.iter()) {
            let title = format!("{host}{}", section.title);
            section.settings.iter().for_each(|setting| tell(&title, setting));
        }
    }
}

fn host_of(server: &Server) -> String {
    let name = server.conf.core.server_name.as_ref().map_or(String::new(), |name| format!("{name:?}"));
    if server.addresses.is_empty() { String::new() } else { format!("<VirtualHost> {name} ") }
}

fn line(out: &mut String, config: &Config, title: &str, setting: &Setting) {
    let tells = |word: &str| setting.args.to_ascii_lowercase().contains(word);
    let hides = is_secret(setting.directive) || tells("secret=") || tells("password");
    let args = if hides { "(not shown)" } else { &setting.args };
    let _ = writeln!(
        out,
        "<dd><tt>{}: {} <strong>{} {}</strong></tt></dd>",
        escaped(&config.place(setting.origin)),
        escaped(title),
        setting.directive,
        escaped(args)
    );
}

/// Returns whether a directive's arguments are, or may hold, something secret.
fn is_secret(directive: &str) -> bool {
    const WORDS: [&str; 4] = ["pass", "secret", "key", "dialog"];
    // Environment and parameters of programs, and of servers behind, hold passwords often.
    const NAMES: [&str; 12] = [
        "setenv",
        "setenvif",
        "setenvifnocase",
        "setenvifexpr",
        "requestheader",
        "header",
        "perlsetvar",
        "perladdvar",
        "perlsetenv",
        "fcgidinitialenv",
        "authbasicfake",
        "balancermember",
    ];
    let name = directive.to_ascii_lowercase();
    let is_file = name.ends_with("file") && !name.starts_with("sslpass");
    NAMES.contains(&&*name)
        || (!is_file && !name.starts_with("proxypass") && WORDS.iter().any(|word| name.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_there_once() {
        let files: Vec<&str> = by_file().into_iter().map(|(file, _)| file).collect();
        assert_eq!(files.iter().collect::<std::collections::HashSet<_>>().len(), files.len());
        assert!(files.contains(&"mod_status.c") && files.contains(&"core.c"), "{files:?}");
    }

    #[test]
    fn nothing_secret_is_shown() {
        for name in ["SessionCryptoPassphrase", "AuthFormSitePassphrase", "SSLPassPhraseDialog", "SetEnv"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["ProxyPass", "DocumentRoot", "SessionCryptoPassphraseFile", "AuthUserFile"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
