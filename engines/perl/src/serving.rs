//! One request after another: from the messages of a conversation to the interpreter and back.

use hostler_ring::worker::Conversation;
use hostler_wire::work::{self, FromWorker, Nested, Outcome, Severity, ToWorker};
use std::time::Instant;

use crate::convert::Converted;
use crate::directory::Directories;
use crate::ffi::{self, RequestIn, Str, Told, told};
use crate::incoming::{Gone, Incoming};
use crate::processor::Processor;
use crate::{callbacks, process};
use std::ffi::c_int;

/// What becomes of the worker after a request.
pub(crate) enum Served {
    /// It takes the next. The conversation is still to be ended.
    Stays(Conversation),
    /// It ends, as it has told the front.
    Goes,
    /// The front's messages make no sense.
    Malformed,
}

/// Where the request's body stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Coming,
    Ended,
    Broken,
}

/// All that a worker keeps between and during requests. Buffers are used again.
pub(crate) struct Serving {
    conversation: Option<Conversation>,
    incoming: Incoming,
    directories: Directories,
    request_message: Vec<u8>,
    answer_message: Vec<u8>,
    request: Converted,
    answer: Converted,
    scratch: Vec<u8>,
    body: Body,
    /// It comes in pieces that are asked for.
    asks_for_body: bool,
    /// One of them is still to come.
    has_asked: bool,
    /// Bytes of the body's present piece that were not read yet.
    piece: usize,
    /// Pieces that came while something else was waited for, and how much of them was read.
    stashed: Vec<u8>,
    stash_read: usize,
    finished: bool,
    /// How many requests are being served inside of this one.
    nested: u32,
    exits: bool,
    /// No further trip of the request comes.
    released: bool,
    since: Instant,
    /// What the last request took, in microseconds.
    micros: u32,
    processor: Processor,
}

impl Serving {
    pub(crate) fn new(processor: Processor) -> Self {
        Self {
            conversation: None,
            incoming: Incoming::new(),
            directories: Directories::default(),
            request_message: Vec::new(),
            answer_message: Vec::new(),
            request: Converted::new(),
            answer: Converted::new(),
            scratch: Vec::new(),
            body: Body::Ended,
            asks_for_body: false,
            has_asked: false,
            piece: 0,
            stashed: Vec::new(),
            stash_read: 0,
            finished: false,
            nested: 0,
            exits: false,
            released: false,
            since: Instant::now(),
            micros: 0,
            processor,
        }
    }

    /// Serves what the conversation asks, which came at the time `now`; `last`: the worker ends afterwards.
    pub(crate) fn serve(&mut self, conversation: Conversation, now: Instant, last: bool) -> Served {
        self.conversation = Some(conversation);
        self.since = now;
        self.incoming.clear();
        (self.finished, self.exits, self.piece, self.released) = (false, last, 0, false);
        self.has_asked = false;
        self.nested = 0;
        self.stashed.clear();
        self.stash_read = 0;
        self.processor.begin();
        let is_malformed = loop {
            match self.trip() {
                Ok(true) => {}
                Ok(false) => return self.end(),
                Err(Gone::Malformed) => break true,
                Err(_) => break false,
            }
        };
        // A request that stayed has to be cleaned up after.
        callbacks::enter(self);
        // SAFETY: the buffers of `self` are as the last trip has left them; `self` is reached through `callbacks` only.
        unsafe { ffi::hp_perl_release() };
        callbacks::leave();
        if is_malformed { Served::Malformed } else { self.end() }
    }

    /// Runs the phases of one trip; whether the request stays for another. [`Gone::Abandoned`]: no (further) one comes.
    fn trip(&mut self) -> Result<bool, Gone> {
        let (request, directory, stays) = self.begin()?;
        self.finished = false;
        callbacks::enter(self);
        // SAFETY: the request points into buffers of `self` that stay as they are until the next trip; during the
        // call `self` is reached through `callbacks` only.
        let stays = unsafe { ffi::hp_perl_serve(request, directory, c_int::from(stays)) } != 0;
        callbacks::leave();
        if process::is_forked_away() {
            process::exit_now(0);
        }
        if stays {
            self.publish();
        }
        Ok(stays)
    }

