//! Walking: levels, links, access files, watches, and what is never opened.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_wire::site::{FileKind, FromSite, ToSite};
use rustix::fs::inotify::{ReadFlags, Reader};
use serde_bytes::ByteBuf;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

fn components(path: &Path) -> usize {
    path.components().count()
}

#[test]
fn a_file_is_reached_level_by_level_and_opened() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("docs");
    let file = tree.file("docs/index.html", "hello");
    let (walked, opened) = site.walk(&file);
    assert_eq!(walked.levels.len(), components(&file));
    assert_eq!((walked.stopped, walked.open_errno, walked.watched), (None, None, true));
    let (info, metadata) = (last(&walked).info, file.metadata().unwrap());
    assert_eq!(info.kind, FileKind::Regular);
    assert_eq!((info.size, info.mode, info.ino), (5, 0o644, metadata.ino()));
    assert_eq!((info.mtime, info.mtime_nsec), (metadata.mtime(), metadata.mtime_nsec() as u32));
    assert!(walked.levels[..walked.levels.len() - 1].iter().all(|l| l.info.kind == FileKind::Directory));
    assert_eq!(text(opened.unwrap()), "hello");
}

#[test]
fn path_info_is_left_over_and_the_root_is_a_level() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let file = tree.file("page", "x");
    let (walked, opened) = site.walk(&file.join("more/info"));
    assert_eq!((walked.levels.len(), walked.stopped), (components(&file), None));
    assert!(opened.is_some());
    let (walked, opened) = site.walk(Path::new("/"));
    assert_eq!(
        (walked.levels.len(), last(&walked).info.kind, opened.is_none()),
        (1, FileKind::Directory, true)
    );
}

#[test]
fn what_is_missing_stops_the_walk_with_its_errno() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let root = tree.path("");
    let (walked, _) = site.walk(&root.join("none/x"));
    assert_eq!((walked.levels.len(), walked.stopped), (components(&root), Some(ENOENT)));
    assert_eq!(walked.stopped_link, None);
    let (walked, _) = site.walk(&root.join("a".repeat(300)));
    assert_eq!(walked.stopped, Some(ENAMETOOLONG));
    let (walked, _) = site.walk(&root.join("../x"));
    assert_eq!(walked.stopped, Some(EINVAL));
    let (walked, _) = site.walk(Path::new("relative"));
    assert_eq!((walked.levels.len(), walked.stopped), (0, Some(EINVAL)));
    let (walked, _) = site.walk_with(|walk| walk.path = ByteBuf::from(b"/tmp\0x".to_vec()));
    assert_eq!(walked.stopped, Some(EINVAL));
}

#[test]
fn links_are_followed_and_their_owner_is_told() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("real/deep");
    let file = tree.file("real/deep/file", "x");
    tree.link("real", "alias");
    tree.link(file.to_str().unwrap(), "absolute");
    tree.link("../real/deep/../../alias/deep", "real/round");
    let me = rustix::process::geteuid().as_raw();
    for name in ["alias/deep/file", "absolute", "real/round/file"] {
        let (walked, opened) = site.walk(&tree.path(name));
        assert_eq!(last(&walked).info.ino, file.metadata().unwrap().ino(), "{name}");
        assert_eq!(walked.levels.iter().filter_map(|l| l.link_owner).collect::<Vec<_>>(), [me], "{name}");
        assert!(opened.is_some() && walked.watched);
    }
    if is_root() {
        std::os::unix::fs::lchown(tree.path("alias"), Some(12345), Some(12345)).unwrap();
        let (walked, _) = site.walk(&tree.path("alias/deep"));
        assert_eq!(walked.levels[walked.levels.len() - 2].link_owner, Some(12345));
        assert_eq!(walked.levels[walked.levels.len() - 2].info.uid, 0);
    }
}

