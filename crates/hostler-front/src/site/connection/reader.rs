//! The frames of a site's process, with the descriptors that travel with them: bounded, and decoded once.

use super::Link;
use hostler_sys::fdpass::{self, Wait};
use hostler_wire::build::OtherBuild;
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::site::FromSite;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::Interest;

/// The first frame has to be a `Hello` of our build; its descriptors.
pub(super) fn check_hello(first: io::Result<(FromSite, Vec<OwnedFd>)>) -> io::Result<Vec<OwnedFd>> {
    let (site, own) = ("hostler-site", "hostler-front");
    match first {
        Ok((FromSite::Hello(build), fds)) => build.check(site, own).map(|()| fds).map_err(io::Error::other),
        Err(e) if e.kind() != io::ErrorKind::Other => Err(e),
        // No frame of ours at all.
        Ok(_) | Err(_) => Err(io::Error::other(OtherBuild::new(site, None, own))),
    }
}

/// Cuts the stream into frames.
#[derive(Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    fds: VecDeque<OwnedFd>,
}

impl Reader {
    pub(super) async fn next(&mut self, link: &Link) -> io::Result<(FromSite, Vec<OwnedFd>)> {
        loop {
            if let Some(frame) = self.cut().map_err(io::Error::other)? {
                return Ok(frame);
            }
            let mut fds = Vec::new();
            let start = self.bytes.len();
            let read = link.socket.async_io(Interest::READABLE, |socket| {
                self.bytes.resize(start + (16 << 10), 0);
                fdpass::recv(socket.as_fd(), &mut self.bytes[start..], &mut fds, Wait::No)
            });
            let n = read.await?;
            self.bytes.truncate(start + n);
            self.fds.extend(fds);
            if n == 0 || self.fds.len() > 4 * frame::MAX_FDS {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn cut(&mut self) -> Result<Option<(FromSite, Vec<OwnedFd>)>, frame::FrameError> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let head = Head::decode(*head)?;
        if self.bytes.len() < HEAD + head.body {
            return Ok(None);
        }
        if self.fds.len() < head.fds {
            return Err(frame::FrameError::Malformed);
        }
        let message = frame::decode(&self.bytes[HEAD..HEAD + head.body])?;
        self.bytes.drain(..HEAD + head.body);
        Ok(Some((message, self.fds.drain(..head.fds).collect())))
    }
}
