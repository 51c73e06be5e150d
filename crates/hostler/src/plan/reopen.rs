//! The program that opens logs again for the master after they were moved away or removed (`hostler reopen-logs`).
//!
//! It reads no configuration: the master passes a [`Reopen`] in a sealed memory file, and gets one frame for each log
//! on descriptor 3. A program that rotates logs moves the old file and then creates the new one; for a moment there is
//! none, and one created here would be in its way. So a missing file is only created after [`PATIENCE`].
//!
//! **Runs as** whoever started the master, normally root; as the site's user for logs in a site's directories.

use hostler_sys::fdpass::send_all;
use hostler_sys::{exec, memfd};
use hostler_wire::build::Build;
use hostler_wire::frame;
use hostler_wire::logs::{self, KNOWN, KnownLog, LONGEST, LogFile, Reopen, Reopened};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::log_files::{Files, RefusalReason};
use crate::Failed;

/// How long a missing file is waited for.
const PATIENCE: Duration = Duration::from_millis(150);
/// How often it is looked for.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn command() -> Result<(), Failed> {
    let misused = "this command is for hostler-master, which passes descriptors 3 and 4";
    let master = exec::inherited(3).map_err(|_| misused)?;
    let reopen: Reopen = known().and_then(|bytes| logs::decode(&bytes)).ok_or(misused)?;
    let mut bytes = Vec::new();
    frame::encode(&Build::own(), 0, &mut bytes)?;
    send_all(master.as_fd(), &bytes, &[])?;
    let root = hostler_sys::process::is_root();
    let mut files = Files::new(reopen.identities.clone(), None, root);
    let mut left: Vec<(usize, &KnownLog)> = reopen.logs.iter().enumerate().collect();
    let until = Instant::now() + PATIENCE;
    while !left.is_empty() {
        let create = Instant::now() >= until;
        let mut still_missing = Vec::new();
        for (index, log) in left {
            match open(&mut files, log, create) {
                Err(_) if !create => still_missing.push((index, log)),
                outcome => report(&master, index, outcome)?,
            }
        }
        left = still_missing;
        if !left.is_empty() {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// The logs that the running generations write to, for the planner.
pub(super) fn running() -> Vec<KnownLog> {
    known().and_then(|bytes| logs::decode(&bytes)).unwrap_or_default()
}

fn known() -> Option<Vec<u8>> {
    let file = exec::inherited(KNOWN).ok()?;
    memfd::read(&file, LONGEST).ok()
}

fn open(files: &mut Files, log: &KnownLog, create: bool) -> Result<(OwnedFd, LogFile), String> {
    let new = create.then(|| files.new_log(Some(log)));
    let opened = files.open(Path::new(&log.file.path), log.file.opened_by.as_ref(), new);
    opened.map_err(|refused| match refused {
        RefusalReason::Error(why) | RefusalReason::TenantsFault(why) => why,
    })
}

fn report(master: &OwnedFd, index: usize, outcome: Result<(OwnedFd, LogFile), String>) -> Result<(), Failed> {
    let (fd, file) = match outcome {
        Ok((fd, file)) => (Some(fd), Ok(file)),
        Err(why) => (None, Err(why)),
    };
    let fds: Vec<_> = fd.iter().map(AsFd::as_fd).collect();
    let mut bytes = Vec::new();
    frame::encode(&Reopened { index: u32::try_from(index)?, file }, fds.len(), &mut bytes)?;
    Ok(send_all(master.as_fd(), &bytes, &fds)?)
}
