//! A worker that writes what it likes: the front must neither panic, nor read outside, nor believe it.

use crate::Memory;
use crate::front::{Channel, Violation};
use crate::layout::{CONTROL, Control, FREE, FROM_WORKER, LENGTH, OFFERED, TAKEN, TO_WORKER, Words, stamp};
use crate::mapped::Native;
use crate::worker::Worker;
use hostler_sys::shared::Mapping;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const CHANNEL_0: usize = offset_of!(Control<Native>, channels);
const FRONT: usize = CHANNEL_0 + offset_of!(Words<Native>, front);
const WORKER: usize = CHANNEL_0 + offset_of!(Words<Native>, worker);
const STATE: usize = FRONT;
const TO_HEAD: usize = FRONT + 8;
const FROM_TAIL: usize = FRONT + 16;
const FROM_HEAD: usize = WORKER;
const TO_TAIL: usize = WORKER + 8;
const FRONT_SLEEPS: usize = WORKER + 16;

/// Memory, its channel 0, and the hostile worker's mapping.
fn attacked() -> (Arc<Memory>, Channel, Mapping) {
    let (memory, fd) = Memory::create().unwrap();
    let channel = memory.channel(0);
    (memory, channel, Mapping::attach(fd, LENGTH).unwrap())
}

fn set(mapping: &Mapping, at: usize, word: u64) {
    mapping.put(at, &word.to_ne_bytes());
}

fn word(mapping: &Mapping, at: usize) -> u64 {
    let mut bytes = [0; 8];
    mapping.copy(at, &mut bytes);
    u64::from_ne_bytes(bytes)
}

#[test]
fn the_length_is_sealed() {
    let (_memory, fd) = Memory::create().unwrap();
    for length in [0, LENGTH as u64 - 1, LENGTH as u64 + 1] {
        let error = std::fs::File::from(fd.try_clone().unwrap()).set_len(length).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(1), "EPERM");
    }
}

#[test]
fn a_head_beyond_the_capacity_is_a_lie_for_good() {
    for lie in [FROM_WORKER + 1, u32::MAX, 1 << 31] {
        let (_memory, mut channel, worker) = attacked();
        channel.offer(0, b"q");
        set(&worker, FROM_HEAD, stamp(1, lie));
        assert!(!channel.sleep(), "there is something to hear");
        let mut bytes = Vec::new();
        assert_eq!(channel.read(&mut bytes, 100), Err(Violation));
        set(&worker, FROM_HEAD, stamp(1, 1));
        assert_eq!(channel.read(&mut bytes, 100), Err(Violation));
        assert_eq!(channel.write(b"more"), 0);
        assert!(bytes.is_empty());
    }
}

#[test]
fn a_head_that_goes_back_behind_what_was_read_is_a_lie() {
    for back in [stamp(1, 3), stamp(0, 0), stamp(2, 9)] {
        let (_memory, mut channel, worker) = attacked();
        channel.offer(0, b"q");
        set(&worker, FROM_HEAD, stamp(1, 4));
        let mut bytes = Vec::new();
        assert_eq!(channel.read(&mut bytes, 100), Ok(4));
        set(&worker, FROM_HEAD, back);
        assert_eq!(channel.read(&mut bytes, 100), Err(Violation));
    }
}

#[test]
fn all_of_a_full_stream_can_be_read_and_no_more() {
    let (_memory, mut channel, worker) = attacked();
    channel.offer(0, b"q");
    set(&worker, FROM_HEAD, stamp(1, FROM_WORKER));
    let mut bytes = Vec::new();
    assert_eq!(channel.read(&mut bytes, usize::MAX), Ok(FROM_WORKER as usize));
    assert_eq!(channel.read(&mut bytes, usize::MAX), Ok(0));
    assert_eq!(bytes.len(), FROM_WORKER as usize);
}

#[test]
fn a_worker_that_has_read_what_was_not_written_lies() {
    for lie in [stamp(1, 2), stamp(1, u32::MAX), stamp(1, 1 << 31)] {
        let (_memory, mut channel, worker) = attacked();
        channel.offer(0, b"q");
        set(&worker, TO_TAIL, lie);
        assert_eq!(channel.write(b"more"), 0);
        assert_eq!(channel.read(&mut Vec::new(), 1), Err(Violation));
    }
    let (_memory, mut channel, worker) = attacked();
    channel.offer(0, b"four");
    set(&worker, TO_TAIL, stamp(1, 3));
    assert_eq!(channel.write(b"!"), 1);
    set(&worker, TO_TAIL, stamp(1, 2));
    assert_eq!(channel.write(b"!"), 0, "it can't unread");
    assert_eq!(channel.read(&mut Vec::new(), 1), Err(Violation));
}

#[test]
fn what_another_request_left_behind_says_nothing() {
    let (_memory, mut channel, worker) = attacked();
    for (at, epoch) in [(FROM_HEAD, 9), (TO_TAIL, 9), (FROM_HEAD, 0)] {
        set(&worker, at, stamp(epoch, 17));
    }
    assert_eq!(channel.offer(0, &[b'x'; TO_WORKER as usize + 1]), TO_WORKER as usize);
    assert_eq!(channel.write(b"x"), 0, "full");
    assert_eq!(channel.read(&mut Vec::new(), 10), Ok(0));
    assert!(channel.sleep());
}

