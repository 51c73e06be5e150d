//! Waits to the microsecond: tokio's own timers count milliseconds, too coarse for open plans.

use crate::load::timers::{Moment, SECOND};
use anyhow::{Context, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// A timer of the kernel's.
pub(super) struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    #[expect(
        deprecated,
        reason = "what follows it is unsafe, and asks for what an owned descriptor gives anyhow"
    )]
    pub(super) fn new() -> Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).context("a timer")?;
        Ok(Self(AsyncFd::new(timer).context("a timer")?))
    }

    /// Ends after so many nanoseconds.
    pub(super) async fn after(&self, wait: Moment) -> Result<()> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: i64::try_from(wait / SECOND).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(wait % SECOND).unwrap_or(0),
        };
        timerfd_settime(
            self.0.get_ref(),
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value: value },
        )
        .context("a timer")?;
        loop {
            let mut ready = self.0.readable().await.context("a timer")?;
            let rung = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut [0_u8; 8])?));
            if rung.is_ok() {
                return Ok(());
            }
        }
    }
}
