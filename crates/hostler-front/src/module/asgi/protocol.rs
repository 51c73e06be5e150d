//! The frames between the front and a worker of an ASGI application (`hostler_python_frames::asgi`), for pools of connections.

use bytes::{Buf as _, Bytes};
use hostler_gateway::backend::stream::{self, CantSay, CutOff, Event, EventOf, Protocol};
use hostler_python_frames::asgi::{self, Answer, Head, WorkerFrame};

/// The protocol.
pub(super) struct Asgi;

/// A request's conversation.
pub(super) type Exchange = stream::Exchange<Asgi>;
/// A pool of connections to an application's workers.
pub(super) type Pool = stream::Pool<Asgi>;

/// The messages besides a response's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WorkerMessage {
    Answer(Head),
    /// Early hints.
    Early(Head),
    /// A WebSocket is accepted.
    Accepted(Head),
    /// There is no answer, or no further one.
    Failed(String),
    /// Fields behind the answer's body.
    Trailers(Head),
    /// The request's body is wanted.
    BodyWanted,
    /// The worker is at work.
    Alive,
    /// It ends, and has not looked at the request.
    Goodbye,
}

/// A text of the application's own, as it can stand in a log.
pub(super) fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// A worker's answer, as far as it has come.
#[derive(Default)]
pub(super) struct Hearing {
    answer: Answer,
    /// Lines for the log that have come together: each is something said, so that very many don't pass for one.
    lines: Bytes,
}

impl Hearing {
    /// The next line that is not empty.
    fn line(&mut self) -> Option<Bytes> {
        while !self.lines.is_empty() {
            let end = memchr::memchr(b'\n', &self.lines).unwrap_or(self.lines.len());
            let line = self.lines.split_to(end);
            self.lines.advance(self.lines.len().min(1));
            if !line.is_empty() {
                return Some(line);
            }
        }
        None
    }
}

/// Decodes a worker's next message (a log line may be empty) and consumes its bytes.
pub(super) fn next(hearing: &mut Hearing, bytes: &mut Bytes) -> Result<Option<Event<WorkerMessage>>, String> {
    if let Some(line) = hearing.line() {
        return Ok(Some(Event::Log(line)));
    }
    let (used, said) = hearing.answer.next(bytes).map_err(|error| error.to_string())?;
    let event = said.map(|said| match said {
        WorkerFrame::Head(head) => Event::Head(WorkerMessage::Answer(head)),
        WorkerFrame::Early(head) => Event::Head(WorkerMessage::Early(head)),
        WorkerFrame::Accepted(head) => Event::Head(WorkerMessage::Accepted(head)),
        WorkerFrame::Failed(why) => Event::Head(WorkerMessage::Failed(shown(&why))),
        WorkerFrame::Trailers(head) => Event::Head(WorkerMessage::Trailers(head)),
        WorkerFrame::BodyWanted => Event::Head(WorkerMessage::BodyWanted),
        WorkerFrame::Alive => Event::Head(WorkerMessage::Alive),
        WorkerFrame::Goodbye => Event::Head(WorkerMessage::Goodbye),
        WorkerFrame::Body(piece) => Event::Output(bytes.slice_ref(piece)),
        WorkerFrame::Log(text) => {
            hearing.lines = text.into();
            Event::Log(hearing.line().unwrap_or_default())
        }
        WorkerFrame::End { .. } => Event::End { trouble: None },
    });
    bytes.advance(used);
    Ok(event)
}

impl Protocol for Asgi {
    const NAME: &'static str = "asgi";
    /// The letter of a scope, with which a connection begins that has no memory.
    const GREETING: &'static [u8] = b"S";
    type Ask = ();
    type Answer = Hearing;
    type Head = WorkerMessage;

    const CALL: Option<&'static [u8]> = Some(asgi::CALL);

    fn offer_memory(bells: u64) -> Vec<u8> {
        asgi::memory(bells).into()
    }

    fn memory_user(hearing: &Hearing) -> Option<u32> {
        hearing.answer.memory_user()
    }

    fn answer((): &()) -> Hearing {
        Hearing::default()
    }

    fn body(_: &mut Hearing, piece: &[u8], out: &mut Vec<u8>) {
        asgi::body(piece, out);
    }

    fn body_end(_: &mut Hearing, out: &mut Vec<u8>) {
        asgi::body_end(out);
    }

    /// The application learns it by the connection's end, at once.
    fn abort(_: &mut Hearing, _: &mut Vec<u8>) -> Result<(), CantSay> {
        Err(CantSay)
    }

    fn next(hearing: &mut Hearing, bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String> {
        next(hearing, bytes)
    }

    fn is_answered(hearing: &Hearing) -> bool {
        hearing.answer.is_ended()
    }

    fn is_over(hearing: &Hearing) -> bool {
        hearing.answer.is_over()
    }

    fn closed(_: &mut Hearing) -> Result<EventOf<Self>, CutOff> {
        Err(CutOff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        [&[kind], &(payload.len() as u32).to_be_bytes()[..], payload].concat()
    }

    #[test]
    fn each_line_for_the_log_is_said_by_itself() {
        let mut bytes: Bytes =
            [frame(b'L', b"one\n\ntwo\n\n"), frame(b'L', b"\n\n"), frame(b'N', b"")].concat().into();
        let (mut hearing, mut lines) = (Hearing::default(), Vec::new());
        while let Some(Event::Log(line)) = next(&mut hearing, &mut bytes).unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, ["one", "two", ""]);
        assert_eq!(next(&mut hearing, &mut bytes), Ok(None));
    }
}
