//! The smallest scenarios in which two processes could fail each other.

use super::{Byte, Model, Torn, Watched, explore};
use crate::algorithm::{Front, PendingWakes, Talk, announce, offered, says_asleep, take, take_from};
use crate::layout::{AWAITS_INPUT, AWAITS_OUTLET, AWAITS_REQUEST};
use loom::sync::atomic::Ordering;

fn next<B: Byte>(memory: &Model<B>) -> Talk {
    next_owing(memory, &mut PendingWakes::default())
}

fn next_owing<B: Byte>(memory: &Model<B>, owed: &mut PendingWakes) -> Talk {
    take(memory, None, owed).unwrap_or_else(|waited| panic!("{waited:?}"))
}

fn offer<B: Byte>(front: &mut Front, memory: &Model<B>, epoch: u32, waker: u32, message: &[u8]) -> usize {
    let taken = front.offer(memory, epoch, waker, message);
    announce(memory);
    taken
}

fn write_all(talk: &mut Talk, memory: &Model, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        bytes = &bytes[talk.write(memory, bytes).unwrap()..];
    }
}

/// Parks until `count` bytes have come.
fn await_bytes(front: &mut Front, memory: &Model, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < count {
        if front.read(memory, &mut bytes, count).ok().unwrap() == 0 && front.sleep(memory) {
            memory.park();
        }
    }
    bytes
}

#[test]
fn a_request_and_its_answer_wake_who_sleeps() {
    explore::<Watched>(
        3,
        |memory| {
            let mut talk = next(memory);
            let mut byte = [0];
            assert_eq!(talk.read(memory, &mut byte), Ok(1));
            write_all(&mut talk, memory, &byte);
            talk.finish(memory);
        },
        |memory| {
            let mut front = Front::new(0);
            assert_eq!(offer(&mut front, memory, 1, 7, b"q"), 1);
            assert_eq!(await_bytes(&mut front, memory, 1), b"q");
        },
    );
}

#[test]
fn what_is_taken_back_is_not_taken_and_the_other_request_comes_through() {
    explore::<Watched>(
        3,
        |memory| {
            loop {
                let mut talk = next(memory);
                let mut byte = [0];
                assert_eq!(talk.read(memory, &mut byte), Ok(1));
                write_all(&mut talk, memory, &byte);
                talk.finish(memory);
                if &byte == b"b" {
                    return;
                }
            }
        },
        |memory| {
            let (mut first, mut second) = (Front::new(0), Front::new(1));
            offer(&mut first, memory, 1, 7, b"a");
            let back = first.take_back(memory);
            offer(&mut second, memory, 2, 7, b"b");
            assert_eq!(await_bytes(&mut second, memory, 1), b"b");
            // Oldest first: by now the first one was answered, or never will be.
            let words = &memory.control.channels[0].worker.0;
            assert_eq!(words.from_head.load(Ordering::Acquire) == 0, back);
        },
    );
}

#[test]
fn streams_keep_their_order_and_wait_for_room() {
    explore::<Watched>(
        2,
        |memory| {
            let mut talk = next(memory);
            for _ in 0..3 {
                let mut byte = [0];
                assert_eq!(talk.read(memory, &mut byte), Ok(1));
                write_all(&mut talk, memory, &byte);
            }
            talk.finish(memory);
        },
        |memory| {
            let mut front = Front::new(1);
            let mut taken = offer(&mut front, memory, 1, 7, b"abc");
            let mut bytes = Vec::new();
            while bytes.len() < 3 {
                taken += front.write(memory, &b"abc"[taken..]);
                front.want_room(taken < 3);
                if front.read(memory, &mut bytes, 1).ok().unwrap() == 0 && front.sleep(memory) {
                    memory.park();
                }
            }
            assert_eq!(bytes, b"abc");
        },
    );
}

