//! Techniques that only answer, and for which the front has no module of their own: what is to be known of them stands in
//! their row (`hostler_config::technique::Plain`).
//!
//! **Diagnostics**: everything goes to the virtual host's ErrorLog under the engine's name: what its processes write, and for
//! each 5xx one line with the cause and the id that the error page shows.

use crate::hook::handler;
use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::cgi;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::directories::{Directories, EncodedSettings, tell_limits};
use crate::technique::pools::Engines;
use crate::technique::reply::FieldMerge;
use crate::technique::respond::{Ask, LONGEST_ALONE, respond};
use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{self, Engine, Plain, Technique};
use hostler_gateway::backend::OnAbandon;
use hostler_wire::codec::Encoder;
use hostler_wire::work::Directory;
use std::cell::RefCell;
use std::rc::Rc;

/// Registers the handlers of such rows.
pub(crate) static MODULE: Module = Module {
    rows: Some(Handler {
        names: &[],
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }),
    ..Module::new("plain", |_| false)
};

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    let name = handler::name_of(request);
    let row = technique::of_handler(&name);
    let (Some(row), Some(plain)) = (row, row.and_then(|row| row.plain)) else {
        return Err(Halt::Status(500));
    };
    let own = row.handlers.iter().find(|own| own.as_bytes() == &*name);
    let (Some(engine), Some(own)) = (row.engine(), own) else {
        log::request(request, Severity::Error, "core", "a technique without an engine can't answer");
        return Err(Halt::Status(500));
    };
    let one_shot = row.isolation(&request.resource.dir) == Isolation::Fork;
    let ask = Ask {
        engine,
        dialect: None,
        one_shot,
        group: None,
        timeout: None,
        on_abandon: match plain.runs_to_end {
            true => OnAbandon::RunToEnd(LONGEST_ALONE),
            false => OnAbandon::TakeBackOrKill(LONGEST_ALONE),
        },
        merge: FieldMerge::Set,
        directory: known(request, row, engine, plain).definition(),
        translated: None,
        handler: own.as_bytes(),
    };
    respond(request, ask).await
}

/// Configurations remembered per thread, and the bytes of their messages.
const MAX: usize = 4096;
const MAX_BYTES: usize = 16 << 20;

thread_local! {
    /// By technique: two of them make different things of one configuration.
    static KNOWN: RefCell<Directories<&'static str>> = RefCell::new(Directories::new(MAX, MAX_BYTES));
}

fn known(request: &Request, row: &Technique, engine: &Engine, plain: Plain) -> Rc<EncodedSettings> {
    KNOWN.with_borrow_mut(|known| {
        let encode = || directory(request, engine, plain);
        known.of(&request.resource.dir, request.server.id, row.name, encode)
    })
}

fn directory(request: &Request, engine: &Engine, plain: Plain) -> Vec<u8> {
    tell_limits(request);
    let dir = &request.resource.dir;
    let own = (plain.directory)(dir);
    let signature = cgi::lasting_signature(request);
    let directory = Directory {
        server: request.thread.shared.of::<Engines>().place(&request.server, engine),
        limit_request_body: dir.core.limit_request_body.unwrap_or(1 << 30),
        signature: &signature,
        own: &own,
        ..Directory::default()
    };
    let mut encoded = Vec::new();
    directory.encode(&mut Encoder(&mut encoded));
    encoded
}
