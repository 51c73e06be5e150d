//! The files that a parent has loaded, and whether all of them are unchanged: the files that were read, looked for or
//! looked at meanwhile, and the mapped libraries. A file that was read while it was changing counts as changed.

use rustix::fs::{FileType, Stat, stat};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::ffi::{self, Str};

/// More files than these are not looked at again.
const MOST: usize = 50_000;
/// The most by which the clock of files may lag behind the system's.
const TICK: Duration = Duration::from_millis(10);

/// The glue's reports so far.
struct Told {
    /// With whether what is inside was read: a directory that was only looked for may change.
    paths: BTreeMap<PathBuf, bool>,
    elsewhere: bool,
}

static TOLD: Mutex<Told> = Mutex::new(Told { paths: BTreeMap::new(), elsewhere: false });

fn told<T>(change: impl FnOnce(&mut Told) -> T) -> T {
    change(&mut TOLD.lock().unwrap_or_else(PoisonError::into_inner))
}

/// # Safety
/// There must be `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hp_loaded_path(path: *const c_char, length: usize, inside: c_int) {
    // SAFETY: the caller's.
    let path = Path::new(OsStr::from_bytes(unsafe { Str { ptr: path, len: length }.bytes() }));
    // Programs may change the directory meanwhile.
    let Ok(path) = std::path::absolute(path) else { return };
    told(|told| {
        if told.paths.len() <= MOST {
            *told.paths.entry(path).or_default() |= inside != 0;
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn hp_loaded_elsewhere() {
    told(|told| told.elsewhere = true);
}

/// The state of a file; `None`: there was none.
type State = Option<(u64, u64, Inside)>;
/// Size, time of change, and time of change of anything; nothing of a directory that was only looked for.
type Inside = (i64, (i64, u64), (i64, u64));

/// All that has been loaded.
#[derive(Debug)]
pub(crate) struct Loaded {
    files: Vec<File>,
    /// Nothing else is known to have had a part in it.
    whole: bool,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    inside: bool,
    state: State,
}

impl Loaded {
    /// Returns the files loaded since then; from now on nothing is noted.
    pub(crate) fn since(start: SystemTime) -> Self {
        // SAFETY: the process has one thread, which is not inside the interpreter.
        unsafe { ffi::hp_perl_loaded() };
        let Told { paths, elsewhere } =
            told(|told| Told { paths: std::mem::take(&mut told.paths), elsewhere: told.elsewhere });
        let few = paths.len() <= MOST;
        let all = paths.into_iter().chain(libraries().into_iter().map(|path| (path, true)));
        let kept = all.filter(|(path, _)| is_kept(path));
        let files: Vec<File> =
            kept.map(|(path, inside)| File { state: state(&path, inside), path, inside }).collect();
        let start = (start - TICK).duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_older = |file: &File| file.state.is_none_or(|(.., (.., changed))| changed < in_parts(start));
        let whole = few && !elsewhere && files.iter().all(is_older);
        Self { files, whole }
    }

    /// Returns whether loading it all once more would give the same, as far as can be told.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.whole && self.files.iter().all(|file| state(&file.path, file.inside) == file.state)
    }
}

fn in_parts(time: Duration) -> (i64, u64) {
    (i64::try_from(time.as_secs()).unwrap_or(i64::MAX), u64::from(time.subsec_nanos()))
}

fn state(path: &Path, inside: bool) -> State {
    let Stat { st_dev, st_ino, st_mode, st_size, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } =
        stat(path).ok()?;
    let is_directory = FileType::from_raw_mode(st_mode) == FileType::Directory;
    if is_directory && !inside {
        return Some((st_dev, st_ino, Inside::default()));
    }
    Some((st_dev, st_ino, (st_size, (st_mtime, st_mtime_nsec), (st_ctime, st_ctime_nsec))))
}

/// Returns whether a path is noted; files that the kernel generates are new each time.
fn is_kept(path: &Path) -> bool {
    !["/proc", "/dev", "/sys"].iter().any(|folder| path.starts_with(folder))
}

/// The libraries that are mapped. One that was replaced since is not known by its name any more.
fn libraries() -> Vec<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let names = maps.split(|byte| *byte == b'\n').filter_map(|line| {
        let name = &line[line.iter().position(|byte| *byte == b'/')?..];
        (!name.ends_with(b" (deleted)")).then(|| PathBuf::from(OsStr::from_bytes(name)))
    });
    let names: BTreeSet<PathBuf> = names.collect();
    names.into_iter().collect()
}
