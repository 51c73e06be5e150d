//! Open loads at a share of what a server can do, on a machine that is faster or slower from one second to the next.
//!
//! Short probes of the saturation stand before and after each window of load. The rate follows from the slower one of
//! the last two probes. A window counts if the probe after it shows that the server could still do clearly more than
//! it was offered, all that was offered was answered, and the machine itself was as fast as usual: the host took no
//! processor time away (steal in `/proc/stat`), other programs took little of it, and a loop of arithmetic ran before
//! and after it at its usual speed.
//! Those that do not count are counted.

use crate::drive::{Page, float};
use crate::figures::Figure;
use anyhow::Result;
use hostler_lab::load::PhaseOutcome;
use hostler_lab::method::statistics::median;
use std::hint::black_box;
use std::time::Instant;

/// Of the rate at saturation.
pub(crate) const SHARE: f64 = 0.8;
/// A window in which more than this of the probe after it was offered was one of overload.
const MOST: f64 = 0.9;
/// Answers of those that were to be had, at least.
const ANSWERED: f64 = 0.98;
/// Part of all processors' time that the host may take away.
const STOLEN: f64 = 0.02;
/// Part of all processors' time that other programs than server and generator may take.
const OTHERS: f64 = 0.08;
/// Speed of the loop against its usual one, at least.
const SPEED: f64 = 0.8;
/// Clients at saturation.
const CLIENTS: u32 = 15;

/// The rate at saturation of one page of a server.
#[derive(Default)]
pub(crate) struct Probes(Vec<f64>);

impl Probes {
    /// Measures once more.
    pub(crate) fn take(&mut self, page: &Page<'_>, seconds: f64) -> Result<()> {
        self.0.push(page.closed(CLIENTS, seconds)?.rate);
        Ok(())
    }

    /// The slower one of the last two; infinite if there is none.
    pub(crate) fn rate(&self) -> f64 {
        self.0.iter().rev().take(2).copied().fold(f64::INFINITY, f64::min)
    }

    /// The last one.
    fn last(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::INFINITY)
    }
}

/// Why a window does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// It was more than the server could do.
    Overload,
    /// The machine was slower than usual.
    Machine,
}

/// A window of load: what came of each of its pages, and what was found around it.
pub(crate) struct Window {
    /// In the order of the loads.
    pub(crate) outcomes: Vec<PhaseOutcome>,
    /// The machine before and after it.
    machine: Machine,
    /// The part of the probe after it that was offered; see [`Self::judged`].
    load: f64,
}

/// The state of the machine.
#[derive(Clone, Copy, Debug)]
struct Machine {
    /// Part of the processors' time that the host took away.
    stolen: f64,
    /// Part of it that other programs used.
    others: f64,
    /// Rounds of the loop a second; the slower one of before and after.
    speed: f64,
}

impl Window {
    /// Runs loads at the same time, each a page with its rate.
    pub(crate) fn run(loads: &[(Page<'_>, f64)], seconds: f64) -> Result<Self> {
        let (before, ticks, own) = (speed(), Ticks::now(), own_seconds(loads));
        let outcomes: Result<Vec<_>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                loads.iter().map(|(page, rate)| scope.spawn(move || page.opened(*rate, seconds))).collect();
            let broken = || anyhow::anyhow!("the generator broke");
            threads.into_iter().map(|thread| thread.join().map_err(|_| broken())?).collect()
        });
        let (stolen, others) = ticks.until(&Ticks::now(), own_seconds(loads) - own);
        let machine = Machine { stolen, others, speed: before.min(speed()) };
        Ok(Self { outcomes: outcomes?, machine, load: 0.0 })
    }

    /// `probes`: those of each page, with one taken after the window.
    pub(crate) fn judged(mut self, probes: &[&Probes]) -> Self {
        let offered = self.outcomes.iter().map(|outcome| outcome.rate);
        self.load = offered.zip(probes).map(|(rate, probes)| rate / probes.last()).sum();
        self
    }

