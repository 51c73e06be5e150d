//! The plan's way to the master: one frame with our build, one with the plan, then frames of up to eight log descriptors.

use hostler_sys::fdpass::send_all;
use hostler_wire::build::Build;
use hostler_wire::frame::{self, MAX_FDS};
use hostler_wire::plan::{LONGEST_REFUSAL, Plan, Planned};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::Failed;

/// Sends all of it.
///
/// # Errors
/// The master has gone, or the plan is over the limit.
pub(crate) fn send(master: &OwnedFd, plan: Plan, logs: &[OwnedFd]) -> Result<(), Failed> {
    let mut bytes = Vec::new();
    frame::encode(&Build::own(), 0, &mut bytes)?;
    frame::encode(&Planned::Ok(plan), 0, &mut bytes)
        .map_err(|e| format!("the configuration is too large: {e}"))?;
    send_all(master.as_fd(), &bytes, &[])?;
    for batch in logs.chunks(MAX_FDS) {
        let fds: Vec<BorrowedFd<'_>> = batch.iter().map(AsFd::as_fd).collect();
        bytes.clear();
        frame::encode(&(), batch.len(), &mut bytes)?;
        send_all(master.as_fd(), &bytes, &fds)?;
    }
    Ok(())
}

/// Sends the errors, as many as fit, instead of a plan.
///
/// # Errors
/// The master has gone.
pub(crate) fn refuse(master: &OwnedFd, why: &str) -> Result<(), Failed> {
    let mut fits = String::new();
    for line in why.lines().take_while(|line| line.len() < LONGEST_REFUSAL) {
        if fits.len() + line.len() >= LONGEST_REFUSAL {
            break;
        }
        fits.push_str(line);
        fits.push('\n');
    }
    let mut bytes = Vec::new();
    frame::encode(&Build::own(), 0, &mut bytes)?;
    frame::encode(&Planned::Err(fits.trim_end().to_owned()), 0, &mut bytes)?;
    Ok(send_all(master.as_fd(), &bytes, &[])?)
}
