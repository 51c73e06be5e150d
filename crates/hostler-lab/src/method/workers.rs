//! The number of workers that a page needs. A request occupies a worker for its *service time*: its CPU time and the
//! time it waits inside the page (for a database, a disk), without the way to the client and back. A single worker that
//! is never idle shows it: it serves 1 / service time requests/s. By Little's law, as many workers are busy as requests
//! arrive in that time, and no more requests can be served than the processors have time for: `processors / CPU time ×
//! service time` workers. Then servers with that many workers, half and twice as many are loaded in turn; as long as
//! twice as many serve more, that number is tried.
//!
//! Where each request has a process of its own (CGI) there is no number to set: the number of clients is the number of
//! processes at a time, and nearly all of a response time is the process's.

use super::servers::Workers;
use super::statistics::{self, Ratio, Rounds};
use crate::load::{Phase, Plan};
use crate::run::{Advice, Sample};
use crate::scenario::Shape;
use std::time::Duration;

/// Shortest of the loads, in seconds; pages that take long are loaded for so many of their service times.
const SLICE: f64 = 0.4;
const LONG: f64 = 8.0;
/// Longest of the loads, in seconds.
const LONGEST: f64 = 4.0;

/// Rounds of the loads with as many workers, half and twice as many.
const ROUNDS: u32 = 6;

/// More than this is no advice for one machine.
const MOST: f64 = 64.0;

/// The part of a rate that is nearly as much.
const NEARLY: f64 = 0.95;

/// The number of times the number is doubled.
const DOUBLED: u32 = 2;

/// Most clients beside those whose requests are in workers: their requests wait, so that no worker does, however much
/// longer the way there and back is than the page.
const WAITING: f64 = 32.0;

/// Seconds of work that may be left when a load ends: servers do also what nobody waits for any more.
const LEFT: f64 = 0.02;

/// Seconds that it takes, about.
pub(super) const SECONDS: f64 = 12.0;

/// Reports whose cases are pages of their own, not a pair that is compared.
pub(super) fn asked_by(shape: Shape) -> bool {
    matches!(shape, Shape::Comparison | Shape::Load | Shape::Latency | Shape::Robustness | Shape::Resilience)
}

/// A load by a plan of a server with so many workers; `None` workers: the server as it is.
pub(super) type Load<'a> = dyn FnMut(Option<u32>, &Plan) -> Option<Sample> + 'a;

/// The best number of workers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BestWorkers {
    /// The kind of workers counted.
    of: Workers,
    /// Seconds that a request keeps a worker.
    service: f64,
    /// Seconds of processor time of a request, in all of the server's processes.
    processor: f64,
    processors: f64,
    /// The number by Little's law.
    law: u32,
    verified: Rates,
}

/// Rates with numbers of workers.
#[derive(Clone, Debug, PartialEq)]
struct Rates {
    workers: u32,
    /// Requests a second.
    rate: f64,
    /// The rate with twice as many, relative to it.
    twice: Ratio,
    /// The rate with half as many, if there is a half.
    half: Option<(u32, Ratio)>,
}

/// Loads the page to find out; `None`: it has no workers, or something could not be measured.
pub(super) fn find(of: Workers, plan: &Plan, processors: f64, load: &mut Load<'_>) -> Option<BestWorkers> {
    let mut ask = Asking { of, plan, load, waiting: 0, pause: Duration::ZERO };
    // What is loaded first starts processes and fills caches; the way there and back is a part of its response times.
    let first = ask.load(1, SLICE)?;
    // A long page, or a server that has work left of what was measured before.
    let length = if first.answers() > 0 { SLICE } else { LONGEST };
    let alone = ask.load(1, length)?.mean()?;
    ask.prepare(alone);
    let one = ask.load(1, (LONG * alone).clamp(2.0 * SLICE, LONGEST))?;
    let service = match of {
        Workers::Pool => 1.0 / one.rate()?,
        Workers::OneEach => one.mean()?,
        Workers::None => return None,
    };
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^52")]
    let processor = one.cost.processor? / one.answers() as f64;
    let law = asked(service, processor, processors)?;
    let slice = (LONG * service).clamp(SLICE, LONGEST);
    let mut verified = ask.verify(law, slice)?;
    for _ in 0..DOUBLED {
        if !verified.more_helps() {
            break;
        }
        verified = ask.verify(2 * verified.workers, slice)?;
    }
    Some(BestWorkers { of, service, processor, processors, law, verified })
}

/// Workers with which the processors are all busy; `None`: no such figures.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to MOST")]
fn asked(service: f64, processor: f64, processors: f64) -> Option<u32> {
    let known = service > 0.0 && processor > 0.0 && processors > 0.0;
    let workers = processors / processor * service;
    (known && workers.is_finite()).then(|| (workers - 0.05).ceil().clamp(1.0, MOST) as u32)
}

struct Asking<'a, 'l> {
    of: Workers,
    plan: &'a Plan,
    load: &'a mut Load<'l>,
    /// Clients whose requests wait.
    waiting: u32,
    /// Until what a load has left is done.
    pause: Duration,
}

impl Asking<'_, '_> {
    /// For a page that takes so many seconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to WAITING")]
    fn prepare(&mut self, seconds: f64) {
        self.waiting = (LEFT / seconds).clamp(1.0, WAITING) as u32;
        // Of short ones so little is left that it does not matter.
        let left = if seconds > LEFT / 4.0 { seconds * f64::from(self.waiting + 1) } else { 0.0 };
        self.pause = Duration::from_secs_f64(left.min(LONGEST / 4.0));
    }

