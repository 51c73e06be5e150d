//! The count: what each request came to, by phase, by second and, if asked for, one by one; and whether a limit broke.

use super::outcome::{Errors, MOST_REQUESTS, PhaseOutcome, Request, Second, histogram};
use super::plan::{Plan, Stop, Target};
use super::timers::{Moment, SECOND, moment, seconds};
use hdrhistogram::Histogram;

/// Identifies a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestKind {
    /// When it was (to be) sent.
    pub(super) at: Moment,
    /// Number of its client; 0 in open plans.
    pub(super) client: u32,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A whole answer.
    Answered { status: u16, bytes: u64 },
    /// None.
    Failed(Failure),
}

/// Why there is no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Connect,
    Broken,
    Timeout,
    Wrong,
}

/// The count.
#[derive(Debug)]
pub(super) struct Tally {
    expected_length: Option<u64>,
    /// A form's answer is often a redirection.
    form: bool,
    stop: Option<Stop>,
    keep_requests: bool,
    /// Since when it counts; `None`: still warming up.
    since: Option<Moment>,
    phase_since: Moment,
    /// The last answer that counts.
    last_answer: Moment,
    open: bool,
    clients: u32,
    /// The number of clients at the phase's start; `None`: none has come yet.
    first_clients: Option<u32>,
    /// The clients that have been served in this phase.
    served: Vec<bool>,
    rate: f64,
    phases: Vec<PhaseOutcome>,
    seconds: Vec<Second>,
    requests: Vec<Request>,
    /// For [`Stop::P99`]: of this second alone.
    second: Option<Histogram<u64>>,
    stopped: Option<String>,
}

impl Tally {
    pub(super) fn new(target: &Target, plan: &Plan) -> Self {
        Self {
            expected_length: target.expected_length,
            form: target.form.is_some(),
            stop: plan.stop,
            keep_requests: plan.keep_requests,
            since: None,
            phase_since: 0,
            last_answer: 0,
            open: false,
            clients: 0,
            first_clients: None,
            served: Vec::new(),
            rate: 0.0,
            phases: Vec::new(),
            seconds: Vec::new(),
            requests: Vec::new(),
            second: matches!(plan.stop, Some(Stop::P99 { .. })).then(histogram),
            stopped: None,
        }
    }

    /// Returns whether what happens counts.
    pub(super) const fn counts(&self) -> bool {
        self.since.is_some()
    }

    /// A phase begins, and from the first on all counts.
    pub(super) fn phase_begins(&mut self, now: Moment, open: bool) {
        self.since.get_or_insert(now);
        self.phase_since = now;
        self.last_answer = now;
        self.open = open;
        self.rate = 0.0;
        self.first_clients = None;
        self.served.clear();
        self.phases.push(PhaseOutcome {
            elapsed: 0.0,
            answers: 0,
            bytes: 0,
            errors: Errors::default(),
            latency: histogram(),
            clients: 0,
            rate: 0.0,
            unanswered: 0,
            connections: 0,
            retried: 0,
            starved: 0,
        });
    }

    /// The phase ends: what it lasted (`None`: until its last answer, at least `least`).
    pub(super) fn phase_ends(&mut self, elapsed: Option<Moment>, least: Moment, unanswered: u64) {
        let elapsed = elapsed.unwrap_or_else(|| (self.last_answer - self.phase_since).max(least));
        let (clients, rate, open) = (self.clients, self.rate, self.open);
        let starved = if open { 0 } else { self.starved() };
        if let Some(phase) = self.phases.last_mut() {
            phase.elapsed = seconds(elapsed);
            phase.clients = clients;
            phase.rate = if open { rate } else { 0.0 };
            phase.unanswered = unanswered;
            phase.starved = starved;
        }
    }

    /// Returns how many of a constant number of clients were never served. If clients join, the last ones may have had
    /// no time.
    fn starved(&self) -> u32 {
        if self.first_clients != Some(self.clients) {
            return 0;
        }
        let served = self.served.iter().take(self.clients as usize).filter(|served| **served).count();
        self.clients.saturating_sub(u32::try_from(served).unwrap_or(u32::MAX))
    }

    /// Sets the current number of clients; in open phases: of requests under way.
    pub(super) fn clients_are(&mut self, clients: u32) {
        self.clients = clients;
        self.first_clients.get_or_insert(clients);
    }

    /// The rate that an open phase asks for now.
    pub(super) const fn rate_is(&mut self, rate: f64) {
        self.rate = rate;
    }

    pub(super) fn connected(&mut self) {
        if let Some(phase) = self.phases.last_mut() {
            phase.connections += 1;
        }
    }

    pub(super) fn retried(&mut self) {
        if let Some(phase) = self.phases.last_mut() {
            phase.retried += 1;
        }
    }