#[test]
fn a_front_that_wants_room_wakes_when_the_worker_has_read() {
    explore::<Watched>(
        2,
        |memory| {
            let mut talk = next(memory);
            for byte in b"abc" {
                let mut read = [0];
                assert_eq!(talk.read(memory, &mut read), Ok(1));
                assert_eq!(read, [*byte]);
            }
        },
        |memory| {
            let mut front = Front::new(0);
            let mut taken = offer(&mut front, memory, 1, 7, b"abc");
            front.want_room(true);
            while taken < 3 {
                let count = front.write(memory, &b"abc"[taken..]);
                taken += count;
                if count == 0 && front.sleep(memory) {
                    memory.park();
                }
            }
        },
    );
}

#[test]
fn a_full_stream_holds_the_worker_until_the_front_reads() {
    explore::<Watched>(
        2,
        |memory| {
            let mut talk = next(memory);
            write_all(&mut talk, memory, b"abcde");
            talk.finish(memory);
        },
        |memory| {
            let mut front = Front::new(0);
            offer(&mut front, memory, 1, 7, b"");
            assert_eq!(await_bytes(&mut front, memory, 5), b"abcde");
        },
    );
}

#[test]
fn a_worker_that_waits_hears_that_it_is_abandoned() {
    explore::<Watched>(
        3,
        |memory| {
            let mut talk = next(memory);
            assert_eq!(talk.read(memory, &mut [0]), Ok(0));
            let mut talk = next(memory);
            assert_eq!(talk.write(memory, b"ab"), Ok(2));
            assert_eq!(talk.write(memory, b"c"), Ok(0));
        },
        |memory| {
            let (mut first, mut second) = (Front::new(0), Front::new(1));
            offer(&mut first, memory, 1, 7, b"");
            first.abandon(memory);
            offer(&mut second, memory, 2, 7, b"");
            second.abandon(memory);
        },
    );
}

#[test]
fn a_channel_can_be_used_again_as_soon_as_its_answer_is_there() {
    explore::<Watched>(
        3,
        |memory| {
            for question in [b'x', b'y'] {
                let mut talk = next(memory);
                let mut byte = [0];
                assert_eq!(talk.read(memory, &mut byte), Ok(1));
                assert_eq!(byte, [question]);
                write_all(&mut talk, memory, &byte);
                talk.finish(memory);
            }
        },
        |memory| {
            let mut front = Front::new(0);
            for (epoch, question) in [(1, b"x"), (2, b"y")] {
                offer(&mut front, memory, epoch, 7, question);
                assert_eq!(await_bytes(&mut front, memory, 1), question);
            }
        },
    );
}

#[test]
fn who_is_replaced_while_it_reads_never_takes_the_other_bytes_for_its_own() {
    explore::<Torn>(
        3,
        |memory| {
            let mut late = next(memory);
            let mut byte = [0];
            // Abandoned, then, or just in time, or the late one's turn came after the replacement.
            if late.read(memory, &mut byte) == Ok(1) {
                assert_eq!(byte, if late.epoch() == 1 { *b"x" } else { *b"y" });
            }
            late.finish(memory);
        },
        |memory| {
            let mut front = Front::new(0);
            offer(&mut front, memory, 1, 7, b"x");
            offer(&mut front, memory, 2, 7, b"y");
        },
    );
}

/// Answers with what it was asked, and leaves waking the front for later.
fn echo_quietly(memory: &Model, owed: &mut PendingWakes) -> [u8; 1] {
    let mut talk = next_owing(memory, owed);
    let mut byte = [0];
    assert_eq!(talk.read(memory, &mut byte), Ok(1));
    write_all(&mut talk, memory, &byte);
    talk.finish_quietly(memory, owed);
    byte
}

/// Parks until an answer has come in one of the channels; which, by its place.
fn await_one(fronts: &mut [Front], memory: &Model) -> usize {
    loop {
        let mut bytes = Vec::new();
        for (place, front) in fronts.iter_mut().enumerate() {
            if front.read(memory, &mut bytes, 1).ok().unwrap() > 0 {
                return place;
            }
        }
        // Each has to say that it sleeps.
        let mut sleeps = true;
        for front in fronts.iter_mut() {
            sleeps &= front.sleep(memory);
        }
        if sleeps {
            memory.park();
        }
    }
}