    /// So many workers, or processes at a time, that are never idle.
    fn load(&mut self, workers: u32, seconds: f64) -> Option<Sample> {
        let sample = if self.of == Workers::Pool {
            (self.load)(Some(workers), &closed(self.plan, workers + self.waiting, seconds))
        } else {
            (self.load)(None, &closed(self.plan, workers, seconds))
        };
        std::thread::sleep(self.pause);
        sample
    }

    fn verify(&mut self, workers: u32, slice: f64) -> Option<Rates> {
        let half = (workers > 1).then(|| workers.div_ceil(2));
        let mut numbers: Vec<(u32, Rounds)> =
            half.into_iter().chain([workers, 2 * workers]).map(|number| (number, Rounds::new())).collect();
        for (number, _) in &numbers {
            self.load(*number, SLICE)?;
        }
        for round in 0..ROUNDS {
            for (number, rates) in &mut numbers {
                rates.push((round, self.load(*number, slice)?.rate()?));
            }
            // The next round is taken the other way round.
            numbers.reverse();
        }
        let rates =
            |wanted: u32| numbers.iter().find(|(number, _)| *number == wanted).map(|(_, rates)| rates);
        let as_many = rates(workers)?;
        let of_these = |wanted: u32| statistics::ratio(rates(wanted)?, as_many);
        let rate = statistics::median(&as_many.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>())?;
        Some(Rates {
            workers,
            rate,
            twice: of_these(2 * workers)?,
            half: half.and_then(|half| Some((half, of_these(half)?))),
        })
    }
}

/// So many clients without pauses.
fn closed(plan: &Plan, clients: u32, seconds: f64) -> Plan {
    Plan {
        phases: vec![Phase::closed(clients, seconds)],
        warm_up: 0.0,
        stop: None,
        keep_requests: false,
        ..plan.clone()
    }
}

impl Rates {
    fn more_helps(&self) -> bool {
        self.twice.value > 1.0 && !self.twice.within_noise()
    }

    /// Half as many that surely reach nearly as much. That it is not surely less is not enough: few rounds on a busy
    /// machine tell nothing.
    fn fewer(&self) -> Option<u32> {
        let (half, ratio) = self.half.as_ref()?;
        ratio.interval.is_some_and(|(low, _)| low >= NEARLY).then_some(*half)
    }
}

impl BestWorkers {
    pub(super) fn advice(&self, page: &str, server: &str) -> Advice {
        let number = self.verified.fewer().filter(|_| !self.verified.more_helps());
        let number = number.unwrap_or(self.verified.workers);
        let says = match self.of {
            Workers::Pool => format!("{page} asks for {} on this machine ({server}).", workers(number)),
            _ => format!(
                "{page} has no workers to set ({server}: each request has a process of its own); {number} at a time \
                 keep this machine busy."
            ),
        };
        Advice { says, evidence: vec![self.measured(), self.law(), self.verification()] }
    }

    fn measured(&self) -> String {
        let (service, processor) = (time(self.service), time(self.processor));
        match self.of {
            Workers::Pool => format!(
                "A single worker that is never idle serves {:.0} requests/s: a request keeps it for {service}. In all of \
                 the server's processes it takes {processor} of CPU time.",
                1.0 / self.service
            ),
            _ => format!(
                "Alone, a request takes {service}, and {processor} of CPU time in all of the server's processes."
            ),
        }
    }

    fn law(&self) -> String {
        let Self { processors, processor, law, .. } = self;
        let most = processors / processor;
        let what = if self.of == Workers::Pool { "workers" } else { "processes" };
        format!(
            "Little's law: {processors} processors do at most {most:.0} such requests/s, which keep {:.1} {what} busy: \
             {law}.",
            most * self.service
        )
    }

    fn verification(&self) -> String {
        let Rates { workers: number, rate, twice, half } = &self.verified;
        let how = match self.of {
            Workers::Pool => {
                "Verified with servers of so many workers (MaxRequestWorkers; Starman's --workers)"
            }
            _ => "Verified with so many clients, each of which has a process",
        };
        let raised = if *number > self.law {
            format!(", as twice {} reached more", number / 2)
        } else {
            String::new()
        };
        let verdict = if self.verified.more_helps() {
            "still more may help"
        } else if self.verified.fewer().is_some() {
            "half as many do"
        } else {
            "more would not help beyond noise"
        };
        let fewer = half.as_ref().map(|(half, ratio)| format!(", {half} reach {}", part(ratio)));
        format!(
            "{how}{raised}: {number} reach {rate:.0} requests/s; {} reach {}{}: {verdict}.",
            2 * number,
            part(twice),
            fewer.unwrap_or_default()
        )
    }
}

fn workers(number: u32) -> String {
    if number == 1 { "1 worker".to_owned() } else { format!("{number} workers") }
}

fn part(ratio: &Ratio) -> String {
    let (low, high) = ratio.interval.unwrap_or((ratio.value, ratio.value));
    format!("{:.2} of that ({low:.2} to {high:.2})", ratio.value)
}

fn time(seconds: f64) -> String {
    if seconds < 0.001 { format!("{:.0} µs", seconds * 1e6) } else { format!("{:.2} ms", seconds * 1e3) }
}

#[cfg(test)]
mod tests;
