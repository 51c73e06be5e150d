//! Response times of all rounds together, from the histograms that samples carry.

use crate::run::Sample;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Percentiles of the tables: name and part.
pub(super) const PERCENTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// All rounds and phases in one histogram of microseconds; `None` if there is none that can be read.
pub(super) fn merged(samples: &[Sample]) -> Option<Histogram<u64>> {
    samples.iter().flat_map(|sample| &sample.phases).filter_map(|phase| decoded(&phase.histogram)).reduce(
        |mut all, one| {
            // Bounds grow by themselves: both are of the generator's making. A foreign one adds nothing.
            all.auto(true);
            let _ = all.add(&one);
            all
        },
    )
}

/// One phase's histogram.
pub(super) fn decoded(text: &str) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(text.trim()).ok()?;
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
    (!histogram.is_empty()).then_some(histogram)
}

/// Seconds within which `part` of the answers came.
pub(super) fn seconds(histogram: &Histogram<u64>, part: f64) -> f64 {
    histogram.value_at_quantile(part) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    #[test]
    fn phases_are_added() {
        let mut histogram = Histogram::<u64>::new(3).expect("3 digits");
        for value in [1000, 2000, 3000, 100_000] {
            histogram.record(value).expect("in bounds");
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).expect("to memory");
        let phase = crate::run::PhaseSample { histogram: STANDARD.encode(bytes), ..Default::default() };
        let broken = crate::run::PhaseSample { histogram: "not base64".into(), ..Default::default() };
        let sample = crate::report::sample::sample(0, vec![phase.clone(), broken, phase]);
        let all = merged(&[sample]).expect("two of three can be read");
        assert_eq!(all.len(), 8);
        assert!((seconds(&all, 0.5) - 0.002).abs() < 1e-5);
    }
}
