//! The settings of a directory for workers, encoded once.

use crate::module::cgi;
use crate::request::Request;
use crate::technique::pools::Engines;
use hashbrown::HashMap;
use hostler_config::DirConfig;
use hostler_python_frames as frames;
use hostler_python_technique::{
    CALLABLE, DIR, Dir, ENGINE, HANDLE_REQUEST, HandlerScript, HeadIsGet, SERVER, Where,
};
use hostler_wire::codec::Encoder;
use hostler_wire::work::{Directory, ToWorker};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Configurations remembered per thread; beyond this all are forgotten (hostile .htaccess files could fill it).
const MAX: usize = 4096;

/// An encoded configuration.
struct EncodedSettings {
    /// Unique within the front's life, and the encoded `Define` message.
    directory: (u32, Arc<[u8]>),
    /// Keeps the address in the key taken.
    _dir: Arc<DirConfig>,
}

/// The rules that have led to the application, besides the request's file, each by its position in its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct MatchedRules {
    /// `WSGIScriptAlias`
    pub(super) alias: Option<usize>,
    /// `WSGIHandlerScript`
    pub(super) handler: Option<usize>,
}

/// A configuration, its virtual host, what has led to the application, what a script says that it is called, and whether
/// output filters look at bodies.
type Key = (usize, u32, MatchedRules, Option<Box<str>>, bool);

thread_local! {
    static KNOWN: RefCell<HashMap<Key, EncodedSettings, foldhash::fast::RandomState>> = RefCell::default();
}

/// The configuration of a request, encoded once. `callable`: what `WSGIDispatchScript` says that the application is called.
pub(super) fn known(request: &Request, led: MatchedRules, callable: Option<&str>) -> (u32, Arc<[u8]>) {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let is_filtered = crate::hook::filter::are_any(request);
    let key = (
        Arc::as_ptr(&request.resource.dir) as usize,
        request.server.id,
        led,
        callable.map(Box::from),
        is_filtered,
    );
    KNOWN.with_borrow_mut(|known| {
        if let Some(found) = known.get(&key) {
            return found.directory.clone();
        }
        if known.len() >= MAX {
            known.clear();
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = (id, define(request, led, callable, is_filtered, id).into());
        known.insert(
            key,
            EncodedSettings { directory: directory.clone(), _dir: request.resource.dir.clone() },
        );
        directory
    })
}

fn define(
    request: &Request,
    led: MatchedRules,
    callable: Option<&str>,
    is_filtered: bool,
    id: u32,
) -> Vec<u8> {
    let aliases = &request.server.conf.part(&SERVER).aliases;
    let dir = request.resource.dir.part(&DIR);
    let handler = led.handler.and_then(|at| dir.handler_scripts.get(at));
    let own = led.alias.and_then(|at| aliases.get(at)).map(|alias| &alias.own);
    let (mut bytes, mut encoded, mut message) = (Vec::new(), Vec::new(), Vec::new());
    let mut told = python(dir, own, handler, is_filtered);
    told.callable = callable.unwrap_or(told.callable);
    told.encode(&mut Encoder(&mut bytes));
    let signature = cgi::lasting_signature(request);
    let directory = Directory {
        server: request.thread.shared.of::<Engines>().place(&request.server, &ENGINE),
        limit_request_body: request.resource.dir.core.limit_request_body.unwrap_or(1 << 30),
        signature: &signature,
        own: &bytes,
        ..Directory::default()
    };
    directory.encode(&mut Encoder(&mut encoded));
    ToWorker::Define { id, directory: &encoded }.encode(&mut message);
    message
}

fn python<'a>(
    dir: &'a Dir,
    own: Option<&'a Where>,
    handler: Option<&'a HandlerScript>,
    is_filtered: bool,
) -> frames::Directory<'a> {
    let own = handler.map(|handler| &handler.own).or(own);
    let callable = match handler {
        Some(_) => Some(HANDLE_REQUEST),
        None => own.and_then(|own| own.callable.as_deref()).or(dir.callable.as_deref()),
    };
    let pass_authorization = own.and_then(|own| own.pass_authorization).or(dir.pass_authorization);
    let head_is_get = match dir.head_is_get {
        Some(HeadIsGet::On) => true,
        Some(HeadIsGet::Off) => false,
        Some(HeadIsGet::Auto) | None => is_filtered,
    };
    frames::Directory {
        callable: callable.unwrap_or(CALLABLE),
        pass_authorization: pass_authorization.unwrap_or(false),
        error_override: dir.error_override.unwrap_or(false),
        head_is_get,
        reloading: dir.reloading.unwrap_or(true),
        trusted_headers: &dir.trusted_headers,
        trusted_proxies: dir.trusted_proxies.as_deref(),
        handler: handler.map(|handler| (&*handler.script, &*handler.name)),
    }
}
