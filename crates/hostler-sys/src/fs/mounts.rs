//! File systems that programs of users make up (FUSE). The kernel lets any user mount one, and whoever reads a file of it
//! waits until the user's program answers: nothing that serves others may do so. One that root has mounted is the
//! operator's.

use rustix::fs::{major, minor};
use std::fs;

/// `FUSE_SUPER_MAGIC` (statfs(2)).
pub(super) const FUSE: i64 = 0x6573_5546;

/// Returns whether the FUSE file system with this device number is a user's. One that isn't listed is.
pub(super) fn is_a_users(device: u64) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    owner(&mounts, &format!("{}:{}", major(device), minor(device))) != Some(0)
}

/// Returns the user who mounted the file system with this number (`major:minor`), from the lines of
/// proc_pid_mountinfo(5).
fn owner(mounts: &str, device: &str) -> Option<u32> {
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(device))?;
    let (_, rest) = line.split_once(" - ")?;
    let options = rest.split(' ').nth(2)?;
    options.split(',').find_map(|option| option.strip_prefix("user_id="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
90 24 0:45 / /home/a/fuse rw,nosuid,nodev - fuse.bindfs bindfs rw,user_id=1000,group_id=1000
91 24 0:46 / /srv/pool rw - fuse.mergerfs 1:2 rw,user_id=0,group_id=0,allow_other
92 24 0:47 / /odd - fuse
";

    #[test]
    fn whose_a_mount_is_stands_in_its_options() {
        assert_eq!(owner(MOUNTS, "0:45"), Some(1000));
        assert_eq!(owner(MOUNTS, "0:46"), Some(0));
        for device in ["254:0", "0:47", "0:4"] {
            assert_eq!(owner(MOUNTS, device), None, "{device}");
        }
    }
}