#[test]
fn an_answer_to_what_was_taken_back_is_not_read() {
    let (_memory, mut channel, worker) = attacked();
    channel.offer(0, b"q");
    assert!(channel.take_back());
    set(&worker, STATE, stamp(1, TAKEN));
    set(&worker, FROM_HEAD, stamp(1, 5));
    assert_eq!(channel.read(&mut Vec::new(), 10), Ok(0));
    assert!(channel.sleep());
    assert!(!channel.take_back(), "once");
    assert_eq!(channel.write(b"body"), 0);
}

#[test]
fn what_was_answered_is_not_taken_back() {
    let (_memory, mut channel, worker) = attacked();
    channel.offer(0, b"q");
    set(&worker, FROM_HEAD, stamp(1, 5));
    assert_eq!(channel.read(&mut Vec::new(), 2), Ok(2));
    assert_eq!(word(&worker, STATE), stamp(1, OFFERED), "it never said that it took it");
    assert!(!channel.take_back());
}

#[test]
fn what_the_front_has_written_it_does_not_read_back() {
    let (_memory, mut channel, worker) = attacked();
    channel.offer(0, b"ab");
    for at in [TO_HEAD, FROM_TAIL] {
        set(&worker, at, u64::MAX);
    }
    assert_eq!(channel.write(b"cd"), 2);
    assert_eq!(word(&worker, TO_HEAD), stamp(1, 4));
    let mut sent = [0; 4];
    worker.copy(CONTROL, &mut sent);
    assert_eq!(&sent, b"abcd");
    set(&worker, FROM_HEAD, stamp(1, 3));
    assert_eq!(channel.read(&mut Vec::new(), 2), Ok(2));
    assert_eq!(word(&worker, FROM_TAIL), stamp(1, 2));
}

#[test]
fn a_worker_that_never_lets_go_gets_the_next_request_all_the_same() {
    let (_memory, mut channel, worker) = attacked();
    channel.offer(0, b"one");
    set(&worker, STATE, stamp(1, TAKEN));
    assert!(channel.is_taken() && !channel.is_free());
    assert!(!channel.take_back());
    channel.offer(0, b"two");
    assert!(!channel.is_taken());
    assert_eq!(word(&worker, STATE), stamp(2, OFFERED));
    assert!(channel.take_back());
    assert_eq!(word(&worker, STATE), stamp(2, FREE));
}

#[test]
fn a_state_without_sense_is_a_request_that_is_not_ours_any_more() {
    let (_memory, mut channel, worker) = attacked();
    channel.offer(0, b"q");
    for state in [u64::MAX, 0, stamp(1, 7), stamp(7, OFFERED)] {
        set(&worker, STATE, state);
        assert!(!channel.take_back());
        assert!(channel.is_taken());
    }
}

#[test]
fn dropping_an_end_takes_its_request_back_or_abandons_it() {
    let (memory, fd) = Memory::create().unwrap();
    let mut worker = Worker::attach(fd, Vec::new()).unwrap();
    let now = Some(Duration::ZERO);
    let mut channel = memory.channel(0);
    channel.offer(0, b"q");
    drop(channel);
    assert!(worker.next(now).is_none());
    let mut channel = memory.channel(0);
    channel.offer(0, b"q");
    let conversation = worker.next(now).unwrap();
    assert!(!conversation.is_abandoned());
    drop(channel);
    assert!(conversation.is_abandoned());
}

#[test]
fn a_late_worker_does_not_disturb_the_request_that_replaced_its_own() {
    let (memory, fd) = Memory::create().unwrap();
    let mut worker = Worker::attach(fd, Vec::new()).unwrap();
    let (now, mut channel) = (Some(Duration::ZERO), memory.channel(1));
    channel.offer(0, b"first");
    let mut late = worker.next(now).unwrap();
    late.write(b"late");
    channel.offer(0, b"second");
    assert!(late.is_abandoned());
    assert_eq!(late.read(&mut [0; 9]), 0);
    late.finish();
    assert_eq!(channel.read(&mut Vec::new(), 9), Ok(0));
    let mut bytes = [0; 9];
    let mut second = worker.next(now).unwrap();
    assert_eq!(second.read(&mut bytes), 6);
    assert_eq!(&bytes[..6], b"second");
    second.write(b"answer");
    second.finish();
    let mut answer = Vec::new();
    assert_eq!(channel.read(&mut answer, 9), Ok(6));
    assert_eq!(answer, b"answer");
    assert!(channel.is_free());
}

#[test]
#[should_panic(expected = "one owner")]
fn a_channel_has_one_owner() {
    let (memory, _fd) = Memory::create().unwrap();
    let _first = memory.channel(1);
    let _second = memory.channel(1);
}

/// A worker that writes random values everywhere, asks for wake-ups all the time, and knows what would be believed.
struct Storm {
    worker: Mapping,
    dice: u64,
}

