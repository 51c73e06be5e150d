//! Negotiation (mod_negotiation): of several variants of a document, the one that suits the client best. Variants stand
//! beside each other (`Options MultiViews`), or in a type map.
//!
//! ```text
//! accept     what the client says
//! variant    how well a variant suits it
//! choose     which is the best
//! views      variants that are files of one name
//! map        variants of a type map
//! answer     the fields about all this
//! ```
//!
//! **Diagnostics**: what can't be negotiated is told of in the virtual host's ErrorLog under `negotiation`.

mod accept;
mod answer;
mod choose;
mod map;
mod variant;
mod views;

use crate::hook::conditional::{self, Condition, Validators};
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Handler, Hook, Module, Run};
use crate::hook::walk::look_up_file_noted;
use crate::io::body::{Body, Segment};
use crate::limits::kept;
use crate::limits::watch::Place;
use crate::log::{self, Severity};
use crate::module::core::{file, walk};
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::{FileEntry, Request};
use accept::Preferences;
use answer::Result as Negotiated;
use bytes::Bytes;
use choose::Wish;
use hostler_config::directives::alias::escape_path;
use hostler_config::directives::core::OptionBits;
use hostler_http1::head::HTTP_11;
use map::Broken;
use variant::Variant;

/// Most variants of a document.
const MOST_VARIANTS: usize = 512;

const MAP_HANDLER: &str = "type-map";
const MAP_TYPE: &str = "application/x-type-map";

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Type,
            after: &[],
            before: &["core"],
            when: |request| {
                request.resource.found.is_nothing()
                    && request.resource.dir.core.options.contains(OptionBits::MULTI_VIEWS)
                    && request.resource.filename.first() == Some(&b'/')
            },
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(multi_views(request))),
        },
        Hook {
            phase: Phase::Fixup,
            after: &["headers"],
            before: &["alias"],
            when: |request| {
                request.resource.content_encoding.is_some()
                    && request.target.headers_in.contains("Accept-Encoding")
            },
            effect: Effect::Notes,
            run: Run::Now(|request| {
                name_encoding(request);
                Ok(Flow::Ok)
            }),
        },
    ],
    handlers: &[Handler {
        names: &[MAP_HANDLER, MAP_TYPE],
        types: &[MAP_TYPE.as_bytes()],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle_map(request)),
    }],
    ..Module::new("negotiation", |request| request.resource.content_encoding.is_some())
};

/// The subject of a negotiation.
struct Matter {
    variants: Vec<Variant>,
    prefers_programs: bool,
}

/// The variant that was chosen.
struct Choice {
    variant: Variant,
    transparent: bool,
}

/// A name that leads to no file, but to variants.
async fn multi_views(request: &mut Request) -> Outcome {
    let views = views::find(request).await?;
    let (variants, mut found) = (views.variants, views.found);
    if variants.is_empty() {
        return Ok(Flow::Declined);
    }
    // What was looked at may change unnoticed, and each client may get something else.
    request.lasting = false;
    let prefers_programs =
        !request.is_get() || request.target.args.is_some() || !request.resource.path_info.is_empty();
    let choice = negotiate(request, Matter { variants, prefers_programs }).await?;
    let mut sub = match choice.variant.found {
        Some(at) => {
            let mut sub = found.swap_remove(at);
            walk::find_again(&mut sub).await?;
            sub
        }
        None => neighbour(request, &choice.variant).await?,
    };
    if let Some(list) = views.list.filter(|_| choice.transparent) {
        request.slots.put(list);
    }
    // A variant is looked up by its file; the query stays that of the request.
    sub.target.args = request.target.args.clone();
    request.absorb(sub);
    request.is_typed = true;
    Ok(Flow::Ok)
}