    fn flaw(&self, usual: f64) -> Option<Flaw> {
        let Machine { stolen, others, speed } = self.machine;
        let lacks = |outcome: &PhaseOutcome| {
            let offered = outcome.rate * outcome.elapsed;
            outcome.errors.sum() > 0 || float(outcome.answers) < ANSWERED * offered - 10.0
        };
        if stolen > STOLEN || others > OTHERS || speed < SPEED * usual {
            Some(Flaw::Machine)
        } else if self.load > MOST || self.outcomes.iter().any(lacks) {
            Some(Flaw::Overload)
        } else {
            None
        }
    }
}

/// Windows of the same kind.
#[derive(Default)]
pub(crate) struct Windows(pub(crate) Vec<Window>);

impl Windows {
    /// Speeds of the loop around them.
    pub(crate) fn speeds(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|window| window.machine.speed)
    }

    /// p99.9 : p50 of a page over all windows that count, and its least and most in a single one.
    pub(crate) fn tail(&self, page: usize, usual: f64) -> Option<Figure> {
        let counted = self.0.iter().filter(|window| window.flaw(usual).is_none());
        let outcomes: Vec<_> = counted.filter_map(|window| window.outcomes.get(page)).collect();
        let (first, others) = outcomes.split_first()?;
        let mut all = (*first).clone();
        for other in others {
            // Can't fail: they have the same bounds.
            let _ = all.latency.add(&other.latency);
        }
        let ratio = |outcome: &PhaseOutcome| {
            let at = |quantile| outcome.latency.value_at_quantile(quantile);
            float(at(0.999)) / float(at(0.5).max(1))
        };
        let single = outcomes.iter().map(|outcome| ratio(outcome));
        let (least, most) = (single.clone().fold(f64::INFINITY, f64::min), single.fold(0.0, f64::max));
        Some(Figure { value: ratio(&all), interval: Some((least, most)) })
    }

    /// The cells about one of the pages, over the windows that count: requests a second; p50, p99, p99.9 in ms;
    /// p99.9 : p50, and between which values it lies in single windows; how many windows count, and why others don't.
    /// `usual`: the loop's usual speed.
    pub(crate) fn cells(&self, page: usize, usual: f64) -> Vec<String> {
        let counted: Vec<_> = self.0.iter().filter(|window| window.flaw(usual).is_none()).collect();
        let outcomes: Vec<_> = counted.iter().filter_map(|window| window.outcomes.get(page)).collect();
        let counts = self.counts(counted.len(), usual);
        let Some((first, others)) = outcomes.split_first() else {
            return [vec!["–".to_owned(); 5], vec![counts]].concat();
        };
        let mut all = first.latency.clone();
        for other in others {
            // Can't fail: they have the same bounds.
            let _ = all.add(&other.latency);
        }
        let rates: Vec<f64> = outcomes.iter().map(|outcome| outcome.rate).collect();
        let at = |quantile| milliseconds(all.value_at_quantile(quantile));
        let ratio = |outcome: &&PhaseOutcome| {
            milliseconds(outcome.latency.value_at_quantile(0.999))
                / milliseconds(outcome.latency.value_at_quantile(0.5)).max(1e-3)
        };
        let ratios = outcomes.iter().map(ratio);
        let (least, most) = (ratios.clone().fold(f64::INFINITY, f64::min), ratios.fold(0.0, f64::max));
        let mut cells = vec![format!("{:.0}", median(&rates).unwrap_or(f64::NAN))];
        cells.extend([0.5, 0.99, 0.999].map(|quantile| format!("{:.2}", at(quantile))));
        cells.push(format!("{:.1} ({least:.1} to {most:.1})", at(0.999) / at(0.5).max(1e-3)));
        cells.push(counts);
        cells
    }

    fn counts(&self, counted: usize, usual: f64) -> String {
        let with = |flaw| self.0.iter().filter(|window| window.flaw(usual) == Some(flaw)).count();
        let mut text = format!("{counted} of {}", self.0.len());
        for (flaw, word) in [(Flaw::Overload, "overload"), (Flaw::Machine, "slow machine")] {
            if with(flaw) > 0 {
                text.push_str(&format!("; {} {word}", with(flaw)));
            }
        }
        text
    }
}

