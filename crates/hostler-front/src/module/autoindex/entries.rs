//! The files that a listing shows: for each a sub-request is looked up, so that whoever may not see a file does
//! not learn of it.

use crate::limits::budget;
use crate::log::{self, Severity};
use crate::module::core::entry::Entries;
use crate::request::Request;
use crate::request::flow::Halt;
use hostler_config::directives::autoindex::{Entry, View};
use hostler_wire::site::{self, FileKind};

/// Lists the directory's entries.
pub(super) async fn list(request: &Request) -> Result<Vec<site::Entry>, Halt> {
    let directory = without_slash(&request.resource.filename);
    let listed = request.thread.site(&request.server).list(directory, b"").await;
    let (status, why) = match listed {
        Ok(Ok(entries)) => return Ok(entries),
        Ok(Err(errno)) => (403, std::io::Error::from_raw_os_error(errno).to_string()),
        Err(error) => (503, error.to_string()),
    };
    let name = String::from_utf8_lossy(&request.resource.filename);
    let message = format!("Can't open directory for index: {name}: {why}");
    log::request(request, Severity::Error, "autoindex", &message);
    Err(Halt::Status(status))
}

/// The root directory is the empty path.
fn without_slash(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// A file that is shown.
pub(super) struct Row {
    name: Vec<u8>,
    is_directory: bool,
    size: u64,
    modified: i64,
    media_type: Option<String>,
    encoding: Option<String>,
    title: Option<Vec<u8>>,
}

impl Row {
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

/// Returns the directory's entries that are shown.
pub(super) async fn shown(
    request: &Request,
    view: &View,
    listed: Vec<site::Entry>,
) -> Result<Vec<Row>, Halt> {
    let Some(entries) = Entries::of(request, &request.resource.filename, &request.target.uri).await else {
        return Ok(Vec::new());
    };
    let directory = Directory { request, view, entries };
    let mut shown = Vec::with_capacity(listed.len());
    for entry in listed {
        shown.extend(directory.show(entry).await?);
    }
    Ok(shown)
}

struct Directory<'a> {
    request: &'a Request,
    view: &'a View,
    entries: Entries<'a>,
}

impl Directory<'_> {
    /// The entry, unless it is left out.
    async fn show(&self, entry: site::Entry) -> Result<Option<Row>, Halt> {
        let shows = |kind| matches!(kind, FileKind::Regular | FileKind::Directory);
        let Some(info) = entry.info.filter(|info| shows(info.kind)) else { return Ok(None) };
        budget::turn(self.request).await?;
        let path = [&*self.request.resource.filename, &*entry.name].concat();
        if !self.view.accepts(&entry.name) || self.request.resource.dir.autoindex.ignores(&path) {
            return Ok(None);
        }
        let is_directory = info.kind == FileKind::Directory;
        let (sub, phase) = self.entries.look_up(&entry, info, b"").await;
        match phase {
            Err(Halt::Status(401 | 403)) if self.view.shows_forbidden() => {}
            Err(Halt::Status(..300 | 400..)) => return Ok(None),
            Ok(()) | Err(_) => {}
        }
        // For a directory with an index, the sub-request is about the index by now: so it is in Apache.
        let info = sub.resource.found.info().copied().unwrap_or(info);
        let text = |bytes: &bytes::Bytes| String::from_utf8_lossy(bytes).into_owned();
        let mut shown = Row {
            name: entry.name.into_vec(),
            is_directory,
            size: info.size,
            modified: info.mtime,
            media_type: sub.resource.content_type.as_ref().map(text),
            encoding: sub.resource.content_encoding.as_ref().map(text),
            title: None,
        };
        if self.view.wants_titles() && matches!(phase, Ok(())) && shown.entry().may_have_title() {
            shown.title = super::title::of_file(self.request, &path).await;
        }
        Ok(Some(shown))
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
