//! The frames between the front and a worker of an ASGI application (`hostler_python_frames::asgi`), for pools of connections.

use bytes::{Buf as _, Bytes};
use hostler_gateway::backend::stream::{self, CantSay, CutOff, Event, EventOf, Protocol};
use hostler_python_frames::asgi::{self, Answer, Head, Said};

/// The protocol.
pub(super) struct Asgi;

/// A request's conversation.
pub(super) type Exchange = stream::Exchange<Asgi>;
/// A pool of connections to an application's workers.
pub(super) type Pool = stream::Pool<Asgi>;

/// What is said beside an answer's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Answer(Head),
    /// Early hints.
    Early(Head),
    /// A WebSocket is accepted.
    Accepted(Head),
    /// There is no answer, or no further one.
    Failed(String),
    /// The worker is at work.
    Alive,
    /// It ends, and has not looked at the request.
    Goodbye,
}

/// A text of the application's own, as it can stand in a log.
pub(super) fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// What a worker says next, of which it takes what it has used up.
pub(super) fn next(answer: &mut Answer, bytes: &mut Bytes) -> Result<Option<Event<Told>>, String> {
    let (used, said) = answer.next(bytes).map_err(|error| error.to_string())?;
    let event = said.map(|said| match said {
        Said::Head(head) => Event::Head(Told::Answer(head)),
        Said::Early(head) => Event::Head(Told::Early(head)),
        Said::Accepted(head) => Event::Head(Told::Accepted(head)),
        Said::Failed(why) => Event::Head(Told::Failed(shown(&why))),
        Said::Alive => Event::Head(Told::Alive),
        Said::Goodbye => Event::Head(Told::Goodbye),
        Said::Body(piece) => Event::Output(bytes.slice_ref(piece)),
        Said::Log(text) => Event::Log(text.into()),
        Said::End { .. } => Event::End { trouble: None },
    });
    bytes.advance(used);
    Ok(event)
}

impl Protocol for Asgi {
    const NAME: &'static str = "asgi";
    type Ask = ();
    type Answer = Answer;
    type Head = Told;

    fn answer((): &()) -> Answer {
        Answer::default()
    }

    fn body(_: &mut Answer, piece: &[u8], out: &mut Vec<u8>) {
        asgi::body(piece, out);
    }

    fn body_end(_: &mut Answer, out: &mut Vec<u8>) {
        asgi::body_end(out);
    }

    /// The application learns it by the connection's end, at once.
    fn abort(_: &mut Answer, _: &mut Vec<u8>) -> Result<(), CantSay> {
        Err(CantSay)
    }

    fn next(answer: &mut Answer, bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String> {
        next(answer, bytes)
    }

    fn is_answered(answer: &Answer) -> bool {
        answer.is_ended()
    }

    fn is_over(answer: &Answer) -> bool {
        answer.is_over()
    }

    fn closed(_: &mut Answer) -> Result<EventOf<Self>, CutOff> {
        Err(CutOff)
    }
}