#[test]
fn answers_that_nobody_was_woken_for_are_told_before_the_worker_sleeps() {
    explore::<Watched>(
        2,
        |memory| {
            let mut owed = PendingWakes::default();
            for _ in 0..2 {
                echo_quietly(memory, &mut owed);
            }
            // As it would sleep for a third.
            owed.settle(memory);
        },
        |memory| {
            let mut fronts = [Front::new(0), Front::new(1)];
            offer(&mut fronts[0], memory, 1, 7, b"x");
            offer(&mut fronts[1], memory, 2, 7, b"y");
            await_one(&mut fronts, memory);
            await_one(&mut fronts, memory);
        },
    );
}

#[test]
fn a_channel_that_is_used_again_while_a_bell_is_owed_for_it_loses_none() {
    explore::<Watched>(
        2,
        |memory| {
            let mut owed = PendingWakes::default();
            while echo_quietly(memory, &mut owed) != *b"z" {}
            owed.settle(memory);
        },
        |memory| {
            let mut fronts = [Front::new(0), Front::new(1)];
            offer(&mut fronts[0], memory, 1, 7, b"x");
            offer(&mut fronts[1], memory, 2, 7, b"y");
            let first = await_one(&mut fronts, memory);
            offer(&mut fronts[first], memory, 3, 7, b"z");
            await_one(&mut fronts, memory);
            await_one(&mut fronts, memory);
        },
    );
}

/// A worker in its event loop, until it has read so many bytes, which it has answered with.
fn echo_polled(memory: &Model, mut count: usize) {
    let (mut talk, mut pending) = (None::<Talk>, Vec::new());
    loop {
        if let Some(taken) = take_from(memory, 0) {
            talk = Some(taken);
        }
        let mut byte = [0];
        while talk.as_mut().and_then(|talk| talk.read_now(memory, &mut byte)) == Some(1) {
            pending.push(byte[0]);
            count -= 1;
        }
        if let Some(talk) = &mut talk {
            pending.drain(..talk.write_now(memory, &pending));
            talk.publish(memory);
            if count == 0 && pending.is_empty() {
                talk.finish(memory);
                return;
            }
        }
        let is_ready = || {
            offered(memory, 0).is_some()
                || talk.as_ref().is_some_and(|talk| {
                    talk.available(memory) > 0 || !pending.is_empty() && talk.room(memory) > 0
                })
        };
        if says_asleep(memory, AWAITS_REQUEST | AWAITS_INPUT | AWAITS_OUTLET, is_ready) {
            memory.park_worker();
        }
    }
}

#[test]
fn a_worker_in_an_event_loop_is_called_for_each_request() {
    explore::<Watched>(
        3,
        |memory| echo_polled(memory, 2),
        |memory| {
            let mut front = Front::new(0);
            for (epoch, question) in [(1, b"x"), (2, b"y")] {
                offer(&mut front, memory, epoch, 7, question);
                assert_eq!(await_bytes(&mut front, memory, 1), question);
            }
        },
    );
}

#[test]
fn a_worker_in_an_event_loop_is_called_for_more_to_read_and_for_room() {
    explore::<Watched>(
        2,
        |memory| echo_polled(memory, 4),
        |memory| {
            let mut front = Front::new(0);
            let mut taken = offer(&mut front, memory, 1, 7, b"abcd");
            let mut bytes = Vec::new();
            while bytes.len() < 4 {
                taken += front.write(memory, &b"abcd"[taken..]);
                front.want_room(taken < 4);
                if front.read(memory, &mut bytes, 4).ok().unwrap() == 0 && front.sleep(memory) {
                    memory.park();
                }
            }
            assert_eq!(bytes, b"abcd");
        },
    );
}
