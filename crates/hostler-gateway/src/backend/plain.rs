//! SCGI and uwsgi: a request's variables in one piece, its body as it is, and an answer that ends with the connection.
//!
//! The output of an answer has CGI's meaning with SCGI, and HTTP's with uwsgi.

use super::stream::{self, CantSay, CutOff, Event, EventOf, Keep, Protocol, Role, Variables};
use crate::Error;
use bytes::Bytes;
use hostler_cgi::{scgi, uwsgi};
use std::convert::Infallible;

/// SCGI (<https://python.ca/scgi/protocol.txt>).
#[derive(Debug)]
pub struct Scgi;

/// uwsgi (<https://uwsgi-docs.readthedocs.io/en/latest/Protocol.html>).
#[derive(Debug)]
pub struct Uwsgi;

/// Writes what both have in common.
macro_rules! plain {
    ($protocol:ident, $name:literal, $encode:expr, $is_http:literal) => {
        impl Protocol for $protocol {
            const NAME: &'static str = $name;
            type Ask = ();
            type Answer = ();
            type Head = Infallible;

            fn answer((): &()) {}

            fn body((): &mut (), piece: &[u8], out: &mut Vec<u8>) {
                out.extend_from_slice(piece);
            }

            fn body_end((): &mut (), _: &mut Vec<u8>) {}

            fn abort((): &mut (), _: &mut Vec<u8>) -> Result<(), CantSay> {
                Err(CantSay)
            }

            fn next((): &mut (), bytes: &mut Bytes) -> Result<Option<EventOf<Self>>, String> {
                let piece = std::mem::take(bytes);
                Ok((!piece.is_empty()).then_some(Event::Output(piece)))
            }

            fn is_over((): &()) -> bool {
                false
            }

            fn is_answered((): &()) -> bool {
                false
            }

            fn closed((): &mut ()) -> Result<EventOf<Self>, CutOff> {
                Ok(Event::End { trouble: None })
            }
        }

        impl Variables for $protocol {
            const IS_HTTP: bool = $is_http;

            fn ask(_: Keep, _: Option<u64>) {}

            fn begin<'a>(
                variables: &mut dyn Iterator<Item = (&'a [u8], &'a [u8])>,
                _: Keep,
                _: Role,
                out: &mut Vec<u8>,
            ) -> Result<(), Error> {
                $encode(variables, out).map_err(stream::too_long)
            }
        }
    };
}

plain!(Scgi, "scgi", scgi::request, false);
plain!(Uwsgi, "uwsgi", uwsgi::request, true);
