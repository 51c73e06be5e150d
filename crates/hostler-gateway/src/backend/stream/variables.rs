//! Protocols in which a program is told of a request by CGI's variables (RFC 3875 §4.1).

use super::Protocol;
use crate::{Error, Kind};
pub use hostler_fastcgi::Role;
use std::convert::Infallible;

/// The treatment of the connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Another one may follow, if the protocol knows that.
    Connection,
    /// The program closes it.
    Nothing,
}

/// A protocol of variables.
pub trait Variables: Protocol<Head = Infallible> {
    /// The output is a whole answer of HTTP, not a CGI program's.
    const IS_HTTP: bool = false;
    /// The protocol says where the request's body ends, whatever `CONTENT_LENGTH` is.
    const FRAMES_BODY: bool = false;

    /// For [`super::Work::ask`]. `own`: so much of the request's body is the request's own; what follows is a file for a
    /// program that filters it ([`Role::Filter`]).
    fn ask(keep: Keep, own: Option<u64>) -> Self::Ask;

    /// Appends what begins a request: its variables, as names and values. What follows is the request's body, if it has
    /// one, and its end. `role`: what the program is asked to be, if the protocol knows more than one thing.
    ///
    /// # Errors
    /// They are longer than the protocol can say.
    fn begin<'a>(
        variables: &mut dyn Iterator<Item = (&'a [u8], &'a [u8])>,
        keep: Keep,
        role: Role,
        out: &mut Vec<u8>,
    ) -> Result<(), Error>;
}

/// The request's variables can't be said.
pub(in crate::backend) fn too_long(why: impl std::fmt::Display) -> Error {
    Error::because(Kind::NotRunnable, why.to_string())
}
