//! Perl's own part in requests on the fast path ([`crate::technique::fast`]).

use super::state::HasPerl;
use super::{directory, head};
use crate::hook::registry::Later;
use crate::io::body::Body;
use crate::request::flow::Halt;
use crate::request::{Request, settings};
use crate::technique::fast::{self, Handover};
use hostler_gateway::Error;
use hostler_gateway::backend::OnAbandon;
use hostler_perl_frames::PhaseSet;
use hostler_wire::work::{RequestHead, request_flag};
use std::rc::Rc;

/// A trip as the first request for a URL has made it.
struct Way {
    phases: PhaseSet,
    is_script: bool,
    /// Its worker keeps it if it comes to an error.
    errors_stay: bool,
}

/// Remembers a request whose response phase is a worker's, if all for its URL come to the same.
pub(super) fn remember(request: &Request, task: fast::Task, phases: PhaseSet, errors_stay: bool) {
    if request.progress().asked
        || directory::has_own_realm(request)
        || !request.server.conf.perl.handlers.is_empty()
    {
        return;
    }
    let is_script = task.handler.is_some();
    fast::remember(request, task, Rc::new(Way { phases, is_script, errors_stay }));
}

impl fast::Way for Way {
    fn encoded(&self, remembered: &Request, mut head: RequestHead<'_>) -> Vec<u8> {
        if self.errors_stay {
            head.flags |= request_flag::ERRORS_STAY;
        }
        head::encoded(&head::alike(remembered, head, self.phases))
    }

    fn on_abandon(&self, remembered: &Request) -> OnAbandon {
        OnAbandon::TakeBackOrKill(settings::timeout(&remembered.server))
    }

    fn returns_fields(&self) -> bool {
        true
    }

    fn resume(&self, request: &mut Request) {
        // What becomes of it from here on is this request's alone.
        request.perl_mut().progress.asked = true;
        request.perl_mut().progress.is_script = self.is_script;
        request.perl_mut().progress.logged = super::logs(self.phases);
    }

    fn go_on<'a>(
        &self,
        request: &'a mut Request,
        answer: Result<Handover, Error>,
    ) -> Later<'a, Result<Body, Halt>> {
        Box::pin(super::go_on(request, answer, self.errors_stay))
    }
}
