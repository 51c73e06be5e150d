//! The handler of a URL: a redirect, the file itself, a program, Hostler. As the front's phases decide it, as far as it
//! is known without a request and without the right to look at every file.

use hostler_config::directives::alias::request::{Answer, Request, redirect_early, redirect_late};
use hostler_config::directives::core::{OptionBits, Setting};
use hostler_config::directives::mime::{self, MimeFacts};
use hostler_config::directives::reach;
use hostler_config::technique::{self, Technique};
use std::path::Path;

use super::host::NoRequest;
use super::steps::{self, Line};
use super::{About, Place};
use crate::Failed;

/// The answer, with what has decided it.
pub(crate) fn lines(about: &About<'_>) -> Result<Vec<String>, Failed> {
    let answer = match redirect(about) {
        Some(answer) => Answerer::by_nobody(answer),
        None if about.place.file.is_dir() => directory(about)?,
        None => file(about),
    };
    let mut lines = vec![format!("{:<11}{}", "answers", answer.text)];
    lines.extend(answer.technique.map(|technique| format!("{:<11}{}", "technique", technique.name)));
    Ok(lines)
}

/// The handler in words, and the technique if it is a program's.
struct Answerer {
    text: String,
    technique: Option<&'static Technique>,
}

impl Answerer {
    /// No technique is asked.
    fn by_nobody(text: impl Into<String>) -> Self {
        Self { text: text.into(), technique: None }
    }
}

fn redirect(about: &About<'_>) -> Option<String> {
    let request = Request { path: about.url.path.as_bytes(), query: None, host: &NoRequest };
    let early = steps::with_locations(about.server, &about.url.path).ok()?;
    let early = redirect_early(&about.server.conf.alias, &early.alias, request);
    let answer = match early {
        Ok(None) => redirect_late(&about.merged.dir.alias, request),
        early => early,
    };
    match answer {
        Ok(None) => None,
        Ok(Some(Answer::Location { status, url, .. })) => {
            Some(format!("a redirect ({status}) to {}", String::from_utf8_lossy(&url)))
        }
        Ok(Some(Answer::Status(status))) => Some(format!("{status}, by Redirect")),
        Ok(Some(Answer::Broken(why))) => Some(format!("500: {why}")),
        Err(_) => Some("perhaps a redirect: that depends on the request".to_owned()),
    }
}

fn directory(about: &About<'_>) -> Result<Answerer, Failed> {
    let dir = &about.merged.dir;
    if let Some(name) = set_handler(about).filter(|_| !about.url.path.ends_with('/')) {
        return Ok(program(about, &name));
    }
    if !about.url.path.ends_with('/') && dir.dir.redirects_to_slash() {
        let text = format!("a redirect (301) to {}/ (DirectorySlash)", about.url.path);
        return Ok(Answerer::by_nobody(text));
    }
    for name in dir.dir.index_files() {
        if name.starts_with('/') {
            let text = format!("{name} (DirectoryIndex), if that answers; ask about it");
            return Ok(Answerer::by_nobody(text));
        }
        let path = about.place.file.join(name);
        if path.is_file() {
            let place = Place { file: path, path_info: String::new() };
            let url = format!("{}{name}", about.url.path);
            let merged = steps::steps(about.config, about.server, &url, &place)?;
            let index = About { place: &place, merged: &merged, ..*about };
            let said = file(&index);
            return Ok(Answerer { text: format!("its index {name}: {}", said.text), ..said });
        }
    }
    Ok(match set_handler(about) {
        Some(name) => program(about, &name),
        None if dir.core.options.contains(OptionBits::INDEXES) => {
            Answerer::by_nobody("a listing of the directory, which has no index file (Options Indexes)")
        }
        None => Answerer::by_nobody("403: the directory has no index file, and Options no Indexes"),
    })
}

fn file(about: &About<'_>) -> Answerer {
    match handler(about) {
        Some(name) if name != "default-handler" => program(about, &name),
        _ => Answerer::by_nobody(itself(about)),
    }
}

/// Returns the facts from the file's name.
fn by_name<'a>(about: &'a About<'_>) -> MimeFacts<'a> {
    let name = about.place.file.file_name().unwrap_or_default().as_encoded_bytes();
    mime::check(
        name,
        about.place.path_info.as_bytes(),
        &about.merged.dir.mime,
        about.server.conf.mime.types(),
    )
}

fn set_handler(about: &About<'_>) -> Option<String> {
    match &about.merged.dir.core.handler {
        Some(Setting::Word(word)) => Some(word.clone()),
        Some(Setting::Expr(_)) => Some("the one that SetHandler computes for each request".to_owned()),
        _ => None,
    }
}

fn handler(about: &About<'_>) -> Option<String> {
    let facts = by_name(about);
    let by_type = || match media_type(about)?.split(';').next()?.trim() {
        "text/x-server-parsed-html" | "text/x-server-parsed-html3" => Some("server-parsed".to_owned()),
        kind if kind.starts_with("application/x-httpd-") => {
            let meant = technique::of_handler(kind.as_bytes()).and_then(|row| row.handlers.first());
            Some(meant.map_or(kind, |handler| handler).to_owned())
        }
        _ => None,
    };
    let by_name = || facts.handler.map(str::to_owned);
    set_handler(about).or_else(|| about.by_alias.map(str::to_owned)).or_else(by_name).or_else(by_type)
}

