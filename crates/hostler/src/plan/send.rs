//! The plan's way to the master: one frame with our build, one with the plan, then frames of up to eight log descriptors.

use hostler_sys::fdpass::send_all;
use hostler_wire::build::Build;
use hostler_wire::frame::{self, MAX_FDS};
use hostler_wire::plan::Plan;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::Failed;

/// Sends all of it.
///
/// # Errors
/// The master has gone, or the plan is over the limit.
pub(crate) fn send(master: &OwnedFd, plan: &Plan, logs: &[OwnedFd]) -> Result<(), Failed> {
    let mut bytes = Vec::new();
    frame::encode(&Build::own(), 0, &mut bytes)?;
    frame::encode(plan, 0, &mut bytes).map_err(|e| format!("the configuration is too large: {e}"))?;
    send_all(master.as_fd(), &bytes, &[])?;
    for batch in logs.chunks(MAX_FDS) {
        let fds: Vec<BorrowedFd<'_>> = batch.iter().map(AsFd::as_fd).collect();
        bytes.clear();
        frame::encode(&(), batch.len(), &mut bytes)?;
        send_all(master.as_fd(), &bytes, &fds)?;
    }
    Ok(())
}