    fn begin(&mut self) -> Result<(*const RequestIn, *mut ffi::Directory, bool), Gone> {
        let length = self.await_request()?;
        self.request_message.clear();
        self.request_message.extend_from_slice(self.incoming.body(length));
        let message = ToWorker::decode(ToWorker::REQUEST, &self.request_message);
        let Ok(ToWorker::Request(head)) = message else { return Err(Gone::Malformed) };
        let stays = head.flags & work::request_flag::STAYS != 0;
        self.asks_for_body = head.flags & work::request_flag::BODY_ASKED != 0;
        let has_body = self.asks_for_body || head.flags & work::request_flag::BODY != 0;
        self.body = if has_body { Body::Coming } else { Body::Ended };
        let directory = self.directories.of(head.directory);
        if directory.is_null() {
            return Err(Gone::Malformed);
        }
        Ok((self.request.set(&head), directory, stays))
    }

    /// The length of the next trip's message; those before it are acted on.
    fn await_request(&mut self) -> Result<usize, Gone> {
        loop {
            let wanted = [ToWorker::REQUEST, ToWorker::RELEASE, ToWorker::RELATED, ToWorker::NESTED];
            match self.await_kind(&wanted)? {
                // Nothing that was not answered yet: what had been asked was.
                _ if self.released => return Err(Gone::Abandoned),
                (ToWorker::RELATED, length) => self.relate(length)?,
                (ToWorker::NESTED, length) => {
                    let told = self.nested(length)?;
                    callbacks::enter(self);
                    // SAFETY: `told` points into buffers of `self` that stay as they are until more is told, which C
                    // knows; during the call `self` is reached through `callbacks` only.
                    unsafe { ffi::hp_perl_nested(&raw const told) };
                    callbacks::leave();
                    self.publish();
                }
                (_, length) => return Ok(length),
            }
        }
    }

    fn relate(&mut self, length: usize) -> Result<(), Gone> {
        let message = ToWorker::decode(ToWorker::RELATED, self.incoming.body(length));
        let Ok(ToWorker::Related { role, head }) = message else { return Err(Gone::Malformed) };
        let directory = self.directories.of(head.directory);
        let request = self.answer.set(&head);
        // SAFETY: the request's strings live until the call returns; C copies them.
        unsafe { ffi::hp_perl_related(request, directory, role as c_int) };
        Ok(())
    }

    fn end(&mut self) -> Served {
        self.exits |= process::is_terminated() || self.processor.is_spent();
        if !self.finished {
            self.finished(&Outcome::Broken(b"the worker lost its way"));
        }
        let exits = self.exits;
        self.micros = u32::try_from(self.since.elapsed().as_micros()).unwrap_or(u32::MAX);
        self.say(&FromWorker::End { exits, micros: self.micros });
        match self.conversation.take() {
            Some(conversation) if !exits => Served::Stays(conversation),
            // Dropping it publishes.
            _ => Served::Goes,
        }
    }

    /// What the last request took, in microseconds.
    pub(crate) fn micros(&self) -> u32 {
        self.micros
    }

    /// Reads messages up to one of a kind that is waited for, and returns its kind and length. Definitions are taken, the
    /// body is put aside.
    fn await_kind(&mut self, wanted: &[u8]) -> Result<(u8, usize), Gone> {
        self.stash_piece()?;
        loop {
            let (kind, length) = match self.next_head() {
                Err(Gone::Interrupted) => continue,
                other => other?,
            };
            match kind {
                ToWorker::RELEASE => {
                    self.released = true;
                    if wanted.contains(&kind) {
                        return Ok((kind, length));
                    }
                }
                kind if wanted.contains(&kind) => return Ok((kind, length)),
                ToWorker::DEFINE => self.define(length)?,
                ToWorker::BODY => {
                    self.body_piece(length);
                    self.stash_piece()?;
                }
                ToWorker::BODY_END => self.body_end(length)?,
                _ => return Err(Gone::Malformed),
            }
        }
    }

