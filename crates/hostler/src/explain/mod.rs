//! `hostler explain`: which virtual host a URL belongs to, which file it means, who answers, who may ask, and every line
//! that has a say, in merge order, with where it stands.
//!
//! Works on the files as they are, without a server, and sees of the file system what the caller may see.

mod access;
mod answer;
mod host;
mod proxy;
mod rewrite;
mod steps;
mod url;

use hostler_config::directives::alias::request::{Request, translate};
use hostler_config::pools::{settings, uses};
use hostler_config::technique;
use hostler_config::{Config, Server, Setting};
use hostler_python_frames::handler;
use std::path::{Path, PathBuf};

use crate::Failed;
use crate::cli::Explain;
use crate::load;
use crate::plan::users;
use host::NoRequest;
use steps::{ApplicableRules, Line};
use url::Url;

pub(crate) fn explain(args: &Explain) -> Result<(), Failed> {
    let config = load::files(&args.configuration)?.config;
    let mut url = Url::parse(&args.url)?;
    let choice = host::select(&config, &url);
    let server = choice.server;
    let rewritten = rewrite::server(&config, server, &url);
    let translated = match &rewritten.result {
        Some(hostler_rewrite::Translation::PassThrough(path)) => {
            url.path = String::from_utf8_lossy(path).into_owned();
            file(server, &url)?
        }
        Some(result) => rewritten_file(server, result).map_or_else(|| file(server, &url), Ok)?,
        None => file(server, &url)?,
    };
    let by_alias = translated.by_alias;
    let place = Place::find(&translated.file);
    let merged = steps::steps(&config, server, &url.path, &place)?;
    let by = translated.handler;
    let about = About { config: &config, server, url: &url, place: &place, merged: &merged, by_alias: by };
    let fixed = rewrite::directory(&config, server, &merged.dir, &url, &place.file, &place.path_info);
    let by_rules = rewritten.result.as_ref().and_then(rewrite::answer);
    let by_rules = by_rules.or_else(|| fixed.result.as_ref().and_then(rewrite::answer_of_directory));
    let by_rules = by_rules.or_else(|| proxy::answer(server, rewritten.result.as_ref(), &url));
    let by_rules = by_rules.or_else(|| by_application(server, &url));
    let answer = match by_rules {
        Some(answer) if by_application(server, &url).as_ref() == Some(&answer) => {
            vec![format!("{:<11}{answer}", "answers"), format!("{:<11}servlet", "technique")]
        }
        Some(answer) => vec![format!("{:<11}{answer}", "answers")],
        None => answer::lines(&about)?,
    };
    let said = [rewritten.lines, fixed.lines, answer, access::lines(&about)].concat();
    let mut lines = server_lines(&config, server);
    lines.extend(merged.lines);
    print_server(&config, &choice);
    println!("file       {}", place.file.display());
    if let Some(line) = leading(&lines, &url, by_alias) {
        println!("           by {} {} ({})", line.directive, line.args, line.place);
    }
    if !place.path_info.is_empty() {
        println!("path info  {}", place.path_info);
    }
    if !place.file.exists() {
        println!("           (nothing is there, as far as you can see)");
    }
    said.iter().for_each(|line| println!("{line}"));
    println!(
        "\nWhat has a say, in merge order: of two lines that set the same thing, the later one holds.\n"
    );
    print(&lines);
    Ok(())
}

/// The line that has led to the file.
fn leading<'a>(lines: &'a [Line], url: &Url, by_alias: bool) -> Option<&'a Line> {
    let owner = |directives: &[&str]| lines.iter().rev().find(|line| directives.contains(&line.directive));

    if by_alias {
        let leads = |line: &&Line| matches!(line.directive, "Alias" | "ScriptAlias" | "WSGIScriptAlias");
        let prefixes = || lines.iter().filter(leads);
        prefixes()
            .find(|line| is_below(&url.path, &line.args))
            .or_else(|| owner(&["AliasMatch", "ScriptAliasMatch", "WSGIScriptAliasMatch"]))
            // In a Location section an Alias has but one argument.
            .or_else(|| prefixes().next_back())
    } else {
        owner(&["DocumentRoot"])
    }
}

/// The application that answers, whatever file there is.
fn by_application(server: &Server, url: &Url) -> Option<String> {
    let mut rows = technique::all().iter().filter_map(|row| row.applications);
    rows.find_map(|applications| (applications.find)(&server.conf, url.path.as_bytes()))
}

/// Prints the virtual host, its user, and the pools of its programs.
fn print_server(config: &Config, choice: &host::Choice<'_>) {
    let server = choice.server;
    println!("host       {}", describe(config, server));
    choice.notes.iter().for_each(|note| println!("           {note}"));
    println!("user       {}", user(config, server));
    for engine in technique::engines().iter().filter(|engine| uses(server, engine)) {
        let runtime = (engine.title)(server);
        println!("programs   for {runtime}, {}", workers(server));
    }
}

/// The subject of a request.
pub(crate) struct About<'a> {
    pub(crate) config: &'a Config,
    pub(crate) server: &'a Server,
    pub(crate) url: &'a Url,
    pub(crate) place: &'a Place,
    pub(crate) merged: &'a ApplicableRules,
    /// The handler that ScriptAlias gives.
    pub(crate) by_alias: Option<&'static str>,
}

