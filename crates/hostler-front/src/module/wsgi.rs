//! WSGI (mod_wsgi): applications in Python that answer in warm workers of the site's own user, each group of them in its own
//! interpreter.
//!
//! `WSGIScriptAlias` comes after mod_alias's aliases: what those lead elsewhere (`Alias /static`) stays there, in whatever
//! order the lines stand.
//!
//! **Diagnostics**: everything goes to the virtual host's ErrorLog under `wsgi`: what applications log, print and raise, and
//! for each 5xx one line with the cause and the id that the error page shows.

mod dispatch;
mod file;
pub(crate) mod guard;
mod newer;
mod told;

use crate::hook::handler::name_of;
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Handler, Hook, Module, Run};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::alias;
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::slots::{Relation, State};
use crate::request::{FileEntry, Request, settings, variables};
use crate::site::files::AccessFiles;
use crate::technique::pools::Engines;
use crate::technique::reply::FieldMerge;
use crate::technique::respond::{Ask, fail, respond};
use bytes::Bytes;
use hostler_cgi::script_name;
use hostler_config::directives::core::OptionBits;
use hostler_config::directives::pool::Isolation;
use hostler_gateway::backend::{OnAbandon, TimeLimit};
use hostler_python_frames::handler;
use hostler_python_technique::groups::{self, Facts, Group};
use hostler_python_technique::{DIR, ENGINE, HandlerScript, LOG, SERVER, WSGI, Where};
use std::sync::Arc;
use std::time::Duration;
use told::MatchedRules;

/// The handler of mod_wsgi, and its aliases.
pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Translate,
            after: &["alias"],
            before: &["vhost_alias", "core"],
            when: |request| {
                let aliases = &request.server.conf.part(&SERVER).aliases;
                request.target.uri.first() == Some(&b'/') && !aliases.is_empty()
            },
            effect: Effect::Decides,
            run: Run::Now(translate),
        },
        Hook {
            phase: Phase::Handler,
            after: &["core"],
            before: &["actions"],
            when: |request| !request.resource.dir.part(&DIR).handler_scripts.is_empty(),
            effect: Effect::Notes,
            run: Run::Now(name_script),
        },
    ],
    handlers: &[Handler {
        names: &[handler::RUN],
        types: &[handler::TYPE.as_bytes()],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    // What a URL leads to is the same for everybody, unless a script says each time where that runs.
    ..Module::new("wsgi", |request| request.resource.dir.part(&DIR).dispatch.is_some())
};

impl State for MatchedRules {
    fn copy(&self) -> Box<dyn State> {
        Box::new(*self)
    }

    /// Another URL leads wherever it leads.
    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        None
    }

    /// Every client that requests the URL is redirected there.
    fn holds(&self) -> bool {
        true
    }
}

/// `WSGIHandlerScript`: its handlers are ours.
fn name_script(request: &mut Request) -> Outcome {
    let name = name_of(request);
    let scripts = &request.resource.dir.part(&DIR).handler_scripts;
    if let Some(at) = scripts.iter().position(|script| script.name.as_bytes() == name) {
        request.slots.put(MatchedRules { alias: None, handler: Some(at) });
        request.resource.handler = Some(Bytes::from_static(handler::RUN.as_bytes()));
    }
    Ok(Flow::Declined)
}

fn translate(request: &mut Request) -> Outcome {
    let server = request.server.clone();
    match server.conf.part(&SERVER).aliased(&request.target.uri) {
        Ok(None) => Ok(Flow::Declined),
        Ok(Some((at, filename))) => {
            request.resource.filename = filename;
            request.slots.put(MatchedRules { alias: Some(at), handler: None });
            request.notes.set("alias-forced-type", Bytes::from_static(handler::RUN.as_bytes()));
            Ok(Flow::Ok)
        }
        Err(error) => {
            log::request(request, Severity::Error, LOG, &error.to_string());
            Err(Halt::Status(500))
        }
    }
}

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    check(request)?;
    let said = dispatch::dispatched(request, led(request)).await?;
    let callable = said.as_ref().and_then(|said| said.callable.clone());
    let group = group(request, said)?;
    let translated = if request.resource.path_info.is_empty() {
        None
    } else {
        let path_info = request.resource.path_info.clone();
        alias::translate_only(request, &path_info).await
    };
    let one_shot = WSGI.isolation(&request.resource.dir) == Isolation::Fork;
    let timeout = timeout(request, &group)?;
    let name: Arc<str> = group.name().into();
    if request.resource.dir.part(&DIR).reloading.unwrap_or(true) && is_newer(request, &name).await {
        let engines = &request.thread.shared.of::<Engines>();
        match engines.of_group(&request.thread, &request.server, &ENGINE, one_shot, Some(&name)) {
            Ok(pool) => pool.renew(),
            Err(error) => return Err(fail(request, LOG, &error)),
        }
    }
    let ask = Ask {
        engine: &ENGINE,
        dialect: Some(&file::Files),
        one_shot,
        group: Some(name),
        timeout,
        on_abandon: OnAbandon::TakeBackOrKill(settings::timeout(&request.server)),
        merge: FieldMerge::Add,
        directory: told::known(request, led(request), callable.as_deref()),
        translated,
        handler: handler::RUN.as_bytes(),
    };
    respond(request, ask).await
}

