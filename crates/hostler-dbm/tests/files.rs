//! Files that Apache's httxt2dbm has written, whole and damaged.

use hostler_dbm::{Error, Kind, read};
use std::collections::BTreeMap;
use std::process::Command;

const FILES: [(Kind, &[u8]); 4] = [
    (Kind::Berkeley, include_bytes!("three.db")),
    (Kind::Default, include_bytes!("three.db")),
    (Kind::Gdbm, include_bytes!("three.gdbm")),
    (Kind::Sdbm, include_bytes!("three.sdbm.pag")),
];

fn all(kind: Kind, file: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
    let mut found = BTreeMap::new();
    read(kind, file, &mut |key, value| {
        found.insert(key.to_vec(), value.to_vec());
        true
    })?;
    Ok(found)
}

#[test]
fn what_was_written_is_read() {
    let expected = [("one", "1"), ("site", "/srv/x"), ("two", "2")];
    let expected: BTreeMap<Vec<u8>, Vec<u8>> =
        expected.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
    for (kind, file) in FILES {
        assert_eq!(all(kind, file), Ok(expected.clone()), "{kind:?}");
    }
}

#[test]
fn whoever_has_enough_stops() {
    for (kind, file) in FILES {
        let mut count = 0;
        let outcome = read(kind, file, &mut |_, _| {
            count += 1;
            false
        });
        assert_eq!((outcome, count), (Ok(()), 1), "{kind:?}");
    }
}

#[test]
fn a_file_of_another_kind_is_refused() {
    assert_eq!(all(Kind::Berkeley, FILES[2].1), Err(Error::Unknown));
    assert_eq!(all(Kind::Gdbm, FILES[0].1), Err(Error::Unknown));
    assert_eq!(all(Kind::Default, b"key value\n"), Err(Error::Unknown));
    for kind in [Kind::Default, Kind::Berkeley, Kind::Gdbm] {
        assert_eq!(all(kind, b""), Err(Error::Unknown));
    }
    assert!(Kind::parse("NDBM").unwrap_err().contains("sdbm"));
    assert!(Kind::parse("sqlite").is_err());
    assert_eq!(Kind::parse("SDBM").map(|kind| kind.file("users")), Ok("users.pag".to_owned()));
}

/// Every byte set to what hurts most, and every length: an error or some entries, never more than the file holds.
#[test]
fn damage_is_found_or_does_no_harm() {
    for (kind, file) in FILES {
        let used: Vec<usize> = (0..file.len()).filter(|at| file[*at] != 0 || at % 61 == 0).collect();
        for at in used {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = file.to_vec();
                damaged[at] = byte;
                let mut given = 0;
                let _ = read(kind, &damaged, &mut |key, value| {
                    given += key.len() + value.len();
                    true
                });
                assert!(given <= 2 * file.len(), "{kind:?} {at} {byte}");
            }
        }
        for length in (0..file.len()).step_by(97) {
            let _ = all(kind, &file[..length]);
        }
    }
}

#[test]
fn thousands_of_keys_and_long_values_are_read() {
    let name = "httxt2dbm of apache2-utils";
    let folder = std::env::temp_dir().join(format!("hostler-dbm-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut expected: BTreeMap<Vec<u8>, Vec<u8>> =
        (0..3000).map(|n| (format!("key{n}").into_bytes(), format!("value-of-{n}").into_bytes())).collect();
    expected.insert(b"long".to_vec(), vec![b'v'; 900]);
    let line = |(key, value): (&Vec<u8>, &Vec<u8>)| [&key[..], b" ", value, b"\n"].concat();
    std::fs::write(folder.join("text"), expected.iter().flat_map(line).collect::<Vec<u8>>()).unwrap();
    for (word, kind) in [("DB", Kind::Berkeley), ("GDBM", Kind::Gdbm), ("SDBM", Kind::Sdbm)] {
        let output = folder.join(word);
        let mut tool = Command::new("httxt2dbm");
        tool.args(["-f", word, "-i"]).arg(folder.join("text")).arg("-o").arg(&output);
        if !tool.output().is_ok_and(|done| done.status.success()) {
            hostler_untested::untested(name);
            break;
        }
        let file = std::fs::read(kind.file(&output.to_string_lossy())).unwrap();
        assert!(all(kind, &file).as_ref() == Ok(&expected), "{word}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
