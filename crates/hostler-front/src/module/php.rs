//! PHP (mod_php): scripts that run in warm workers of the site's own user.
//!
//! The engine answers, and has no say in other phases. Where `engine` is off scripts are files like any other, as in Apache.
//!
//! **Diagnostics**: everything goes to the virtual host's ErrorLog under `php`: what PHP and its programs log, and for each
//! 5xx one line with the cause and the id that the error page shows.

mod said;

use crate::hook::handler::name_of;
use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::{alias, cgi};
use crate::request::flow::Halt;
use crate::request::{FileEntry, Request};
use crate::technique::dialect::{Dialect, Late};
use crate::technique::directories::{Directories, EncodedSettings, tell_limits};
use crate::technique::pools::Engines;
use crate::technique::reply::FieldMerge;
use crate::technique::respond::{Ask, LONGEST_ALONE, respond};
use bytes::Bytes;
use hostler_config::directives::pool::Isolation;
use hostler_gateway::backend::OnAbandon;
use hostler_php_frames as frames;
use hostler_php_frames::handler;
use hostler_php_technique::{DIR, ENGINE, LOG, PHP, Setting, is_installed};
use hostler_wire::codec::Encoder;
use hostler_wire::work::Directory;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The handlers of mod_php. Without the engine there are none: such a script is not sent as a text either.
pub(crate) static MODULE: Module = Module {
    handlers: &[
        Handler {
            names: &[handler::RUN, handler::SCRIPT],
            types: &[handler::RUN.as_bytes()],
            when: |_| is_installed(),
            settles: false,
            run: |request| Box::pin(handle(request, handler::RUN.as_bytes())),
        },
        Handler {
            names: &[handler::SOURCE],
            types: &[handler::SOURCE.as_bytes()],
            when: |_| is_installed(),
            settles: false,
            run: |request| Box::pin(handle(request, handler::SOURCE.as_bytes())),
        },
        Handler {
            names: &[PAGE],
            types: &[PAGE.as_bytes()],
            when: is_by_execute_bit,
            settles: false,
            run: |request| Box::pin(handle(request, handler::RUN.as_bytes())),
        },
    ],
    before_log: Some(Late::apply),
    ..Module::new(LOG, |_| false)
};

/// The type of pages, of which `xbithack` makes scripts.
const PAGE: &str = "text/html";

/// `php_flag xbithack on`: HTML that its owner may execute is a script.
fn is_by_execute_bit(request: &Request) -> bool {
    const OWNER_EXECUTES: u32 = 0o100;
    is_installed()
        && request.resource.dir.part(&DIR).runs_by_execute_bit()
        && matches!(&request.resource.found, FileEntry::File(info, _) if info.mode & OWNER_EXECUTES != 0)
}

async fn handle(request: &mut Request, handler: &'static [u8]) -> Result<Body, Halt> {
    if !request.resource.dir.part(&DIR).runs() {
        // The configuration has said that this is a file like any other.
        request.resource.handler = Some(Bytes::from_static(b"default-handler"));
        return crate::hook::handler::send_file(request).await;
    }
    if request.resource.found.is_nothing() || request.resource.found.is_directory() {
        let script = String::from_utf8_lossy(&request.resource.filename).into_owned();
        log::request(
            request,
            Severity::Error,
            LOG,
            &format!("script '{script}' not found or unable to stat"),
        );
        return Err(Halt::Status(404));
    }
    let translated = if request.resource.path_info.is_empty() {
        None
    } else {
        let path_info = request.resource.path_info.clone();
        alias::translate_only(request, &path_info).await
    };
    let one_shot = PHP.isolation(&request.resource.dir) == Isolation::Fork;
    let directory = known(request).definition();
    let ask = Ask {
        engine: &ENGINE,
        dialect: Some(&said::PhpDialect as &dyn Dialect),
        one_shot,
        group: group(request),
        timeout: None,
        on_abandon: OnAbandon::RunToEnd(LONGEST_ALONE),
        merge: FieldMerge::Set,
        directory,
        translated,
        handler,
    };
    respond(request, ask).await
}

/// The group whose pool runs the request's script: what is compiled under one of the administrator's settings is not for use
/// under another.
fn group(request: &Request) -> Option<Arc<str>> {
    hostler_php_technique::group(&request.server, &request.resource.dir)
}

/// Returns whether a worker that runs one script can run the other one as a part of it (`virtual`).
fn runs_in_place_of(request: &Request, other: &Request) -> bool {
    let name = name_of(request);
    [handler::RUN, handler::SCRIPT].iter().any(|own| own.as_bytes() == &*name)
        && request.resource.dir.part(&DIR).runs()
        && matches!(request.resource.found, FileEntry::File(..))
        && Arc::ptr_eq(&request.server, &other.server)
        && group(request) == group(other)
        && PHP.isolation(&request.resource.dir) == PHP.isolation(&other.resource.dir)
}

/// Configurations remembered per thread, and the bytes of their messages.
const MAX: usize = 4096;
const MAX_BYTES: usize = 16 << 20;

thread_local! {
    static KNOWN: RefCell<Directories<()>> = RefCell::new(Directories::new(MAX, MAX_BYTES));
}

/// The configuration of a request.
fn known(request: &Request) -> Rc<EncodedSettings> {
    KNOWN.with_borrow_mut(|known| {
        known.of(&request.resource.dir, request.server.id, (), || directory(request))
    })
}

fn directory(request: &Request) -> Vec<u8> {
    tell_limits(request);
    let dir = &request.resource.dir;
    let (mut own, mut encoded) = (Vec::new(), Vec::new());
    let settings = dir.part(&DIR).settings.iter().map(told).collect();
    let pass_auth = dir.core.cgi_pass_auth == Some(true);
    let user_ini = dir.part(&DIR).user_ini.unwrap_or(true);
    let real_paths = dir.part(&DIR).real_paths.unwrap_or(false);
    frames::Directory { settings, user_ini, pass_auth, real_paths }.encode(&mut Encoder(&mut own));
    let signature = cgi::lasting_signature(request);
    let directory = Directory {
        server: request.thread.shared.of::<Engines>().place(&request.server, &ENGINE),
        limit_request_body: dir.core.limit_request_body.unwrap_or(1 << 30),
        signature: &signature,
        own: &own,
        ..Directory::default()
    };
    directory.encode(&mut Encoder(&mut encoded));
    encoded
}

fn told(setting: &Setting) -> frames::Setting<'_> {
    let Setting { name, value, admin, access_file } = setting;
    frames::Setting { name, value, admin: *admin, access_file: *access_file }
}
