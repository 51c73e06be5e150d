//! A worker's request beyond a response: to send a file of the site (`wsgi.file_wrapper`), so that it is free for
//! others while a slow client reads it.
//!
//! The worker says where the file stands, and which one it is. The site's process opens it, as it opens what a URL leads to:
//! a descriptor of the worker's own could be of a file system of the tenant's making, and reading from that may never
//! end. Where another file stands there by now, or none, the worker sends its own.

use crate::io::body::{Body, Segment};
use crate::request::Request;
use crate::site::files::{AccessFiles, Site};
use crate::technique::dialect::{Answer, Dialect, Own};
use bytes::Bytes;
use hostler_gateway::{Error, Kind};
use hostler_python_frames::file::{File, LEFT, TAKEN};
use std::rc::Rc;

/// Longest path that is looked at, in bytes (PATH_MAX).
const LONGEST: usize = 4096;

/// The words of these workers.
pub(super) struct Files;

impl Dialect for Files {
    fn meaning(&self, request: &Request, message: &Bytes) -> Result<Own, Error> {
        if File::decode(message).is_err() {
            return Err(Error::because(Kind::WorkerViolation, "a message is malformed"));
        }
        let (site, message) = (request.thread.site(&request.server), message.clone());
        Ok(Own::PendingAnswer(Box::pin(async move {
            let tail = match File::decode(&message) {
                Ok(file) => opened(&site, &file).await,
                Err(_) => None,
            };
            let told = if tail.is_some() { TAKEN } else { LEFT }.to_vec();
            Answer { part: None, told, broken: Vec::new(), tail }
        })))
    }
}

/// The piece of the file, if it is the one that stands there.
async fn opened(site: &Rc<Site>, wanted: &File<'_>) -> Option<Body> {
    let is_path = wanted.path.starts_with(b"/") && wanted.path.len() < LONGEST && !wanted.path.contains(&0);
    if !is_path {
        return None;
    }
    let facts = site.walk(wanted.path, &AccessFiles::none()).await.ok()?;
    let file = facts.file.clone()?;
    let is_same = (file.info.dev, file.info.ino) == (wanted.device, wanted.inode);
    let end = wanted.offset.checked_add(wanted.length)?;
    if !is_same || end > file.info.size || wanted.length == 0 {
        return None;
    }
    Some(Body::Segments(vec![Segment::File { file, offset: wanted.offset, length: wanted.length }]))
}
