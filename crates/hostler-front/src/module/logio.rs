//! The time until a response began (mod_logio, `LogIOTrackTTFB`). Received and sent bytes are counted anyway.

use crate::hook::registry::{Change, Filter, Module, Stage};
use crate::log;
use crate::request::Request;

pub(crate) static MODULE: Module = Module {
    filters: &[Filter {
        stage: Stage::Transfer,
        after: &["ratelimit"],
        sees_errors: true,
        when: is_tracked,
        run: Change::Now(|request, body| {
            let took = request.client.started.elapsed().as_micros();
            request.notes.set(log::FIRST_BYTE, took.to_string());
            body
        }),
    }],
    ..Module::new("logio", is_tracked)
};

fn is_tracked(request: &Request) -> bool {
    request.resource.dir.log_config.first_byte == Some(true)
}
