//! `internal_redirect`: another request answers in the place of the one that a program is at, which waits for it in the
//! middle of its call and then goes on, though nobody hears it any more.
//!
//! The other one is served by the same worker where it is Perl's, as the requests are that are run inside of one. What
//! the program does afterwards the client does not wait for.

use super::configure;
use super::conversation::{Conversation, Event, Onward};
use super::state::HasPerl;
use super::{Answer, End, Stays};
use crate::hook::{follow, walk};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::settings;
use bytes::Bytes;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

type Rest = Pin<Box<dyn Future<Output = ()>>>;

/// The worker that waits in its call, with the request that it is at.
struct Caller {
    conversation: Conversation,
    request: Request,
    stays: Stays,
}

/// Answers `request` by another one, which it becomes.
pub(super) fn follow<'a>(
    request: &'a mut Request,
    conversation: Conversation,
    stays: Stays,
    onward: Onward,
) -> Pin<Box<dyn Future<Output = Answer> + 'a>> {
    Box::pin(async move {
        let caller = Caller { request: request.clone(), conversation, stays };
        let Onward { target, keeps_type } = onward;
        let mut outcome = Err(Halt::Redirect { method: request.target.method.clone(), target });
        let mut next = request.clone();
        next.perl_mut().within = None;
        while let Err(Halt::Redirect { method, target }) = outcome {
            let first = next.within().is_none();
            let kept = next.resource.content_type.clone().filter(|_| first && keeps_type);
            match follow::next(next, method, &target) {
                Ok(other) => next = other,
                Err(last) => {
                    next = *last;
                    let limit = settings::recursion(&next.server).0;
                    let message = format!("the request exceeded the limit of {limit} internal redirects");
                    log::request(&next, Severity::Error, "core", &message);
                    outcome = Err(Halt::Status(500));
                    break;
                }
            }
            if first {
                next.resource.content_type = kept;
                next.perl_mut().within = Some(caller.conversation.next_of(&caller.request));
            }
            outcome = Box::pin(walk::answer(&mut next)).await;
        }
        let answer = match outcome {
            Ok(Body::Stream(stream)) | Err(Halt::Done(Body::Stream(stream))) => {
                let waits = Some((caller, next.clone()));
                Answer::Body(Body::Stream(Box::new(LongAnswer { stream: Some(stream), waits, rest: None })))
            }
            Ok(body) | Err(Halt::Done(body)) => {
                next.reply.sent = body.len();
                let rest = caller.go_on(&next);
                next.reply.sent = None;
                if let Some(rest) = rest {
                    rest.await;
                }
                Answer::Body(body)
            }
            Err(Halt::Status(status)) => {
                next.reply.status = status;
                if let Some(rest) = caller.go_on(&next) {
                    rest.await;
                }
                Answer::Ended(End::Status(status))
            }
            Err(Halt::Redirect { .. }) => Answer::Ended(End::Status(500)),
        };
        // From here on its parts are another worker's, or those of the one around it: this one goes its own way.
        next.perl_mut().within = request.within().cloned();
        *request = next;
        answer
    })
}

impl Caller {
    /// Lets the program go on. What is returned is to be waited for: the program is in the middle of another's call.
    fn go_on(mut self, next: &Request) -> Option<Rest> {
        self.conversation.tell_next(next);
        if self.conversation.is_inside() {
            return Some(Box::pin(self.rest()));
        }
        tokio::task::spawn_local(self.rest());
        None
    }

    /// The program's last words; what it prints is dropped.
    async fn rest(self) {
        let Self { mut conversation, request, stays } = self;
        loop {
            match poll_fn(|context| conversation.poll_event(&request, context)).await {
                Ok(Event::Finished(end)) => {
                    if stays.keeps(&end) {
                        conversation.release();
                    }
                    return conversation.part(&request);
                }
                Ok(Event::Redirect(onward)) => conversation.splice(&request, onward),
                Ok(Event::Configure(_)) => conversation.tell_configured(Err(configure::TOO_LATE.to_owned())),
                Ok(
                    Event::Head(_)
                    | Event::Body(_)
                    | Event::Changes(_)
                    | Event::Standing(..)
                    | Event::Early(..),
                ) => {}
                Err(error) => {
                    return log::failure(
                        &request,
                        super::engine(&request).log,
                        &error,
                        &request.resource.filename,
                    );
                }
            }
        }
    }
}

/// A long answer of the other request: the program waits until it has been sent.
struct LongAnswer {
    /// `None`: it is over.
    stream: Option<Box<dyn BodyStream>>,
    waits: Option<(Caller, Request)>,
    /// The program's remaining work, if it has to be waited for.
    rest: Option<Rest>,
}

impl BodyStream for LongAnswer {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(stream) = &mut self.stream {
            let piece = ready!(stream.poll_chunk(context));
            if matches!(piece, Some(Ok(_))) {
                return Poll::Ready(piece);
            }
            self.stream = None;
            self.rest = self.waits.take().and_then(|(caller, next)| caller.go_on(&next));
            if piece.is_some() {
                return Poll::Ready(piece);
            }
        }
        if let Some(rest) = &mut self.rest {
            ready!(rest.as_mut().poll(context));
            self.rest = None;
        }
        Poll::Ready(None)
    }
}
