//! The files that a listing shows: for each a sub-request is looked up, so that whoever may not see a file does
//! not learn of it. A sub-request for a file asks nothing of the site's process: what stands there is known from
//! the directory. One for a directory does, since it may have an access file and an index.

use crate::hook;
use crate::limits::budget;
use crate::log::{self, Severity};
use crate::module::core::walk;
use crate::request::Request;
use crate::request::flow::{Continue, Halt};
use crate::request::settings;
use crate::site::files::Facts;
use hostler_config::directives::autoindex::{Entry, View};
use hostler_wire::site::{self, FileInfo, FileKind, Level, Walked};
use std::rc::Rc;

/// What the directory has.
pub(super) async fn list(request: &Request) -> Result<Vec<site::Entry>, Halt> {
    let directory = without_slash(&request.filename);
    let listed = request.thread.site(&request.server).list(directory).await;
    let (status, why) = match listed {
        Ok(Ok(entries)) => return Ok(entries),
        Ok(Err(errno)) => (403, std::io::Error::from_raw_os_error(errno).to_string()),
        Err(error) => (503, error.to_string()),
    };
    let name = String::from_utf8_lossy(&request.filename);
    let message = format!("Can't open directory for index: {name}: {why}");
    log::request(request, Severity::Error, "autoindex", &message);
    Err(Halt::Status(status))
}

/// The root directory is the empty path.
fn without_slash(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// A file that is shown.
pub(super) struct Shown {
    name: Vec<u8>,
    is_directory: bool,
    size: u64,
    modified: i64,
    media_type: Option<String>,
    encoding: Option<String>,
    title: Option<Vec<u8>>,
}

impl Shown {
    pub(super) fn entry(&self) -> Entry<'_> {
        Entry {
            name: &self.name,
            is_directory: self.is_directory,
            size: self.size,
            modified: self.modified,
            media_type: self.media_type.as_deref(),
            encoding: self.encoding.as_deref(),
            title: self.title.as_deref(),
        }
    }
}

/// Those of the directory's entries that are shown.
pub(super) async fn shown(
    request: &Request,
    view: &View,
    listed: Vec<site::Entry>,
) -> Result<Vec<Shown>, Halt> {
    // What leads to the directory also leads to its files.
    let mut probe = request.sub(b"");
    let Ok(facts) = walk::look(&mut probe, without_slash(&request.filename)).await else {
        return Ok(Vec::new());
    };
    let directory = Directory { request, view, walked: &facts.walked };
    let mut shown = Vec::with_capacity(listed.len());
    for entry in listed {
        budget::sub_request(request).await?;
        shown.extend(directory.show(entry).await);
    }
    Ok(shown)
}

struct Directory<'a> {
    request: &'a Request,
    view: &'a View,
    walked: &'a Walked,
}

impl Directory<'_> {
    /// The entry, unless it is left out.
    async fn show(&self, entry: site::Entry) -> Option<Shown> {
        let info = entry.info.filter(|info| matches!(info.kind, FileKind::Regular | FileKind::Directory))?;
        let path = [&*self.request.filename, &*entry.name].concat();
        if !self.view.accepts(&entry.name) || self.request.dir.autoindex.ignores(&path) {
            return None;
        }
        let is_directory = info.kind == FileKind::Directory;
        let (sub, phase) = self.look_up(&entry, info).await;
        match phase {
            Err(Halt::Status(401 | 403)) if self.view.shows_forbidden() => {}
            Err(Halt::Status(..300 | 400..)) => return None,
            Ok(()) | Err(_) => {}
        }
        // For a directory with an index, the sub-request is about the index by now: so it is in Apache.
        let info = sub.found.info().copied().unwrap_or(info);
        let text = |bytes: &bytes::Bytes| String::from_utf8_lossy(bytes).into_owned();
        let mut shown = Shown {
            name: entry.name.into_vec(),
            is_directory,
            size: info.size,
            modified: info.mtime,
            media_type: sub.content_type.as_ref().map(text),
            encoding: sub.content_encoding.as_ref().map(text),
            title: None,
        };
        if self.view.wants_titles() && matches!(phase, Ok(())) && shown.entry().may_have_title() {
            shown.title = super::title::of_file(self.request, &path).await;
        }
        Some(shown)
    }

    /// A sub-request for an entry (`ap_sub_req_lookup_dirent`): it has a file name already, so nothing is
    /// translated.
    async fn look_up(&self, entry: &site::Entry, info: FileInfo) -> (Request, Continue) {
        let mut sub = self.request.sub(b"");
        let slash = if info.kind == FileKind::Directory { "/" } else { "" };
        sub.uri = [&*self.request.uri, &*entry.name, slash.as_bytes()].concat();
        sub.filename = [&*self.request.filename, &*entry.name, slash.as_bytes()].concat();
        if u32::from(sub.depth()) > settings::recursion(&sub.server).1.max(1) {
            return (sub, Err(Halt::Status(500)));
        }
        let phase = self.phases(&mut sub, entry, info).await;
        (sub, phase)
    }

    async fn phases(&self, sub: &mut Request, entry: &site::Entry, info: FileInfo) -> Continue {
        if info.kind == FileKind::Directory {
            walk::run(sub).await?;
        } else {
            let filename = sub.filename.clone();
            walk::apply(sub, &filename, &self.facts(info, entry.link_owner)).await?;
        }
        Box::pin(hook::walk::prepare_entry(sub, self.request)).await
    }

    /// What a walk to a file would have found.
    fn facts(&self, info: FileInfo, link_owner: Option<u32>) -> Rc<Facts> {
        let mut walked = self.walked.clone();
        walked.levels.push(Level { info, link_owner, htaccess: None, watch: None });
        Rc::new(Facts { walked, file: None, lasting: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_directory_is_the_empty_path() {
        assert_eq!(without_slash(b"/srv/www/"), b"/srv/www");
        assert_eq!(without_slash(b"/"), b"");
    }
}