fn media_type(about: &About<'_>) -> Option<String> {
    match &about.merged.dir.core.force_type {
        Some(Setting::Word(word)) => Some(word.clone()),
        _ => by_name(about).content_type.map(std::borrow::Cow::into_owned),
    }
}

fn itself(about: &About<'_>) -> String {
    let dir = &about.merged.dir;
    if !about.place.file.exists() {
        return match dir.dir.fallback_resource() {
            Some(target) => format!("{target} (FallbackResource), as nothing is there"),
            None => "404: nothing is there, as far as you can see".to_owned(),
        };
    }
    if !about.place.path_info.is_empty() {
        return format!("404: {} is a file without anything below it", about.place.file.display());
    }
    let facts = by_name(about);
    let forced = dir.core.output_filters.iter().flatten().map(String::as_str);
    let includes =
        facts.output_filters.iter().copied().chain(forced).any(|name| name.eq_ignore_ascii_case("INCLUDES"));
    let includes = match (includes, dir.core.options.contains(OptionBits::INCLUDES)) {
        (false, _) => "",
        (true, true) => ", with its server-side includes",
        (true, false) => ", its includes left as they are: Options has no Includes",
    };
    let kind = media_type(about).map_or_else(|| "without a type".to_owned(), |kind| format!("as {kind}"));
    format!("the file itself, {kind}{includes}")
}

fn program(about: &About<'_>, name: &str) -> Answerer {
    let technique = technique::of_handler(name.as_bytes());
    let text = match technique {
        Some(technique) if technique.engine().is_none() => started(about, technique, name),
        Some(technique) => {
            let what = (technique.answers)(&about.merged.dir, &about.place.file.to_string_lossy());
            format!("{what} (handler {name}{})", decided(about, name))
        }
        None => no_program(about, name),
    };
    Answerer { text, technique }
}

/// A handler that is no technique's.
fn no_program(about: &About<'_>, name: &str) -> String {
    let dir = &about.merged.dir;
    let proxied = reach::proxied(name).filter(|(_, scheme)| reach::SCHEMES.contains(scheme));
    if let Some((worker, _)) = proxied {
        return format!("the program at {worker} (handler {name}{})", decided(about, name));
    }
    let scripts = &dir.part(&hostler_python_technique::DIR).handler_scripts;
    if let Some(script) = scripts.iter().find(|script| &*script.name == name) {
        let script = &script.script;
        return format!(
            "handle_request of {script}, in a warm worker (handler {name}{})",
            decided(about, name)
        );
    }
    let what = match name {
        "server-parsed" => "the file itself, with its server-side includes".to_owned(),
        "server-status"
        | "balancer-manager"
        | "server-info"
        | "hostler-metrics"
        | "hostler-live"
        | "hostler-ready"
        | "send-as-is"
        | "form-login-handler"
        | "form-logout-handler"
        | "form-redirect-handler" => "Hostler itself".to_owned(),
        _ => match dir.actions.program_for("GET", false, Some(name), about.place.file.exists(), 0) {
            hostler_config::directives::actions::Outcome::Program { program, .. } => {
                format!("{program}, by Action")
            }
            _ => "nobody (500): Hostler has no such handler".to_owned(),
        },
    };
    format!("{what} (handler {name}{})", decided(about, name))
}

/// The line that gave the handler.
fn decided(about: &About<'_>, name: &str) -> String {
    let file = about.place.file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let of_file = |args: &str| {
        args.split_whitespace().skip(1).any(|word| {
            let extension = word.trim_start_matches('.').to_ascii_lowercase();
            file.split('.').skip(1).any(|own| own == extension)
        })
    };
    let of_name = |line: &&Line| {
        let gives = match line.directive {
            "SetHandler" => true,
            "AddHandler" => about.by_alias.is_none() && of_file(&line.args),
            _ => false,
        };
        gives && line.args.to_ascii_lowercase().contains(&name.to_ascii_lowercase())
    };
    let lines = about.merged.lines[..about.merged.conditional].iter();
    let outside = super::server_lines(about.config, about.server);
    let found = lines.rev().find(of_name).or_else(|| outside.iter().rev().find(of_name));
    found.map_or_else(String::new, |line| format!(", by {} {}, {}", line.directive, line.args, line.place))
}

/// A program that is started for each request.
fn started(about: &About<'_>, technique: &Technique, name: &str) -> String {
    let dir = &about.merged.dir;
    let missing = if about.place.file.exists() { "" } else { "; nothing is there, as far as you can see" };
    if about.by_alias.is_none() && !dir.core.options.contains(OptionBits::EXEC_CGI) {
        return format!(
            "403: a CGI program where Options has no ExecCGI (handler {name}{}){missing}",
            decided(about, name)
        );
    }
    let how = (technique.answers)(dir, &about.place.file.to_string_lossy());
    let executable =
        if is_executable(&about.place.file) { "" } else { "; but the file is not executable (chmod +x)" };
    format!("{how} (handler {name}{}){executable}{missing}", decided(about, name))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    // What can't be seen is not blamed.
    file.metadata().map_or(true, |data| data.permissions().mode() & 0o111 != 0)
}
