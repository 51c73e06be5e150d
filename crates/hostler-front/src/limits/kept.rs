//! Data buffered whole for a site's requests although it can be large: program output scanned for includes, a listing's
//! page with the texts around it, a response whose head has to be found in it. It counts for its site, and for all
//! sites together, while it is in memory: until the slowest client has read it. Beyond the limit the response is 503.
//!
//! **Diagnostics**: the refusal is told like any other body that breaks off.

use crate::io::body::{Body, BodyError};
use crate::io::open_file::{self, OpenFile};
use crate::limits::aside;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use bytes::Bytes;
use hostler_wire::plan::SiteId;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Most bytes of one site.
const SITE: usize = 64 << 20;
/// Most bytes of all sites.
const ALL: usize = 256 << 20;
/// Shorter data is not counted: connections have buffers of that size anyway.
const SMALL: usize = 64 << 10;

/// The bytes currently in memory.
#[derive(Debug)]
pub(crate) struct BufferedBytes {
    sites: Box<[AtomicUsize]>,
    all: AtomicUsize,
}

impl BufferedBytes {
    pub(crate) fn new(sites: usize) -> Arc<Self> {
        Arc::new(Self { sites: (0..sites).map(|_| AtomicUsize::new(0)).collect(), all: AtomicUsize::new(0) })
    }

    /// Adds bytes if there is room for them.
    fn add(&self, site: SiteId, bytes: usize) -> Result<(), BodyError> {
        let own = self.sites.get(site as usize).ok_or(BodyError::Crowded)?;
        let within = |most: usize| move |kept: usize| kept.checked_add(bytes).filter(|kept| *kept <= most);
        own.fetch_update(Relaxed, Relaxed, within(SITE)).map_err(|_| BodyError::Crowded)?;
        self.all.fetch_update(Relaxed, Relaxed, within(ALL)).map(drop).map_err(|_| {
            own.fetch_sub(bytes, Relaxed);
            BodyError::Crowded
        })
    }
}

/// Some of it.
#[derive(Debug)]
pub(crate) struct Share {
    kept: Arc<BufferedBytes>,
    site: SiteId,
    bytes: usize,
}

impl Share {
    pub(crate) fn of(request: &Request) -> Self {
        let shared = &request.thread.shared;
        Self::new(shared.kept.clone(), shared.sites.of(&request.server))
    }

    /// One of this site.
    pub(crate) fn new(kept: Arc<BufferedBytes>, site: SiteId) -> Self {
        Self { kept, site, bytes: 0 }
    }

    /// Another one of the same site, with nothing in it yet.
    pub(crate) fn next(&self) -> Self {
        Self::new(self.kept.clone(), self.site)
    }

    /// Grows the buffered data to this length.
    pub(crate) fn reach(&mut self, length: usize) -> Result<(), BodyError> {
        if length <= SMALL { Ok(()) } else { self.grow(length.saturating_sub(self.bytes)) }
    }

    fn grow(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.kept.add(self.site, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Counts for as long as any piece of these bytes is there.
    pub(crate) fn with(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 {
            return bytes;
        }
        Bytes::from_owner(Reservation { bytes, _share: self })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.kept.all.fetch_sub(self.bytes, Relaxed);
        if let Some(own) = self.kept.sites.get(self.site as usize) {
            own.fetch_sub(self.bytes, Relaxed);
        }
    }
}

struct Reservation {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Reservation {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Counts what has been made for a request.
pub(crate) fn keep(request: &Request, bytes: Bytes) -> Result<Bytes, BodyError> {
    if bytes.len() <= SMALL {
        return Ok(bytes);
    }
    let mut share = Share::of(request);
    share.reach(bytes.len())?;
    Ok(share.with(bytes))
}

/// All of a file, if it has no more than `limit` bytes and can be read. What is large counts from before it is read, which is
/// done aside.
pub(crate) async fn read(request: &Request, file: &OpenFile, limit: u64) -> Result<Option<Bytes>, Halt> {
    let size = file.info.size;
    if size <= open_file::SMALL {
        return Ok(file.content());
    }
    let Some(descriptor) = file.descriptor().try_clone().ok().filter(|_| size <= limit) else {
        return Ok(None);
    };
    let mut share = Share::of(request);
    share.reach(usize::try_from(size).unwrap_or(usize::MAX)).map_err(|why| {
        log::request(request, Severity::Error, "core", &format!("a file is not read: {why}"));
        Halt::Status(why.status())
    })?;
    let permit = aside::permit(request).await?;
    let whole = aside::run_free(request, permit, move || OpenFile::whole(&descriptor, size)).await?;
    Ok(whole.map(|whole| share.with(whole.into())))
}

/// All of a body, if it has no more than `limit` bytes.
pub(crate) async fn collect(request: &Request, body: Body, limit: usize) -> Result<Bytes, BodyError> {
    if let Body::Bytes(bytes) = body {
        return if bytes.len() > limit { Err(BodyError::TooLarge) } else { keep(request, bytes) };
    }
    let (mut share, mut stream, mut whole) = (Share::of(request), body.into_stream(), Vec::new());
    while let Some(piece) = poll_fn(|cx| stream.poll_chunk(cx)).await {
        let piece = piece?;
        let length = whole.len() + piece.len();
        if length > limit {
            return Err(BodyError::TooLarge);
        }
        share.reach(length)?;
        whole.extend_from_slice(&piece);
    }
    Ok(share.with(whole.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(kept: &Arc<BufferedBytes>, site: SiteId, bytes: usize) -> Result<Share, BodyError> {
        let mut share = Share { kept: kept.clone(), site, bytes: 0 };
        share.grow(bytes).map(|()| share)
    }

    #[test]
    fn a_site_has_no_more_than_its_share_and_all_have_no_more_than_there_is() {
        let kept = BufferedBytes::new(8);
        let first = share(&kept, 0, SITE).unwrap();
        assert!(share(&kept, 0, 1).is_err());
        let others: Vec<Share> = (1..4).map(|site| share(&kept, site, SITE).unwrap()).collect();
        assert!(share(&kept, 7, 1).is_err(), "{kept:?}");
        drop(first);
        assert!(share(&kept, 7, 1).is_ok());
        assert!(share(&kept, 0, SITE).is_ok());
        drop(others);
        assert!(share(&kept, 9, 1).is_err(), "there is no such site");
        assert_eq!(kept.all.load(Relaxed), 0);
        assert!(kept.sites.iter().all(|site| site.load(Relaxed) == 0));
    }

    #[test]
    fn what_is_kept_counts_until_its_last_piece_has_gone() {
        let kept = BufferedBytes::new(1);
        let bytes = share(&kept, 0, 100).unwrap().with(Bytes::from(vec![b'x'; 100]));
        let piece = bytes.slice(98..);
        drop(bytes);
        assert_eq!((&piece[..], kept.all.load(Relaxed)), (&b"xx"[..], 100));
        drop(piece);
        assert_eq!(kept.all.load(Relaxed), 0);
    }
}
