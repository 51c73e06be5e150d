//! Questions to the resolver. The C library answers them: each holds a thread for as long as it takes, which is many seconds
//! where a name server says nothing. There are only so many such threads, and other work is theirs, too; so whoever may
//! ask has a number of questions, and all together have one.
//!
//! A question goes on when nobody waits for its answer any more, and counts until it has one.

use std::cell::OnceCell;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most questions of a thread of the front at the same time: a part of the threads that tokio has for each.
const ALL: usize = 128;

thread_local! {
    static QUESTIONS: OnceCell<Arc<Semaphore>> = const { OnceCell::new() };
}

/// One who may ask, with so many questions at the same time.
#[derive(Clone, Debug)]
pub struct Asker(Arc<Semaphore>);

/// Leave to ask one question.
#[derive(Debug)]
pub struct Leave {
    _permit: OwnedSemaphorePermit,
}

impl Asker {
    /// With so many questions at the same time.
    #[must_use]
    pub fn new(questions: usize) -> Self {
        Self(Arc::new(Semaphore::new(questions)))
    }

    /// Waits until there may be another question. Somebody may have had the same one answered meanwhile.
    pub async fn leave(&self) -> Option<Leave> {
        let permit = self.0.clone().acquire_owned().await.ok()?;
        Some(Leave { _permit: permit })
    }
}

/// Asks. `None`: it could not be asked.
pub async fn ask<T: Send + 'static>(
    leave: Leave,
    question: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let all = QUESTIONS.with(|all| all.get_or_init(|| Arc::new(Semaphore::new(ALL))).clone());
    let all = all.acquire_owned().await.ok()?;
    let asked = tokio::task::spawn_blocking(move || {
        let answer = question();
        drop((leave, all));
        answer
    });
    asked.await.ok()
}

/// The addresses of a host, with this port.
///
/// # Errors
/// The C library's.
pub async fn addresses(leave: Leave, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let host = host.to_owned();
    let answer = ask(leave, move || (&*host, port).to_socket_addrs().map(Iterator::collect)).await;
    answer.unwrap_or_else(|| Err(io::Error::other("the resolver can't be asked")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::mpsc;
    use std::task::Poll;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn who_asks_what_is_not_answered_takes_no_more_threads_than_it_may() {
        let asker = Asker::new(1);
        let (begins, begun) = oneshot::channel();
        let (ends, end) = mpsc::channel::<()>();
        let asked = tokio::spawn(ask(asker.leave().await.unwrap(), move || {
            let _ = begins.send(());
            end.recv()
        }));
        begun.await.unwrap();
        // Nobody waits for the answer any more; the thread is held all the same.
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
        let mut next = Box::pin(asker.leave());
        assert!(poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx).is_pending())).await);
        drop(ends);
        assert_eq!(ask(next.await.unwrap(), || 7).await, Some(7));
    }

    #[tokio::test]
    async fn an_address_is_no_question() {
        let asker = Asker::new(1);
        let leave = asker.leave().await.unwrap();
        let found = addresses(leave, "::1", 80).await.unwrap();
        assert_eq!(found, ["[::1]:80".parse().unwrap()]);
        assert!(asker.leave().await.is_some());
    }
}