#[test]
fn links_that_lead_nowhere_are_told_as_such() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.link("missing", "dangling");
    tree.link("loop", "loop");
    tree.file("file", "x");
    tree.link("file/", "slashed");
    for (name, errno) in [("dangling", ENOENT), ("loop", ELOOP), ("slashed", 20)] {
        let (walked, opened) = site.walk(&tree.path(name));
        assert_eq!((walked.stopped, walked.stopped_link.is_some()), (Some(errno), true), "{name}");
        assert!(opened.is_none());
    }
}

#[test]
fn a_link_that_is_exchanged_meanwhile_never_mixes_facts() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.file("one", "1");
    tree.file("three", "333");
    tree.link("one", "a");
    tree.link("three", "b");
    let (a, b, ours) = (tree.path("a"), tree.path("b"), tree.path("ours"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                rustix::fs::renameat_with(rustix::fs::CWD, &a, rustix::fs::CWD, &b, exchange).unwrap();
                let _ = std::os::unix::fs::symlink("one", &ours);
                let _ = std::fs::rename(&ours, &a);
            }
        });
        for _ in 0..500 {
            let (walked, opened) = site.walk(&a);
            if walked.stopped.is_none() {
                let size = opened.map(text).unwrap().len() as u64;
                assert_eq!(size, last(&walked).info.size);
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn pipes_and_devices_are_never_opened() {
    let (tree, mut site) = (Tree::new(), Site::start());
    let fifo = tree.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    tree.link("fifo", "to-fifo");
    tree.link("/dev/zero", "to-device");
    for name in ["fifo", "to-fifo", "to-device"] {
        let (walked, opened) = site.walk(&tree.path(name));
        assert_eq!((last(&walked).info.kind, opened.is_none()), (FileKind::Other, true), "{name}");
        assert_eq!(walked.open_errno, None);
    }
    // A writer that waits for a reader would have been let through.
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
    assert_eq!(rustix::fs::open(&fifo, flags, 0o644.into()).unwrap_err(), rustix::io::Errno::NXIO);
}

#[test]
fn access_files_are_read_from_the_depth_asked_for() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("a/b");
    tree.file(".htaccess", "top");
    tree.file("a/.ht-own", "own");
    tree.file("a/.htaccess", "a");
    let depth = components(&tree.path("")) - 1;
    let (walked, _) = site.walk_with(|walk| {
        walk.path = ByteBuf::from(tree.path("a/b").to_str().unwrap());
        walk.htaccess_from = depth as u32 + 1;
        walk.access_files = vec![ByteBuf::from(".ht-own"), ByteBuf::from(".htaccess")];
    });
    let found: Vec<_> = walked.levels.iter().map(|l| l.htaccess.as_ref().map(|f| f.name.to_vec())).collect();
    let mut expected = vec![None; depth + 3];
    expected[depth + 1] = Some(b".ht-own".to_vec());
    assert_eq!(found, expected);
    let (walked, _) = site.walk(&tree.path("a"));
    let texts: Vec<_> = walked.levels.iter().filter_map(|l| l.htaccess.clone()).map(|f| f.text).collect();
    assert_eq!(texts, [Ok(ByteBuf::from("top")), Ok(ByteBuf::from("a"))]);
}

#[test]
fn an_access_file_that_cannot_be_read_is_an_error_not_none() {
    let (tree, mut site) = (Tree::new(), Site::start());
    for name in ["directory", "fifo", "large", "null", "dangling", "linked"] {
        tree.directory(name);
    }
    tree.directory("directory/.htaccess");
    let fifo = tree.path("fifo/.htaccess");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    tree.file("large/.htaccess", &"#".repeat((1 << 20) + 1));
    tree.link("/dev/null", "null/.htaccess");
    tree.link("nowhere", "dangling/.htaccess");
    tree.file("text", "Require all denied");
    tree.link("../text", "linked/.htaccess");
    for (name, expected) in [
        ("directory", Some(Err(EISDIR))),
        ("fifo", Some(Err(EINVAL))),
        ("large", Some(Err(EFBIG))),
        ("null", Some(Ok(ByteBuf::new()))),
        ("dangling", None),
        ("linked", Some(Ok(ByteBuf::from("Require all denied")))),
    ] {
        let (walked, _) = site.walk(&tree.path(name));
        assert_eq!(last(&walked).htaccess.clone().map(|file| file.text), expected, "{name}");
    }
}

fn events(inotify: &OwnedFd) -> Vec<(i32, ReadFlags, String)> {
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(inotify, &mut space);
    let mut found = Vec::new();
    while let Ok(event) = reader.next() {
        let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
        found.push((event.wd(), event.events(), name.unwrap_or_default()));
    }
    found
}

#[test]
fn changes_reach_the_fronts_inotify_descriptor() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("docs");
    let file = tree.file("docs/page", "x");
    let (walked, _) = site.walk(&file);
    let watch = walked.levels[walked.levels.len() - 2].watch.unwrap();
    let (again, _) = site.walk(&file);
    assert_eq!(again.levels, walked.levels);
    let inotify = site.connection.inotify.take().unwrap();
    assert!(events(&inotify).is_empty());
    std::fs::write(&file, "y").unwrap();
    let told = events(&inotify);
    assert!(told.iter().all(|(wd, _, name)| *wd == watch && name == "page"), "{told:?}");
    assert!(told.iter().any(|(_, flags, _)| flags.contains(ReadFlags::MODIFY)));
    tree.file("docs/.htaccess", "");
    assert!(
        events(&inotify)
            .iter()
            .any(|(_, flags, name)| flags.contains(ReadFlags::CREATE) && name == ".htaccess")
    );
    chmod(&tree.path("docs"), 0o700);
    assert!(
        events(&inotify)
            .iter()
            .any(|(wd, flags, name)| *wd == watch && flags.contains(ReadFlags::ATTRIB) && name.is_empty())
    );
}

