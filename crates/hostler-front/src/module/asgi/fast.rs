//! Applications on the fast path.

use super::application::{self, Application};
use super::protocol::{Asgi, WorkerMessage};
use super::{scope, talk};
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::fast::{
    self, Begun, PlainAnswer, Said, SocketAnswer, SocketWay, StreamAnswer, StreamTechnique, head_and_body,
};
use std::rc::Rc;
use std::time::Duration;

/// Remembers which application answers for a URL. `passes_login`: it is told of Authorization.
pub(super) fn remember(request: &Request, application: &Application, passes_login: bool) {
    fast::remember_socket(request, "", || {
        Some(Rc::new(Way { application: application.clone(), passes_login }) as Rc<dyn SocketWay>)
    });
}

struct Way {
    application: Application,
    passes_login: bool,
}

impl SocketWay for Way {
    fn ask(&self, request: &Request) -> Option<Box<dyn SocketAnswer>> {
        let application = &self.application;
        let pool = application::pool(request, application).ok()?;
        let head = scope::of(request, scope::Kind::Http, &application.root_path, self.passes_login);
        let exchange = pool.try_begin(talk::work(request, head, false, application.timeout))?;
        Some(StreamAnswer::new(Technique, exchange))
    }

    fn ends_with_client(&self) -> bool {
        true
    }

    fn respond_slowly<'a>(&self, request: &'a mut Request) -> Later<'a, Result<Body, Halt>> {
        Box::pin(super::handle(request))
    }
}

struct Technique;

impl StreamTechnique for Technique {
    type Protocol = Asgi;
    type Parsed = ();
    const PATIENCE: Duration = talk::PATIENCE;
    const HAS_HEAD: bool = true;

    fn is_answer(head: &WorkerMessage) -> bool {
        matches!(head, WorkerMessage::Answer(_))
    }

    fn parse(&self, _: &[Said<Asgi>]) -> Option<()> {
        Some(())
    }

    fn plain<'a>((): &'a (), said: &'a [Said<Asgi>]) -> Option<PlainAnswer<'a>> {
        let (WorkerMessage::Answer(head), mut plain) = head_and_body::<Asgi>(said)? else { return None };
        for (name, value) in &head.fields {
            if !talk::is_front_s(name) {
                plain.add(name, value)?;
            }
        }
        (head.status == 200).then_some(plain)
    }

    fn go_on(self, request: &mut Request, begun: Begun<Asgi>) -> Later<'_, Result<Body, Halt>> {
        Box::pin(talk::go_on(request, begun))
    }
}
