//! A responder's response to one request (§6.2), taken from the records of its connection.

use crate::record::{Header, Malformed, ProtocolStatus, RecordType};
use crate::records::{Piece, Records};

/// Something that has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A piece of the answer, never empty: CGI's header and body.
    Stdout(&'a [u8]),
    /// A piece of what is for the log, never empty.
    Stderr(&'a [u8]),
    /// The request is done; nothing of it follows.
    End {
        /// The exit status of a CGI program with this result.
        app_status: u32,
        /// The protocol-level result.
        protocol_status: ProtocolStatus,
    },
}

/// Content of `FCGI_END_REQUEST` (§5.5), in bytes.
const END: usize = 8;

/// The answer to the request of this number, the only one of its connection.
#[derive(Clone, Debug)]
pub struct Answer {
    records: Records,
    request: u16,
    /// The content of the record that ends the request, as far as it has come.
    end: [u8; END],
    filled: usize,
    /// The request is done.
    ended: bool,
}

impl Answer {
    /// To the request of this number.
    #[must_use]
    pub fn to(request: u16) -> Self {
        Self { records: Records::default(), request, end: [0; END], filled: 0, ended: false }
    }

    /// The next event in these bytes: how many of them are used up, and what has come. `None`: all are used up, and
    /// more are needed. To be called again with the rest.
    ///
    /// Records about the application itself (request 0) and ends of streams are passed over.
    ///
    /// # Errors
    /// The record is none that a responder sends; nothing after it can be understood.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Option<Event<'a>>), Malformed> {
        let mut used = 0;
        loop {
            let (taken, piece) = self.records.next(&bytes[used..])?;
            used += taken;
            let event = match piece {
                None => return Ok((used, None)),
                Some(Piece::Begin(header)) => {
                    self.check(header)?;
                    None
                }
                Some(Piece::Content(header, content)) => self.content(header, content),
                Some(Piece::End(header)) => self.end(header)?,
            };
            if event.is_some() {
                return Ok((used, event));
            }
        }
    }

    /// Returns whether the request is done, and its last record has come whole: another one may follow on the
    /// connection.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ended && self.records.is_between()
    }

    fn check(&mut self, header: Header) -> Result<(), Malformed> {
        let kind = header.kind.number();
        if header.request == 0 {
            return Ok(());
        }
        if header.request != self.request {
            return Err(Malformed::Request(header.request));
        }
        match header.kind {
            _ if self.ended => Err(Malformed::Type(kind)),
            RecordType::Stdout | RecordType::Stderr => Ok(()),
            RecordType::EndRequest if usize::from(header.content) < END => {
                Err(Malformed::Short { kind, length: header.content })
            }
            RecordType::EndRequest => {
                self.filled = 0;
                Ok(())
            }
            _ => Err(Malformed::Type(kind)),
        }
    }

    fn content<'a>(&mut self, header: Header, content: &'a [u8]) -> Option<Event<'a>> {
        match header.kind {
            _ if header.request == 0 => None,
            RecordType::Stdout => Some(Event::Stdout(content)),
            RecordType::Stderr => Some(Event::Stderr(content)),
            _ => {
                let taken = content.len().min(END - self.filled);
                self.end[self.filled..self.filled + taken].copy_from_slice(&content[..taken]);
                self.filled += taken;
                None
            }
        }
    }

    fn end(&mut self, header: Header) -> Result<Option<Event<'static>>, Malformed> {
        if header.request == 0 || header.kind != RecordType::EndRequest {
            return Ok(None);
        }
        self.ended = true;
        let [a, b, c, d, status, ..] = self.end;
        let protocol_status = ProtocolStatus::of(status);
        Ok(Some(Event::End { app_status: u32::from_be_bytes([a, b, c, d]), protocol_status }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::stream;
    use proptest::prelude::*;

    #[derive(Debug, Default, PartialEq, Eq)]
    struct Heard {
        stdout: Vec<u8>,
        stderr: Vec<u8>,
        end: Option<(u32, ProtocolStatus)>,
    }

    fn hear(pieces: &[&[u8]]) -> Result<Heard, Malformed> {
        let (mut answer, mut heard) = (Answer::to(1), Heard::default());
        for piece in pieces {
            let mut rest = *piece;
            loop {
                let (used, event) = answer.next(rest)?;
                rest = &rest[used..];
                match event {
                    Some(Event::Stdout(bytes)) => heard.stdout.extend_from_slice(bytes),
                    Some(Event::Stderr(bytes)) => heard.stderr.extend_from_slice(bytes),
                    Some(Event::End { app_status, protocol_status }) => {
                        heard.end = Some((app_status, protocol_status));
                    }
                    None => break,
                }
            }
        }
        assert_eq!(answer.is_over(), heard.end.is_some());
        Ok(heard)
    }

    fn end(request: u16, content: &[u8]) -> Vec<u8> {
        let kind = RecordType::EndRequest;
        let header = Header { kind, request, content: content.len() as u16, padding: 0 };
        [&header.encode()[..], content].concat()
    }

    fn answered() -> Vec<u8> {
        let mut bytes = Vec::new();
        stream(RecordType::Stdout, 1, b"Content-Type: text/plain\r\n\r\n", &mut bytes);
        stream(RecordType::Stderr, 1, b"a warning\n", &mut bytes);
        // About the application: nobody has asked.
        stream(RecordType::UnknownType, 0, &[99, 0, 0, 0, 0, 0, 0, 0], &mut bytes);
        stream(RecordType::Stdout, 1, b"body", &mut bytes);
        stream(RecordType::Stdout, 1, b"", &mut bytes);
        bytes.extend(end(1, &[0, 0, 1, 2, 0, 0, 0, 0]));
        bytes
    }

    proptest! {
        #[test]
        fn an_answer_is_the_same_wherever_it_is_split(cuts in proptest::collection::vec(0_usize..200, 0..9)) {
            let bytes = answered();
            let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            let heard = hear(&pieces).unwrap();
            prop_assert_eq!(heard.stdout, b"Content-Type: text/plain\r\n\r\nbody");
            prop_assert_eq!(heard.stderr, b"a warning\n");
            prop_assert_eq!(heard.end, Some((0x102, ProtocolStatus::RequestComplete)));
        }
    }

    #[test]
    fn what_no_responder_says_is_refused() {
        let mut other = Vec::new();
        stream(RecordType::Stdout, 2, b"x", &mut other);
        assert_eq!(hear(&[&other]), Err(Malformed::Request(2)));
        let mut params = Vec::new();
        stream(RecordType::Params, 1, b"x", &mut params);
        assert_eq!(hear(&[&params]), Err(Malformed::Type(4)));
        assert_eq!(hear(&[&end(1, &[0; 7])]), Err(Malformed::Short { kind: 3, length: 7 }));
        let mut late = answered();
        stream(RecordType::Stdout, 1, b"more", &mut late);
        assert_eq!(hear(&[&late]), Err(Malformed::Type(6)));
        assert_eq!(hear(&[b"HTTP/1.1 400 Bad Request"]), Err(Malformed::Version(b'H')));
    }

    #[test]
    fn every_protocol_status_has_its_name() {
        for (number, status) in [(1, ProtocolStatus::CantMpxConn), (2, ProtocolStatus::Overloaded)] {
            let heard = hear(&[&end(1, &[0, 0, 0, 0, number, 0, 0, 0])]).unwrap();
            assert_eq!(heard.end, Some((0, status)));
        }
    }
}
