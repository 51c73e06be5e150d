//! From a URL to a file and its configuration: the phases before access control.

pub(crate) mod fixup;
pub(crate) mod host;
pub(crate) mod sections;
pub(crate) mod translate;
pub(crate) mod types;
pub(crate) mod walk;

use crate::request::Request;
use crate::serve::{Halt, Phase};
use crate::uri::{self, EncodedSlashes};
use hostler_config::directives::core;

/// Decodes the path, translates it, and merges what applies to it.
pub(crate) async fn locate(request: &mut Request) -> Phase {
    let conf = &request.server.conf.core;
    let merge = conf.merge_slashes.unwrap_or(true);
    let slashes = match conf.encoded_slashes.unwrap_or_default() {
        core::EncodedSlashes::Off => EncodedSlashes::Off,
        core::EncodedSlashes::On => EncodedSlashes::On,
        core::EncodedSlashes::NoDecode => EncodedSlashes::NoDecode,
    };
    request.uri =
        uri::normalise(&request.uri, merge, slashes).map_err(|error| Halt::Status(error.status()))?;
    request.dir = request.server.defaults.clone();
    // A throw-away look at Location sections: translation may depend on them.
    sections::locations(request)?;
    sections::conditions(request).await?;
    translate::run(request).await?;
    request.dir = request.server.defaults.clone();
    walk::run(request).await?;
    sections::files(request)?;
    sections::locations(request)?;
    sections::conditions(request).await
}

/// A file looked up by its path, as `-F` and some includes do.
pub(crate) async fn look_up_file(request: &Request, path: &[u8]) -> (Request, Phase) {
    let mut sub = request.sub(&request.uri);
    sub.filename = path.to_vec();
    sub.dir = sub.server.defaults.clone();
    let phase = look_up_phases(&mut sub).await;
    (sub, phase)
}

async fn look_up_phases(sub: &mut Request) -> Phase {
    walk::run(sub).await?;
    sections::files(sub)?;
    sections::conditions(sub).await?;
    crate::access::check(sub).await?;
    types::check(sub);
    Ok(())
}

/// SetEnvIf and BrowserMatch of sections: what comes before access control.
pub(crate) async fn header_parser(request: &mut Request) {
    crate::filter::env::set_env_if_dir(request).await;
}
