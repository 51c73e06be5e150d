//! Bodies: what a handler answers with, and what a client sends.

use crate::io::open_file::OpenFile;
use crate::io::tunnel::Tunnel;
use crate::values::table::Table;
use bytes::Bytes;
use hostler_gateway::{Error, Kind};
use hostler_http1::chunked::ChunkError;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Why a body broke off. Whoever sends it on must not make it look complete.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the client closed the connection")]
    ClientGone,
    #[error("the client sent nothing for too long")]
    Timeout,
    #[error("{0}")]
    Chunk(#[from] ChunkError),
    #[error("the request body is larger than LimitRequestBody")]
    TooLarge,
    #[error("the response ended early: {0}")]
    Script(String),
    #[error("the file became shorter while it was sent")]
    Truncated,
    #[error("reading failed: {0}")]
    Read(String),
    #[error("the page can't be expanded any further")]
    Page,
    #[error(
        "the limit for responses that are kept whole is reached (64 MiB for a site, 256 MiB in all): clients read too slowly"
    )]
    Crowded,
    #[error("a filter could not change it: {0}")]
    Filter(String),
    #[error("it can't be inflated: {0}")]
    Coding(String),
}

impl BodyError {
    /// The status when nothing has been answered yet.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::TooLarge | Self::Chunk(ChunkError::TooLong | ChunkError::Overflow) => 413,
            Self::ClientGone | Self::Chunk(_) | Self::Coding(_) => 400,
            Self::Timeout => 408,
            Self::Crowded => 503,
            Self::Script(_) | Self::Truncated | Self::Read(_) | Self::Page | Self::Filter(_) => 500,
        }
    }
}

impl From<&BodyError> for Error {
    /// Of a request's body: what it means for the program that should get it.
    fn from(error: &BodyError) -> Self {
        match error {
            BodyError::Timeout => Self::new(Kind::ClientTimeout),
            BodyError::TooLarge => Self::new(Kind::ClientTooLarge),
            BodyError::Chunk(error @ (ChunkError::TooLong | ChunkError::Overflow)) => {
                Self::because(Kind::ClientTooLarge, error.to_string())
            }
            BodyError::Chunk(error) => Self::because(Kind::ClientMalformed, error.to_string()),
            BodyError::Coding(why) => Self::because(Kind::ClientMalformed, why.clone()),
            _ => Self::new(Kind::ClientGone),
        }
    }
}

/// A body that comes in pieces.
pub(crate) trait BodyStream {
    /// The next piece, never empty; `None` at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;

    /// The next piece, of `most` bytes at most if the body [divides](Self::divides).
    fn poll_piece(&mut self, cx: &mut Context<'_>, _most: usize) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.poll_chunk(cx)
    }

    /// Returns whether pieces can be as short as one likes, and nothing is kept of what is left out of them.
    fn divides(&self) -> bool {
        false
    }

    /// Returns whether a client that has closed its sending side is taken for gone: the body's producer may be silent for very
    /// long, and has to learn of it.
    fn ends_with_client(&self) -> bool {
        false
    }

    /// Returns whether it has given nothing only because it is the turn of others. If not, the answer's head is sent
    /// before more is waited for.
    fn rests(&self) -> bool {
        false
    }

    /// After its end: fields that come behind it (RFC 9110 §6.5), for a client that takes them.
    fn trailers(&mut self) -> Option<Table> {
        None
    }
}

/// A piece of a body of known length.
#[derive(Clone, Debug)]
pub(crate) enum Segment {
    Bytes(Bytes),
    File { file: Rc<OpenFile>, offset: u64, length: u64 },
}

impl Segment {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

/// An answer's body.
#[derive(Default)]
pub(crate) enum Body {
    #[default]
    Empty,
    Bytes(Bytes),
    Segments(Vec<Segment>),
    Stream(Box<dyn BodyStream>),
    /// None: the connection speaks another protocol after the head.
    Tunnel(Box<Tunnel>),
}

impl Body {
    /// Length in bytes, where it is known.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::Empty | Self::Tunnel(_) => Some(0),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Segments(segments) => Some(segments.iter().map(Segment::len).sum()),
            Self::Stream(_) => None,
        }
    }

    /// The body as a stream of pieces, for filters, includes and HTTP/2.
    pub(crate) fn into_stream(self) -> Box<dyn BodyStream> {
        match self {
            Self::Empty | Self::Tunnel(_) => Box::new(Pieces(Vec::new().into_iter(), None)),
            Self::Bytes(bytes) => Box::new(Pieces(vec![Segment::Bytes(bytes)].into_iter(), None)),
            Self::Segments(segments) => Box::new(Pieces(segments.into_iter(), None)),
            Self::Stream(stream) => stream,
        }
    }
}

/// Largest piece of a file that is read into memory at once, in bytes.
pub(crate) const FILE_PIECE: usize = 64 << 10;

struct Pieces(std::vec::IntoIter<Segment>, Option<Segment>);

impl BodyStream for Pieces {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.poll_piece(cx, usize::MAX)
    }

    fn divides(&self) -> bool {
        true
    }

    fn poll_piece(&mut self, _: &mut Context<'_>, most: usize) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match self.1.take().or_else(|| self.0.next()) {
                None => return Poll::Ready(None),
                Some(segment) if segment.len() == 0 => {}
                Some(Segment::Bytes(mut bytes)) => {
                    if bytes.len() > most {
                        self.1 = Some(Segment::Bytes(bytes.split_off(most)));
                    }
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Some(Segment::File { file, offset, length }) => {
                    let piece = match file.read(offset, length.min(FILE_PIECE.min(most) as u64) as usize) {
                        Ok(piece) => piece,
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    };
                    let read = piece.len() as u64;
                    self.1 = Some(Segment::File { file, offset: offset + read, length: length - read });
                    return Poll::Ready(Some(Ok(piece)));
                }
            }
        }
    }
}

