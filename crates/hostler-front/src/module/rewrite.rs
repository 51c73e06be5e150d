//! mod_rewrite on requests: the rules of the server before a URL is translated, and those of a directory among the
//! fixups. The rules themselves are `hostler-rewrite`'s; here they get what they ask for.
//!
//! **Diagnostics**: under `rewrite`; its trace at `LogLevel rewrite:trace1` to `trace8`, in the form that Apache's has.

mod fetch;
mod maps;
mod program;
mod view;

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::limits::budget;
use crate::log::{self, Severity};
use crate::module::{dir, proxy};
use crate::request::flow::{Continue, Flow, Halt, Outcome};
use crate::request::looks::Looks;
use crate::request::{Request, settings, variables};
use bytes::Bytes;
use hostler_config::directives::alias::clean_path;
use hostler_config::directives::core::OptionBits;
use hostler_config::directives::rewrite::of_server;
use hostler_expr::effort;
use hostler_rewrite::{Context, Fixup, Maps, Options, Rewriting, Translation};
use view::View;

/// The rules.
pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Translate,
            after: &["perl"],
            before: &["alias"],
            when: |request| {
                request.server.conf.rewrite.context.is_on()
                    || of_server(&request.thread.shared.config, &request.server).is_some_and(Context::is_on)
            },
            effect: Effect::Decides,
            run: Run::Later(|request| {
                Box::pin(async move { Ok(if translate(request).await? { Flow::Ok } else { Flow::Declined }) })
            }),
        },
        Hook {
            phase: Phase::Fixup,
            after: &["perl"],
            before: &["ssl"],
            when: has_rules,
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(fixup(request))),
        },
    ],
    // What rules look at is noted while they are evaluated. A request with Authorization is never answered from memory.
    ..Module::new("rewrite", |_| false)
};

/// Redirects to the target of a directory's rules: the other fixups run before the request goes there.
pub(crate) static REDIRECT: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["alias"],
        before: &["dir"],
        when: |request| request.notes.contains(TARGET),
        effect: Effect::Decides,
        run: Run::Now(|request| match request.notes.find(TARGET).map(|target| target.to_vec()) {
            Some(target) => {
                request.is_led_on = true;
                Err(Halt::Redirect { method: request.target.method.clone(), target })
            }
            None => Ok(Flow::Declined),
        }),
    }],
    ..Module::new("rewrite_redirect", |_| false)
};

/// The types and handlers that rules force.
pub(crate) static FORCE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["dir"],
        before: &["auth_basic"],
        when: |request| request.notes.contains(TYPE) || request.notes.contains(HANDLER),
        effect: Effect::Decides,
        run: Run::Now(|request| {
            force(request);
            Ok(Flow::Ok)
        }),
    }],
    ..Module::new("rewrite_force", |_| false)
};

/// Returns whether a directory's rules may apply.
fn has_rules(request: &Request) -> bool {
    let context = &request.resource.dir.rewrite.context;
    context.is_on() && context.directory.is_some() && !context.rules.is_empty()
}

async fn fixup(request: &mut Request) -> Outcome {
    if let Some(target) = fix_up(request).await? {
        request.notes.set(TARGET, target);
    }
    Ok(Flow::Ok)
}

/// A note of the target that a directory's rules have led to.
const TARGET: &str = "rewrite-target";
/// A note on a request that no rules apply to any more (`END`), on its own and on those that it becomes.
const ENDED: &str = "rewrite-ended";
/// Notes of the type and handler that a rule forces.
const TYPE: &str = "rewrite-forced-mimetype";
const HANDLER: &str = "rewrite-forced-handler";

