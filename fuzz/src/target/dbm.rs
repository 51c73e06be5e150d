//! DBM files, of whatever kind they claim to be.

use hostler_dbm::{Kind, read};

/// The input is the file.
pub fn target(data: &[u8]) {
    for kind in [Kind::Default, Kind::Berkeley, Kind::Gdbm, Kind::Sdbm] {
        let mut given = 0;
        let _ = read(kind, data, &mut |key, value| {
            given += key.len() + value.len();
            true
        });
        assert!(given <= 2 * data.len(), "more was found than the file has");
    }
}
