//! Axes: from figures to places, and ticks that people can read.

use crate::report::number;

/// The division of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Kind {
    /// Evenly, from 0.
    FromZero,
    /// Evenly, from 0 to the largest figure.
    FromZeroExact,
    /// Evenly, from the least figure.
    Linear,
    /// By powers of ten; for figures over 0.
    Logarithmic,
    /// Parts of one by how many nines they have: 0, 90 %, 99 %, 99.9 % lie evenly.
    Percentile,
}

/// A divided axis.
#[derive(Clone, Debug)]
pub(in crate::report) struct Scale {
    kind: Kind,
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// For some figures, drawn between two places.
    pub(in crate::report) fn new(kind: Kind, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && (kind != Kind::Logarithmic || *value > 0.0)) {
            least = least.min(value);
            most = most.max(value);
        }
        if least > most {
            (least, most) = (1.0, 10.0);
        }
        let (least, most) = match kind {
            Kind::FromZero => {
                let most = if most > 0.0 { most } else { 1.0 };
                let step = step(most, 5.0);
                (0.0, (most / step - 1e-9).ceil() * step)
            }
            Kind::FromZeroExact => (0.0, if most > 0.0 { most } else { 1.0 }),
            Kind::Linear if least == most => (least - 0.5, most + 0.5),
            Kind::Linear => (least, most),
            Kind::Logarithmic => (round_down(least), round_up(most * 1.02)),
            Kind::Percentile => (0.0, most.clamp(0.5, 0.999_999)),
        };
        Self { kind, least, most, from, to }
    }

    /// The place of a figure; outside the axis: its end.
    pub(in crate::report) fn at(&self, value: f64) -> f64 {
        let (least, most) = (self.even(self.least), self.even(self.most));
        let part = if most > least { (self.even(value) - least) / (most - least) } else { 0.5 };
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        self.from + part * (self.to - self.from)
    }

    /// The figure as it lies on an even axis.
    fn even(&self, value: f64) -> f64 {
        match self.kind {
            Kind::FromZero | Kind::FromZeroExact | Kind::Linear => value,
            Kind::Logarithmic => value.max(1e-12).log10(),
            Kind::Percentile => -(1.0 - value).max(1e-9).log10(),
        }
    }

    /// About `count` figures with their names.
    pub(in crate::report) fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        match self.kind {
            Kind::FromZero | Kind::FromZeroExact | Kind::Linear => {
                let step = step(self.most - self.least, count);
                let first = (self.least / step - 1e-9).ceil();
                let steps = ((self.most / step + 1e-9).floor() - first).max(0.0) as u32;
                (0..=steps)
                    .map(|index| (first + f64::from(index)) * step)
                    .map(|at| (at, tick(at, step)))
                    .collect()
            }
            Kind::Logarithmic => self.powers(count),
            Kind::Percentile => [
                (0.0, "0"),
                (0.5, "50 %"),
                (0.9, "90 %"),
                (0.99, "99 %"),
                (0.999, "99.9 %"),
                (0.9999, "99.99 %"),
            ]
            .into_iter()
            .filter(|(part, _)| *part <= self.most + 1e-9)
            .map(|(part, name)| (part, name.into()))
            .collect(),
        }
    }

    /// 1, 2, 5, 10 ...; fewer of them where there are many decades.
    fn powers(&self, count: f64) -> Vec<(f64, String)> {
        let decades = (self.most / self.least).log10();
        let digits: &[f64] = match decades {
            _ if decades * 3.0 <= count + 2.0 => &[1.0, 2.0, 5.0],
            _ if decades * 2.0 <= count + 1.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let first = self.least.log10().floor() as i32;
        let last = self.most.log10().ceil() as i32;
        (first..=last)
            .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)))
            .filter(|at| *at >= self.least * 0.999 && *at <= self.most * 1.001)
            .map(|at| (at, number::plain((at * 1e6).round() / 1e6)))
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten, so that a span has about `count` of it.
fn step(span: f64, count: f64) -> f64 {
    let raw = (span / count).max(1e-9);
    let power = 10f64.powf(raw.log10().floor());
    let digit = raw / power;
    let nice = match digit {
        _ if digit <= 1.0 => 1.0,
        _ if digit <= 2.0 => 2.0,
        _ if digit <= 5.0 => 5.0,
        _ => 10.0,
    };
    nice * power
}

/// A tick with as many decimals as its step needs.
fn tick(at: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    if decimals == 0 && at >= 1000.0 { number::figure(at) } else { format!("{at:.decimals$}") }
}

/// The next of 1, 2, 5, 10 ... at or below.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= value * 1.0001);
    digit.unwrap_or(1.0) * power
}

/// The next of 1, 2, 5, 10 ... at or above.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= value * 0.9999);
    digit.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scale: &Scale, count: f64) -> Vec<String> {
        scale.ticks(count).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn ticks_are_round() {
        let scale = Scale::new(Kind::FromZero, [3.0, 17.0].into_iter(), 100.0, 0.0);
        assert_eq!(names(&scale, 5.0), ["0", "5", "10", "15", "20"]);
        assert!((scale.at(10.0) - 50.0).abs() < 1e-9);
        let scale = Scale::new(Kind::FromZero, [0.013].into_iter(), 0.0, 1.0);
        assert_eq!(names(&scale, 5.0), ["0.000", "0.005", "0.010", "0.015"]);
    }

    #[test]
    fn powers_and_nines() {
        let scale = Scale::new(Kind::Logarithmic, [0.3, 40.0].into_iter(), 0.0, 1.0);
        assert_eq!(names(&scale, 6.0), ["0.2", "0.5", "1", "2", "5", "10", "20", "50"]);
        let scale = Scale::new(Kind::Percentile, [0.999].into_iter(), 0.0, 3.0);
        assert!((scale.at(0.99) - 2.0).abs() < 1e-9);
        assert_eq!(names(&scale, 6.0), ["0", "50 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn nothing_and_nonsense_have_places() {
        let scale = Scale::new(Kind::Logarithmic, std::iter::empty(), 0.0, 1.0);
        assert!(scale.at(f64::NAN).is_finite() && scale.at(0.0).is_finite());
        let scale = Scale::new(Kind::FromZero, [f64::INFINITY, 0.0].into_iter(), 0.0, 1.0);
        assert!(scale.at(1.0).is_finite() && !scale.ticks(5.0).is_empty());
    }
}