/// The target of a file name: an existing file or directory, and the rest of the name.
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) path_info: String,
}

impl Place {
    /// The longest beginning that exists, when it is a file; otherwise the whole name.
    fn find(file: &Path) -> Self {
        for at in file.ancestors() {
            if at.is_file() {
                let rest = file.strip_prefix(at).unwrap_or(Path::new(""));
                let rest = rest.to_string_lossy();
                let path_info = if rest.is_empty() { String::new() } else { format!("/{rest}") };
                return Self { file: at.to_path_buf(), path_info };
            }
            if at.is_dir() {
                break;
            }
        }
        Self { file: file.to_path_buf(), path_info: String::new() }
    }
}

/// Returns whether a path is below an alias' first argument, the URL path.
fn is_below(path: &str, args: &str) -> bool {
    let prefix = args.split_whitespace().next().unwrap_or_default().trim_matches('"');
    let rest = path.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
}

/// The translation of a URL's path.
struct Translation {
    file: PathBuf,
    by_alias: bool,
    /// Of ScriptAlias.
    handler: Option<&'static str>,
}

fn file(server: &Server, url: &Url) -> Result<Translation, Failed> {
    let request = Request { path: url.path.as_bytes(), query: None, host: &NoRequest };
    // An Alias in a Location section counts too.
    let dir = steps::with_locations(server, &url.path)?;
    let translated = translate(&server.conf.alias, &dir.alias, request)
        .map_err(|_| "the target of an alias here depends on the request")?;
    match translated {
        Some(translated) => {
            let file = PathBuf::from(String::from_utf8_lossy(&translated.filename).into_owned());
            Ok(Translation { file, by_alias: true, handler: translated.handler })
        }
        None => {
            let by_python = server.conf.part(&hostler_python_technique::SERVER).aliased(url.path.as_bytes());
            let by_python = by_python.map_err(|error| format!("WSGIScriptAliasMatch: {error}"))?;
            if let Some((_, file)) = by_python {
                let file = PathBuf::from(String::from_utf8_lossy(&file).into_owned());
                return Ok(Translation { file, by_alias: true, handler: Some(handler::RUN) });
            }
            // A web application has no folder of the virtual host's.
            let root = server.conf.core.document_root.as_deref();
            let root = root.or_else(|| by_application(server, url).and(Some("")));
            let root = root.ok_or("the virtual host has no DocumentRoot, and no Alias matches")?;
            let file = PathBuf::from(format!("{root}{}", url.path));
            Ok(Translation { file, by_alias: false, handler: None })
        }
    }
}

/// The file that the virtual host's rules have come to.
fn rewritten_file(server: &Server, result: &hostler_rewrite::Translation) -> Option<Translation> {
    use hostler_rewrite::Translation as By;
    let file = match result {
        By::File(path) => PathBuf::from(String::from_utf8_lossy(path).into_owned()),
        By::BelowDocumentRoot(path) => {
            let root = server.conf.core.document_root.as_deref()?;
            PathBuf::from(format!("{root}{}", String::from_utf8_lossy(path)))
        }
        _ => return None,
    };
    Some(Translation { file, by_alias: false, handler: None })
}

fn describe(config: &Config, server: &Server) -> String {
    let name = server.conf.core.server_name.as_ref().map_or("without ServerName", |name| &name.host);
    if server.id == 0 {
        return format!("{name} (main server)");
    }
    format!("{name} (<VirtualHost>, {})", steps::place(config, server.origin))
}

fn user(config: &Config, server: &Server) -> String {
    let process = &config.process;
    let (user, group) = match &server.conf.core.assign_user {
        Some(assigned) => (Some(&assigned.user), Some(&assigned.group)),
        None => (process.user.as_ref(), process.group.as_ref()),
    };
    let shown = |word: Option<&String>| word.map_or_else(|| "?".to_string(), String::clone);
    let number = user.and_then(|word| users::uid(word).ok()).map(|uid| format!(" (uid {uid})"));
    format!("{} {}{}", shown(user), shown(group), number.unwrap_or_default())
}

/// The size of the virtual host's pool.
fn workers(server: &Server) -> String {
    let settings = settings(server);
    format!("at most {} workers, {} requests may wait", settings.max_workers, settings.queue_length)
}

/// The lines outside of sections: the main server's, then the virtual host's own.
fn server_lines(config: &Config, server: &Server) -> Vec<Line> {
    let mut lines = lines_of(config, &config.main().settings, "server");
    if server.id != 0 {
        lines.extend(lines_of(config, &server.settings, "<VirtualHost>"));
    }
    lines
}

fn lines_of(config: &Config, settings: &[Setting], scope: &str) -> Vec<Line> {
    settings.iter().map(|setting| Line::new(config, setting, scope)).collect()
}

fn print(lines: &[Line]) {
    let width = lines.iter().map(|line| line.place.chars().count()).max().unwrap_or(0);
    let mut scope = "";
    for line in lines {
        if line.scope != scope {
            println!("{}", line.scope);
            scope = &line.scope;
        }
        println!("  {:width$}  {} {}", line.place, line.directive, line.args);
    }
}
