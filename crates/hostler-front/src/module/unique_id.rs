//! `UNIQUE_ID` (mod_unique_id): a name for each request that no other request of any machine has. Set where the
//! configuration loads the module.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::request::Request;
use crate::request::flow::Flow;
use crate::values::random;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use std::sync::LazyLock;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::PostRead,
        after: &[],
        before: &["names"],
        when: |request| is_loaded(request) && request.is_read_anew(),
        effect: Effect::Notes,
        run: Run::Now(|request| {
            set(request);
            Ok(Flow::Ok)
        }),
    }],
    ..Module::new("unique_id", is_loaded)
};

/// The module's name where it is loaded.
pub(crate) const NAME: &str = "unique_id_module";

pub(crate) fn is_loaded(request: &Request) -> bool {
    request.thread.shared.config.facts.loaded_modules.contains(NAME)
}

/// The part that distinguishes this front from all others.
static ROOT: LazyLock<[u8; 10]> = LazyLock::new(|| {
    let mut root = [0; 10];
    root[..8].copy_from_slice(&random::number().to_be_bytes());
    root[8..].copy_from_slice(&random::number().to_be_bytes()[..2]);
    root
});

fn set(request: &mut Request) {
    let former = request.prev.as_ref().and_then(|_| request.env.find("REDIRECT_UNIQUE_ID"));
    let id = former.cloned().unwrap_or_else(|| Bytes::from(id(request)));
    request.env.set("UNIQUE_ID", id);
}

/// Time, front, and the number of the request in it.
fn id(request: &Request) -> String {
    let seconds = request.client.received.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&(seconds as u32).to_be_bytes());
    bytes[4..14].copy_from_slice(&*ROOT);
    bytes[14..].copy_from_slice(&request.number.to_be_bytes()[2..]);
    URL_SAFE_NO_PAD.encode(bytes)
}
