//! Which sections apply to a request, and merging them: Files, Location, If. (Directory: see [`super::walk`].)

use crate::expr_host;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::serve::{Halt, Phase};
use hostler_config::{DirConfig, Pattern, Section, lookup};
use hostler_expr::Captures;
use smallvec::SmallVec;
use std::sync::Arc;

/// Configurations to merge, in order.
pub(crate) type Overs = SmallVec<[Arc<DirConfig>; 8]>;

/// Merges `overs` into the request's configuration.
pub(crate) fn merge(request: &mut Request, overs: &[Arc<DirConfig>]) {
    if !overs.is_empty() {
        let merged = request.thread.merges.borrow_mut().merge(&request.dir, overs);
        request.dir = merged;
    }
}

/// `<Location>`, `<LocationMatch>`.
pub(crate) fn locations(request: &mut Request) {
    let server = request.server.clone();
    let mut overs = Overs::new();
    for section in server.locations.iter() {
        if let Some(found) = lookup::location_matches(section, &request.uri) {
            set_matches(request, &found);
            overs.push(section.conf.clone());
        }
    }
    merge(request, &overs);
}

/// `<Files>`, `<FilesMatch>`, for everything that has a file name.
pub(crate) fn files(request: &mut Request) {
    let dir = request.dir.clone();
    if dir.core.files.is_empty() || request.filename.is_empty() {
        return;
    }
    let name = request.basename().to_vec();
    let mut overs = Overs::new();
    for section in &dir.core.files {
        if let Some(found) = lookup::file_matches(section, &name) {
            set_matches(request, &found);
            overs.push(section.conf.clone());
        }
    }
    merge(request, &overs);
}

/// Named groups of a section's expression become environment variables.
pub(crate) fn set_matches(request: &mut Request, found: &[(String, Vec<u8>)]) {
    for (name, value) in found {
        request.env.set(name.clone().into_bytes(), value.clone());
    }
}

/// `<If>`, `<ElseIf>`, `<Else>`; they may nest.
pub(crate) async fn conditions(request: &mut Request) -> Phase {
    let mut done = 0;
    // Merging an If section may append the If sections inside it.
    for _ in 0..16 {
        let dir = request.dir.clone();
        let ifs = &dir.core.ifs;
        if done >= ifs.len() {
            return Ok(());
        }
        let mut overs = Overs::new();
        let mut taken = false;
        for section in &ifs[done..] {
            taken = applies(request, section, taken).await?;
            if taken {
                overs.push(section.conf.clone());
            }
        }
        done = ifs.len();
        merge(request, &overs);
    }
    Ok(())
}

/// Whether a conditional section applies; `taken`: the section before it did.
async fn applies(request: &mut Request, section: &Section, taken: bool) -> Result<bool, Halt> {
    let Pattern::Condition { condition, otherwise } = &section.pattern else { return Ok(false) };
    if *otherwise && taken {
        // The chain is decided: whatever follows in it must not apply either.
        return Ok(false);
    }
    let Some(condition) = condition else { return Ok(true) };
    let (outcome, varies) = expr_host::test(request, condition, &mut Captures::new()).await;
    for header in varies {
        request.vary(&header);
    }
    outcome.map_err(|error| {
        let message = format!("{}: the condition can't be evaluated: {error}", section.title);
        log::request(request, Severity::Error, "core", &message);
        Halt::Status(500)
    })
}
