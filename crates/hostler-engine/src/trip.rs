//! One request after another: from the messages of a conversation to the engine and back.

use hostler_ring::worker::Conversation;
use hostler_wire::work::{
    self, Decoder, Directory, Encoder, FromWorker, Outcome, Severity, ToWorker, request_flag,
};
use std::collections::BTreeMap;
use std::time::Instant;

use crate::incoming::Incoming;
use crate::processor::Processor;
use crate::{NoMessage, Serve, process};

/// A worker that knows so many configurations ends after its request: none is ever forgotten.
const MANY: usize = 8192;

/// The worker's fate after a request.
pub(crate) enum Fate {
    /// It takes the next. The conversation is still to be ended.
    Stays(Conversation),
    /// It ends, as it has told the front.
    Goes,
    /// The front's messages make no sense.
    Malformed,
}

/// The next input of a request, apart from its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The head of its next part ([`Trip::request`]): the request itself, and further heads of one that stays.
    Request,
    /// Something of the engine's own ([`Trip::own`]).
    Own,
}

/// The position of the request's body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Coming,
    Ended,
    Broken,
}

/// A request as it comes, and its answer as it goes. Buffers are used again for the worker's next request.
pub struct Trip<S: Serve> {
    conversation: Option<Conversation>,
    incoming: Incoming,
    /// By number. A map that needs no random numbers, which a worker for one request would have to ask the system for.
    directories: BTreeMap<u32, S::Directory>,
    request: Vec<u8>,
    own: Vec<u8>,
    scratch: Vec<u8>,
    body: Body,
    flags: u32,
    /// A piece of the body that was asked for is still to come.
    has_asked: bool,
    /// Bytes of the body's present piece that were not read yet.
    piece: usize,
    /// Pieces that came while something else was waited for, and how much of them was read.
    stashed: Vec<u8>,
    stash_read: usize,
    finished: bool,
    exits: bool,
    /// No further head of the request comes.
    released: bool,
    malformed: bool,
    since: Instant,
    /// Returns the duration of the last request, in microseconds.
    micros: u32,
    processor: Processor,
}

impl<S: Serve> Trip<S> {
    pub(crate) fn new(processor: Processor) -> Self {
        Self {
            conversation: None,
            incoming: Incoming::new(),
            directories: BTreeMap::new(),
            request: Vec::new(),
            own: Vec::new(),
            scratch: Vec::new(),
            body: Body::Ended,
            flags: 0,
            has_asked: false,
            piece: 0,
            stashed: Vec::new(),
            stash_read: 0,
            finished: false,
            exits: false,
            released: false,
            malformed: false,
            since: Instant::now(),
            micros: 0,
            processor,
        }
    }

    /// Serves what the conversation asks, which came at the time `now`; `last`: the worker ends afterwards.
    pub(crate) fn serve(
        &mut self,
        engine: &mut S,
        conversation: Conversation,
        now: Instant,
        last: bool,
    ) -> Fate {
        self.conversation = Some(conversation);
        self.since = now;
        self.incoming.clear();
        (self.finished, self.exits, self.piece, self.released) = (false, last, 0, false);
        (self.has_asked, self.malformed) = (false, false);
        self.stashed.clear();
        self.stash_read = 0;
        self.processor.begin();
        process::serving(true);
        engine.serve(self);
        if process::is_forked_away() {
            process::exit_now(0);
        }
        process::serving(false);
        if self.malformed { Fate::Malformed } else { self.end() }
    }

    fn end(&mut self) -> Fate {
        self.exits |= process::is_terminated() || self.processor.is_spent();
        self.finish(&Outcome::Broken(b"the worker lost its way"));
        let exits = self.exits;
        self.micros = u32::try_from(self.since.elapsed().as_micros()).unwrap_or(u32::MAX);
        self.say(&FromWorker::End { exits, micros: self.micros });
        match self.conversation.take() {
            Some(conversation) if !exits => Fate::Stays(conversation),
            // Dropping it publishes.
            _ => Fate::Goes,
        }
    }

    /// Returns the duration of the last request, in microseconds.
    pub(crate) fn micros(&self) -> u32 {
        self.micros
    }