    /// A request came to an end.
    pub(super) fn ended(&mut self, now: Moment, asked: RequestKind, end: End) {
        let Some(since) = self.since else { return };
        self.pass_seconds(now, since);
        let took = now.saturating_sub(asked.at);
        let micros = (took / 1000).max(1);
        let (status, bytes) = match end {
            End::Answered { status, bytes } => (status, bytes),
            End::Failed(_) => (0, 0),
        };
        let (Some(phase), Some(second)) = (self.phases.last_mut(), self.seconds.last_mut()) else { return };
        if let Some(fault) = fault(&mut phase.errors, end, self.form, self.expected_length) {
            *fault += 1;
            second.failures += 1;
            self.failed(end);
        } else {
            self.last_answer = now;
            let client = asked.client as usize;
            if !self.open && self.served.len() <= client {
                self.served.resize(client + 1, false);
            }
            if let Some(served) = self.served.get_mut(client) {
                *served = true;
            }
            phase.answers += 1;
            phase.bytes += bytes;
            phase.latency.saturating_record(micros);
            second.answers += 1;
            second.bytes += bytes;
        }
        if let Some(histogram) = &mut self.second {
            histogram.saturating_record(micros);
        }
        if let Some(Stop::Answer { seconds: limit }) = self.stop
            && took > moment(limit)
        {
            self.broke(&format!("an answer took {:.1} s", seconds(took)));
        }
        if self.keep_requests && self.requests.len() < MOST_REQUESTS {
            self.requests.push(Request {
                at: (asked.at.saturating_sub(since)) as f64 / SECOND as f64,
                took: seconds(took),
                phase: u32::try_from(self.phases.len() - 1).unwrap_or(u32::MAX),
                client: asked.client,
                clients: self.clients,
                status,
                bytes,
            });
        }
    }

    fn failed(&mut self, end: End) {
        // Who is refused is not served, however fast.
        if matches!(self.stop, Some(Stop::Error | Stop::Answer { .. })) {
            let what = match end {
                End::Failed(Failure::Connect) => "a connection was not made".to_owned(),
                End::Failed(Failure::Broken) => "an answer broke off".to_owned(),
                End::Failed(Failure::Timeout) => "a request was not answered in time".to_owned(),
                End::Failed(Failure::Wrong) => "an answer was not HTTP".to_owned(),
                End::Answered { status: status @ 200..=299, .. } => {
                    format!("an answer {status} had a wrong length")
                }
                End::Answered { status, .. } => format!("an answer had status {status}"),
            };
            self.broke(&what);
        }
    }

    /// A limit broke; where is added.
    pub(super) fn broke(&mut self, what: &str) {
        if self.since.is_some() && self.stopped.is_none() {
            let place = if self.open {
                format!("at {:.1} requests a second", self.rate)
            } else if self.clients == 1 {
                "with 1 client".to_owned()
            } else {
                format!("with {} clients", self.clients)
            };
            self.stopped = Some(format!("{what} {place}"));
        }
    }

    pub(super) const fn has_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Called now and then, also when nothing is answered.
    pub(super) fn tick(&mut self, now: Moment) {
        if let Some(since) = self.since {
            self.pass_seconds(now, since);
        }
    }

    /// Closes the seconds that have passed.
    fn pass_seconds(&mut self, now: Moment, since: Moment) {
        let current = usize::try_from(now.saturating_sub(since) / SECOND).unwrap_or(usize::MAX);
        while self.seconds.len() <= current {
            if !self.seconds.is_empty() {
                self.judge_second();
            }
            self.seconds.push(Second::default());
        }
        if let Some(second) = self.seconds.last_mut() {
            second.clients = self.clients;
        }
    }

    fn judge_second(&mut self) {
        let (Some(Stop::P99 { seconds: limit }), Some(histogram)) = (self.stop, &mut self.second) else {
            return;
        };
        let p99 = histogram.value_at_quantile(0.99);
        let measured = !histogram.is_empty();
        histogram.reset();
        if measured && p99 > moment(limit) / 1000 {
            #[expect(clippy::cast_precision_loss, reason = "microseconds of minutes")]
            let shown = p99 as f64 / 1e6;
            self.broke(&format!("the 99th percentile of a second was {shown:.3} s"));
        }
    }

    /// Answers and failures of this phase so far.
    pub(super) fn ended_in_phase(&self) -> u64 {
        self.phases.last().map_or(0, |phase| phase.answers + phase.errors.sum())
    }

    /// All that was counted: the rest of the outcome is the generator's own.
    pub(super) fn into_outcome(self, elapsed: f64, generator_seconds: f64) -> super::Outcome {
        super::Outcome {
            phases: self.phases,
            elapsed,
            generator_seconds,
            generator_threads: 1,
            stopped: self.stopped,
            requests: self.requests,
            seconds: self.seconds,
        }
    }
}

/// The count of failures that an end belongs to; `None`: it was served.
fn fault(errors: &mut Errors, end: End, form: bool, expected: Option<u64>) -> Option<&mut u64> {
    match end {
        End::Failed(Failure::Connect) => Some(&mut errors.connect),
        End::Failed(Failure::Broken) => Some(&mut errors.broken),
        End::Failed(Failure::Timeout) => Some(&mut errors.timeout),
        End::Failed(Failure::Wrong) => Some(&mut errors.wrong),
        End::Answered { status: 400..=499, .. } => Some(&mut errors.status_4xx),
        End::Answered { status: 500..=599, .. } => Some(&mut errors.status_5xx),
        End::Answered { status: 200..=299, bytes } => {
            expected.is_some_and(|expected| expected != bytes).then_some(&mut errors.wrong)
        }
        End::Answered { status: 300..=399, .. } if form => None,
        End::Answered { .. } => Some(&mut errors.wrong),
    }
}
