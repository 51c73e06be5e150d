//! From a URL to a file and its configuration: the phases before access control.

pub(crate) mod fixup;
pub(crate) mod host;
pub(crate) mod htaccess;
pub(crate) mod sections;
pub(crate) mod translate;
pub(crate) mod types;
pub(crate) mod walk;

use crate::handler::worker::phases::{self, Said};
use crate::request::{Found, Request};
use crate::serve::{Halt, Phase};
use crate::uri::{self, EncodedSlashes};
use crate::{budget, rewrite};
use hostler_config::directives::core;

/// Decodes the path, translates it, and merges what applies to it.
pub(crate) async fn locate(request: &mut Request) -> Phase {
    phases::post_read_request(request).await?;
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
    sections::locations(request).await?;
    sections::conditions(request).await?;
    let declined = phases::of_mapping(request, phases::TRANS).await? == Said::Declined;
    if (declined || request.filename.is_empty()) && !rewrite::translate(request).await? {
        translate::run(request).await?;
    }
    find(request).await
}

/// Looks at what stands at the file name, and merges what applies to it and to the URL.
async fn find(request: &mut Request) -> Phase {
    request.dir = request.server.defaults.clone();
    if phases::of_mapping(request, phases::MAP_TO_STORAGE).await? == Said::Declined {
        request.path_info.clear();
        request.found = Found::Nothing;
        walk::run(request).await?;
    }
    sections::files(request).await?;
    sections::locations(request).await?;
    sections::conditions(request).await
}

/// Looks at what stands at a file name that a program has set. As in Apache, the configuration stays that of the
/// file of before; whether links may be followed is that of the new one.
pub(crate) async fn find_again(request: &mut Request) -> Phase {
    let (dir, path_info) = (request.dir.clone(), request.path_info.clone());
    request.dir = request.server.defaults.clone();
    request.found = Found::Nothing;
    let outcome = walk::run(request).await;
    (request.dir, request.path_info) = (dir, path_info);
    outcome
}

/// A file looked up by its path, as `-F` and some includes do.
pub(crate) async fn look_up_file(request: &Request, path: &[u8]) -> (Request, Phase) {
    look_up_file_noted(request, path, |_| {}).await
}

/// The same, for a sub-request that is changed before its phases.
pub(crate) async fn look_up_file_noted(
    request: &Request,
    path: &[u8],
    change: impl FnOnce(&mut Request),
) -> (Request, Phase) {
    let mut sub = request.sub(&request.uri);
    change(&mut sub);
    sub.filename = path.to_vec();
    sub.dir = sub.server.defaults.clone();
    let phase = match budget::sub_request(request).await {
        Ok(()) => look_up_phases(&mut sub).await,
        Err(halt) => Err(halt),
    };
    (sub, phase)
}

async fn look_up_phases(sub: &mut Request) -> Phase {
    walk::run(sub).await?;
    sections::files(sub).await?;
    sections::conditions(sub).await?;
    crate::access::check(sub).await?;
    types::check(sub);
    Ok(())
}

/// SetEnvIf and BrowserMatch of sections: what comes before access control.
pub(crate) async fn header_parser(request: &mut Request) -> Phase {
    crate::filter::env::set_env_if_dir(request).await
}