/// The rules of the server. Whether the request has its file name by them.
async fn translate(request: &mut Request) -> Result<bool, Halt> {
    let server = request.server.clone();
    if server.conf.rewrite.context.is_on() {
        set_script_url(request);
    }
    let config = request.thread.shared.config.clone();
    let Some(context) = of_server(&config, &server).filter(|context| context.is_on()) else {
        return Ok(false);
    };
    if has_ended(request) {
        view::trace(request, 8, None, &[b"Declining, no further rewriting due to END flag"]);
        return Ok(false);
    }
    let led_to = proxy::led_to(request);
    request.resource.filename = led_to.clone().unwrap_or_else(|| request.target.uri.clone());
    let translated = server_rules(request, context).await?;
    let filename = std::mem::take(&mut request.resource.filename);
    match translated {
        Translation::Declined => {
            request.resource.filename = led_to.unwrap_or_default();
            Ok(false)
        }
        Translation::PassThrough(path) => {
            request.target.uri = path;
            Ok(false)
        }
        Translation::BelowDocumentRoot(path) => {
            request.resource.filename = below_document_root(request, &path)?;
            view::trace(request, 2, None, &[b"prefixed with document_root to ", &*request.resource.filename]);
            view::trace(request, 1, None, &[b"go-ahead with ", &*request.resource.filename, b" [OK]"]);
            Ok(true)
        }
        Translation::File(path) => {
            request.resource.filename = clean_path(path);
            Ok(true)
        }
        Translation::Proxy { url, raw } => {
            proxy::aim(request, &url, raw);
            Ok(true)
        }
        Translation::Redirect(status, location) => Err(redirected(request, status, location)),
        Translation::Status(status) => {
            request.resource.filename = filename;
            Err(Halt::Status(status))
        }
    }
}

async fn server_rules(request: &mut Request, context: &Context) -> Result<Translation, Halt> {
    let query = request.target.args.clone();
    let mut rewriting = Rewriting::default();
    let mut view = View::new(request, &context.maps);
    let translated = loop {
        match effort::resumable(|| rewriting.translate(context, &mut view)) {
            Ok(translated) => break translated,
            Err(need) => Box::pin(view.fetch(need, rewriting.place(context))).await?,
        }
    };
    let (looks, lasting) = view.looks();
    // Whoever goes by host and path alone would not hand this query on.
    let looks = if request.target.args == query { looks } else { looks.and(Looks::LINE) };
    end(request, &rewriting, looks, lasting)?;
    Ok(translated)
}

/// The rules of the directory. The target that the request goes on with, once the other fixups are done.
async fn fix_up(request: &mut Request) -> Result<Option<Vec<u8>>, Halt> {
    let dir = request.resource.dir.clone();
    let context = &dir.rewrite.context;
    let Some(directory) = context.directory.as_deref().filter(|_| context.is_on()) else { return Ok(None) };
    if context.rules.is_empty() {
        return Ok(None);
    }
    let is_its_name =
        directory.strip_suffix('/').is_some_and(|name| name.as_bytes() == request.resource.filename);
    if is_its_name && !context.has(Options::ALLOW_NO_SLASH) {
        // mod_dir redirects to the name with a slash.
        return Ok(None);
    }
    if has_ended(request) {
        view::trace(request, 8, Some(directory), &[b"Declining, no further rewriting due to END flag"]);
        return Ok(None);
    }
    let links = OptionBits::FOLLOW_SYM_LINKS;
    let options = dir.core.options;
    if !options.contains(links) && !options.contains(OptionBits::SYM_LINKS_IF_OWNER_MATCH) {
        let message = format!(
            "Options FollowSymLinks and SymLinksIfOwnerMatch are both off, so the RewriteRule directive is also \
             forbidden due to its similar ability to circumvent directory restrictions : {}",
            String::from_utf8_lossy(&request.resource.filename)
        );
        log::request(request, Severity::Error, "rewrite", &message);
        return Err(Halt::Status(403));
    }
    let fixed = directory_rules(request, context).await?;
    match fixed {
        Fixup::Declined | Fixup::Same => Ok(None),
        // Quirk(Apache): mod_dir comes later, and its redirect is what the client gets.
        Fixup::Internal(_) if dir::lacks_slash(request) => Ok(None),
        Fixup::Internal(target) => Ok(Some(target)),
        Fixup::Proxy(url) => {
            proxy::aim(request, &url, true);
            Ok(None)
        }
        Fixup::Redirect(status, location) => Err(redirected(request, status, location)),
        Fixup::Status(status) => Err(Halt::Status(status)),
    }
}