    /// The encoded head that came last: [`hostler_wire::work::RequestHead`].
    #[must_use]
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Returns whether it is to be followed by another one, or by its release ([`request_flag::STAYS`]).
    #[must_use]
    pub fn stays(&self) -> bool {
        self.flags & request_flag::STAYS != 0
    }

    /// Returns the engine's own last message.
    #[must_use]
    pub fn own(&self) -> &[u8] {
        &self.own
    }

    /// Returns the engine's form of the configuration with this number.
    #[must_use]
    pub fn directory(&self, number: u32) -> Option<&S::Directory> {
        self.directories.get(&number)
    }

    /// Handles an invalid message: its worker ends.
    pub fn malformed(&mut self) -> NoMessage {
        self.malformed = true;
        NoMessage::Malformed
    }
}

impl<S: Serve> Trip<S> {
    /// Returns the next message; definitions are processed on the way, and the body is set aside.
    ///
    /// # Errors
    /// [`NoMessage`]; `Abandoned` also when the request has been released, so that no (further) head comes. Never `Interrupted`.
    #[allow(clippy::should_implement_trait, reason = "it borrows what it gives")]
    pub fn next(&mut self) -> Result<Next, NoMessage> {
        let next = self.await_any(true)?;
        // Nothing that was not answered yet: what had been asked was.
        if self.released {
            return Err(NoMessage::Abandoned);
        }
        if next == Next::Request {
            self.begin()?;
        }
        Ok(next)
    }

    /// Waits for something of the engine's own, as [`Self::next`] does; a request that is released meanwhile goes on.
    ///
    /// # Errors
    /// [`NoMessage`], but not `Interrupted`.
    pub fn await_own(&mut self) -> Result<(), NoMessage> {
        self.await_any(false).map(drop)
    }

    fn begin(&mut self) -> Result<(), NoMessage> {
        let Ok(flags) = Decoder(&self.request).u32() else { return Err(self.malformed()) };
        self.flags = flags;
        self.finished = false;
        let has_body = flags & (request_flag::BODY | request_flag::BODY_ASKED) != 0;
        self.body = if has_body { Body::Coming } else { Body::Ended };
        Ok(())
    }

    /// `head`: heads and the request's release end it, too.
    fn await_any(&mut self, head: bool) -> Result<Next, NoMessage> {
        self.stash_piece()?;
        loop {
            let (kind, length) = match self.next_head() {
                Err(NoMessage::Interrupted) => continue,
                other => other?,
            };
            match kind {
                ToWorker::RELEASE => {
                    self.released = true;
                    if head {
                        return Ok(Next::Own);
                    }
                }
                ToWorker::REQUEST if head => {
                    keep(&mut self.request, self.incoming.body(length));
                    return Ok(Next::Request);
                }
                ToWorker::BODY => {
                    self.body_piece(length);
                    self.stash_piece()?;
                }
                ToWorker::DEFINE => self.define(length)?,
                ToWorker::BODY_END => self.body_end(length)?,
                ToWorker::OWN => {
                    keep(&mut self.own, self.incoming.body(length));
                    return Ok(Next::Own);
                }
                _ => return Err(self.malformed()),
            }
        }
    }

    fn next_head(&mut self) -> Result<(u8, usize), NoMessage> {
        let conversation = self.conversation.as_mut().ok_or(NoMessage::Abandoned)?;
        let head = self.incoming.head(conversation);
        self.malformed |= matches!(head, Err(NoMessage::Malformed));
        head
    }

    fn define(&mut self, length: usize) -> Result<(), NoMessage> {
        // Programs that add other configuration with every request would fill the worker.
        self.exits |= self.directories.len() >= MANY;
        let is_defined = define::<S>(self.incoming.body(length), &mut self.directories);
        if is_defined { Ok(()) } else { Err(self.malformed()) }
    }

    fn body_piece(&mut self, length: usize) {
        self.piece = length;
        self.has_asked = false;
    }

    fn body_end(&mut self, length: usize) -> Result<(), NoMessage> {
        let Ok(complete) = Decoder(self.incoming.body(length)).bool() else { return Err(self.malformed()) };
        self.body = if complete { Body::Ended } else { Body::Broken };
        self.has_asked = false;
        Ok(())
    }

