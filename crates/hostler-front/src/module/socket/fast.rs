//! Programs at sockets that answer as CGI programs do, on the fast path.

use super::talk::{self, Redirects, short_work};
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::module::cgi;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::fast::{Begun, PlainAnswer, Said, SocketAnswer, StreamAnswer, StreamTechnique, output};
use crate::technique::sockets::{Sockets, Target};
use crate::values::text;
use bytes::Bytes;
use hostler_cgi::{Environment, Header, HeaderParser, Outcome, Progress};
use hostler_gateway::Error;
use hostler_gateway::backend::stream::{Keep, Variables};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// The request to a program.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) target: Arc<Target>,
    pub(crate) keep: Keep,
    pub(crate) timeout: Duration,
    pub(crate) module: &'static str,
    pub(crate) redirects: Redirects,
    pub(crate) status: fn(&Error) -> u16,
    /// The handler that asks it by the slow path.
    pub(crate) handler: for<'a> fn(&'a mut Request) -> Later<'a, Result<Body, Halt>>,
}

/// Asks it; `None`: that is for the slow path.
pub(crate) fn ask<P: Variables>(
    program: &Program,
    request: &Request,
    environment: &Environment,
) -> Option<Box<dyn SocketAnswer>> {
    // Whether the client has the answer already, or wants a part of it, is for the slow path to say.
    let depends = |name: &[u8]| {
        name.eq_ignore_ascii_case(b"Range")
            || name.get(..3).is_some_and(|first| first.eq_ignore_ascii_case(b"If-"))
    };
    if request.target.headers_in.iter().any(|(name, _)| depends(name)) {
        return None;
    }
    let (thread, server) = (&request.thread, &request.server);
    let pool = thread.shared.of::<Sockets>().pool::<P>(thread, server, &program.target).ok()?;
    let work = short_work::<P>(request, environment, program.keep, program.timeout).ok()?;
    let now = request.client.second();
    let technique = Technique::<P> { program: program.clone(), now, protocol: PhantomData };
    Some(StreamAnswer::new(technique, pool.try_begin(work)?))
}

struct Technique<P> {
    program: Program,
    /// When the request came.
    now: i64,
    protocol: PhantomData<P>,
}

/// An answer's header and body.
struct Parsed {
    header: Header,
    /// `Last-Modified`, as it is sent.
    modified: Option<Vec<u8>>,
    body: Bytes,
}

impl<P: Variables> StreamTechnique for Technique<P> {
    type Protocol = P;
    type Parsed = Parsed;
    const PATIENCE: Duration = talk::PATIENCE;
    const HAS_HEAD: bool = false;

    fn parse(&self, said: &[Said<P>]) -> Option<Parsed> {
        let (mut body, mut parser) = (output::<P>(said), HeaderParser::new(cgi::LIMITS));
        let Progress::Complete { consumed } = parser.parse(&body) else { return None };
        let header = parser.into_header();
        let is_plain = header.notes.is_empty()
            && header.content_range.is_none()
            && header.location.is_none()
            && matches!(header.outcome(200), Outcome::Document)
            && header.status.as_ref().is_none_or(|status| {
                status.code == 200 && matches!(status.reason.as_deref(), None | Some(b"OK"))
            });
        let modified = header.last_modified.map(|time| {
            let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
            text::http_date(seconds.min(self.now)).to_vec()
        });
        is_plain.then(|| Parsed { header, modified, body: body.split_off(consumed) })
    }

    /// In the order in which the tables would have them.
    fn plain<'a>(parsed: &'a Parsed, _: &'a [Said<P>]) -> Option<PlainAnswer<'a>> {
        let Parsed { header, modified, body } = parsed;
        let mut plain = PlainAnswer { body: body.clone(), ..PlainAnswer::default() };
        for (name, value) in &header.fields {
            // Whose they are is the slow path's business.
            if name.eq_ignore_ascii_case(b"Date") || name.eq_ignore_ascii_case(b"Server") {
                return None;
            }
            plain.add(name, value)?;
        }
        if let Some(etag) = &header.etag {
            plain.add(b"ETag", etag)?;
        }
        if let Some(modified) = modified {
            plain.add(b"Last-Modified", modified)?;
        }
        plain.content_type = header.content_type.as_deref();
        plain.content_type.is_some().then_some(plain)
    }

    fn go_on(self, request: &mut Request, begun: Begun<P>) -> Later<'_, Result<Body, Halt>> {
        let Program { module, status, redirects, handler, .. } = self.program;
        Box::pin(async move {
            match talk::go_on(request, begun, (module, status), redirects).await {
                Some(answered) => answered.map_err(|missed| missed.halt(request, module)),
                None => handler(request).await,
            }
        })
    }
}
