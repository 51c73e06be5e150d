//! FastCGI applications (`hostler_fastcgi`), as responders over connections that are kept.
//!
//! What an answer's output means is CGI's: a header, then a body (`hostler_cgi`).

pub use super::stream::Keep;
use super::stream::{self, CantSay, CutOff, Event, EventOf, Protocol, Variables};
use crate::Error;
use bytes::{Buf as _, Bytes};
use hostler_fastcgi::{
    Answer, Event as Said, ProtocolStatus, RecordType, Role, TooLong, abort, begin_request, params,
    stream as records,
};
use std::convert::Infallible;

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

/// A conversation.
pub struct Talk {
    answer: Answer,
    keep: Keep,
}

/// What begins a request, for [`stream::Work::head`]: its variables (RFC 3875 §4.1), as names and values.
///
/// # Errors
/// [`TooLong`]: a name or a value has 2³¹ bytes or more.
pub fn head<'a>(
    variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    has_body: bool,
    keep: Keep,
) -> Result<Bytes, TooLong> {
    let mut head = Vec::with_capacity(2048);
    begin_request(REQUEST, Role::Responder, keep == Keep::Connection, &mut head);
    params(REQUEST, variables, &mut head)?;
    if !has_body {
        records(RecordType::Stdin, REQUEST, &[], &mut head);
    }
    Ok(head.into())
}

impl Protocol for FastCgi {
    const NAME: &'static str = "fcgi";

    type Ask = Keep;
    type Answer = Talk;
    type Head = Infallible;

    fn answer(keep: &Keep) -> Talk {
        Talk { answer: Answer::to(REQUEST), keep: *keep }
    }

    fn body(_: &mut Talk, piece: &[u8], out: &mut Vec<u8>) {
        records(RecordType::Stdin, REQUEST, piece, out);
    }

    fn body_end(_: &mut Talk, out: &mut Vec<u8>) {
        records(RecordType::Stdin, REQUEST, &[], out);
    }

    fn abort(_: &mut Talk, out: &mut Vec<u8>) -> Result<(), CantSay> {
        abort(REQUEST, out);
        Ok(())
    }

    fn next(talk: &mut Talk, bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String> {
        let (used, said) = talk.answer.next(bytes).map_err(|error| error.to_string())?;
        let event = said.map(|said| match said {
            Said::Stdout(piece) => Event::Output(bytes.slice_ref(piece)),
            Said::Stderr(piece) => Event::Log(bytes.slice_ref(piece)),
            Said::End { protocol_status, .. } => Event::End { trouble: trouble(protocol_status) },
        });
        bytes.advance(used);
        Ok(event)
    }

    fn is_over(talk: &Talk) -> bool {
        talk.answer.is_over() && talk.keep == Keep::Connection
    }

    fn is_answered(talk: &Talk) -> bool {
        talk.answer.is_over()
    }

    fn closed(_: &mut Talk) -> Result<EventOf<Self>, CutOff> {
        Err(CutOff)
    }
}

impl Variables for FastCgi {
    fn ask(keep: Keep) -> Keep {
        keep
    }

    fn begin<'a>(
        variables: &mut dyn Iterator<Item = (&'a [u8], &'a [u8])>,
        keep: Keep,
        role: Role,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        begin_request(REQUEST, role, keep == Keep::Connection, out);
        params(REQUEST, variables, out).map_err(stream::too_long)
    }
}

/// Why an application has not done what it was asked.
fn trouble(status: ProtocolStatus) -> Option<String> {
    let why = match status {
        ProtocolStatus::RequestComplete => return None,
        ProtocolStatus::CantMpxConn => "it serves one request of a connection at a time".to_owned(),
        ProtocolStatus::Overloaded => "it is overloaded".to_owned(),
        ProtocolStatus::UnknownRole => "it is not for what it is asked (FCGI_UNKNOWN_ROLE)".to_owned(),
        ProtocolStatus::Other(number) => format!("it ends the request with protocol status {number}"),
    };
    Some(why)
}

#[cfg(test)]
mod tests;