    fn stash_piece(&mut self) -> Result<(), NoMessage> {
        let conversation = self.conversation.as_mut().ok_or(NoMessage::Abandoned)?;
        while self.piece > 0 {
            let filled = self.stashed.len();
            self.stashed.resize(filled + self.piece.min(64 << 10), 0);
            let taken = self.incoming.take(&mut self.stashed[filled..], conversation);
            self.stashed.truncate(filled + taken.as_ref().map_or(0, |count| *count));
            match taken {
                Ok(0) => return Err(NoMessage::Abandoned),
                Ok(count) => self.piece -= count,
                Err(NoMessage::Interrupted) => {}
                Err(gone) => return Err(gone),
            }
        }
        Ok(())
    }

    /// Reads from the request's body. `Ok(0)`: its end.
    ///
    /// # Errors
    /// [`NoMessage::Abandoned`]: it broke off. [`NoMessage::Interrupted`]: a signal handler ran; ask again.
    pub fn read_body(&mut self, into: &mut [u8]) -> Result<usize, NoMessage> {
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
        let asks = self.flags & request_flag::BODY_ASKED != 0;
        while self.piece == 0 {
            match self.body {
                Body::Ended => return Ok(0),
                Body::Broken => return Err(NoMessage::Abandoned),
                Body::Coming if asks && !self.has_asked => {
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
                _ => return Err(self.malformed()),
            }
        }
        let most = into.len().min(self.piece);
        let conversation = self.conversation.as_mut().ok_or(NoMessage::Abandoned)?;
        match self.incoming.take(&mut into[..most], conversation)? {
            0 => Err(NoMessage::Abandoned),
            count => {
                self.piece -= count;
                Ok(count)
            }
        }
    }
}

impl<S: Serve> Trip<S> {
    /// Writes a message; it is published with others.
    pub fn say(&mut self, message: &FromWorker<'_>) {
        self.scratch.clear();
        message.encode(&mut self.scratch);
        if let Some(conversation) = &mut self.conversation {
            conversation.write(&self.scratch);
        }
    }

    /// The same of the engine's own.
    pub fn say_own(&mut self, write: impl FnOnce(&mut Encoder<'_>)) {
        self.scratch.clear();
        work::message(&mut self.scratch, FromWorker::OWN, write);
        if let Some(conversation) = &mut self.conversation {
            conversation.write(&self.scratch);
        }
    }

    /// Writes a piece of the answer's body, without a copy in between.
    pub fn write(&mut self, piece: &[u8]) {
        let Some(conversation) = &mut self.conversation else { return };
        for part in piece.chunks(work::MAX_MESSAGE) {
            self.scratch.clear();
            work::put_head(&mut self.scratch, FromWorker::BODY, part.len());
            conversation.write(&self.scratch);
            conversation.write(part);
        }
    }

    /// Lets the front see what was written so far.
    pub fn publish(&mut self) {
        if let Some(conversation) = &mut self.conversation {
            conversation.publish();
        }
    }

    /// Returns whether the request has been abandoned: its response is no longer awaited.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.conversation.as_ref().is_none_or(Conversation::is_abandoned)
    }

    /// Says what became of the request; only the first time after each head.
    pub fn finish(&mut self, outcome: &Outcome<'_>) {
        if !std::mem::replace(&mut self.finished, true) {
            self.say(&FromWorker::Finished(outcome.clone()));
        }
    }

    /// A line for the ErrorLog of the virtual host, or of the main server.
    pub fn log(&mut self, severity: Severity, virtual_host: bool, text: &[u8]) {
        self.say(&FromWorker::Log { severity, virtual_host, text });
        if severity <= Severity::Error {
            // A worker that dies of what it tells here should have told it.
            self.publish();
        }
    }

    /// This worker ends after this request.
    pub fn exit_afterwards(&mut self) {
        self.exits = true;
    }
}

/// Takes a definition; `false`: it is malformed.
fn define<S: Serve>(message: &[u8], known: &mut BTreeMap<u32, S::Directory>) -> bool {
    let Ok(ToWorker::Define { id, directory }) = ToWorker::decode(ToWorker::DEFINE, message) else {
        return false;
    };
    if known.contains_key(&id) {
        return true;
    }
    let made = Directory::decode(directory).ok().and_then(|directory| S::define(&directory));
    made.map(|made| known.insert(id, made)).is_some()
}

fn keep(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}