impl Storm {
    fn roll(&mut self, below: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 8) as usize % below
    }

    /// One write; `epoch` is that of channel 0.
    fn gust(&mut self, epoch: u32) {
        let (kind, position, place) =
            (self.roll(8), self.roll(FROM_WORKER as usize + 3) as u32, self.roll(LENGTH - CONTROL));
        match kind {
            0..3 => set(&self.worker, FROM_HEAD, stamp(epoch, position)),
            3 => set(&self.worker, TO_TAIL, stamp(epoch, position % 9)),
            4 => set(&self.worker, FRONT_SLEEPS, 0),
            5 => self.worker.put(0, &[1; 256]),
            6 => set(&self.worker, place % (CONTROL / 8) * 8, self.dice),
            _ => self.worker.put(CONTROL + place, &[self.dice as u8]),
        }
    }
}

/// A front's round on one channel, with something happening between its steps. Counts answers and lies.
fn serve(channel: &mut Channel, round: usize, mut between: impl FnMut()) -> (usize, usize) {
    let (mut answers, mut lies, mut bytes) = (0, 0, Vec::new());
    let most = round * 101;
    channel.offer(0, &vec![b'q'; round * 37 % 70_000]);
    channel.want_room(round.is_multiple_of(2));
    for _ in 0..10 {
        between();
        bytes.clear();
        match channel.read(&mut bytes, most) {
            Ok(count) => answers += usize::from(count > 0),
            Err(Violation) => lies += 1,
        }
        assert!(bytes.len() <= most.min(FROM_WORKER as usize));
        between();
        assert!(channel.write(&[b'b'; 999]) <= 999);
        between();
        let _ = channel.sleep();
    }
    channel.abandon();
    let _ = channel.take_back();
    (answers, lies)
}

#[test]
fn writes_between_any_two_steps_hurt_nobody_but_the_worker() {
    let (memory, mut channel, worker) = attacked();
    let mut other = memory.channel(1);
    let mut storm = Storm { worker, dice: 0x9e37_79b9_7f4a_7c15 };
    let (mut answers, mut lies) = (0, 0);
    for round in 0..1000_usize {
        let epoch = round as u32 * 2 + 1;
        let outcome = serve(&mut channel, round, || storm.gust(epoch));
        (answers, lies) = (answers + outcome.0, lies + outcome.1);
        serve(&mut other, round, || storm.gust(epoch + 1));
    }
    assert!(lies > 100 && answers > 100, "{lies} lies, {answers} answers: the storm blew past");
}

#[test]
fn writes_at_the_same_time_hurt_nobody_but_the_worker() {
    let (_memory, mut channel, worker) = attacked();
    let epoch = Arc::new(AtomicU32::new(1));
    let thread = std::thread::spawn({
        let epoch = epoch.clone();
        let mut storm = Storm { worker, dice: 1 };
        move || {
            while epoch.load(Ordering::Relaxed) != 0 {
                storm.gust(epoch.load(Ordering::Relaxed));
            }
        }
    });
    let end = Instant::now() + Duration::from_millis(300);
    for round in (0..).take_while(|_| Instant::now() < end) {
        epoch.store(round as u32 + 1, Ordering::Relaxed);
        serve(&mut channel, round, || {});
    }
    epoch.store(0, Ordering::Relaxed);
    thread.join().unwrap();
}

#[test]
fn renewed_memory_has_nothing_of_the_request_before() {
    let (mut memory, fd) = Memory::create().unwrap();
    let late = Mapping::attach(&fd, LENGTH).unwrap();
    let channel = memory.channel(0);
    assert!(!Memory::renew(&mut memory), "somebody holds an end");
    drop(channel);
    let mut worker = Worker::attach(fd.try_clone().unwrap(), Vec::new()).unwrap();
    let mut channel = memory.channel(0);
    channel.offer(0, b"secret question");
    let mut conversation = worker.next(Some(Duration::ZERO)).unwrap();
    conversation.write(b"secret answer");
    conversation.publish();
    // It dies in the middle.
    std::mem::forget(conversation);
    drop((channel, worker));
    set(&late, FRONT_SLEEPS, u64::MAX);
    assert!(Memory::renew(&mut memory));
    let mut bytes = vec![0; LENGTH];
    late.copy(0, &mut bytes);
    let left = bytes.iter().skip(8).filter(|byte| **byte != 0).count();
    assert_eq!(left, 0, "all but the layout's number");
    assert_eq!(serve_one(&memory, fd.try_clone().unwrap()), b"answer");
    set(&late, FROM_HEAD, stamp(1, 5000));
    assert!(!Memory::renew(&mut memory), "new memory is cheaper");
}

/// Returns the response of a new worker.
fn serve_one(memory: &Arc<Memory>, fd: std::os::fd::OwnedFd) -> Vec<u8> {
    let (mut worker, mut channel) = (Worker::attach(fd, Vec::new()).unwrap(), memory.channel(0));
    channel.offer(0, b"question");
    let mut conversation = worker.next(Some(Duration::ZERO)).unwrap();
    conversation.write(b"answer");
    conversation.finish();
    let mut answer = Vec::new();
    channel.read(&mut answer, 100).unwrap();
    answer
}