    fn next_head(&mut self) -> Result<(u8, usize), Gone> {
        let conversation = self.conversation.as_mut().ok_or(Gone::Abandoned)?;
        self.incoming.head(conversation)
    }

    fn define(&mut self, length: usize) -> Result<(), Gone> {
        let message = ToWorker::decode(ToWorker::DEFINE, self.incoming.body(length));
        // Programs that add other configuration with every request would fill the worker.
        self.exits |= self.directories.are_many();
        match message {
            Ok(ToWorker::Define { id, directory }) if self.directories.define(id, directory) => Ok(()),
            _ => Err(Gone::Malformed),
        }
    }

    fn body_piece(&mut self, length: usize) {
        self.piece = length;
        self.has_asked = false;
    }

    fn body_end(&mut self, length: usize) -> Result<(), Gone> {
        match ToWorker::decode(ToWorker::BODY_END, self.incoming.body(length)) {
            Ok(ToWorker::BodyEnd(complete)) => {
                self.body = if complete { Body::Ended } else { Body::Broken };
                self.has_asked = false;
                Ok(())
            }
            _ => Err(Gone::Malformed),
        }
    }

    fn stash_piece(&mut self) -> Result<(), Gone> {
        let conversation = self.conversation.as_mut().ok_or(Gone::Abandoned)?;
        while self.piece > 0 {
            let filled = self.stashed.len();
            self.stashed.resize(filled + self.piece.min(64 << 10), 0);
            let taken = self.incoming.take(&mut self.stashed[filled..], conversation);
            self.stashed.truncate(filled + taken.as_ref().map_or(0, |count| *count));
            match taken {
                Ok(0) => return Err(Gone::Abandoned),
                Ok(count) => self.piece -= count,
                Err(Gone::Interrupted) => {}
                Err(gone) => return Err(gone),
            }
        }
        Ok(())
    }

    /// Reads from the request's body. `Ok(0)`: its end; [`Gone::Abandoned`]: it broke off.
    pub(crate) fn read_body(&mut self, into: &mut [u8]) -> Result<usize, Gone> {
        if into.is_empty() {
            return Ok(0);
        }
        let stashed = &self.stashed[self.stash_read..];
        if !stashed.is_empty() {
            let count = stashed.len().min(into.len());
            into[..count].copy_from_slice(&stashed[..count]);
            self.stash_read += count;
            return Ok(count);
        }
        while self.piece == 0 {
            match self.body {
                Body::Ended => return Ok(0),
                Body::Broken => return Err(Gone::Abandoned),
                Body::Coming if self.asks_for_body && !self.has_asked => {
                    self.has_asked = true;
                    self.say(&FromWorker::ReadBody(u32::try_from(into.len()).unwrap_or(u32::MAX)));
                    self.publish();
                }
                Body::Coming => {}
            }
            match self.next_head()? {
                (ToWorker::BODY, length) => self.body_piece(length),
                (ToWorker::BODY_END, length) => self.body_end(length)?,
                (ToWorker::DEFINE, length) => self.define(length)?,
                (ToWorker::RELEASE, _) => self.released = true,
                _ => return Err(Gone::Malformed),
            }
        }
        let most = into.len().min(self.piece);
        let conversation = self.conversation.as_mut().ok_or(Gone::Abandoned)?;
        match self.incoming.take(&mut into[..most], conversation)? {
            0 => Err(Gone::Abandoned),
            count => {
                self.piece -= count;
                Ok(count)
            }
        }
    }

    /// Writes a message; it is published with others.
    pub(crate) fn say(&mut self, message: &FromWorker<'_>) {
        self.scratch.clear();
        message.encode(&mut self.scratch);
        if let Some(conversation) = &mut self.conversation {
            conversation.write(&self.scratch);
        }
    }

    /// Writes a piece of the answer's body, without a copy in between.
    pub(crate) fn say_body(&mut self, piece: &[u8]) {
        let Some(conversation) = &mut self.conversation else { return };
        for part in piece.chunks(work::MAX_MESSAGE) {
            self.scratch.clear();
            work::put_head(&mut self.scratch, FromWorker::BODY, part.len());
            conversation.write(&self.scratch);
            conversation.write(part);
        }
    }

