//! Round trips through shared memory between two processes, per second.
//!
//! `cargo run --release -p hostler-ring --example hop`: a front that sleeps in `poll` when there is nothing to read,
//! as the server's threads do, and one that looks again and again; one request at a time, and with the next one
//! placed ahead. Not a test; numbers differ from run to run.

use hostler_ring::front::{Channel, Violation};
use hostler_ring::{CHANNELS, Memory, worker};
use hostler_sys::poll::{self, Watch};
use hostler_sys::shared;
use std::error::Error;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// About a request's head, and about a small answer.
const REQUEST: [u8; 600] = [b'q'; 600];
const ANSWER: [u8; 300] = [b'a'; 300];
const TIME: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return work();
    }
    let (memory, fd) = Memory::create()?;
    let bell = shared::bell()?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg("worker")
        .stdin(Stdio::from(fd))
        .stdout(Stdio::from(bell.try_clone()?))
        .spawn()?;
    let mut channels: [Channel; CHANNELS] = std::array::from_fn(|index| memory.channel(index));
    for (name, sleeps, used) in [
        ("front sleeps, one at a time", true, 1),
        ("front sleeps, next placed ahead", true, 2),
        ("front spins, one at a time", false, 1),
        ("front spins, next placed ahead", false, 2),
    ] {
        let count = measure(&mut channels[..used], &bell, sleeps)?;
        println!("{name:32} {:9.0} round trips/s", count as f64 / TIME.as_secs_f64());
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Requests answered within [`TIME`].
fn measure(channels: &mut [Channel], bell: &OwnedFd, sleeps: bool) -> Result<u64, Box<dyn Error>> {
    let (start, mut count) = (Instant::now(), 0);
    for channel in channels.iter_mut() {
        channel.offer(0, &REQUEST);
    }
    while start.elapsed() < TIME {
        for channel in channels.iter_mut() {
            answer(channel, bell, sleeps)?;
            count += 1;
            channel.offer(0, &REQUEST);
        }
    }
    for channel in channels.iter_mut() {
        answer(channel, bell, sleeps)?;
    }
    Ok(count)
}

fn answer(channel: &mut Channel, bell: &OwnedFd, sleeps: bool) -> Result<(), Violation> {
    let mut bytes = Vec::with_capacity(ANSWER.len());
    while bytes.len() < ANSWER.len() {
        if channel.read(&mut bytes, ANSWER.len())? > 0 {
            continue;
        }
        if !sleeps {
            std::hint::spin_loop();
        } else if channel.sleep() {
            let _ = poll::wait(&[Watch { fd: bell.as_fd(), write: false }], None);
            shared::clear(bell);
        }
    }
    Ok(())
}

fn work() -> Result<(), Box<dyn Error>> {
    let memory = io::stdin().as_fd().try_clone_to_owned()?;
    let bell = io::stdout().as_fd().try_clone_to_owned()?;
    let mut worker = worker::Worker::attach(memory, vec![bell])?;
    let mut bytes = [0; REQUEST.len()];
    loop {
        let Some(mut conversation) = worker.next(None) else { continue };
        let mut have = 0;
        while have < bytes.len() {
            have += conversation.read(&mut bytes[have..]);
        }
        conversation.write(&ANSWER);
        conversation.finish();
    }
}
