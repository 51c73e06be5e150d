//! `RATE_LIMIT` (mod_ratelimit): an answer is sent no faster than the variable `rate-limit` says, in KiB a second, but
//! for its first `rate-initial-burst` KiB.
//!
//! For one answer: what an address or a site may have in all is told in [`crate::limits::clients`].

use crate::hook::registry::{Change, Filter, Module, Name, Output, Stage};
use crate::io::body::{Body, BodyError, BodyStream};
use crate::request::Request;
use crate::request::slots::{Relation, State};
use crate::values::text;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) static MODULE: Module = Module {
    filters: &[Filter {
        stage: Stage::Transfer,
        after: &["core"],
        sees_errors: false,
        when: |request| request.slots.find::<Limit>().is_some(),
        run: Change::Now(apply),
    }],
    outputs: &[Output {
        name: Name::Own("RATE_LIMIT"),
        sees_bodiless: false,
        run: |request, body, _| {
            // It is the last thing that is done to it.
            if let Some(rate) = wanted(request) {
                request.slots.put(Limit(rate));
            }
            Box::pin(std::future::ready(body))
        },
    }],
    ..Module::new("ratelimit", |_| false)
};

/// The interval of sending, as in Apache.
const INTERVAL: Duration = Duration::from_millis(200);
const INTERVALS_A_SECOND: u64 = 5;

/// Bytes in a second, and bytes at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    speed: u64,
    burst: u64,
}

/// The rate of a response.
#[derive(Clone)]
struct Limit(Rate);

impl State for Limit {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        None
    }
}

/// Returns whether an answer is slowed down, and how far.
fn wanted(request: &Request) -> Option<Rate> {
    if request.is_part() {
        return None;
    }
    let kibibytes = |name: &str| request.env.find(name).map_or(0, |text| number(text)).saturating_mul(1024);
    let speed = kibibytes("rate-limit");
    (speed > 0).then(|| Rate { speed, burst: kibibytes("rate-initial-burst") })
}

/// As much of a number as there is (`atoi`); nothing below nothing.
fn number(text: &[u8]) -> u64 {
    let digits = text.trim_ascii_start().iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0, |n: u64, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')))
}

/// The body, slowed down.
fn apply(request: &mut Request, body: Body) -> Body {
    let Some(limit) = request.slots.take::<Limit>() else { return body };
    let Limit(rate) = *limit;
    if matches!(body, Body::Empty) {
        return body;
    }
    if let Some(length) = body.len() {
        request.reply.headers_out.set("Content-Length", text::decimal(length).as_bytes().to_vec());
    }
    Body::Stream(Box::new(Slow {
        body: body.into_stream(),
        rest: Bytes::new(),
        rate,
        sent: 0,
        started: Instant::now(),
        pause: None,
    }))
}

struct Slow {
    body: Box<dyn BodyStream>,
    /// Of the last piece, still to be sent.
    rest: Bytes,
    rate: Rate,
    sent: u64,
    started: Instant,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Slow {
    /// Returns how much may have been sent by now, and when that will grow.
    fn allowed(&self) -> (u64, Instant) {
        let intervals = (self.started.elapsed().as_millis() / INTERVAL.as_millis()) as u64 + 1;
        let earned = (self.rate.speed / INTERVALS_A_SECOND).max(1).saturating_mul(intervals);
        let next = self.started + INTERVAL * u32::try_from(intervals).unwrap_or(u32::MAX);
        (earned.saturating_add(self.rate.burst), next)
    }
}

impl BodyStream for Slow {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            if self.rest.is_empty() {
                match ready!(self.body.poll_chunk(cx)) {
                    Some(Ok(chunk)) => self.rest = chunk,
                    end => return Poll::Ready(end),
                }
            }
            let (allowed, next) = self.allowed();
            let room = allowed.saturating_sub(self.sent).min(self.rest.len() as u64);
            if room > 0 {
                self.sent += room;
                return Poll::Ready(Some(Ok(self.rest.split_to(room as usize))));
            }
            self.pause = Some(Box::pin(sleep_until(next)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_far_as_they_go() {
        assert_eq!((number(b"400"), number(b" 7x"), number(b"-5"), number(b"")), (400, 7, 0, 0));
        assert_eq!(number(&[b'9'; 40]), u64::MAX);
    }

    #[tokio::test]
    async fn nothing_is_sent_before_its_time() {
        let rate = Rate { speed: 50, burst: 3 };
        let body = Body::Bytes(Bytes::from_static(&[b'x'; 30])).into_stream();
        let started = Instant::now();
        let mut slow = Slow { body, rest: Bytes::new(), rate, sent: 0, started, pause: None };
        let mut pieces = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| slow.poll_chunk(cx)).await {
            pieces.push(piece.unwrap().len());
            let intervals = started.elapsed().as_millis() / INTERVAL.as_millis() + 1;
            assert!(pieces.iter().sum::<usize>() as u128 <= 3 + 10 * intervals);
        }
        assert_eq!((pieces[0], pieces.iter().sum::<usize>()), (13, 30));
    }
}
