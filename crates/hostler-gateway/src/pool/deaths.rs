//! The deaths of workers, each told once: by the request that it took with it, or else here.

use super::parent::Host;
use super::worker::Worker;
use hostler_wire::site::Exit;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long a request may take to notice that its worker is gone.
const NOTICED: Duration = Duration::from_secs(1);

/// Has a worker's end told that nobody asked for. `busy`: it had a request, which tells it, unless the worker had not
/// begun it, or had answered it: then the request is not lost, and says nothing.
pub(super) fn tell<H: Host + 'static>(host: &Rc<H>, worker: &Arc<Worker>, exit: Exit, busy: bool) {
    let (host, worker) = (host.clone(), worker.clone());
    let line = move || {
        if !worker.told.load(Relaxed) {
            let text = format!("the worker ended unasked: {}", describe(exit));
            host.line(worker.pid.load(Relaxed), text.as_bytes());
        }
    };
    if !busy {
        return line();
    }
    tokio::task::spawn_local(async move {
        tokio::time::sleep(NOTICED).await;
        line();
    });
}

pub(super) fn describe(exit: Exit) -> String {
    match exit {
        Exit::Status(status) => format!("exited with status {status}"),
        Exit::Signal(signal) => format!("killed by {}", crate::signal_name(signal)),
    }
}