/// Looks up a variant of a map.
async fn neighbour(request: &Request, variant: &Variant) -> Result<Request, Halt> {
    let name = variant.file.as_bytes();
    let beside = |path: &[u8]| {
        let end = path.iter().rposition(|&b| b == b'/').map_or(0, |n| n + 1);
        [&path[..end], name].concat()
    };
    let path = hostler_config::directives::alias::clean_path(beside(&request.resource.filename));
    let uri = beside(&request.target.uri);
    let (sub, outcome) = look_up_file_noted(request, &path, |sub| sub.target.uri = uri).await;
    match outcome {
        Err(Halt::Status(status)) if !sub.reply.err_headers_out.contains("TCN") => Err(Halt::Status(status)),
        Err(Halt::Redirect { method, target }) => Err(Halt::Redirect { method, target }),
        _ => Ok(sub),
    }
}

/// Chooses a variant, and says so in the answer's fields.
async fn negotiate(request: &mut Request, matter: Matter) -> Result<Choice, Halt> {
    let Matter { mut variants, prefers_programs } = matter;
    let neighbours = variants.iter().all(|one| !one.file.contains('/') && one.body.is_none());
    let transparent = request.is_get() && neighbours && request.resource.path_info.is_empty();
    let wish = if transparent { Wish::of(request) } else { Wish::default() };
    let mut accepted = Preferences::of(request);
    choose::add_usual(&mut accepted, wish, prefers_programs);
    let chosen = choose::choose(request, &mut variants, &accepted, &request.resource.dir.negotiation, wish);
    let best = match (chosen.is_choice, chosen.best) {
        (true, Some(best)) => best,
        (_, best) => {
            answer::fields(request, &variants, transparent, true, Negotiated::List);
            request.notes.set("variant-list", answer::list(&variants));
            if transparent && wish.knows_lists {
                return Err(Halt::Status(300));
            }
            let Some(best) = best else {
                let message =
                    format!("no acceptable variant: {}", String::from_utf8_lossy(&request.resource.filename));
                log::request(request, Severity::Error, "negotiation", &message);
                return Err(Halt::Status(406));
            };
            best
        }
    };
    let variant = variants[best].clone();
    if transparent {
        announce(request, &variant).await?;
    }
    answer::fields(request, &variants, transparent, wish.sends_alternates, Negotiated::Choice);
    Ok(Choice { variant, transparent })
}

/// Adds the fields of an openly chosen variant; one that is negotiated in its turn is an error (RFC 2295 §8.1).
async fn announce(request: &mut Request, variant: &Variant) -> Result<(), Halt> {
    if variant.found.is_none() {
        let sub = neighbour(request, variant).await?;
        if sub.reply.err_headers_out.contains("TCN")
            || sub.resource.handler.as_deref() == Some(MAP_HANDLER.as_bytes())
        {
            return Err(Halt::Status(506));
        }
        if let Some(vary) = sub.reply.err_headers_out.find("Vary").cloned() {
            request.reply.err_headers_out.set("Variant-Vary", vary.clone());
            request.reply.err_headers_out.set("Vary", vary);
        }
    }
    request.reply.err_headers_out.set("Content-Location", answer::escape(&variant.file));
    Ok(())
}

/// The variants of the map that the request has been led to.
async fn read_map(request: &Request) -> Result<Vec<Variant>, Halt> {
    let tell = |why: &str| {
        let message = format!("{} as a type map: {why}", String::from_utf8_lossy(&request.resource.filename));
        log::request(request, Severity::Error, "negotiation", &message);
    };
    let open = match &request.resource.found {
        FileEntry::File(_, Ok(open)) => open,
        FileEntry::Nothing | FileEntry::Directory(_) => {
            tell("there is no such file");
            return Err(Halt::Status(404));
        }
        FileEntry::File(_, Err(errno)) => {
            tell(&std::io::Error::from_raw_os_error(*errno).to_string());
            return Err(Halt::Status(403));
        }
        FileEntry::Other(_) => return Err(Halt::Status(403)),
    };
    let Some(text) = kept::read(request, open, views::LARGEST_MAP).await? else {
        tell(&format!("it can't be read, or is larger than {} bytes", views::LARGEST_MAP));
        return Err(Halt::Status(500));
    };
    let name = String::from_utf8_lossy(request.basename()).into_owned();
    let (mut variants, broken) = map::read(&text, &name);
    match broken {
        Some(Broken::Syntax(why)) => {
            tell(&why);
            return Err(Halt::Status(500));
        }
        Some(Broken::Rest(why)) => tell(&why),
        None => {}
    }
    views::lengths(request, &mut variants).await?;
    Ok(variants)
}