/// A request's body as a protocol brings it.
pub(crate) trait Incoming {
    /// The next piece, never empty; `None` at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;

    /// Sets `LimitRequestBody`, in bytes; 0 is none.
    fn limit(&mut self, bytes: u64);

    /// Returns the exact number of bytes still to come; `None`: unknown.
    fn length(&self) -> Option<u64> {
        None
    }
}

/// Somebody's answer, read as a request's body: by what filters it.
struct AnswerBody(Box<dyn BodyStream>);

impl Incoming for AnswerBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_chunk(cx)
    }

    /// No client sends it.
    fn limit(&mut self, _: u64) {}
}

/// One body, and then another.
struct Both(RequestBody, RequestBody);

impl Incoming for Both {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match ready!(self.0.poll_chunk(cx)) {
            None => self.1.poll_chunk(cx),
            piece => Poll::Ready(piece),
        }
    }

    fn limit(&mut self, bytes: u64) {
        self.0.limit(bytes);
    }

    fn length(&self) -> Option<u64> {
        self.0.length()?.checked_add(self.1.length()?)
    }
}

/// The client's bytes after its head. Clones read the same body.
#[derive(Clone, Default)]
pub(crate) enum RequestBody {
    #[default]
    Empty,
    /// It comes as the protocol brings it.
    Incoming(Rc<RefCell<dyn Incoming>>),
    /// All of it has come, and whoever asks gets it again (`KeptBodySize`); the second is what is still to be read.
    Kept(Bytes, Rc<RefCell<Bytes>>),
    /// One of these, of which somebody takes pieces of his own size: the first is what came and was not wanted yet.
    Pieces(Rc<RefCell<Bytes>>, Box<RequestBody>),
}

thread_local! {
    /// A request's body has been asked for, and is still to come.
    static WAITING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread has waited for a request's body since this was last asked: the client sets the pace
/// then.
pub(crate) fn take_waiting() -> bool {
    WAITING.replace(false)
}

impl RequestBody {
    pub(crate) fn poll_chunk(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self {
            Self::Empty => Poll::Ready(None),
            Self::Incoming(body) => {
                let polled = body.borrow_mut().poll_chunk(cx);
                if polled.is_pending() {
                    WAITING.set(true);
                }
                polled
            }
            Self::Kept(_, rest) => {
                let rest = rest.take();
                Poll::Ready((!rest.is_empty()).then_some(Ok(rest)))
            }
            Self::Pieces(rest, body) => match rest.take() {
                rest if rest.is_empty() => body.poll_chunk(cx),
                rest => Poll::Ready(Some(Ok(rest))),
            },
        }
    }

    /// Makes it one of which pieces may be taken ([`Self::piece`]); what is left is there for others.
    pub(crate) fn divide(&mut self) {
        if !matches!(self, Self::Empty | Self::Pieces(..)) {
            *self = Self::Pieces(Rc::default(), Box::new(std::mem::take(self)));
        }
    }

    /// The next piece, of this size at most, if it is [divided](Self::divide).
    pub(crate) async fn piece(&self, most: usize) -> Option<Result<Bytes, BodyError>> {
        let mut piece = match self.chunk().await? {
            Ok(piece) => piece,
            Err(error) => return Some(Err(error)),
        };
        if let Self::Pieces(rest, _) = self
            && piece.len() > most
        {
            rest.replace(piece.split_off(most));
        }
        Some(Ok(piece))
    }

    /// An answer, for who reads it as a request's body.
    pub(crate) fn of_answer(body: Body) -> Self {
        Self::Incoming(Rc::new(RefCell::new(AnswerBody(body.into_stream()))))
    }

    /// A body that is here as a whole.
    pub(crate) fn kept(whole: Bytes) -> Self {
        Self::Kept(whole.clone(), Rc::new(RefCell::new(whole)))
    }

    /// All of a body that was kept, for another reader; `None`: this one can be read once only.
    pub(crate) fn again(&self) -> Option<Bytes> {
        match self {
            Self::Kept(whole, _) => Some(whole.clone()),
            Self::Pieces(_, body) => body.again(),
            _ => None,
        }
    }

    /// This one, and another behind it.
    pub(crate) fn then(self, next: Self) -> Self {
        Self::Incoming(Rc::new(RefCell::new(Both(self, next))))
    }

    /// The same with these pieces, which were read from it, before what is left.
    pub(crate) fn behind(self, read: &[Bytes]) -> Self {
        match read.concat() {
            read if read.is_empty() => self,
            read => Self::Pieces(Rc::new(RefCell::new(read.into())), Box::new(self)),
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn chunk(&self) -> Option<Result<Bytes, BodyError>> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns the exact number of its bytes still to come; `None`: only its end shows.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Incoming(body) => body.borrow().length(),
            Self::Kept(_, rest) => Some(rest.borrow().len() as u64),
            Self::Pieces(rest, body) => body.length()?.checked_add(rest.borrow().len() as u64),
        }
    }

    /// Sets `LimitRequestBody`, in bytes; 0 is none.
    pub(crate) fn limit(&self, bytes: u64) {
        match self {
            Self::Empty | Self::Kept(..) => {}
            Self::Incoming(body) => body.borrow_mut().limit(bytes),
            Self::Pieces(_, body) => body.limit(bytes),
        }
    }
}
