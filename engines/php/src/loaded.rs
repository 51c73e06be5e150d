//! The files that a parent has read at its start, and whether they are still the same.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The identity of a file's state.
type State = Option<(u64, u64, i64, i64, u64)>;

/// Files and folders, as they were.
pub(crate) struct Loaded(Vec<(PathBuf, State)>);

impl Loaded {
    /// php.ini, the folders of further files, and these.
    pub(crate) fn of(file: Option<&str>, folders: Option<&str>) -> Self {
        let own = Self(Vec::new()).and_of(&file.into_iter().collect::<Vec<_>>());
        let folders = folders.into_iter().flat_map(|folders| folders.split(':'));
        folders.filter(|name| !name.is_empty()).fold(own, |all, folder| all.and_of_folder(Some(folder)))
    }

    /// These files, too.
    pub(crate) fn and_of(mut self, files: &[&str]) -> Self {
        self.0.extend(files.iter().map(|path| (PathBuf::from(path), state(Path::new(path)))));
        self
    }

    /// A folder, too, with all that is in it.
    pub(crate) fn and_of_folder(self, folder: Option<&str>) -> Self {
        let Some(folder) = folder else { return self };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        let mut all = self.and_of(&[folder]);
        all.0.extend(inside.into_iter().map(|path| (path.clone(), state(&path))));
        all
    }

    /// Returns whether all of them are as they were.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.0.iter().all(|(path, before)| state(path) == *before)
    }
}

fn state(path: &Path) -> State {
    let facts = fs::metadata(path).ok()?;
    Some((facts.dev(), facts.ino(), facts.mtime(), facts.mtime_nsec(), facts.size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_added_or_removed_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let (file, more) = (folder.path().join("php.ini"), folder.path().join("conf.d"));
        fs::write(&file, "a=1").unwrap();
        fs::create_dir(&more).unwrap();
        let names = (file.to_str().unwrap().to_owned(), more.to_str().unwrap().to_owned());
        let loaded = || Loaded::of(Some(&names.0), Some(&names.1));
        let first = loaded();
        assert!(first.is_unchanged());
        fs::write(more.join("10-x.ini"), "b=1").unwrap();
        assert!(!first.is_unchanged());
        let second = loaded();
        fs::write(&file, "a=12").unwrap();
        assert!(!second.is_unchanged());
        let third = loaded();
        fs::remove_file(more.join("10-x.ini")).unwrap();
        assert!(!third.is_unchanged());
        // PHP's own files, as its package replaces them.
        let library = folder.path().join("libphp.so");
        fs::write(&library, "1").unwrap();
        let fourth = loaded().and_of(&[library.to_str().unwrap()]).and_of_folder(Some(&names.1));
        assert!(fourth.is_unchanged());
        fs::write(folder.path().join("new"), "2").unwrap();
        fs::rename(folder.path().join("new"), &library).unwrap();
        assert!(!fourth.is_unchanged());
    }
}
