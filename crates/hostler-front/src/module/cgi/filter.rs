//! Programs that are filters (mod_ext_filter): a body goes through one of them, in either direction. The site's process
//! runs it as its user; a program that hangs is ended after `Timeout`, like a script.

use super::run::{self, ClientBody, Conversation, Output};
use crate::io::body::{Body, BodyStream, RequestBody};
use crate::limits::unread::most_gathered;
use crate::request::Request;
use hostler_config::directives::filter::external::External;
use hostler_gateway::{Error, Kind};
use std::time::Duration;

/// The most bytes of its output that are gathered so that its length is known.
const WHOLE: usize = 64 << 10;
/// The longest delay that this causes for slow output.
const PATIENCE: Duration = Duration::from_millis(300);

/// An answer's body as the program leaves it.
///
/// # Errors
/// The program could not be started, or has failed before it said anything.
pub(crate) async fn answer(request: &Request, filter: &External, body: Body) -> Result<Body, Error> {
    // What another program makes just now counts already: waiting for a second place could be waiting for oneself.
    let is_counted = !matches!(body, Body::Stream(_));
    let mut program = start(request, filter, RequestBody::of_answer(body), is_counted).await?;
    match program.first().await {
        Ok(()) => {}
        Err(error) if error.kind == Kind::NoHeader && error.source.is_none() => return Ok(Body::Empty),
        Err(error) => return Err(error),
    }
    if program.gather(most_gathered(request, WHOLE), PATIENCE).await {
        return Ok(Body::Bytes(program.whole()));
    }
    Ok(Body::Stream(Box::new(output(program, filter))))
}

/// A request's body as the program leaves it.
///
/// # Errors
/// The program could not be started.
pub(crate) async fn body(request: &mut Request, filter: &External) -> Result<(), Error> {
    let source = std::mem::take(&mut request.target.body);
    // A script that is to read this waits for a place of its own.
    let is_counted = !request.resource.handler.as_deref().is_some_and(|name| name.starts_with(b"cgi"));
    let program = start(request, filter, source.clone(), is_counted).await?;
    let mut program = output(program, filter);
    request.target.body = source.through(move |_, cx| program.poll_chunk(cx));
    Ok(())
}

fn output(program: Conversation, filter: &External) -> Output {
    let script = filter.command.first().map_or_else(String::new, ToString::to_string);
    Output { conversation: program, script }
}

async fn start(
    request: &Request,
    filter: &External,
    source: RequestBody,
    is_counted: bool,
) -> Result<Conversation, Error> {
    let mut command = b"exec".to_vec();
    for word in &filter.command {
        command.extend_from_slice(b" '");
        command.extend_from_slice(word.replace('\'', "'\\''").as_bytes());
        command.push(b'\'');
    }
    let environment = super::environment(request).await;
    run::filter(request, &command, environment, ClientBody::of(source), is_counted).await
}

/// A body once more, where it is here as a whole.
pub(crate) fn copy(body: &Body) -> Option<Body> {
    match body {
        Body::Empty => Some(Body::Empty),
        Body::Bytes(bytes) => Some(Body::Bytes(bytes.clone())),
        Body::Segments(segments) => Some(Body::Segments(segments.clone())),
        Body::Stream(_) | Body::Tunnel(_) => None,
    }
}
