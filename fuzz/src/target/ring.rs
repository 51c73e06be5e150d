//! A worker's shared memory: the input says what the front does and what a hostile worker writes in between.

use hostler_ring::front::Channel;
use hostler_ring::{CHANNELS, Memory};
use hostler_sys::shared::Mapping;
use std::sync::Arc;

/// Bytes of a worker's memory, of its streams, and where its words are (`crates/hostler-ring/src/layout.rs`).
const LENGTH: usize = CONTROL + CHANNELS * (TO_WORKER + FROM_WORKER);
const CONTROL: usize = 4096;
const TO_WORKER: usize = 64 << 10;
const FROM_WORKER: usize = 256 << 10;
const WORKER_SLEEPS: usize = 128;
const STATE: usize = 256;
const CHANNEL: usize = 256;
/// State, to_head, from_tail, abandoned and waker; from_head, to_tail, front_sleeps.
const WORDS: [usize; 7] = [0, 8, 16, 24, 128, 136, 144];

/// The input is a script: a step's number, then what the step needs. What is missing at its end counts as 0.
pub fn target(data: &[u8]) {
    let Ok((memory, fd)) = Memory::create() else { return };
    let Ok(worker) = Mapping::attach(fd, LENGTH) else { panic!("the memory has another length") };
    let mut run = Run { channel: Some(memory.channel(0)), memory, worker, index: 0, epoch: 0, kept: Kept::default() };
    let mut script = Script(data);
    while !script.0.is_empty() {
        run.step(&mut script);
    }
}

/// The rest of the input.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        bytes[..taken.len()].copy_from_slice(taken);
        self.0 = rest;
        bytes
    }

    fn byte(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    fn short(&mut self) -> usize {
        u16::from_le_bytes(self.bytes()).into()
    }
}

/// Facts that the front has been told about the request in the channel, and can rely on.
#[derive(Default)]
struct Kept {
    answered: bool,
    lied: bool,
}

struct Run {
    memory: Arc<Memory>,
    worker: Mapping,
    /// Always there but while it is replaced.
    channel: Option<Channel>,
    index: usize,
    epoch: u32,
    kept: Kept,
}

impl Run {
    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() % 13 {
            0 => self.offer(script.short()),
            1 => self.take_back(),
            2 => self.write(script.short()),
            3 => self.read(script.short() * 8),
            4 => {
                let _ = self.channel().sleep();
            }
            5 => {
                let wanted = script.byte() % 2 == 1;
                self.channel().want_room(wanted);
            }
            6 => self.channel().abandon(),
            7 | 8 => self.set_word(script),
            9 => self.worker.put(WORKER_SLEEPS, &1_u32.to_ne_bytes()),
            10 => self.worker.put(script.short() % (CONTROL - 8), &script.bytes::<8>()),
            11 => self.worker.put((script.short() << 4) % LENGTH, &script.bytes::<1>()),
            _ => self.change_channel(script.byte()),
        }
    }

    fn channel(&mut self) -> &mut Channel {
        self.channel.get_or_insert_with(|| self.memory.channel(self.index))
    }

    fn offer(&mut self, length: usize) {
        let message = vec![b'q'; length + 1];
        let taken = self.channel().offer(0, &message);
        assert_eq!(taken, message.len().min(TO_WORKER));
        self.epoch += 1;
        self.kept = Kept::default();
        let mut state = [0; 8];
        self.worker.copy(STATE + self.index * CHANNEL, &mut state);
        assert_eq!(u64::from_ne_bytes(state), u64::from(self.epoch) << 32 | 1, "the layout has changed");
    }

    fn take_back(&mut self) {
        if self.channel().take_back() {
            assert!(!self.kept.answered, "a request was taken back that has an answer");
            self.kept = Kept::default();
        }
    }

    fn write(&mut self, length: usize) {
        let taken = self.channel().write(&vec![b'b'; length]);
        assert!(taken <= length && (taken == 0 || !self.kept.lied));
    }

    fn read(&mut self, most: usize) {
        let mut bytes = b"kept".to_vec();
        match self.channel().read(&mut bytes, most) {
            Ok(count) => {
                assert!(count <= most.min(FROM_WORKER) && bytes.len() == 4 + count && !self.kept.lied);
                self.kept.answered |= count > 0;
            }
            Err(_) => {
                assert_eq!(bytes.len(), 4);
                self.kept.lied = true;
            }
        }
        assert!(bytes.starts_with(b"kept"));
    }

    /// A word of the channel gets a value with an epoch near the right one, most often the right one.
    fn set_word(&mut self, script: &mut Script<'_>) {
        let [word, epoch, a, b, c, d] = script.bytes();
        let at = STATE + self.index * CHANNEL + WORDS[usize::from(word) % WORDS.len()];
        let epoch = if epoch < 200 { self.epoch } else { self.epoch.wrapping_add(202).wrapping_sub(epoch.into()) };
        let value = u64::from(epoch) << 32 | u64::from(u32::from_le_bytes([a, b, c, d]));
        self.worker.put(at, &value.to_ne_bytes());
    }

    /// Another end, of the same channel or the other.
    fn change_channel(&mut self, which: u8) {
        self.channel = None;
        self.index = usize::from(which) % CHANNELS;
        self.channel = Some(self.memory.channel(self.index));
        self.kept = Kept::default();
    }
}
