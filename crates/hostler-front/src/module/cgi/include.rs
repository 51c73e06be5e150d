//! Programs in SSI pages: `exec cmd` and `exec cgi`.

use super::{body, run};
use crate::hook::{follow, walk};
use crate::io::body::Body;
use crate::request::flow::Halt;
use crate::request::{FileEntry, Request};
use bytes::Bytes;
use hostler_cgi::Environment;

/// The outcome of `exec cgi`.
pub(crate) enum ExecOutcome {
    /// The program's output; the request is the sub-request, with its headers.
    Body(Box<Request>, Body),
    /// The program redirects to this URL.
    Location(Bytes),
}

/// Runs a command line with `/bin/sh` in `directory`, its output being the body. `environment` is all it gets.
///
/// # Errors
/// A sentence for the log.
pub(crate) async fn exec_cmd(
    request: &Request,
    command: &[u8],
    directory: &[u8],
    environment: Environment,
) -> Result<Body, String> {
    let program =
        run::shell(request, command, directory, environment).await.map_err(|error| error.to_string())?;
    Ok(body(request, program).await)
}

/// Runs the program at `target` (an absolute URL path) whatever its type, with the document's path info and query.
///
/// # Errors
/// A sentence for the log.
pub(crate) async fn exec_cgi(document: &Request, target: &[u8]) -> Result<ExecOutcome, String> {
    let (mut sub, phase) = walk::look_up(document, target).await;
    if let Err(halt) = phase {
        return Err(match halt {
            Halt::Status(status) => format!("status {status}"),
            Halt::Redirect { .. } | Halt::Done(_) => "it is answered by something else".into(),
        });
    }
    if !sub.resource.path_info.is_empty() || sub.target.args.is_some() {
        return Err("no path info or query of its own is allowed".into());
    }
    if !matches!(sub.resource.found, FileEntry::File(..)) {
        return Err("it is not a regular file".into());
    }
    // Programs get the document's, as they did before there were sub-requests.
    sub.resource.path_info.clone_from(&document.resource.path_info);
    sub.target.args.clone_from(&document.target.args);
    if sub.resource.handler.is_none() {
        sub.resource.content_type = Some(Bytes::from_static(b"application/x-httpd-cgi"));
    }
    let outcome = Box::pin(crate::hook::handler::invoke(&mut sub)).await;
    let (sub, outcome) = follow::follow(sub, outcome, |_| {}).await;
    match outcome {
        Ok(body) | Err(Halt::Done(body)) => Ok(ExecOutcome::Body(Box::new(sub), body)),
        Err(Halt::Status(status @ 300..400)) => match sub.reply.headers_out.find("Location") {
            Some(location) => Ok(ExecOutcome::Location(location.clone())),
            None => Err(format!("status {status}")),
        },
        // Quirk(Apache): a program that fails shows nothing in its place; the log has the cause.
        Err(Halt::Status(_)) => Ok(ExecOutcome::Body(Box::new(sub), Body::Empty)),
        Err(Halt::Redirect { .. }) => Err("too many internal redirects".into()),
    }
}
