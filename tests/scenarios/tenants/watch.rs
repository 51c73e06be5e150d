//! B's visitor: asks for B's page again and again, a connection each time, and keeps how long it took.

use crate::faults::process;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time after which B counts a request as unanswered.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two requests: B is a visitor, no load.
const PAUSE: Duration = Duration::from_millis(2);

/// The observations of B's visitor.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The duration of each response, connection included, shortest first.
    pub(crate) times: Vec<Duration>,
    /// The failures.
    pub(crate) failed: Vec<String>,
    /// The most memory that the front had, in kilobytes.
    pub(crate) memory: u64,
}

impl Seen {
    /// The time that so many of a hundred answers took at most.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times.get((self.times.len() * percent / 100).min(last)).copied().unwrap_or_default()
    }
}

/// A visitor that is at it.
pub(crate) struct Watch {
    ends: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    thread: JoinHandle<Seen>,
}

impl Watch {
    /// Begins to ask the server at this port; `front` is the process whose memory is watched.
    pub(crate) fn start(port: u16, front: u32) -> Self {
        let (ends, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (over, count) = (ends.clone(), asked.clone());
        let thread = std::thread::spawn(move || {
            let mut seen = Seen::default();
            while !over.load(SeqCst) {
                match ask(port) {
                    Ok(time) => seen.times.push(time),
                    Err(why) => seen.failed.push(why),
                }
                seen.memory = seen.memory.max(process::resident(front));
                count.fetch_add(1, SeqCst);
                // Time: between two requests of a visitor.
                std::thread::sleep(PAUSE);
            }
            seen.times.sort_unstable();
            seen
        });
        Self { ends, asked, thread }
    }

    /// Waits until B has asked so often from now on, and tells what it has seen.
    pub(crate) fn finish_after(self, more: usize) -> Seen {
        let enough = self.asked.load(SeqCst) + more;
        while self.asked.load(SeqCst) < enough {
            // Time: looks again.
            std::thread::sleep(PAUSE);
        }
        self.ends.store(true, SeqCst);
        self.thread.join().expect("B's visitor ends")
    }
}

/// One request of B's; how long it took.
fn ask(port: u16) -> Result<Duration, String> {
    let since = Instant::now();
    let told = |error: std::io::Error| format!("after {:?}: {error}", since.elapsed());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    stream.write_all(b"GET /b.html HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n").map_err(told)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(told)?;
    if answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("B's page") {
        Ok(since.elapsed())
    } else {
        Err(answer.lines().next().unwrap_or("nothing at all").to_owned())
    }
}
