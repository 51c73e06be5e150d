//! Servlet containers that speak AJP13 (`hostler_ajp`), over connections that are kept.
//!
//! A container asks for the request's body piece by piece. What the client has sent ahead of that is held here, a piece of
//! the caller's and one packet at most: [`Protocol::has_room`] says when there may be more.

use super::body::{BodyLength, Meter, SHORT};
use super::stream::{self, CantSay, CutOff, Event, EventOf, Protocol};
use bytes::{Buf as _, Bytes, BytesMut};
use hostler_ajp::{
    Answer, BODY, DEFAULT_PACKET, Event as WireEvent, ForwardRequest, Head, LONGEST, TooLong, body, body_end,
    cping,
};

/// The protocol.
#[derive(Debug)]
pub struct Ajp;

/// A pool of connections to a container.
pub type Pool = stream::Pool<Ajp>;
/// A request's conversation.
pub type Exchange = stream::Exchange<Ajp>;

/// The facts of a request that the exchange needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its body. Where the length is known the container waits for the first piece without asking for it.
    pub body: BodyLength,
    /// The longest packet that was agreed on, in bytes.
    pub packet: usize,
    /// It is no request, but the question whether the container is there ([`hostler_ajp::cping`]).
    pub is_ping: bool,
    /// No other request follows on the connection.
    pub is_last: bool,
}

impl Ask {
    /// For [`ping`].
    #[must_use]
    pub const fn whether_it_is_there() -> Self {
        Self { body: BodyLength::Nothing, packet: DEFAULT_PACKET, is_ping: true, is_last: false }
    }

    /// For packets of the usual length.
    #[must_use]
    pub const fn usual(body: BodyLength) -> Self {
        Self { body, packet: DEFAULT_PACKET, is_ping: false, is_last: false }
    }
}

/// A conversation.
#[derive(Debug)]
pub struct Talk {
    answer: Answer,
    /// The guard of the body's length.
    meter: Meter,
    /// The body has ended before its announced length.
    is_cut: bool,
    /// The part of the body that has arrived and was not requested yet.
    held: BytesMut,
    /// Bytes of it that the container waits for.
    wanted: Option<usize>,
    /// The container has waited for some of it: before that nobody asks the client for any.
    has_asked: bool,
    /// Nothing follows what is held.
    whole: bool,
    /// The most of a body that a packet holds, in bytes.
    most: usize,
    /// The answer to the question whether the container is there is all that is waited for; whether it has come.
    ping: Option<bool>,
    /// The connection ends with the answer.
    is_last: bool,
}

/// The question whether the container is there, for [`stream::Work::head`].
#[must_use]
pub fn ping() -> Bytes {
    let mut question = Vec::new();
    cping(&mut question);
    question.into()
}

/// Encodes the start of a request, for [`stream::Work::head`].
///
/// # Errors
/// [`TooLong`]: it does not fit into one packet.
pub fn head(request: &ForwardRequest<'_>, packet: usize) -> Result<Bytes, TooLong> {
    let mut head = Vec::with_capacity(1024);
    request.encode(packet, &mut head)?;
    Ok(head.into())
}

impl Talk {
    /// Says what the container waits for, if it is there.
    fn say(&mut self, out: &mut Vec<u8>) {
        let Some(wanted) = self.wanted else { return };
        let length = wanted.min(self.held.len());
        if length > 0 {
            body(&self.held[..length], out);
            self.held.advance(length);
            self.wanted = None;
        } else if self.whole {
            body_end(out);
            self.wanted = None;
        }
    }
}

impl Protocol for Ajp {
    const NAME: &'static str = "ajp";
    /// The mark of packets to the container.
    const GREETING: &'static [u8] = &[0x12, 0x34];
    type Ask = Ask;
    type Answer = Talk;
    type Head = Head;

    fn answer(ask: &Ask) -> Talk {
        let most = BODY + ask.packet.clamp(DEFAULT_PACKET, LONGEST) - DEFAULT_PACKET;
        Talk {
            answer: if ask.is_ping { Answer::after_cping(ask.packet) } else { Answer::new(ask.packet) },
            meter: Meter::of(ask.body),
            is_cut: false,
            held: BytesMut::new(),
            wanted: matches!(ask.body, BodyLength::Known(_)).then_some(most),
            has_asked: matches!(ask.body, BodyLength::Known(_)),
            whole: ask.body == BodyLength::Nothing,
            most,
            ping: ask.is_ping.then_some(false),
            is_last: ask.is_last,
        }
    }

    fn body(talk: &mut Talk, piece: &[u8], out: &mut Vec<u8>) {
        let admitted = talk.meter.admit(piece.len());
        talk.held.extend_from_slice(&piece[..admitted]);
        talk.say(out);
    }

    fn body_end(talk: &mut Talk, out: &mut Vec<u8>) {
        talk.is_cut = talk.meter.is_short();
        talk.whole = !talk.is_cut;
        talk.say(out);
    }

    fn reply(talk: &mut Talk, out: &mut Vec<u8>) {
        talk.say(out);
    }

    fn has_room(talk: &Talk) -> bool {
        talk.has_asked && talk.held.len() < BODY
    }

    fn abort(_: &mut Talk, _: &mut Vec<u8>) -> Result<(), CantSay> {
        Err(CantSay)
    }

    fn next(talk: &mut Talk, bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String> {
        if talk.is_cut {
            return Err(SHORT.to_owned());
        }
        loop {
            let (used, said) = talk.answer.next(bytes).map_err(|error| error.to_string())?;
            let event = match said {
                None => None,
                Some(WireEvent::Head(head)) => Some(Event::Head(head)),
                Some(WireEvent::Body(piece)) => Some(Event::Output(bytes.slice_ref(piece))),
                Some(WireEvent::End { .. }) => Some(Event::End { trouble: None }),
                Some(WireEvent::Wants(bytes)) if talk.wanted.is_some() => {
                    return Err(format!(
                        "it asks for {bytes} bytes of the body before it has got those it asked for"
                    ));
                }
                Some(WireEvent::Wants(length)) => {
                    // None at all would be the body's end.
                    let length = if length == 0 { talk.most } else { length.into() };
                    talk.wanted = Some(length.min(talk.most));
                    talk.has_asked = true;
                    None
                }
                Some(WireEvent::CPong) => {
                    talk.ping = talk.ping.map(|_| true);
                    talk.ping.map(|_| Event::End { trouble: None })
                }
                // What has come is sent on as it comes.
                Some(WireEvent::Flush) => None,
            };
            bytes.advance(used);
            if event.is_some() || bytes.is_empty() || talk.wanted.is_some() {
                return Ok(event);
            }
        }
    }

    fn is_answered(talk: &Talk) -> bool {
        talk.ping.unwrap_or_else(|| talk.answer.is_ended())
    }

    fn is_over(talk: &Talk) -> bool {
        // A container that still waits for a piece would take the next request for it.
        let may_go_on = || talk.answer.is_over() && talk.wanted.is_none() && !talk.is_last;
        talk.ping.unwrap_or_else(may_go_on)
    }

    fn closed(_: &mut Talk) -> Result<EventOf<Self>, CutOff> {
        Err(CutOff)
    }
}

#[cfg(test)]
mod tests;
