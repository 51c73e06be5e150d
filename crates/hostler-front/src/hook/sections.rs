//! The sections that apply to a request, and merging them: Files, Location, If. (Directory: the module core's walk.)

use crate::limits::budget;
use crate::request::Request;
use crate::request::expr_host;
use crate::request::flow::{Continue, Halt};
use hostler_config::{DirConfig, Pattern, Section, lookup};
use hostler_expr::{Captures, Expr, RegexError};
use smallvec::SmallVec;
use std::sync::Arc;

/// Configurations to merge, in order.
pub(crate) type Overs = SmallVec<[Arc<DirConfig>; 8]>;

/// Applies the sections of the URL alone.
pub(crate) async fn of_url(request: &mut Request) -> Continue {
    locations(request).await?;
    conditions(request).await
}

/// Applies the sections of the file and of the URL, over those of its directory.
pub(crate) async fn of_file(request: &mut Request) -> Continue {
    files(request).await?;
    of_url(request).await
}

/// Applies the sections of a file that was looked up by its path.
pub(crate) async fn of_named_file(request: &mut Request) -> Continue {
    files(request).await?;
    conditions(request).await
}

/// Merges `overs` into the request's configuration.
pub(crate) async fn merge(request: &mut Request, overs: &[Arc<DirConfig>]) -> Continue {
    if !overs.is_empty() {
        request.resource.dir = crate::request::merge::merge(request, overs).await?;
    }
    Ok(())
}

/// `<Location>`, `<LocationMatch>`.
pub(crate) async fn locations(request: &mut Request) -> Continue {
    let server = request.server.clone();
    if server.locations.is_empty() {
        return Ok(());
    }
    let uri = request.target.uri.clone();
    let sections = budget::matched(request, || lookup::locations(&server, &uri)).await?;
    let sections = sections.map_err(|error| gave_up(request, &error))?;
    apply(request, &sections, &uri).await
}

/// `<Files>`, `<FilesMatch>`, for everything that has a file name.
async fn files(request: &mut Request) -> Continue {
    let dir = request.resource.dir.clone();
    // What another server answers has a URL there, and no file here.
    if dir.core.files.is_empty() || request.resource.filename.first() != Some(&b'/') {
        return Ok(());
    }
    let name = request.basename().to_vec();
    let mut sections = Vec::new();
    for some in dir.core.files.chunks(SOME) {
        let found = budget::matched(request, || lookup::files_among(some, &name)).await?;
        sections.extend(found.map_err(|error| gave_up(request, &error))?);
        budget::turn(request).await?;
    }
    apply(request, &sections, &name).await
}

/// Sections that are looked at before others get their turn.
const SOME: usize = 16;

async fn apply(request: &mut Request, sections: &[&Arc<Section>], text: &[u8]) -> Continue {
    let mut overs = Overs::new();
    for section in sections {
        set_matches(request, section, text).await?;
        overs.push(section.conf.clone());
    }
    merge(request, &overs).await
}

pub(crate) fn gave_up(request: &Request, error: &RegexError) -> Halt {
    budget::log_failure(request, "core", &format!("a section's pattern gave up: {error}"));
    Halt::Status(500)
}

/// Named groups of a section's expression become environment variables.
pub(crate) async fn set_matches(request: &mut Request, section: &Section, text: &[u8]) -> Continue {
    let groups = budget::matched(request, || lookup::named_groups(section, text)).await?;
    for (name, value) in groups.map_err(|error| gave_up(request, &error))? {
        request.env.set(name, value);
    }
    Ok(())
}

/// `<If>`, `<ElseIf>`, `<Else>`; they may nest.
async fn conditions(request: &mut Request) -> Continue {
    let mut done = 0;
    // Merging an If section may append the If sections inside it.
    for _ in 0..16 {
        let dir = request.resource.dir.clone();
        let ifs = &dir.core.ifs;
        if done >= ifs.len() {
            return Ok(());
        }
        let mut overs = Overs::new();
        // Whether a branch of the current If, ElseIf, Else has been taken.
        let mut decided = false;
        for section in &ifs[done..] {
            let Pattern::Condition { condition, otherwise } = &section.pattern else { continue };
            budget::turn(request).await?;
            decided &= *otherwise;
            if !decided && holds(request, section, condition.as_ref()).await? {
                decided = true;
                overs.push(section.conf.clone());
            }
        }
        done = ifs.len();
        merge(request, &overs).await?;
    }
    Ok(())
}

/// Returns whether a section's condition holds; an Else has none.
async fn holds(request: &Request, section: &Section, condition: Option<&Expr>) -> Result<bool, Halt> {
    let Some(condition) = condition else { return Ok(true) };
    expr_host::test(request, condition, &mut Captures::new()).await.map_err(|error| {
        let message = format!("{}: the condition can't be evaluated: {error}", section.title);
        budget::log_failure(request, "core", &message);
        Halt::Status(500)
    })
}
