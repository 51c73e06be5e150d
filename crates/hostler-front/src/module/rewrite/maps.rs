//! Maps that are files: read through the site's process, as its user, and kept until the file is another one.

use super::program;
use crate::io::open_file::OpenFile;
use crate::limits::{aside, budget};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::site::files::AccessFiles;
use hostler_rewrite::{FileMap, Source};
use hostler_wire::site::FileInfo;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Largest map file in bytes.
const LARGEST: u64 = 64 << 20;
/// Larger ones are read aside.
const SMALL: u64 = 16 << 10;
/// Bytes of a site's maps that a thread keeps.
const MOST_KEPT: usize = 64 << 20;

/// The maps of a site that have been read.
#[derive(Default)]
pub(crate) struct MapCache {
    known: HashMap<Box<str>, (Version, Rc<FileMap>)>,
    size: usize,
}

/// The version of a file's content.
type Version = (u64, u64, u64, i64, u32, i64);

fn version(info: &FileInfo) -> Version {
    (info.dev, info.ino, info.size, info.mtime, info.mtime_nsec, info.ctime)
}

impl MapCache {
    fn keep(&mut self, path: &str, version: Version, map: &Rc<FileMap>) {
        if self.size + map.size() > MOST_KEPT {
            self.known.clear();
            self.size = 0;
        }
        self.size += map.size();
        if let Some((_, before)) = self.known.insert(path.into(), (version, map.clone())) {
            self.size -= before.size().min(self.size);
        }
    }
}

/// The value of a key. A map that can't be asked is told about, and the request fails: what it says may guard something.
pub(super) async fn value(
    request: &Request,
    name: &str,
    source: Option<&Source>,
    key: &[u8],
) -> Result<Option<Vec<u8>>, Halt> {
    let Some((source, path)) = source.and_then(|source| Some((source, source.file()?))) else {
        return Ok(None);
    };
    let (value, what) = match source {
        Source::Program(words) => (program::value(request, name, words, key).await?, "asked"),
        _ => (by_file(request, source, path, key).await?, "read"),
    };
    value.map_err(|why| {
        log::request(request, Severity::Error, "rewrite", &format!("the map {path} can't be {what}: {why}"));
        Halt::Status(500)
    })
}

async fn by_file(
    request: &Request,
    source: &Source,
    path: &str,
    key: &[u8],
) -> Result<Result<Option<Vec<u8>>, String>, Halt> {
    match read(request, source, path).await {
        Ok(map) => Ok(Ok(map.get(key).map(<[u8]>::to_vec))),
        Err(Failure::Halt(halt)) => Err(halt),
        Err(Failure::Because(why)) => Ok(Err(why)),
    }
}

enum Failure {
    Halt(Halt),
    Because(String),
}

async fn read(request: &Request, source: &Source, path: &str) -> Result<Rc<FileMap>, Failure> {
    let site = request.site();
    let none = AccessFiles::none();
    let facts =
        site.walk(path.as_bytes(), &none).await.map_err(|error| Failure::Because(error.to_string()))?;
    let Some(file) = facts.file.clone().filter(|_| facts.walked.stopped.is_none()) else {
        let errno = facts.walked.stopped.or(facts.walked.open_errno);
        let why = errno.map_or_else(
            || "it is not a file".to_owned(),
            |errno| std::io::Error::from_raw_os_error(errno).to_string(),
        );
        return Err(Failure::Because(why));
    };
    let version = version(&file.info);
    // The same file may be read in two ways; paths begin with a slash.
    let entry = match source {
        Source::Dbm(kind, _) => format!("{kind:?}:{path}").into(),
        _ => std::borrow::Cow::Borrowed(path),
    };
    if let Some((known, map)) = site.made.of::<RefCell<MapCache>>().borrow().known.get(&*entry)
        && *known == version
    {
        return Ok(map.clone());
    }
    if file.info.size > LARGEST {
        return Err(Failure::Because(format!("it is larger than {LARGEST} bytes")));
    }
    let (size, descriptor) = (file.info.size, file.descriptor().try_clone());
    let descriptor = descriptor.map_err(|error| Failure::Because(error.to_string()))?;
    let source = source.clone();
    let parse =
        move || OpenFile::whole(&descriptor, size).map(|text| FileMap::read(&source, &text, MOST_KEPT));
    let map = if size <= SMALL {
        budget::has_read(request, size as usize);
        parse()
    } else {
        let permit = aside::permit(request).await.map_err(Failure::Halt)?;
        aside::run(request, permit, parse).await.map_err(Failure::Halt)?
    };
    let map = map.ok_or_else(|| Failure::Because("it ends early".to_owned()))?;
    let map = map.map_err(|error| Failure::Because(error.to_string()))?;
    let too_large = || Failure::Because(format!("its entries take more than {MOST_KEPT} bytes of memory"));
    let map = Rc::new(map.ok_or_else(too_large)?);
    site.made.of::<RefCell<MapCache>>().borrow_mut().keep(&entry, version, &map);
    Ok(map)
}
