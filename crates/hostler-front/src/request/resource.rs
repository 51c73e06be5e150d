//! The results of the phases for a request's URL: a name, the file there, the applicable rules, the handler.

use crate::io::open_file::OpenFile;
use bytes::Bytes;
use hostler_config::DirConfig;
use hostler_wire::site::FileInfo;
use std::rc::Rc;
use std::sync::Arc;

/// The target of the URL. A request for an index file continues with that file's.
#[derive(Clone)]
pub(crate) struct Resource {
    /// The path that the URI maps to.
    pub(crate) filename: Vec<u8>,
    pub(crate) path_info: Vec<u8>,
    pub(crate) found: FileEntry,
    /// Set by Alias and the like (`CONTEXT_PREFIX`, `CONTEXT_DOCUMENT_ROOT`).
    pub(crate) context_prefix: Vec<u8>,
    pub(crate) context_document_root: Option<Vec<u8>>,
    /// Merged configuration for this request.
    pub(crate) dir: Arc<DirConfig>,
    pub(crate) handler: Option<Bytes>,
    pub(crate) content_type: Option<Bytes>,
    pub(crate) content_encoding: Option<Bytes>,
    pub(crate) content_languages: Vec<Bytes>,
}

impl Resource {
    /// Nothing is found yet; `dir` holds outside of all sections.
    pub(crate) fn new(dir: Arc<DirConfig>) -> Self {
        Self {
            filename: Vec::new(),
            path_info: Vec::new(),
            found: FileEntry::Nothing,
            context_prefix: Vec::new(),
            context_document_root: None,
            dir,
            handler: None,
            content_type: None,
            content_encoding: None,
            content_languages: Vec::new(),
        }
    }
}

/// The kind of file at the request's file name.
#[derive(Clone, Debug, Default)]
pub(crate) enum FileEntry {
    /// Nothing (the walk ended above it), or nothing has been looked for.
    #[default]
    Nothing,
    Directory(FileInfo),
    /// A regular file; open unless reading is not permitted (the errno).
    File(FileInfo, Result<Rc<OpenFile>, i32>),
    Other(FileInfo),
}

impl FileEntry {
    pub(crate) fn info(&self) -> Option<&FileInfo> {
        match self {
            Self::Nothing => None,
            Self::Directory(info) | Self::File(info, _) | Self::Other(info) => Some(info),
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory(_))
    }

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}