/// The handler `type-map`.
async fn handle_map(request: &mut Request) -> Result<Body, Halt> {
    request.budget.watched.enter(Place::handler("negotiation"));
    let variants = read_map(request).await?;
    let matter = Matter { variants, prefers_programs: false };
    let choice = negotiate(request, matter).await?;
    if request.client.version < HTTP_11 && !request.server.conf.negotiation.caches() {
        request.reply.is_uncacheable = true;
    }
    if let Some(info) = request.resource.found.info().filter(|_| choice.transparent)
        && let Some(list) = file::etag_of(request, info)
    {
        request.slots.put(file::VariantList(list));
    }
    if let Some(at) = choice.variant.body {
        return body(request, &choice.variant, at).await;
    }
    let end = request.target.uri.len().saturating_sub(request.resource.path_info.len());
    let directory = request.target.uri[..end].iter().rposition(|&b| b == b'/').map_or(0, |n| n + 1);
    let mut target = escape_path(&request.target.uri[..directory]);
    target.extend_from_slice(choice.variant.file.as_bytes());
    target.extend_from_slice(&request.resource.path_info);
    if let Some(args) = &request.target.args {
        target.push(b'?');
        target.extend_from_slice(args);
    }
    Err(Halt::Redirect { method: request.target.method.clone(), target })
}

/// A variant whose text stands in the map.
async fn body(request: &mut Request, variant: &Variant, at: usize) -> Result<Body, Halt> {
    if !request.is_get() && &*request.target.method != b"POST" {
        request.reply.headers_out.set("Allow", Bytes::from_static(b"GET,HEAD,OPTIONS,POST"));
        return Err(Halt::Status(405));
    }
    let FileEntry::File(info, Ok(open)) = request.resource.found.clone() else {
        return Err(Halt::Status(500));
    };
    let length = variant.length.unwrap_or(0);
    request.reply.headers_out.set("Accept-Ranges", Bytes::from_static(b"bytes"));
    if !variant.media_type.is_empty() {
        let charset = if variant.charset.is_empty() { "" } else { "; charset=" };
        request.resource.content_type =
            Some(format!("{}{charset}{}", variant.media_type, variant.charset).into());
    }
    if !variant.languages.is_empty() {
        request.resource.content_languages =
            variant.languages.iter().map(|l| Bytes::from(l.clone())).collect();
    }
    if let Some(encoding) = variant.encoding.clone().filter(|encoding| !encoding.is_empty()) {
        request.resource.content_encoding = Some(encoding.into());
    }
    let validators = Validators { etag: None, modified: Some(info.mtime), now: request.client.second() };
    match conditional::evaluate(request, validators) {
        Condition::Met => {}
        Condition::Failed => return Err(Halt::Status(412)),
        Condition::NotModified => {
            request.reply.status = 304;
            return Ok(Body::Empty);
        }
    }
    file::drop_body(request).await?;
    Ok(Body::Segments(vec![Segment::File { file: open, offset: at as u64, length }]))
}

/// Some clients call a coding `x-gzip`, others `gzip`: each gets its own name.
fn name_encoding(request: &mut Request) {
    let Some(own) = request.resource.content_encoding.clone() else { return };
    let own = String::from_utf8_lossy(&own).into_owned();
    let own = own.strip_prefix("x-").unwrap_or(&own);
    let Some(field) = request.header("Accept-Encoding") else { return };
    let names: Vec<String> = accept::entries(field).into_iter().map(|entry| entry.name).collect();
    let plain = names.iter().find(|name| *name == own);
    let prefixed = || names.iter().rfind(|name| name.strip_prefix("x-") == Some(own));
    if let Some(name) = plain.or_else(prefixed) {
        request.resource.content_encoding = Some(name.clone().into());
    }
}