#[test]
fn directories_that_links_lead_through_are_watched_too() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("outside/inner");
    tree.directory("docs");
    tree.file("outside/inner/file", "x");
    tree.link("../outside/inner/file", "docs/page");
    let (walked, _) = site.walk(&tree.path("docs/page"));
    assert!(walked.watched);
    let inotify = site.connection.inotify.take().unwrap();
    std::fs::rename(tree.path("outside/inner"), tree.path("outside/gone")).unwrap();
    assert!(events(&inotify).iter().any(|(wd, _, name)| walked.watches.contains(wd) && name == "inner"));
    std::fs::write(tree.path("outside/gone/file"), "y").unwrap();
    assert!(events(&inotify).iter().any(|(wd, _, name)| walked.watches.contains(wd) && name == "file"));
}

#[test]
fn a_file_with_several_names_is_watched_itself() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("docs");
    tree.directory("else");
    tree.file("docs/page", "x");
    std::fs::hard_link(tree.path("docs/page"), tree.path("else/name")).unwrap();
    let (walked, _) = site.walk(&tree.path("docs/page"));
    let inotify = site.connection.inotify.take().unwrap();
    std::fs::write(tree.path("else/name"), "y").unwrap();
    assert!(events(&inotify).iter().any(|(wd, ..)| walked.watches.contains(wd)));
}

#[test]
fn where_there_are_no_events_the_answer_says_so() {
    let mut site = Site::start();
    let (walked, opened) = site.walk(Path::new("/proc/version"));
    assert!(opened.is_some() && !walked.watched);
    let (walked, _) = site.walk_with(|walk| {
        walk.path = ByteBuf::from("/");
        walk.watch = false;
    });
    assert!(!walked.watched && last(&walked).watch.is_none());
}