/// Returns whether the application's script is another one than the group's workers have loaded.
async fn is_newer(request: &mut Request, group: &Arc<str>) -> bool {
    let Some(path) = script_of(request).map(|script| script.script.clone()) else {
        let info = request.resource.found.info();
        return info.is_some_and(|info| newer::is_newer(request, group, &request.resource.filename, info));
    };
    let site = request.thread.site(&request.server);
    let facts = site.walk(path.as_bytes(), &AccessFiles::none()).await;
    // Where nobody tells that the script has changed, it is looked at with each request.
    request.lasting &= facts.as_ref().is_ok_and(|facts| facts.lasting);
    let file = facts.ok().and_then(|facts| facts.file.clone());
    file.is_some_and(|file| newer::is_newer(request, group, path.as_bytes(), &file.info))
}

fn led(request: &Request) -> MatchedRules {
    request.slots.find().copied().unwrap_or_default()
}

/// The script of `WSGIHandlerScript` that answers; `None`: the request's file does.
fn script_of(request: &Request) -> Option<&HandlerScript> {
    request.resource.dir.part(&DIR).handler_scripts.get(led(request).handler?)
}

/// The checks of mod_wsgi, in its order.
fn check(request: &Request) -> Result<(), Halt> {
    let refuse = |status, why: &str| {
        let message = format!("{why}: {}", String::from_utf8_lossy(&request.resource.filename));
        log::request(request, Severity::Error, LOG, &message);
        Err(Halt::Status(status))
    };
    let led = led(request);
    if led == MatchedRules::default() && !request.resource.dir.core.options.contains(OptionBits::EXEC_CGI) {
        return refuse(403, "Options ExecCGI is off in this directory");
    }
    match &request.resource.found {
        // It is about the file, whatever that is.
        _ if led.handler.is_some() => {}
        FileEntry::Nothing => return refuse(404, "Target WSGI script not found or unable to stat"),
        FileEntry::Directory(_) => return refuse(403, "Attempt to invoke directory as WSGI application"),
        FileEntry::File(..) | FileEntry::Other(_) => {}
    }
    let is_chunked = !request.target.body.is_empty() && !request.target.headers_in.contains("Content-Length");
    // Over HTTP/2 a length need not be said, and the body ends all the same.
    if is_chunked
        && request.client.version < 2000
        && !request.resource.dir.part(&DIR).chunked.unwrap_or(false)
    {
        return refuse(411, "Unexpected chunked request (WSGIChunkedRequest is Off)");
    }
    Ok(())
}

/// The group that the request's application runs in. `said`: what a script says of that.
fn group(request: &Request, said: Option<Where>) -> Result<Group, Halt> {
    let server = request.server.clone();
    let alias = led(request).alias.and_then(|at| server.conf.part(&SERVER).aliases.get(at));
    let own = script_of(request).map(|script| &script.own).or(alias.map(|alias| &alias.own));
    let said = said.map(|said| own.cloned().unwrap_or_default().with(said));
    let own = said.as_ref().or(own);
    facts_of(request, |facts| Group::of(request.resource.dir.part(&DIR), own, facts)).map_err(|why| {
        log::request(request, Severity::Error, LOG, &why);
        Halt::Status(500)
    })
}

/// Evaluates the variables of a group's name.
fn facts_of<T>(request: &Request, name: impl FnOnce(Facts<'_>) -> T) -> T {
    let server = match &request.server.conf.core.server_name {
        Some(_) => hostler_python_technique::server_name(&request.thread.shared.config, &request.server),
        None => String::from_utf8_lossy(&variables::server_name(request)).into_owned(),
    };
    let script = String::from_utf8_lossy(script_name(&request.target.uri, &request.resource.path_info));
    let host = request.client.hostname.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let variable = |name: &str| Some(String::from_utf8_lossy(request.env.find(name)?).into_owned());
    let script = script.trim_end_matches('/');
    name(Facts { server: &server, host: &host, script, variable: &variable })
}

/// Returns the time limit of a group's requests; `None`: without a process group only `HostlerWorkerTimeout` limits
/// them. With one it is the shorter of mod_wsgi's wait for a process and the process's time for a request.
fn timeout(request: &Request, group: &Group) -> Result<Option<TimeLimit>, Halt> {
    if group.process.is_empty() {
        return Ok(None);
    }
    match groups::daemon(&request.thread.shared.config, &request.server, &group.process) {
        Some(daemon) => {
            let limit =
                |seconds: u32, set_by| TimeLimit { after: Duration::from_secs(seconds.into()), set_by };
            let usual = TimeLimit { after: settings::timeout(&request.server), set_by: "Timeout" };
            let socket = daemon.socket_timeout.filter(|seconds| *seconds > 0);
            let silence = socket.map_or(usual, |seconds| limit(seconds, "socket-timeout="));
            let whole = daemon.request_timeout.filter(|seconds| *seconds > 0);
            let whole = whole.map_or(TimeLimit::NONE, |seconds| limit(seconds, "request-timeout="));
            Ok(Some(if whole.after < silence.after { whole } else { silence }))
        }
        None => {
            let why = format!("No WSGI daemon process called '{}' has been configured", group.process);
            log::request(request, Severity::Error, LOG, &why);
            Err(Halt::Status(500))
        }
    }
}
