//! Applications on the fast path.

use super::machine::Machine;
use super::{LOG, Words, pool};
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::container;
use crate::technique::fast::{
    self, Begun, PlainAnswer, Said, SocketAnswer, SocketWay, StreamAnswer, StreamTechnique, head_and_body,
};
use crate::technique::overridden::overridden;
use hostler_gateway::backend::ajp::Ajp;
use std::rc::Rc;
use std::time::Duration;

/// Remembers whose virtual machine answers for a URL.
pub(super) fn remember(request: &Request, machine: &Machine) {
    fast::remember_socket(request, "", || {
        let may = !request.env.contains(container::TRUST);
        may.then(|| Rc::new(Way(machine.clone())) as Rc<dyn SocketWay>)
    });
}

struct Way(Machine);

impl SocketWay for Way {
    fn ask(&self, request: &Request) -> Option<Box<dyn SocketAnswer>> {
        let pool = pool(request, &self.0).ok()?;
        let exchange = container::begin_at_once(request, &pool, &Words::of(request)?.told(&self.0))?;
        Some(StreamAnswer::new(Technique, exchange))
    }

    fn respond_slowly<'a>(&self, request: &'a mut Request) -> Later<'a, Result<Body, Halt>> {
        Box::pin(super::handle(request))
    }
}

struct Technique;

impl StreamTechnique for Technique {
    type Protocol = Ajp;
    type Parsed = ();
    const PATIENCE: Duration = container::PATIENCE;
    const HAS_HEAD: bool = true;

    fn parse(&self, _: &[Said<Ajp>]) -> Option<()> {
        Some(())
    }

    fn plain<'a>((): &'a (), said: &'a [Said<Ajp>]) -> Option<PlainAnswer<'a>> {
        let (head, plain) = head_and_body::<Ajp>(said)?;
        container::with_fields(plain, head)
    }

    fn go_on(self, request: &mut Request, begun: Begun<Ajp>) -> Later<'_, Result<Body, Halt>> {
        Box::pin(async move {
            let body = container::go_on(request, begun, LOG).await?;
            overridden(request).map_or(Ok(body), Err)
        })
    }
}