#[test]
fn it_sees_what_its_user_may_see() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    tree.directory("private");
    tree.file("private/file", "x");
    tree.file("secret", "x");
    chmod(&tree.path("private"), 0o700);
    chmod(&tree.path("secret"), 0o600);
    chown(&tree.path("private"), 4711);
    chown(&tree.path("private/file"), 4711);
    let mut own = Site::start_as(Some(4711));
    let (walked, opened) = own.walk(&tree.path("private/file"));
    assert!(walked.watched && opened.is_some(), "{walked:?}");
    let mut other = Site::start_as(Some(4712));
    let (walked, opened) = other.walk(&tree.path("private/file"));
    assert_eq!((walked.stopped, opened.is_none(), walked.watched), (Some(EACCES), true, false));
    assert_eq!(last(&walked).htaccess.clone().unwrap().text, Err(EACCES));
    let (walked, opened) = other.walk(&tree.path("secret"));
    assert_eq!((walked.open_errno, opened.is_none()), (Some(EACCES), true));
}

#[test]
fn links_of_strangers_in_shared_directories_are_not_followed() {
    if !is_root() {
        return;
    }
    let tree = Tree::new();
    tree.directory("shared");
    chmod(&tree.path("shared"), 0o1777);
    tree.file("target", "x");
    for (name, uid) in [("shared/mine", 4711), ("shared/strange", 4712), ("shared/directory", 0)] {
        chown(&tree.link("../target", name), uid);
    }
    let mut site = Site::start_as(Some(4711));
    assert!(site.walk(&tree.path("shared/mine")).1.is_some());
    assert!(site.walk(&tree.path("shared/directory")).1.is_some());
    let (walked, _) = site.walk(&tree.path("shared/strange"));
    assert_eq!((walked.stopped, walked.stopped_link), (Some(EACCES), Some(4712)));
}

#[test]
fn a_directory_is_listed_with_links_followed() {
    let (tree, mut site) = (Tree::new(), Site::start());
    tree.directory("sub");
    tree.file("file", "12345");
    tree.link("file", "link");
    tree.link("missing", "dangling");
    let mut list = |path: &Path| {
        let id = site.id();
        site.send(
            &ToSite::List { id, path: ByteBuf::from(path.to_str().unwrap()), prefix: ByteBuf::new() },
            &[],
        );
        match site.receive().0 {
            FromSite::Listed { id: of, entries } if of == id => entries,
            other => panic!("not listed but {other:?}"),
        }
    };
    let mut entries = list(&tree.path("")).unwrap();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let seen: Vec<_> = entries
        .iter()
        .map(|e| (str::from_utf8(&e.name).unwrap(), e.info.map(|i| (i.kind, i.size)), e.link_owner.is_some()))
        .map(|(name, info, link)| {
            (name, info.map(|(kind, size)| if name == "sub" { (kind, 0) } else { (kind, size) }), link)
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("dangling", None, true),
            ("file", Some((FileKind::Regular, 5)), false),
            ("link", Some((FileKind::Regular, 5)), true),
            ("sub", Some((FileKind::Directory, 0)), false),
        ]
    );
    assert_eq!(list(&tree.path("none")).unwrap_err(), ENOENT);
    assert_eq!(list(&tree.path("file")).unwrap_err(), 20);
}

#[test]
fn an_answer_larger_than_the_sockets_buffer_arrives_whole() {
    let (tree, mut site) = (Tree::new(), Site::start());
    for n in 0..2000 {
        tree.file(&format!("{n:0200}"), "");
    }
    let ids: Vec<_> = (0..5).map(|_| site.id()).collect();
    for id in &ids {
        site.send(
            &ToSite::List {
                id: *id,
                path: ByteBuf::from(tree.path("").to_str().unwrap()),
                prefix: ByteBuf::new(),
            },
            &[],
        );
    }
    // Time: nobody reads meanwhile: the answers have to wait for room.
    std::thread::sleep(Duration::from_millis(300));
    for expected in ids {
        match site.receive().0 {
            FromSite::Listed { id, entries } => assert_eq!((id, entries.unwrap().len()), (expected, 2000)),
            other => panic!("not listed but {other:?}"),
        }
    }
    assert!(site.walk(&tree.path("")).0.stopped.is_none());
}
