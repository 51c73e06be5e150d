//! DBM files as `httxt2dbm`, `htdbm` and `dbmmanage` write them (apr_dbm): Berkeley DB's hash, GNU dbm, SDBM. Bytes in,
//! keys and values out; no I/O, no writing, and no look-ups: whoever wants one key reads all of them once.
//!
//! A file is what a tenant may have written. All that it says of itself (sizes, places, chains) is checked, and the work is
//! bounded by the file's size: each page and bucket is looked at once, and [`read`] stops when the caller has enough.
//!
//! Numbers are in the byte order of the machine that wrote the file; one from a machine with the other order is refused.

mod berkeley;
mod bytes;
mod gdbm;
mod sdbm;

/// A kind of file, as `AuthDBMType` and `RewriteMap dbm=` name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Detected from the file's contents. (Debian's Apache writes Berkeley DB by default.)
    #[default]
    Default,
    /// Berkeley DB, access method hash.
    Berkeley,
    /// GNU dbm.
    Gdbm,
    /// The one that comes with APR: two files, of which `.pag` has keys and values.
    Sdbm,
}

impl Kind {
    /// Reads a name, without regard to case.
    ///
    /// # Errors
    /// For `ndbm`, with the reason, and for what is no kind.
    pub fn parse(name: &str) -> Result<Self, String> {
        Ok(match &name.to_ascii_lowercase()[..] {
            "default" => Self::Default,
            "db" => Self::Berkeley,
            "gdbm" => Self::Gdbm,
            "sdbm" => Self::Sdbm,
            "ndbm" => {
                return Err(
                    "files of the kind ndbm have a form that each system chooses for itself; write it as \
                            sdbm, gdbm or db"
                        .into(),
                );
            }
            _ => {
                return Err(format!(
                    "there is no kind of DBM file \"{name}\"; known are default, db, gdbm, sdbm"
                ));
            }
        })
    }

    /// The file that has keys and values, of the name that the configuration gives.
    #[must_use]
    pub fn file(self, name: &str) -> String {
        if self == Self::Sdbm { format!("{name}.pag") } else { name.to_owned() }
    }
}

/// Why a file can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No form that is known begins so.
    #[error("it is neither a Berkeley DB hash nor a GNU dbm file of this machine's byte order")]
    Unknown,
    /// The file contradicts itself, or ends early.
    #[error("it is damaged, or it is being written to")]
    Damaged,
    /// Encrypted, with checksums, of another access method or with several values of a key: Apache writes none of these.
    #[error("it is of a form that Apache does not write: {0}")]
    Form(&'static str),
}

/// Gives all keys and values of a file to `each`, in no order, until that says `false`.
///
/// # Errors
/// [`Error`]; some entries may have been given before it.
pub fn read(kind: Kind, file: &[u8], each: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error> {
    match kind {
        Kind::Sdbm => sdbm::read(file, each),
        Kind::Berkeley => berkeley::read(file, each),
        Kind::Gdbm => gdbm::read(file, each),
        Kind::Default if gdbm::is(file) => gdbm::read(file, each),
        Kind::Default => berkeley::read(file, each),
    }
}
