//! `LogMessage` (mod_log_debug): messages about a request where it comes by.

use crate::hook::phases::Phase;
use crate::hook::registry::{Change, Effect, Filter, Hook, Module, Run, Stage};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::expr_host::{RequestHost, with_host};
use crate::request::flow::{Flow, Outcome};
use hostler_config::directives::log_debug::{Hook as Moment, Message};
use hostler_expr::{Captures, EvalError};

/// A hook that has messages written, before these modules'.
macro_rules! hook {
    ($phase:ident, $after:expr, $before:expr, $($moment:ident)+) => {
        Hook {
            phase: Phase::$phase,
            after: $after,
            before: $before,
            when: |request| has_messages(request) && ($(says(request, Moment::$moment))||+),
            effect: Effect::Notes,
            run: Run::Later(|request| {
                Box::pin(async move {
                    $(write(request, Moment::$moment).await;)+
                    declined()
                })
            }),
        }
    };
}

pub(crate) static MODULE: Module = Module {
    hooks: &[
        hook!(PostRead, &["perl"], &[], QuickHandler),
        hook!(Translate, &[], &["perl"], PreTranslateName TranslateName),
        hook!(MapToStorage, &[], &["perl"], MapToStorage),
        hook!(Access, &[], &["perl_guard"], CheckAccess),
        hook!(AccessEx, &[], &["authz_core"], CheckAccessEx),
        hook!(Authn, &[], &["ssl"], CheckAuthn),
        hook!(Authz, &[], &["perl"], CheckAuthz),
        hook!(Type, &[], &["negotiation"], TypeChecker),
        hook!(Fixup, &[], &["perl"], Fixups),
        hook!(Handler, &[], &["core"], Handler),
    ],
    filters: &[Filter {
        stage: Stage::Resource,
        after: &[],
        sees_errors: true,
        when: |request| has_messages(request) && says(request, Moment::InsertFilter),
        run: Change::Later(|request, body, _| {
            Box::pin(async move {
                write(request, Moment::InsertFilter).await;
                body
            })
        }),
    }],
    before_log: Some(at_the_end),
    ..Module::new("log_debug", has_messages)
};

fn has_messages(request: &Request) -> bool {
    request.resource.dir.log_debug.is_set()
}

fn says(request: &Request, moment: Moment) -> bool {
    request.resource.dir.log_debug.of(moment).next().is_some()
}

const fn declined() -> Outcome {
    Ok(Flow::Declined)
}

/// Writes the messages of a moment.
async fn write(request: &mut Request, moment: Moment) {
    let dir = request.resource.dir.clone();
    for message in dir.log_debug.of(moment) {
        let evaluated = with_host(request, |host| evaluate(message, host)).await;
        tell(request, moment, message, evaluated);
    }
}

/// The answer has been sent: what would have to be fetched can't be any more.
fn at_the_end(request: &mut Request) {
    if !has_messages(request) {
        return;
    }
    let dir = request.resource.dir.clone();
    for message in dir.log_debug.of(Moment::LogTransaction) {
        let evaluated = evaluate(message, &RequestHost::new(&*request));
        tell(request, Moment::LogTransaction, message, evaluated);
    }
}

/// The message's text, if its condition holds.
fn evaluate(message: &Message, host: &RequestHost<&Request>) -> Result<Option<Vec<u8>>, EvalError> {
    let mut captures = Captures::new();
    if let Some(condition) = &message.condition
        && !condition.test(host, &mut captures)?
    {
        return Ok(None);
    }
    message.text.string(host, &captures).map(Some)
}

fn tell(request: &Request, moment: Moment, message: &Message, evaluated: Result<Option<Vec<u8>>, EvalError>) {
    match evaluated {
        Ok(None) => {}
        Ok(Some(mut text)) => {
            if log::is_written(request, Severity::Debug, "log_debug") {
                let place = request.thread.shared.config.place(message.origin);
                text.extend_from_slice(format!(" ({} hook, {place})", moment.name()).as_bytes());
            }
            log::request(request, Severity::Info, "log_debug", &text);
        }
        Err(error) => {
            let message = format!("AH00641: Can't evaluate message expression: {error}");
            log::request(request, Severity::Error, "log_debug", &message);
        }
    }
}
