//! FastCGI applications (`hostler_fastcgi`), as responders, authorizers and filters, over connections that are kept.
//!
//! The output of an answer has CGI's meaning: a header, then a body (`hostler_cgi`).

pub use super::stream::Keep;
use super::stream::{self, CantSay, CutOff, Event, EventOf, Protocol, Variables};
use crate::Error;
use bytes::{Buf as _, Bytes};
use hostler_fastcgi::{
    Answer, Event as WireEvent, ProtocolStatus, RecordType, Role, TooLong, abort, begin_request, params,
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

/// The facts of a request for an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// True if the connection is kept.
    pub keep: Keep,
    /// Of a filter: how many bytes of the body are the request's own. The file follows (§6.4).
    pub own: Option<u64>,
}

/// A conversation.
pub struct Talk {
    answer: Answer,
    keep: Keep,
    body: Sending,
}

/// The part of the body that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    /// The request's own, and nothing follows.
    Alone,
    /// So much of the request's own, before a file.
    Own(u64),
    /// A file.
    File,
}

impl Sending {
    /// The file begins, if one is to come; what ends the request's own body is appended.
    fn turn(&mut self, out: &mut Vec<u8>) {
        if *self == Self::Own(0) {
            records(RecordType::Stdin, REQUEST, &[], out);
            *self = Self::File;
        }
    }
}

/// Encodes the start of a request, for [`stream::Work::head`]: its variables (RFC 3875 §4.1) as names and values.
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
    /// The header of the record that begins a request, whatever the role (§5.1).
    const GREETING: &'static [u8] = &[1, 1, 0, REQUEST as u8, 0, 8, 0, 0];

    type Ask = Ask;
    type Answer = Talk;
    type Head = Infallible;

    fn answer(ask: &Ask) -> Talk {
        let body = ask.own.map_or(Sending::Alone, Sending::Own);
        Talk { answer: Answer::to(REQUEST), keep: ask.keep, body }
    }

    fn body(talk: &mut Talk, mut piece: &[u8], out: &mut Vec<u8>) {
        talk.body.turn(out);
        if let Sending::Own(left) = &mut talk.body {
            let own;
            (own, piece) = piece.split_at(piece.len().min(usize::try_from(*left).unwrap_or(usize::MAX)));
            *left -= own.len() as u64;
            records(RecordType::Stdin, REQUEST, own, out);
            talk.body.turn(out);
        }
        match talk.body {
            Sending::File if !piece.is_empty() => records(RecordType::Data, REQUEST, piece, out),
            Sending::Alone => records(RecordType::Stdin, REQUEST, piece, out),
            _ => {}
        }
    }

    fn body_end(talk: &mut Talk, out: &mut Vec<u8>) {
        talk.body.turn(out);
        let kind = if talk.body == Sending::File { RecordType::Data } else { RecordType::Stdin };
        records(kind, REQUEST, &[], out);
    }

    fn abort(_: &mut Talk, out: &mut Vec<u8>) -> Result<(), CantSay> {
        abort(REQUEST, out);
        Ok(())
    }

    fn next(talk: &mut Talk, bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String> {
        let (used, said) = talk.answer.next(bytes).map_err(|error| error.to_string())?;
        let event = said.map(|said| match said {
            WireEvent::Stdout(piece) => Event::Output(bytes.slice_ref(piece)),
            WireEvent::Stderr(piece) => Event::Log(bytes.slice_ref(piece)),
            WireEvent::End { protocol_status, .. } => Event::End { trouble: trouble(protocol_status) },
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
    const FRAMES_BODY: bool = true;

    fn ask(keep: Keep, own: Option<u64>) -> Ask {
        Ask { keep, own }
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
