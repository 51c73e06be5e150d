//! A connection through memory, with the other side played by the test.

use super::*;
use crate::backend::stream::connection::{Connection, Unsent};
use crate::backend::stream::socket::Socket;
use hostler_ring::polled::PolledWorker;
use hostler_sys::socket::stream_pair;
use std::future::{Future, poll_fn};
use std::sync::atomic::AtomicU32;
use std::task::{Wake, Waker};

/// Counts how often it wakes.
#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A connection whose memory is used, and the worker's ends of both.
fn connected() -> (Socket, OwnedFd, PolledWorker) {
    let (ours, theirs) = stream_pair().unwrap();
    let ours = Arc::new(ours);
    let mut link = Links::new(1).offer_by(&ours, b"W", |_| b"hello".to_vec()).unwrap();
    let (mut message, mut descriptors) = ([0; 5], Vec::new());
    fdpass::recv_exact(theirs.as_fd(), &mut message, &mut descriptors).unwrap();
    assert_eq!((&message, descriptors.len()), (b"hello", 2));
    let worker = PolledWorker::attach(&descriptors[0], Arc::default()).unwrap();
    link.use_by(1);
    (Socket::new(ours, Some(link)), theirs, worker)
}

/// Runs on a thread of the front's.
async fn on_a_thread(run: impl Future<Output = ()>) {
    tokio::task::LocalSet::new().run_until(run).await;
}

/// All that is there.
fn read(worker: &mut PolledWorker) -> usize {
    let mut space = vec![0; 1 << 20];
    let mut count = 0;
    while worker.begin() || count == 0 {
        count += worker.read(&mut space);
    }
    count
}

#[tokio::test]
async fn who_waits_for_room_is_told_of_it_whoever_finds_it() {
    on_a_thread(async {
        let (socket, _end, mut worker) = connected();
        let long = vec![b'x'; 100 << 10];
        let mut connection = Connection::new(socket, Unsent::head(long.into()), 0).unwrap();
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut context = Context::from_waker(&waker);
        assert!(connection.poll_flush(&mut context).is_pending());
        assert_eq!(read(&mut worker), 64 << 10);
        // As when somebody looks for an answer, while a further piece of the body waits for room.
        assert!(matches!(connection.poll_flush(&mut context), Poll::Ready(Ok(()))));
        assert_eq!(count.0.load(Relaxed), 1);
        assert!(matches!(connection.poll_flush(&mut context), Poll::Ready(Ok(()))));
        assert_eq!(count.0.load(Relaxed), 1, "nobody waits any more");
    })
    .await;
}

#[tokio::test]
async fn what_was_said_before_the_end_is_heard() {
    on_a_thread(async {
        let (socket, end, mut worker) = connected();
        let mut connection = Connection::new(socket, Unsent::head(b"question".as_slice().into()), 0).unwrap();
        poll_fn(|context| connection.poll_flush(context)).await.unwrap();
        assert_eq!(read(&mut worker), 8);
        assert_eq!(worker.write(b"answer"), 6);
        drop(end);
        for expected in [&b"answer"[..], b""] {
            assert_eq!(poll_fn(|context| connection.poll_read(context)).await.unwrap(), expected);
        }
    })
    .await;
}
