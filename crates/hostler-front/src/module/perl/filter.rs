//! Filters in Perl (PerlOutputFilterHandler, PerlInputFilterHandler, add_output_filter): what somebody else answers, and
//! the bodies of requests, make a trip of their own through a worker. It is the one that has kept the request, if a
//! program has added functions there; they are nowhere else.
//!
//! Answers of Perl programs go through their filters where they are printed.
//!
//! A filter that dies, or whose worker does, leaves an answer of 500, or one that breaks off; what hangs is ended after
//! `Timeout`. A part of another's answer is filtered by a worker of its own.

use super::directory::Programs;
use super::head::Task;
use super::phases;
use super::state::{HasPerl, Perl};
use super::{Answer, End, trip};
use crate::hook::filter;
use crate::hook::registry::{Input, Name, Output};
use crate::io::body::{Body, RequestBody};
use crate::limits::kept;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Continue, Halt};
use crate::request::reply::Marks;
use hostler_config::directives::filter::RESOURCE;
use hostler_config::directives::pool::Isolation;
use hostler_perl_frames::{Phase, PhaseSet};

/// The engine's names for the two kinds of trips.
const OUTPUT_HANDLER: &[u8] = b"perl-output-filter";
const INPUT_HANDLER: &[u8] = b"perl-input-filter";

/// Returns whether a trip with this handler runs filters.
pub(super) fn is_own(handler: &[u8]) -> bool {
    handler == OUTPUT_HANDLER || handler == INPUT_HANDLER
}

/// Longest body of a request that is kept while it waits for a program in Perl, in bytes.
const LONGEST: u64 = 32 << 20;

pub(super) const OUTPUT: Output = Output {
    name: Name::Added("modperl_request_output", RESOURCE, |request| are_any(request, Phase::OutputFilter)),
    sees_bodiless: false,
    run: |request, body, _| Box::pin(answer(request, body)),
};

pub(super) const INPUT: Input = Input {
    name: Name::Added("modperl_request_input", RESOURCE, |request| are_any(request, Phase::InputFilter)),
    run: |request, _| Box::pin(body(request)),
};

/// Returns whether there are functions that have not seen it yet.
pub(super) fn are_any(request: &Request, phase: Phase) -> bool {
    let progress = request.progress();
    let configured = || {
        let perl = &request.resource.dir.perl;
        perl.is_set() && !phases::are_disabled(request) && !perl.handlers.of(phase).is_empty()
    };
    !progress.filtered.contains(phase) && (progress.pushed.contains(phase) || configured())
}

/// Returns whether the worker that has kept the request is still to filter its answer.
pub(super) fn is_awaited(request: &Request) -> bool {
    request.reply.status < 400 && request.is_held() && are_any(request, Phase::OutputFilter)
}

/// The request as the filters' worker gets it, with this body.
fn copied(request: &Request, body: RequestBody) -> Request {
    let mut copy = request.clone();
    if !request.is_held() || request.is_part() {
        // Nothing of it is in any worker; one that waits for this answer could not take it.
        copy.slots.put(Perl { progress: request.progress(), ..Perl::default() });
    }
    copy.perl_mut().progress.is_script = false;
    copy.main = None;
    copy.resource.handler = None;
    copy.target.body = body;
    copy
}

async fn answer(request: &mut Request, body: Body) -> Body {
    if phases::can_be_asked(request, PhaseSet(1 << Phase::OutputFilter as u8)).is_err() {
        request.budget.fail();
        return Body::Empty;
    }
    request.perl_mut().progress.filtered.insert(Phase::OutputFilter);
    request.lasting = false;
    request.reply.headers_out.unset("Content-Length");
    if request.is_head() {
        return Body::Empty;
    }
    let mut copy = copied(request, RequestBody::of_answer(body));
    let phases = PhaseSet(1 << Phase::Response as u8);
    let task = Task { phases, handler: Some(OUTPUT_HANDLER), body: true, ..Task::default() };
    let outcome = Box::pin(trip(&mut copy, &task, Isolation::Persistent, Programs::Configured)).await;
    let body = match outcome {
        Ok(Answer::Body(body)) => body,
        Ok(Answer::Ended(End::Done)) => Body::Empty,
        Ok(Answer::Ended(_)) => return filter::failed(request, "perl", "a filter in Perl has failed"),
        Err(error) => return filter::failed(request, "perl", &error.of("a filter in Perl")),
    };
    request.reply.status = copy.reply.status;
    request.reply.headers_out = copy.reply.headers_out;
    request.reply.err_headers_out = copy.reply.err_headers_out;
    request.resource.content_type = copy.resource.content_type;
    request.reply.marks = copy.reply.marks;
    request.notes = copy.notes;
    request.env = copy.env;
    // What filters print comes before the end is known.
    request.reply.marks.set(Marks::FLUSHED);
    body
}

/// Of what a program in Perl reads, the whole goes through the filters first: it could need the only worker that there is.
async fn body(request: &mut Request) -> Continue {
    phases::can_be_asked(request, PhaseSet(1 << Phase::InputFilter as u8))?;
    request.perl_mut().progress.filtered.insert(Phase::InputFilter);
    let is_perl = request.is_held() || request.resource.handler.as_deref().is_some_and(super::is_handler);
    // The program that reads it goes on in the same worker, with what the filters have kept for it.
    let stays = request.is_held() || (is_perl && !request.is_part());
    let body = std::mem::take(&mut request.target.body);
    let mut copy = copied(request, body);
    let phases = PhaseSet(1 << Phase::Response as u8);
    let task = Task { phases, handler: Some(INPUT_HANDLER), body: true, stays, ..Task::default() };
    let outcome = Box::pin(trip(&mut copy, &task, Isolation::Persistent, Programs::Configured)).await;
    let filtered = match outcome {
        Ok(Answer::Body(body)) => body,
        Ok(Answer::Ended(End::Done)) => Body::Empty,
        Ok(Answer::Ended(_)) => return Err(failed(request, "an input filter in Perl has failed")),
        Err(error) => return Err(failed(request, &error.of("an input filter in Perl"))),
    };
    if !is_perl {
        request.target.body = RequestBody::of_answer(filtered);
        return Ok(());
    }
    if stays && !request.is_held() {
        request.perl_mut().held = copy.perl().map(|perl| perl.held.clone()).unwrap_or_default();
    }
    request.notes = copy.notes;
    request.env = copy.env;
    let limit = request
        .resource
        .dir
        .core
        .limit_request_body
        .filter(|limit| *limit > 0)
        .unwrap_or(LONGEST)
        .min(LONGEST);
    match kept::collect(request, filtered, limit as usize).await {
        Ok(whole) => {
            request.target.body = RequestBody::of_answer(Body::Bytes(whole));
            Ok(())
        }
        Err(error) => {
            log::request(request, Severity::Error, "perl", &format!("an input filter in Perl: {error}"));
            Err(Halt::Status(error.status()))
        }
    }
}

fn failed(request: &Request, why: &str) -> Halt {
    log::request(request, Severity::Error, "perl", why);
    Halt::Status(500)
}
