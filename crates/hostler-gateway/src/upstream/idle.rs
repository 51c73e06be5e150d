//! Connections of a thread that nobody speaks over: the one that was used last is used next, so that the others grow old
//! and are closed.

use super::{Connection, Secure, Upstream};
use foldhash::HashMap;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The interval at which connections are checked.
const TICK: Duration = Duration::from_secs(1);

struct Idle {
    since: Instant,
    until: Instant,
    connection: Connection,
}

thread_local! {
    static IDLE: RefCell<HashMap<u64, Vec<Idle>>> = RefCell::default();
    static SWEEPS: Cell<bool> = const { Cell::new(false) };
}

impl Upstream {
    /// A connection that is open still, with such TLS or without.
    #[must_use]
    pub fn kept(&self, secure: Option<&Secure>) -> Option<Connection> {
        IDLE.with_borrow_mut(|idle| {
            let stack = idle.get_mut(&self.id)?;
            while let Some(at) = stack.iter().rposition(|one| one.connection.secure.as_deref() == secure) {
                let mut connection = stack.remove(at).connection;
                if connection.is_silent() {
                    return Some(connection);
                }
            }
            None
        })
    }

    /// Keeps a connection for the next request. Must be called on a thread's `LocalSet`.
    pub fn keep(&self, mut connection: Connection) {
        if !self.settings.reuse {
            return;
        }
        connection.rest();
        let since = Instant::now();
        IDLE.with_borrow_mut(|idle| {
            let stack = idle.entry(self.id).or_default();
            if stack.len() < self.settings.keep {
                stack.push(Idle { since, until: since + self.settings.idle, connection });
            }
        });
        if !SWEEPS.replace(true) {
            tokio::task::spawn_local(sweep());
        }
    }
}

/// Closes connections that are too old, or that the other side has closed, as long as there are any.
async fn sweep() {
    loop {
        tokio::time::sleep(TICK).await;
        let now = Instant::now();
        let left = IDLE.with_borrow_mut(|idle| {
            idle.retain(|_, stack| {
                stack.retain_mut(|one| {
                    now < one.until && (now.duration_since(one.since) < TICK || one.connection.is_silent())
                });
                !stack.is_empty()
            });
            !idle.is_empty()
        });
        if !left {
            SWEEPS.set(false);
            return;
        }
    }
}
