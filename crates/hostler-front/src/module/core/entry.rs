//! Entries of a directory, looked up one by one as requests of their own (`ap_sub_req_lookup_dirent`): whoever may not see
//! a file does not learn of it from a listing, nor gets it as a variant. A look at a file asks nothing of the site's
//! process: what stands there is known from the directory. One at a directory does, since it may have an access file and
//! an index.

use crate::hook;
use crate::limits::budget;
use crate::module::core::walk;
use crate::request::flow::{Continue, Halt};
use crate::request::{Request, settings};
use crate::site::files::Facts;
use hostler_wire::site::{self, FileInfo, FileKind, Level};
use std::rc::Rc;

/// Access to a directory's entries: a path that leads to the directory leads to its files, too.
pub(crate) struct Entries<'a> {
    request: &'a Request,
    /// With a slash at its end.
    directory: &'a [u8],
    /// URL of the directory, with a slash at its end.
    base: &'a [u8],
    facts: Rc<Facts>,
}

impl<'a> Entries<'a> {
    /// Entries of `directory`, whose URL is `base`; both end with a slash. `None`: it can't be reached (any more).
    pub(crate) async fn of(request: &'a Request, directory: &'a [u8], base: &'a [u8]) -> Option<Self> {
        let mut probe = request.sub(b"");
        let path = directory.strip_suffix(b"/").unwrap_or(directory);
        let facts = walk::look(&mut probe, path).await.ok()?;
        Some(Self { request, directory, base, facts })
    }

    /// When the directory was last changed, in microseconds since the epoch.
    pub(crate) fn modified(&self) -> Option<i128> {
        let info = self.facts.walked.levels.last()?.info;
        Some(i128::from(info.mtime) * 1_000_000 + i128::from(info.mtime_nsec / 1000))
    }

    /// Looks up an entry. `path_info`: what follows it in the URL.
    pub(crate) async fn look_up(
        &self,
        entry: &site::Entry,
        info: FileInfo,
        path_info: &[u8],
    ) -> (Request, Continue) {
        let mut sub = self.request.sub(b"");
        if let Err(halt) = budget::sub_request(self.request).await {
            return (sub, Err(halt));
        }
        let slash: &[u8] = if info.kind == FileKind::Directory { b"/" } else { b"" };
        sub.target.uri = [self.base, &*entry.name, slash, path_info].concat();
        sub.resource.filename = [self.directory, &*entry.name, slash].concat();
        if u32::from(sub.depth()) > settings::recursion(&sub.server).1.max(1) {
            return (sub, Err(Halt::Status(500)));
        }
        let phase = self.phases(&mut sub, entry, info, path_info).await;
        (sub, phase)
    }

    async fn phases(
        &self,
        sub: &mut Request,
        entry: &site::Entry,
        info: FileInfo,
        path_info: &[u8],
    ) -> Continue {
        if info.kind == FileKind::Directory {
            walk::run(sub).await?;
        } else {
            let asked = [&sub.resource.filename[..], path_info].concat();
            walk::apply(sub, &asked, &self.walked(info, entry.link_owner)).await?;
        }
        Box::pin(hook::walk::prepare_entry(sub, self.request)).await
    }

    /// Returns the facts that a walk to a file would find.
    fn walked(&self, info: FileInfo, link_owner: Option<u32>) -> Rc<Facts> {
        let mut walked = self.facts.walked.clone();
        walked.levels.push(Level { info, link_owner, htaccess: None, watch: None });
        Rc::new(Facts { walked, file: None, lasting: false })
    }
}
