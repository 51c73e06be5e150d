//! Records (§3.3): eight bytes of header, then content, then padding.

/// Length of a header, in bytes.
pub const HEADER: usize = 8;

/// The longest content of a record, in bytes.
pub const LONGEST: usize = 0xFFFF;

/// `FCGI_VERSION_1`.
const VERSION: u8 = 1;

/// The types of records (§8), with the protocol's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordType {
    /// `FCGI_BEGIN_REQUEST` (§5.1).
    BeginRequest,
    /// `FCGI_ABORT_REQUEST` (§5.4).
    AbortRequest,
    /// `FCGI_END_REQUEST` (§5.5).
    EndRequest,
    /// `FCGI_PARAMS` (§5.2): a stream of name-value pairs.
    Params,
    /// `FCGI_STDIN` (§5.3): a stream, the request's body.
    Stdin,
    /// `FCGI_STDOUT` (§5.3): a stream, the answer.
    Stdout,
    /// `FCGI_STDERR` (§5.3): a stream, lines for the log.
    Stderr,
    /// `FCGI_DATA` (§5.3): a stream, a filter's file.
    Data,
    /// `FCGI_GET_VALUES` (§4.1).
    GetValues,
    /// `FCGI_GET_VALUES_RESULT` (§4.1).
    GetValuesResult,
    /// `FCGI_UNKNOWN_TYPE` (§4.2): the answer to a management record that the application does not know.
    UnknownType,
    /// One that the specification does not have.
    Other(u8),
}

impl RecordType {
    /// The type of this number.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            1 => Self::BeginRequest,
            2 => Self::AbortRequest,
            3 => Self::EndRequest,
            4 => Self::Params,
            5 => Self::Stdin,
            6 => Self::Stdout,
            7 => Self::Stderr,
            8 => Self::Data,
            9 => Self::GetValues,
            10 => Self::GetValuesResult,
            11 => Self::UnknownType,
            other => Self::Other(other),
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::BeginRequest => 1,
            Self::AbortRequest => 2,
            Self::EndRequest => 3,
            Self::Params => 4,
            Self::Stdin => 5,
            Self::Stdout => 6,
            Self::Stderr => 7,
            Self::Data => 8,
            Self::GetValues => 9,
            Self::GetValuesResult => 10,
            Self::UnknownType => 11,
            Self::Other(other) => other,
        }
    }
}

/// The roles of an application (§6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `FCGI_RESPONDER`: answers a request, as a CGI program does (§6.2).
    Responder,
    /// `FCGI_AUTHORIZER`: says whether a request may go on (§6.3).
    Authorizer,
    /// `FCGI_FILTER`: a responder that is given a file as well (§6.4).
    Filter,
}

impl Role {
    /// Its number (§5.1).
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Responder => 1,
            Self::Authorizer => 2,
            Self::Filter => 3,
        }
    }
}

/// The protocol-level result of a request (§5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolStatus {
    /// `FCGI_REQUEST_COMPLETE`.
    RequestComplete,
    /// `FCGI_CANT_MPX_CONN`: the application serves one request of a connection at a time.
    CantMpxConn,
    /// `FCGI_OVERLOADED`: it has run out of something.
    Overloaded,
    /// `FCGI_UNKNOWN_ROLE`.
    UnknownRole,
    /// One that the specification does not have.
    Other(u8),
}

impl ProtocolStatus {
    /// The status of this number.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            0 => Self::RequestComplete,
            1 => Self::CantMpxConn,
            2 => Self::Overloaded,
            3 => Self::UnknownRole,
            other => Self::Other(other),
        }
    }
}

/// The fixed part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The record's type.
    pub kind: RecordType,
    /// The connection's request that it belongs to; 0: none, it concerns the application (§3.3).
    pub request: u16,
    /// Bytes of content.
    pub content: u16,
    /// Bytes of padding behind it, which mean nothing.
    pub padding: u8,
}

impl Header {
    /// As bytes.
    #[must_use]
    pub fn encode(self) -> [u8; HEADER] {
        let ([r1, r0], [c1, c0]) = (self.request.to_be_bytes(), self.content.to_be_bytes());
        [VERSION, self.kind.number(), r1, r0, c1, c0, self.padding, 0]
    }

    /// From bytes.
    ///
    /// # Errors
    /// [`Malformed::Version`].
    pub fn decode(bytes: [u8; HEADER]) -> Result<Self, Malformed> {
        let [version, kind, r1, r0, c1, c0, padding, _reserved] = bytes;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        Ok(Self {
            kind: RecordType::of(kind),
            request: u16::from_be_bytes([r1, r0]),
            content: u16::from_be_bytes([c1, c0]),
            padding,
        })
    }
}

/// Input that is not FastCGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A record of a version that there is not (§3.3): most often what answers speaks another protocol.
    #[error("a record of version {0}; is it FastCGI that answers there?")]
    Version(u8),
    /// A record of a request that was not made.
    #[error("a record of request {0}, which was not made")]
    Request(u16),
    /// A record that only a web server may send, or one of the request after its end.
    #[error("a record of type {0} where there can be none")]
    Type(u8),
    /// A record with less content than its type has.
    #[error("a record of type {kind} with {length} bytes of content")]
    Short {
        /// Its type.
        kind: u8,
        /// Bytes of its content.
        length: u16,
    },
    /// Name-value pairs that end amid one.
    #[error("name-value pairs that end amid one")]
    Pairs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_laid_out_as_the_specification_says() {
        let header = Header { kind: RecordType::Stdout, request: 0x0102, content: 0x0304, padding: 5 };
        assert_eq!(header.encode(), [1, 6, 1, 2, 3, 4, 5, 0]);
        assert_eq!(Header::decode([2, 6, 0, 1, 0, 0, 0, 0]), Err(Malformed::Version(2)));
    }

    proptest! {
        #[test]
        fn a_header_is_what_it_was(kind: u8, request: u16, content: u16, padding: u8) {
            let header = Header { kind: RecordType::of(kind), request, content, padding };
            prop_assert_eq!(Header::decode(header.encode()), Ok(header));
            prop_assert_eq!(header.encode()[1], kind);
        }
    }
}
