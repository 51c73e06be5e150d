//! FastCGI programs on the fast path: those whose URL is their script's own, without more of a path behind it.

use super::{MODULE_NAME, add_own, status};
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::module::cgi;
use crate::module::socket::fast::{Program, ask};
use crate::module::socket::talk::Redirects;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::fast::{self, SocketAnswer, SocketWay};
use crate::technique::sockets::Target;
use hostler_gateway::backend::fastcgi::FastCgi;
use hostler_gateway::backend::stream::Keep;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Remembers which program answers for a URL.
pub(super) fn remember(request: &Request, target: &Arc<Target>, timeout: Duration) {
    fast::remember_socket(request, "", || {
        let program = Program {
            target: target.clone(),
            keep: Keep::Connection,
            timeout,
            module: MODULE_NAME,
            redirects: Redirects::Cgi,
            status,
            handler: |request| Box::pin(super::handle(request)),
        };
        request.resource.path_info.is_empty().then(|| Rc::new(Way(program)) as Rc<dyn SocketWay>)
    });
}

struct Way(Program);

impl SocketWay for Way {
    fn ask(&self, request: &Request) -> Option<Box<dyn SocketAnswer>> {
        let mut environment = cgi::told(request, None);
        add_own(request, &mut environment);
        ask::<FastCgi>(&self.0, request, &environment)
    }

    fn respond_slowly<'a>(&self, request: &'a mut Request) -> Later<'a, Result<Body, Halt>> {
        Box::pin(super::handle(request))
    }
}