    pub(crate) fn publish(&mut self) {
        if let Some(conversation) = &mut self.conversation {
            conversation.publish();
        }
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.conversation.as_ref().is_none_or(Conversation::is_abandoned)
    }

    /// Says what became of the request, once; of those inside of it first.
    pub(crate) fn finished(&mut self, outcome: &Outcome<'_>) {
        if self.nested > 0 {
            self.nested -= 1;
            self.say(&FromWorker::Finished(outcome.clone()));
        } else if !std::mem::replace(&mut self.finished, true) {
            self.say(&FromWorker::Finished(outcome.clone()));
        }
    }

    pub(crate) fn log(&mut self, severity: Severity, virtual_host: bool, text: &[u8]) {
        self.say(&FromWorker::Log { severity, virtual_host, text });
        if severity <= Severity::Error {
            // A worker that dies of what it tells here should have told it.
            self.publish();
        }
    }

    pub(crate) fn exit_afterwards(&mut self) {
        self.exits = true;
    }

    /// What comes next of the answer to a program's question.
    pub(crate) fn await_told(&mut self) -> Told {
        let wanted = [ToWorker::ANSWER, ToWorker::RAN, ToWorker::NESTED, ToWorker::CONFIGURED];
        let told = match self.await_kind(&wanted) {
            Ok((ToWorker::ANSWER, length)) => self.answered(length),
            Ok((ToWorker::NESTED, length)) => self.nested(length),
            Ok((ToWorker::CONFIGURED, length)) => self.configured(length),
            Ok((_, length)) => self.ran(length),
            Err(gone) => Err(gone),
        };
        told.unwrap_or(Told::GONE)
    }

    fn answered(&mut self, length: usize) -> Result<Told, Gone> {
        self.answer_message.clear();
        self.answer_message.extend_from_slice(self.incoming.body(length));
        match ToWorker::decode(ToWorker::ANSWER, &self.answer_message) {
            Ok(ToWorker::Answer { id, head }) => {
                Ok(Told { kind: told::ANSWER, id, request: self.answer.set(&head), ..Told::GONE })
            }
            _ => Err(Gone::Malformed),
        }
    }

    /// A request to be served inside of the one that waits.
    fn nested(&mut self, length: usize) -> Result<Told, Gone> {
        self.answer_message.clear();
        self.answer_message.extend_from_slice(self.incoming.body(length));
        match ToWorker::decode(ToWorker::NESTED, &self.answer_message) {
            Ok(ToWorker::Nested(nested)) if !self.directories.of(nested.head.directory).is_null() => {
                self.nested += 1;
                let request = self.answer.set(&nested.head);
                let Nested { id, main, prev, .. } = *nested;
                Ok(Told { kind: told::NESTED, id, main, prev, status: 0, request, text: Str::ABSENT })
            }
            _ => Err(Gone::Malformed),
        }
    }

    /// What has become of configuration that the program has added.
    fn configured(&mut self, length: usize) -> Result<Told, Gone> {
        self.answer_message.clear();
        self.answer_message.extend_from_slice(self.incoming.body(length));
        match ToWorker::decode(ToWorker::CONFIGURED, &self.answer_message) {
            Ok(ToWorker::Configured(Ok(id))) => Ok(Told { kind: told::CONFIGURED, id, ..Told::GONE }),
            Ok(ToWorker::Configured(Err(why))) => {
                Ok(Told { kind: told::CONFIGURED, text: Str::new(why), ..Told::GONE })
            }
            _ => Err(Gone::Malformed),
        }
    }

    fn ran(&mut self, length: usize) -> Result<Told, Gone> {
        match ToWorker::decode(ToWorker::RAN, self.incoming.body(length)) {
            Ok(ToWorker::Ran(status)) => {
                Ok(Told { kind: told::RAN, status: c_int::from(status), ..Told::GONE })
            }
            _ => Err(Gone::Malformed),
        }
    }

    pub(crate) fn directory(&self, id: u32) -> *mut ffi::Directory {
        self.directories.of(id)
    }
}