async fn directory_rules(request: &mut Request, context: &Context) -> Result<Fixup, Halt> {
    let (server, before) =
        (request.server.clone(), (request.resource.filename.clone(), request.resource.path_info.clone()));
    let mut rewriting = Rewriting::default();
    // Maps are a server's, whatever the directory.
    let (config, none) = (request.thread.shared.config.clone(), Maps::default());
    let maps = of_server(&config, &server).map_or(&none, |context| &*context.maps);
    let mut view = View::new(request, maps);
    let fixed = loop {
        match effort::resumable(|| rewriting.fix_up(context, maps, &mut view)) {
            Ok(fixed) => break fixed,
            Err(need) => Box::pin(view.fetch(need, rewriting.place(context))).await?,
        }
    };
    let (looks, lasting) = view.looks();
    // The request is still about the file that it was about.
    request.resource.filename = before.0;
    if !matches!(fixed, Fixup::Same | Fixup::Declined) {
        request.resource.path_info = before.1;
    }
    end(request, &rewriting, looks, lasting)?;
    Ok(fixed)
}

fn end(request: &mut Request, rewriting: &Rewriting, looks: Looks, lasting: bool) -> Continue {
    request.looked_at(looks);
    request.lasting &= lasting;
    if rewriting.has_ended() {
        request.notes.set(ENDED, Bytes::from_static(b"1"));
    }
    budget::check(request)
}

/// Returns whether a rule with `END` was carried out on the request, or on one that it goes on for.
fn has_ended(request: &Request) -> bool {
    request.chain().any(|request| request.notes.contains(ENDED))
}

fn redirected(request: &mut Request, status: u16, location: Vec<u8>) -> Halt {
    request.reply.headers_out.set("Location", location);
    Halt::Status(status)
}

/// A path below DocumentRoot as a file name. One that climbs out of it is refused.
fn below_document_root(request: &Request, path: &[u8]) -> Result<Vec<u8>, Halt> {
    let root = settings::root_of(request);
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let filename = clean_path([root, path].concat());
    if filename.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/")) {
        return Ok(filename);
    }
    let message = format!("Cannot map {} to file", String::from_utf8_lossy(&request.client.line));
    log::request(request, Severity::Error, "core", &message);
    Err(Halt::Status(403))
}

/// `SCRIPT_URL` and `SCRIPT_URI`: the URL as the client asked for it.
fn set_script_url(request: &mut Request) {
    let url = match request.env.find("REDIRECT_SCRIPT_URL") {
        Some(url) => url.clone(),
        None => match request.env.find("SCRIPT_URL").filter(|_| request.is_sub()) {
            Some(url) => url.clone(),
            None => Bytes::copy_from_slice(&request.target.uri),
        },
    };
    let uri = variables::absolute_url(request, &url);
    request.env.set("SCRIPT_URL", url);
    request.env.set("SCRIPT_URI", uri);
}

/// Applies the type and handler set by rules, which take precedence over all others.
fn force(request: &mut Request) {
    if let Some(mime_type) = request.notes.find(TYPE).cloned() {
        let line =
            [b"force filename ", &*request.resource.filename, b" to have MIME-type '", &mime_type, b"'"];
        view::trace(request, 1, None, &line);
        request.resource.content_type = Some(mime_type);
    }
    if let Some(handler) = request.notes.find(HANDLER).cloned() {
        let line = [
            b"force filename ",
            &*request.resource.filename,
            b" to have the Content-handler '",
            &handler,
            b"'",
        ];
        view::trace(request, 1, None, &line);
        request.resource.handler = Some(handler);
    }
}