/// Of microseconds.
fn milliseconds(microseconds: u64) -> f64 {
    float(microseconds) / 1e3
}

/// Rounds of a loop of arithmetic a second: the best of three tries of some milliseconds.
fn speed() -> f64 {
    const ROUNDS: u32 = 2_000_000;
    let once = || {
        let begin = Instant::now();
        let mut number = 1_u64;
        for _ in 0..ROUNDS {
            number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        f64::from(ROUNDS) / begin.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once()).fold(0.0, f64::max)
}

/// Processor time of this program and of the server, in seconds.
#[expect(clippy::cast_precision_loss, reason = "seconds")]
fn own_seconds(loads: &[(Page<'_>, f64)]) -> f64 {
    let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let server = loads.first().and_then(|(page, _)| page.server.cost().processor);
    own.tv_sec as f64 + own.tv_nsec as f64 / 1e9 + server.unwrap_or(0.0)
}

/// The work of all processors since the start, in hundredths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    all: u64,
    /// In programs, and in the kernel for them.
    worked: u64,
    /// Taken away by the host.
    stolen: u64,
}

impl Ticks {
    fn now() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// The first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc_stat(5)).
    fn parse(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let numbers: Vec<u64> =
            line.split_ascii_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
        Self {
            // What guests use is contained in the user's.
            all: numbers.iter().take(8).sum(),
            worked: numbers.iter().take(3).sum(),
            stolen: numbers.get(7).copied().unwrap_or(0),
        }
    }

    /// Parts of the time until then: stolen, and worked for others than those who used so many seconds.
    fn until(&self, then: &Self, own_seconds: f64) -> (f64, f64) {
        let of = |part: fn(&Self) -> u64| float(part(then).saturating_sub(part(self)));
        let all = of(|ticks| ticks.all).max(1.0);
        let others = of(|ticks| ticks.worked) - own_seconds * 100.0;
        (of(|ticks| ticks.stolen) / all, others.max(0.0) / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(load: f64, stolen: f64, others: f64, speed: f64) -> Window {
        Window { outcomes: Vec::new(), machine: Machine { stolen, others, speed }, load }
    }

    #[test]
    fn windows_of_overload_and_of_a_slow_machine_do_not_count() {
        let of = |load, stolen, others, speed| window(load, stolen, others, speed).flaw(100.0);
        assert_eq!(of(0.85, 0.01, 0.02, 95.0), None);
        assert_eq!(of(0.95, 0.01, 0.02, 95.0), Some(Flaw::Overload));
        assert_eq!(of(0.85, 0.05, 0.02, 95.0), Some(Flaw::Machine));
        assert_eq!(of(0.85, 0.01, 0.20, 95.0), Some(Flaw::Machine));
        assert_eq!(of(0.95, 0.01, 0.02, 70.0), Some(Flaw::Machine));
        let all = [(0.5, 100.0), (1.5, 100.0), (0.5, 1.0)];
        let windows = Windows(all.map(|(load, speed)| window(load, 0.0, 0.0, speed)).into());
        assert_eq!(windows.cells(0, 100.0).last().unwrap(), "1 of 3; 1 overload; 1 slow machine");
    }

    #[test]
    fn the_slower_of_the_last_two_probes_counts() {
        assert!(Probes::default().rate().is_infinite());
        assert!((Probes(vec![1.0, 9.0, 8.0]).rate() - 8.0).abs() < 1e-9);
        assert!((Probes(vec![9.0, 3.0, 8.0]).rate() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn stolen_time_and_that_of_others_are_parts_of_all() {
        let before = Ticks::parse("cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1");
        assert_eq!(before, Ticks { all: 100, worked: 20, stolen: 10 });
        let (stolen, others) = before.until(&Ticks { all: 200, worked: 80, stolen: 15 }, 0.5);
        assert!((stolen - 0.05).abs() < 1e-9 && (others - 0.1).abs() < 1e-9);
        assert_eq!(Ticks::parse(""), Ticks::default());
    }
}
