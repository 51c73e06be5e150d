//! Digests of a file's content: `FileETag Digest`, and `ContentDigest`'s Content-MD5 (RFC 1864).
//!
//! A file may be as long as its disk: it is read aside, once for as long as it stays open, and what is longer than
//! [`LONGEST`] has none.

use crate::io::body::FILE_PIECE;
use crate::io::open_file::OpenFile;
use crate::limits::aside;
use crate::request::Request;
use crate::request::flow::Continue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha1::{Digest, Sha1};
use std::cell::OnceCell;
use std::os::fd::OwnedFd;

/// Longest file with digests, in bytes.
const LONGEST: u64 = 256 << 20;

/// Digests, in base64.
pub(super) struct Digests {
    pub(super) sha1: String,
    pub(super) md5: String,
}

/// The digests of a file.
pub(super) type DigestCell = OnceCell<Digests>;

/// Makes the digests that the request's configuration asks for.
pub(crate) async fn prepare(request: &Request, file: &OpenFile) -> Continue {
    let core = &request.resource.dir.core;
    let is_wanted = core.etag.parts().digest || core.content_digest == Some(true);
    if !is_wanted || file.info.size > LONGEST {
        return Ok(());
    }
    let known = file.extensions.of::<DigestCell>();
    if known.get().is_some() {
        return Ok(());
    }
    let Ok(descriptor) = file.descriptor().try_clone() else { return Ok(()) };
    let size = file.info.size;
    let permit = aside::permit(request).await?;
    // Another request may have made them meanwhile.
    if known.get().is_some() {
        return Ok(());
    }
    if let Some(digests) = aside::run_free(request, permit, move || read(&descriptor, size)).await? {
        let _ = known.set(digests);
    }
    Ok(())
}

fn read(descriptor: &OwnedFd, size: u64) -> Option<Digests> {
    let (mut sha1, mut md5) = (Sha1::new(), Md5::new());
    let mut piece = vec![0; FILE_PIECE];
    let mut at = 0;
    while at < size {
        let count = rustix::io::pread(descriptor, &mut piece[..], at).ok().filter(|&count| count > 0)?;
        sha1.update(&piece[..count]);
        md5.update(&piece[..count]);
        at += count as u64;
    }
    Some(Digests { sha1: STANDARD.encode(sha1.finalize()), md5: STANDARD.encode(md5.finalize()) })
}
