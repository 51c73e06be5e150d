//! Servlet containers behind `ProxyPass ajp://` on the fast path.

use super::answer;
use super::fast::is_odd;
use super::programs::{BusyBody, LOG, own_page, packet, secret, target};
use super::run;
use super::target::Destination;
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::container::{self, AsJk, ContainerRequest};
use crate::technique::fast::{
    Begun, PlainAnswer, Said, SocketAnswer, SocketWay, StreamAnswer, StreamTechnique, head_and_body,
};
use crate::technique::overridden::overridden;
use crate::technique::sockets::{Sockets, Target};
use hostler_gateway::backend::ajp::Ajp;
use hostler_gateway::upstream::Usage;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Returns the container that answers for a URL; `None`: the slow path decides. `has_urls`: its URLs and cookies are
/// rewritten.
pub(super) fn way(
    request: &Request,
    to: &Destination,
    path: Vec<u8>,
    has_urls: bool,
) -> Option<Rc<dyn SocketWay>> {
    if to.parameters.ping.is_some()
        || to.parameters.reuse == Some(false)
        || request.env.contains(container::TRUST)
    {
        return None;
    }
    let target = Arc::new(target(request, to, to.timeout(request)));
    Some(Rc::new(Way { to: to.clone(), target, path, has_urls }))
}

struct Way {
    to: Destination,
    target: Arc<Target>,
    path: Vec<u8>,
    has_urls: bool,
}

impl SocketWay for Way {
    fn ask(&self, request: &Request) -> Option<Box<dyn SocketAnswer>> {
        let Self { to, target, path, has_urls } = self;
        if is_odd(request) || !to.upstream.is_usable() {
            return None;
        }
        let usage = to.upstream.try_enter()?;
        let (thread, server) = (&request.thread, &request.server);
        let pool = thread.shared.of::<Sockets>().pool::<Ajp>(thread, server, target).ok()?;
        let told = ContainerRequest {
            path,
            server_name: None,
            attributes: secret(to).into_iter().collect(),
            packet: packet(to, server),
            timeout: Some(to.timeout(request)),
            as_jk: AsJk::default(),
            is_last: false,
        };
        let exchange = container::begin_at_once(request, &pool, &told)?;
        Some(StreamAnswer::new(Technique { usage, to: to.clone(), has_urls: *has_urls }, exchange))
    }

    fn respond_slowly<'a>(&self, request: &'a mut Request) -> Later<'a, Result<Body, Halt>> {
        Box::pin(run::handle(request))
    }
}

struct Technique {
    usage: Usage,
    to: Destination,
    has_urls: bool,
}

impl StreamTechnique for Technique {
    type Protocol = Ajp;
    /// True if URLs and cookies are mapped to this server's.
    type Parsed = bool;
    const PATIENCE: Duration = container::PATIENCE;
    const HAS_HEAD: bool = true;

    fn parse(&self, _: &[Said<Ajp>]) -> Option<bool> {
        Some(self.has_urls)
    }

    fn plain<'a>(has_urls: &'a bool, said: &'a [Said<Ajp>]) -> Option<PlainAnswer<'a>> {
        let (head, plain) = head_and_body::<Ajp>(said)?;
        let is_mapped = *has_urls && head.headers.iter().any(|(name, _)| answer::is_mapped(name));
        if is_mapped { None } else { container::with_fields(plain, head) }
    }

    fn go_on(self, request: &mut Request, begun: Begun<Ajp>) -> Later<'_, Result<Body, Halt>> {
        let Self { usage, to, .. } = self;
        Box::pin(async move {
            let body = container::go_on(request, begun, LOG).await?;
            let mut fields = std::mem::take(&mut request.reply.headers_out);
            answer::map(request, to.upstream.name(), &mut fields);
            request.reply.headers_out = fields;
            run::note_failure(request, &to, request.reply.status);
            if let Some(page) = own_page(request).or_else(|| overridden(request)) {
                return Err(page);
            }
            Ok(BusyBody::around(body, usage))
        })
    }
}
