//! Answers of a site's process, each to whoever waits for it. One that nobody has asked for, or of the wrong kind, is
//! nobody's: the process belongs to a tenant.

use super::Link;
use hostler_gateway::supervisor::exec::Permit;
use hostler_wire::site::{ConnectError, Entry, Exit, FromSite, RunError, RunningListener, WalkResult};
use std::os::fd::OwnedFd;
use tokio::sync::oneshot;

/// More parents than these no site has.
const MOST_PARENTS: usize = 10_000;

/// The recipient of a reply.
pub(super) enum Waiter {
    Walk(oneshot::Sender<(WalkResult, Option<OwnedFd>)>),
    List(oneshot::Sender<Result<Vec<Entry>, i32>>),
    /// The last: as long as the program runs, it is counted.
    Run(
        Option<oneshot::Sender<Result<StartedProgram, RunError>>>,
        Option<oneshot::Sender<Exit>>,
        Option<Permit>,
    ),
    Parents(oneshot::Sender<Parents>),
    /// As [`Self::Run`], for a program that listens.
    Listen(
        Option<oneshot::Sender<Result<Listening, RunError>>>,
        Option<oneshot::Sender<Exit>>,
        Option<Permit>,
    ),
    Connect(oneshot::Sender<Result<OwnedFd, ConnectError>>),
    Pipes(oneshot::Sender<Result<Vec<OwnedFd>, i32>>),
    Append(oneshot::Sender<bool>),
}

/// A program's process id, and whether it ran already.
pub(super) type StartedProgram = (u32, bool);

/// A program that listens.
pub(super) struct Listening {
    pub(super) pid: u32,
    /// Its socket's.
    pub(super) path: Vec<u8>,
    /// It ran already.
    pub(super) adopted: bool,
    /// Its output, where the site reports it.
    pub(super) output: Vec<OwnedFd>,
}

/// The programs that other fronts have started.
#[derive(Debug, Default)]
pub(crate) struct Parents {
    /// Pools that have a warm parent, by name.
    pub(crate) pools: Vec<String>,
    /// Programs that listen.
    pub(crate) programs: Vec<RunningListener>,
}

impl Waiter {
    fn appended(self, opened: bool) -> Option<()> {
        let Self::Append(tell) = self else { return None };
        let _ = tell.send(opened);
        Some(())
    }

    fn parents(self, pools: Vec<String>, programs: Vec<RunningListener>) -> Option<()> {
        let Self::Parents(tell) = self else { return None };
        if pools.len() > MOST_PARENTS || programs.len() > MOST_PARENTS {
            return None;
        }
        let _ = tell.send(Parents { pools, programs });
        Some(())
    }

    fn pipes(self, result: Result<Vec<OwnedFd>, i32>) -> Option<()> {
        let Self::Pipes(tell) = self else { return None };
        let _ = tell.send(result);
        Some(())
    }
}

impl Link {
    /// Hands an answer to whoever waits for it; `None` if nobody may get it.
    pub(super) fn dispatch(&self, message: FromSite, fds: Vec<OwnedFd>) -> Option<()> {
        let mut waiting = self.waiting.borrow_mut();
        match message {
            // What has not been asked is not answered.
            FromSite::Hello(_) => return None,
            FromSite::Walked(walked) => {
                let Waiter::Walk(tell) = waiting.remove(&walked.id)? else { return None };
                if walked.opened && fds.is_empty() {
                    return None;
                }
                let _ = tell.send((walked, fds.into_iter().next()));
            }
            FromSite::Listed { id, entries } => {
                let Waiter::List(tell) = waiting.remove(&id)? else { return None };
                let _ = tell.send(entries);
            }
            FromSite::Started { id, pid } => {
                let Waiter::Run(started, ..) = waiting.get_mut(&id)? else { return None };
                let _ = started.take()?.send(Ok((pid, false)));
            }
            FromSite::Adopted { id, pid } => {
                let Waiter::Run(started, ..) = waiting.get_mut(&id)? else { return None };
                let _ = started.take()?.send(Ok((pid, true)));
            }
            FromSite::Parents { id, pools, programs } => waiting.remove(&id)?.parents(pools, programs)?,
            FromSite::Listening { id, pid, path, adopted } => {
                let Waiter::Listen(started, ..) = waiting.get_mut(&id)? else { return None };
                let listening = Listening { pid, path: path.into_vec(), adopted, output: fds };
                let _ = started.take()?.send(Ok(listening));
            }
            FromSite::Connected { id } => {
                let Waiter::Connect(tell) = waiting.remove(&id)? else { return None };
                let _ = tell.send(Ok(fds.into_iter().next()?));
            }
            FromSite::ConnectFailed { id, cause } => {
                let Waiter::Connect(tell) = waiting.remove(&id)? else { return None };
                let _ = tell.send(Err(cause));
            }
            FromSite::Appended { id, opened } => waiting.remove(&id)?.appended(opened)?,
            FromSite::Pipes { id } => waiting.remove(&id)?.pipes(Ok(fds))?,
            FromSite::NoPipes { id, errno } => waiting.remove(&id)?.pipes(Err(errno))?,
            FromSite::RunFailed { id, cause } => match waiting.remove(&id)? {
                Waiter::Run(started, ..) => drop(started?.send(Err(cause))),
                Waiter::Listen(started, ..) => drop(started?.send(Err(cause))),
                _ => return None,
            },
            FromSite::Exited { id, exit } => {
                let (tell, permit) = match waiting.remove(&id)? {
                    Waiter::Run(None, Some(tell), permit) | Waiter::Listen(None, Some(tell), permit) => {
                        (tell, permit)
                    }
                    _ => return None,
                };
                let _ = tell.send(exit);
                drop(permit);
            }
        }
        Some(())
    }
}
