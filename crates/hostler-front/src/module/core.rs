//! What Apache calls its core: virtual hosts, sections, the walk to a file, types, files as they are, methods,
//! ranges.

pub(crate) mod file;
pub(crate) mod host;
pub(crate) mod htaccess;
pub(crate) mod options;
pub(crate) mod range;
pub(crate) mod sections;
pub(crate) mod source;
pub(crate) mod types;
pub(crate) mod walk;
