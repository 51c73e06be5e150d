//! Nodes and resolution, on a tree under the system's directory for temporary files.

use super::*;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().canonicalize().unwrap();
        let path = root.join(format!("hostler-fs-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn node(&self) -> Node {
        Node::directory(self.0.as_os_str().as_bytes()).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn errno<T: std::fmt::Debug>(result: io::Result<T>) -> Option<Errno> {
    result.err().and_then(|e| Errno::from_io_error(&e))
}

#[test]
fn resolution_tells_each_directory_before_it_looks_inside() {
    let tree = Tree::new("visit");
    std::fs::create_dir_all(tree.0.join("a/b")).unwrap();
    std::fs::write(tree.0.join("a/b/file"), "x").unwrap();
    symlink("a/./b/../b/file", tree.0.join("link")).unwrap();
    let mut visited = 0;
    let found = resolve(&tree.node(), b"link", &mut |node| {
        assert!(node.is_directory());
        visited += 1;
    })
    .unwrap();
    // The tree (twice: for the link and for its target), a, itself by `.`, b, a by `..`, b.
    assert_eq!((visited, found.name.as_slice()), (7, &b"file"[..]));
    assert!(found.node.is_regular());
    assert_eq!(
        found.directory.stat().st_ino,
        resolve(&tree.node(), b"a/b/", &mut |_| ()).unwrap().node.stat.st_ino
    );
}

#[test]
fn resolution_fails_as_the_kernels_does() {
    let tree = Tree::new("errors");
    std::fs::write(tree.0.join("file"), "x").unwrap();
    symlink("loop", tree.0.join("loop")).unwrap();
    for (path, expected) in [
        ("", Errno::NOENT),
        ("none", Errno::NOENT),
        ("file/", Errno::NOTDIR),
        ("file/x", Errno::NOTDIR),
        ("file/..", Errno::NOTDIR),
        ("loop", Errno::LOOP),
    ] {
        assert_eq!(errno(resolve(&tree.node(), path.as_bytes(), &mut |_| ())), Some(expected), "{path}");
    }
    assert_eq!(errno(resolve(&tree.node(), &[b'/'; 5000], &mut |_| ())), Some(Errno::NAMETOOLONG));
    assert!(resolve(&tree.node(), b"/../..", &mut |_| ()).unwrap().node.is_directory());
}

#[test]
fn a_node_stays_what_it_was_when_its_name_changes() {
    let tree = Tree::new("rename");
    std::fs::write(tree.0.join("one"), "1").unwrap();
    let node = tree.node().child(b"one").unwrap();
    std::fs::write(tree.0.join("two"), "22").unwrap();
    std::fs::rename(tree.0.join("two"), tree.0.join("one")).unwrap();
    let file = node.open_file().unwrap();
    assert_eq!(read_to_end(file.as_fd(), 10).unwrap(), b"1");
    assert_eq!(read_head::<1>(file.as_fd()).unwrap(), b"1");
}

#[test]
fn only_regular_files_are_opened_and_only_so_much_is_read() {
    let tree = Tree::new("open");
    std::fs::write(tree.0.join("file"), "12345").unwrap();
    assert_eq!(errno(tree.node().open_file()), Some(Errno::INVAL));
    let null = Node::directory(b"/dev").unwrap().child(b"null").unwrap();
    assert!(null.is_null_device());
    assert_eq!(errno(null.open_file()), Some(Errno::INVAL));
    let file = tree.node().child(b"file").unwrap().open_file().unwrap();
    assert_eq!(errno(read_to_end(file.as_fd(), 4)), Some(Errno::FBIG));
}

#[test]
fn a_directory_over_the_limit_is_an_error() {
    let tree = Tree::new("entries");
    for name in ["a", "b", "c"] {
        std::fs::write(tree.0.join(name), "").unwrap();
    }
    assert_eq!(entries(&tree.node(), b"", 3).unwrap().len(), 3);
    assert_eq!(errno(entries(&tree.node(), b"", 2)), Some(Errno::OVERFLOW));
}

#[test]
fn the_same_directory_has_the_same_watch_and_proc_has_none() {
    let tree = Tree::new("watch");
    let watches = Watches::new().unwrap();
    let first = watches.add(&tree.node(), Of::Contents);
    assert!(first.is_some());
    assert_eq!(watches.add(&tree.node(), Of::Contents), first);
    assert_eq!(watches.add(&Node::directory(b"/proc").unwrap(), Of::Names), None);
}
