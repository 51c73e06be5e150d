//! A measurement as the run keeps it.

use crate::load::{Outcome, PhaseOutcome, Request};
use crate::run::{Cost, Latency, PhaseSample, Sample};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// A round's sample.
pub(super) fn sample(round: u32, at: f64, outcome: Outcome, before: Cost, after: Cost) -> Sample {
    let phases: Vec<PhaseSample> = outcome.phases.iter().map(phase).collect();
    let elapsed: f64 = phases.iter().map(|phase| phase.elapsed).sum();
    let available = elapsed * f64::from(outcome.generator_threads.max(1));
    Sample {
        round,
        at,
        phases,
        cost: spent(before, after),
        generator_share: if available > 0.0 { outcome.generator_seconds / available } else { 0.0 },
        stopped: outcome.stopped,
        requests: outcome.requests.into_iter().map(rounded).collect(),
        seconds: outcome.seconds,
    }
}

/// Whole microseconds, as they were measured: there are many requests, and each digit is in the file.
fn rounded(request: Request) -> Request {
    let micros = |seconds: f64| (seconds * 1e6).round() / 1e6;
    Request { at: micros(request.at), took: micros(request.took), ..request }
}

/// Returns the resources used between two points, and those held at the second.
fn spent(before: Cost, after: Cost) -> Cost {
    let counted = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    Cost {
        processor: before.processor.zip(after.processor).map(|(before, after)| (after - before).max(0.0)),
        memory: after.memory,
        processes: after.processes,
        system_calls: counted(before.system_calls, after.system_calls),
        context_switches: counted(before.context_switches, after.context_switches),
    }
}

fn phase(outcome: &PhaseOutcome) -> PhaseSample {
    PhaseSample {
        elapsed: outcome.elapsed,
        answers: outcome.answers,
        bytes: outcome.bytes,
        errors: outcome.errors,
        clients: outcome.clients,
        latency: latency(&outcome.latency),
        histogram: packed(&outcome.latency),
        starved: outcome.starved,
    }
}

/// Microseconds as seconds.
fn latency(of: &Histogram<u64>) -> Latency {
    if of.is_empty() {
        return Latency::default();
    }
    #[expect(clippy::cast_precision_loss, reason = "response times are far below 2^52 microseconds")]
    let seconds = |micros: u64| micros as f64 / 1e6;
    Latency {
        mean: of.mean() / 1e6,
        deviation: of.stdev() / 1e6,
        shortest: seconds(of.min()),
        p50: seconds(of.value_at_quantile(0.5)),
        p90: seconds(of.value_at_quantile(0.9)),
        p99: seconds(of.value_at_quantile(0.99)),
        p999: seconds(of.value_at_quantile(0.999)),
        longest: seconds(of.max()),
    }
}

/// hdrhistogram's compressed V2 form in base64; empty if nothing was recorded.
fn packed(of: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    match V2DeflateSerializer::new().serialize(of, &mut bytes) {
        Ok(_) if !of.is_empty() => STANDARD.encode(bytes),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_times_are_seconds_and_none_are_zero() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        assert_eq!((latency(&histogram), packed(&histogram)), (Latency::default(), String::new()));
        histogram.record_n(1000, 99).unwrap();
        histogram.record(2_000_000).unwrap();
        let times = latency(&histogram);
        assert!((times.p50 - 0.001).abs() < 1e-5 && (times.longest - 2.0).abs() < 0.01, "{times:?}");
        assert!(packed(&histogram).starts_with("HISTFA"), "the cookie of the compressed form");
    }

    #[test]
    fn costs_are_what_was_used_in_between() {
        let before =
            Cost { processor: Some(1.0), memory: Some(5), system_calls: Some(10), ..Cost::default() };
        let after = Cost { processor: Some(3.5), memory: Some(7), system_calls: Some(40), ..Cost::default() };
        let cost = spent(before, after);
        assert_eq!((cost.processor, cost.memory, cost.system_calls), (Some(2.5), Some(7), Some(30)));
        assert_eq!(spent(Cost::default(), after).processor, None);
    }
}
