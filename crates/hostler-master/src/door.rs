//! The socket over which a running site process is told of the front of a later generation. Nothing is read from it:
//! at its other end is a tenant's process.

use hostler_sys::fdpass::{Wait, send};
use hostler_sys::socket::{one_way_pair, stream_pair};
use hostler_wire::frame;
use hostler_wire::site::ToSite;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Our end.
#[derive(Debug)]
pub(crate) struct Door(OwnedFd);

impl Door {
    /// Our end and the site's.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = one_way_pair()?;
        Ok((Self(ours), theirs))
    }

    /// A new connection to the site's process, for a front.
    ///
    /// # Errors
    /// The process is about to end, or takes nothing: it is of no use to anybody any more.
    pub(crate) fn attach(&self) -> io::Result<OwnedFd> {
        let (front_s, site_s) = stream_pair()?;
        let mut bytes = Vec::new();
        frame::encode(&ToSite::Attach, 1, &mut bytes).map_err(io::Error::other)?;
        if send(self.0.as_fd(), &bytes, &[site_s.as_fd()], Wait::No)? < bytes.len() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(front_s)
    }
}
