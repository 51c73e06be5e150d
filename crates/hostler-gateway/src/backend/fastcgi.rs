//! FastCGI applications (`hostler_fastcgi`), as responders over connections that are kept.
//!
//! What an answer's output means is CGI's: a header, then a body (`hostler_cgi`).

use super::stream::{self, CantSay, CutOff, Event, Protocol};
use bytes::{Buf as _, Bytes};
use hostler_fastcgi::{
    Answer, Event as Said, ProtocolStatus, RecordType, Role, TooLong, abort, begin_request, params,
    stream as records,
};

/// The protocol.
#[derive(Debug)]
pub struct FastCgi;

/// A pool of connections to an application.
pub type Pool = stream::Pool<FastCgi>;
/// A request's conversation.
pub type Exchange = stream::Exchange<FastCgi>;

/// The only request of a connection: applications that serve several at a time are rare, and say so only if asked
/// (`FCGI_MPXS_CONNS`).
const REQUEST: u16 = 1;

/// What begins a request, for [`stream::Work::head`]: its variables (RFC 3875 §4.1), as names and values.
///
/// # Errors
/// [`TooLong`]: a name or a value has 2³¹ bytes or more.
pub fn head<'a>(
    variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    has_body: bool,
) -> Result<Bytes, TooLong> {
    let mut head = Vec::with_capacity(2048);
    begin_request(REQUEST, Role::Responder, true, &mut head);
    params(REQUEST, variables, &mut head)?;
    if !has_body {
        records(RecordType::Stdin, REQUEST, &[], &mut head);
    }
    Ok(head.into())
}

impl Protocol for FastCgi {
    type Answer = Answer;

    fn answer() -> Answer {
        Answer::to(REQUEST)
    }

    fn body(piece: &[u8], out: &mut Vec<u8>) {
        records(RecordType::Stdin, REQUEST, piece, out);
    }

    fn body_end(out: &mut Vec<u8>) {
        records(RecordType::Stdin, REQUEST, &[], out);
    }

    fn abort(out: &mut Vec<u8>) -> Result<(), CantSay> {
        abort(REQUEST, out);
        Ok(())
    }

    fn next(answer: &mut Answer, bytes: &mut Bytes) -> Result<Option<Event>, String> {
        let (used, said) = answer.next(bytes).map_err(|error| error.to_string())?;
        let event = said.map(|said| match said {
            Said::Stdout(piece) => Event::Output(bytes.slice_ref(piece)),
            Said::Stderr(piece) => Event::Log(bytes.slice_ref(piece)),
            Said::End { protocol_status, .. } => Event::End { trouble: trouble(protocol_status) },
        });
        bytes.advance(used);
        Ok(event)
    }

    fn is_over(answer: &Answer) -> bool {
        answer.is_over()
    }

    fn closed(_: &mut Answer) -> Result<Event, CutOff> {
        Err(CutOff)
    }
}

/// Why an application has not done what it was asked.
fn trouble(status: ProtocolStatus) -> Option<String> {
    let why = match status {
        ProtocolStatus::RequestComplete => return None,
        ProtocolStatus::CantMpxConn => "it serves one request of a connection at a time".to_owned(),
        ProtocolStatus::Overloaded => "it is overloaded".to_owned(),
        ProtocolStatus::UnknownRole => "it is no responder".to_owned(),
        ProtocolStatus::Other(number) => format!("it ends the request with protocol status {number}"),
    };
    Some(why)
}

#[cfg(test)]
mod tests;
