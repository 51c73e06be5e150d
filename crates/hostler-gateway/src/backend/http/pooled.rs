//! HTTP/1.1 over the pools of workers: for programs that are started and counted here, and serve one request of a
//! connection at a time. (Servers that are there already have [`crate::upstream`].)

use super::{Answer, Event as WireEvent, Malformed, RequestFacts, Sending, ServerAnswer};
use crate::backend::body::{Meter, SHORT};
use crate::backend::stream::{self, CantSay, CutOff, Event, EventOf, Protocol};
use bytes::{Bytes, BytesMut};
use hostler_http1::answer::Limits;

/// The protocol.
#[derive(Debug)]
pub struct Http;

/// A pool of connections.
pub type Pool = stream::Pool<Http>;
/// A request's conversation.
pub type Exchange = stream::Exchange<Http>;

/// The facts of a request beyond its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The framing of its body.
    pub sending: Sending,
    /// The facts needed to interpret its response; another protocol cannot be requested.
    pub asked: RequestFacts,
}

/// A conversation.
#[derive(Debug)]
pub struct Talk {
    answer: Answer,
    sending: Sending,
    /// The guard of the body's length.
    meter: Meter,
    /// The body has ended before its announced length.
    is_cut: bool,
    pending: BytesMut,
}

impl Protocol for Http {
    const NAME: &'static str = "http";

    type Ask = Ask;
    type Answer = Talk;
    type Head = ServerAnswer;

    fn answer(ask: &Ask) -> Talk {
        let asked = RequestFacts { upgrades: false, ..ask.asked };
        Talk {
            answer: Answer::to(asked, Limits::default()),
            sending: ask.sending,
            meter: ask.sending.meter(),
            is_cut: false,
            pending: BytesMut::new(),
        }
    }

    fn body(talk: &mut Talk, piece: &[u8], out: &mut Vec<u8>) {
        let piece = &piece[..talk.meter.admit(piece.len())];
        if talk.sending == Sending::Chunked {
            out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        }
        out.extend_from_slice(piece);
        if talk.sending == Sending::Chunked {
            out.extend_from_slice(b"\r\n");
        }
    }

    fn body_end(talk: &mut Talk, out: &mut Vec<u8>) {
        talk.is_cut = talk.meter.is_short();
        out.extend_from_slice(&talk.sending.end());
    }

    fn abort(_: &mut Talk, _: &mut Vec<u8>) -> Result<(), CantSay> {
        Err(CantSay)
    }

    fn next(talk: &mut Talk, bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String> {
        if talk.is_cut {
            return Err(SHORT.to_owned());
        }
        talk.pending.extend_from_slice(&std::mem::take(bytes));
        loop {
            let told = talk.answer.next(&mut talk.pending).map_err(|error: Malformed| error.to_string())?;
            return Ok(match told {
                None => None,
                Some(WireEvent::Interim(_) | WireEvent::Trailers(_) | WireEvent::Upgraded) => continue,
                Some(WireEvent::Head(said)) => Some(Event::Head(said)),
                Some(WireEvent::Body(piece)) => Some(Event::Output(piece)),
                Some(WireEvent::End) => Some(Event::End { trouble: None }),
            });
        }
    }

    fn is_over(talk: &Talk) -> bool {
        talk.answer.keeps() && talk.pending.is_empty()
    }

    fn is_answered(talk: &Talk) -> bool {
        talk.answer.is_over()
    }

    fn closed(talk: &mut Talk) -> Result<EventOf<Self>, CutOff> {
        if talk.answer.closed() { Ok(Event::End { trouble: None }) } else { Err(CutOff) }
    }
}
