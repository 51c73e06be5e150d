//! Sources of programs: `x.php`, `config.inc`, `script.pl`. A server that was not told who runs them must not send them
//! as texts; the missing handler is a mistake more often than a wish to show them.
//!
//! A file counts by its extensions or its type (`mime::programs`), unless the configuration says that it is a text:
//! `AddType text/plain .pl`, `ForceType`, the handler `default-handler`, or one that makes a page of it
//! (`server-parsed`). A page may include `x.inc` where it is no program. What a program has said about the type of its own request counts too.
//!
//! **Diagnostics**: one line in the virtual host's ErrorLog for each request that is refused, with what to write.

use crate::io::open_file::OpenFile;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Continue, Halt};
use hostler_config::directives::core::Setting;
use hostler_config::directives::mime::{self, programs};

/// Refuses the source of a program that nothing runs.
pub(crate) fn check(request: &Request, file: &OpenFile) -> Continue {
    if !is_hidden(request) || is_fragment(request, file) {
        return Ok(());
    }
    let file = String::from_utf8_lossy(&request.resource.filename);
    let message = format!(
        "{file} is the source of a program and nothing here runs it, so it is not sent: SetHandler or AddHandler says what \
         runs it; AddType text/plain with its extension, or ForceType, that it is a text to be shown"
    );
    log::request(request, Severity::Error, "core", &message);
    Err(Halt::Status(403))
}

/// Returns whether it is a piece of the page that includes it, called `x.inc` as those are: short, and without a tag
/// that would begin a program. Asked for by itself it is not sent either.
fn is_fragment(request: &Request, file: &OpenFile) -> bool {
    let begins_program = |rest: &[u8]| matches!(rest, [b'<', b'?' | b'%', ..]);
    let is_type = |kind: &[u8]| std::str::from_utf8(kind).is_ok_and(programs::is_type);
    request.is_part()
        && programs::may_be_fragment(request.basename())
        && !request.resource.content_type.as_deref().is_some_and(is_type)
        && file.content().is_some_and(|content| !content.windows(2).any(begins_program))
}

/// Returns whether the request's file is a program's source that was not meant to be shown.
pub(crate) fn is_hidden(request: &Request) -> bool {
    if matches!(request.resource.handler.as_deref(), Some(b"default-handler" | b"server-parsed")) {
        return false;
    }
    let kind = request.resource.content_type.as_deref().and_then(|kind| std::str::from_utf8(kind).ok());
    let by_type = kind.is_some_and(programs::is_type);
    if !by_type && !programs::has_extension(request.basename()) {
        return false;
    }
    if let Some(kind) = kind.filter(|kind| is_said(request, kind)) {
        return programs::is_shown_as(kind) == Some(false);
    }
    // What follows the name in the URL may change the type (ModMimeUsePathInfo), not the file.
    facts(request, b"").is_source
}

/// Returns whether a section or a program has set the type, rather than the file's name.
fn is_said(request: &Request, kind: &str) -> bool {
    matches!(request.resource.dir.core.force_type, Some(Setting::Word(_)))
        || facts(request, &request.resource.path_info).content_type.as_deref() != Some(kind)
}

/// Returns the facts from the file's name, or from the name and the rest of the URL.
fn facts<'r>(request: &'r Request, path_info: &[u8]) -> mime::MimeFacts<'r> {
    mime::check(request.basename(), path_info, &request.resource.dir.mime, request.server.conf.mime.types())
}
