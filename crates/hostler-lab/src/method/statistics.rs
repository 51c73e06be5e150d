//! Statistics of rounds: medians, ratios with their intervals, and whether noise could have made a difference.
//!
//! Rounds are taken in turn, so the two figures of one round saw the same minute of the machine: they are compared in
//! pairs, as logarithms (twice as fast and half as fast lie equally far from 1). A busy machine makes outliers, so
//! intervals are those of ranks, which outliers don't move (Wilcoxon's signed ranks for pairs, Mann and Whitney's for
//! two runs). Ranks of fewer rounds than [`FEW`] cannot reach 95 %; Student's distribution has to do there, and its
//! intervals are as wide as so few rounds deserve.

/// From so many rounds on ranks can tell 95 %.
const FEW: usize = 6;

/// The probability outside each end of an interval.
const TAIL: f64 = 0.025;

/// Differences below this part are noise whatever their interval: where programs land in memory and which started
/// first makes as much, and is the same in all rounds of a run.
pub const SMALLEST: f64 = 0.02;

/// Figures by number of round.
pub type Rounds = Vec<(u32, f64)>;

/// A ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The first of the second.
    pub value: f64,
    /// Its 95 % interval; `None` of fewer than two rounds.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    fn of_logarithms((middle, interval): (f64, Option<(f64, f64)>)) -> Self {
        Self { value: middle.exp(), interval: interval.map(|(low, high)| (low.exp(), high.exp())) }
    }

    /// Returns whether noise could have made it: its interval comes as near to 1 as [`SMALLEST`], or there is none.
    #[must_use]
    pub fn within_noise(&self) -> bool {
        self.within(SMALLEST)
    }

    /// The same for another smallest difference.
    #[must_use]
    pub fn within(&self, smallest: f64) -> bool {
        let bound = 1.0 + smallest;
        self.interval.is_none_or(|(low, high)| low <= bound && high >= 1.0 / bound)
    }
}

/// Compares the rounds that both have; `None` if there is none with figures over 0.
#[must_use]
pub fn ratio(first: &[(u32, f64)], second: &[(u32, f64)]) -> Option<Ratio> {
    let logarithms: Vec<f64> = first
        .iter()
        .filter_map(|(round, value)| {
            let other = second.iter().find(|(number, _)| number == round)?.1;
            (*value > 0.0 && other > 0.0).then(|| (value / other).ln())
        })
        .collect();
    Some(Ratio::of_logarithms(centre(&logarithms)?))
}

/// Compares figures of two runs, whose rounds have nothing to do with one another: new ones as a part of old ones.
#[must_use]
pub fn change(old: &[f64], new: &[f64]) -> Option<Ratio> {
    let logarithms = |of: &[f64]| of.iter().filter(|v| **v > 0.0).map(|v| v.ln()).collect::<Vec<f64>>();
    Some(Ratio::of_logarithms(shift(&logarithms(old), &logarithms(new))?))
}

/// The 95 % interval of the middle of some figures, if there are two or more.
#[must_use]
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    centre(values)?.1
}

/// The middle one; of an even number the mean of the middle two.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values.iter().copied().filter(|value| value.is_finite()));
    middle_of(&sorted)
}

/// The lowest and the highest.
#[must_use]
pub fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = sorted(values.iter().copied().filter(|value| value.is_finite()));
    Some((*sorted.first()?, *sorted.last()?))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn middle_of(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The middle of symmetric noise, with its interval.
fn centre(values: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    if values.len() < FEW {
        let (mean, error) = mean_and_error(values)?;
        let interval = error.map(|error| student(count(values) - 1.0) * error);
        return Some((mean, interval.map(|half| (mean - half, mean + half))));
    }
    // The means of all pairs, each value with itself too: their middle is Hodges and Lehmann's estimate.
    let pairs = (0..values.len()).flat_map(|a| (a..values.len()).map(move |b| (a, b)));
    let means = sorted(pairs.map(|(a, b)| f64::midpoint(values[a], values[b])));
    let cut = rare(&signed_ranks(values.len()));
    Some((middle_of(&means)?, ends(&means, cut)))
}

/// By how much `new` lies over `old`, with the interval.
fn shift(old: &[f64], new: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    let cut = rare(&rank_sums(old.len(), new.len()));
    let Some(cut) = cut else {
        return welch(old, new);
    };
    let differences = sorted(new.iter().flat_map(|a| old.iter().map(move |b| a - b)));
    Some((middle_of(&differences)?, ends(&differences, Some(cut))))
}

/// Student's interval of the difference of two means with variances of their own.
fn welch(old: &[f64], new: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    let (before, after) = (mean_and_error(old)?, mean_and_error(new)?);
    let difference = after.0 - before.0;
    let half = before.1.zip(after.1).map(|(a, b)| {
        let (a, b) = (a * a, b * b);
        let freedom = if a + b > 0.0 {
            (a + b).powi(2) / (a * a / (count(old) - 1.0) + b * b / (count(new) - 1.0))
        } else {
            1.0
        };
        student(freedom) * (a + b).sqrt()
    });
    Some((difference, half.map(|half| (difference - half, difference + half))))
}

/// The lowest and highest of sorted figures without `cut` at each end.
fn ends(sorted: &[f64], cut: Option<usize>) -> Option<(f64, f64)> {
    let cut = cut?;
    Some((*sorted.get(cut)?, *sorted.get(sorted.len().checked_sub(cut + 1)?)?))
}

/// Returns how many figures may be left out at an end: from `ways[w]` ways to make each sum `w`, the lowest sums that
/// together are rarer than [`TAIL`]. `None`: not even the lowest is.
fn rare(ways: &[f64]) -> Option<usize> {
    let all: f64 = ways.iter().sum();
    let mut sum = 0.0;
    let rare = ways.iter().take_while(|ways| {
        sum += **ways;
        sum / all <= TAIL
    });
    rare.count().checked_sub(1)
}

/// In how many ways the ranks 1 to `count`, each taken or not, make each sum.
fn signed_ranks(count: usize) -> Vec<f64> {
    let mut ways = vec![0.0; count * (count + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        for sum in (rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

/// In how many of all orders of `first` and `second` figures so many pairs stand the wrong way round: the
/// coefficients of the Gaussian binomial.
fn rank_sums(first: usize, second: usize) -> Vec<f64> {
    let length = first * second + 1;
    let mut ways = vec![0.0; length];
    ways[0] = 1.0;
    for step in 1..=first {
        // times (1 - q^(second + step)), divided by (1 - q^step)
        for sum in (second + step..length).rev() {
            ways[sum] -= ways[sum - second - step];
        }
        for sum in step..length {
            ways[sum] += ways[sum - step];
        }
    }
    ways
}

#[expect(clippy::cast_precision_loss, reason = "rounds are few")]
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// The mean and its standard error, which takes two values.
fn mean_and_error(values: &[f64]) -> Option<(f64, Option<f64>)> {
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count(values);
    if values.len() < 2 {
        return Some((mean, None));
    }
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some((mean, Some((squares / (count(values) - 1.0) / count(values)).sqrt())))
}

/// Two-sided 95 % point of Student's distribution.
fn student(freedom: f64) -> f64 {
    const POINTS: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded down, at least 1")]
    let whole = freedom.max(1.0) as usize;
    POINTS.get(whole - 1).copied().unwrap_or(1.96 + 2.6 / freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> Rounds {
        (0..).zip(values.iter().copied()).collect()
    }

    /// Evenly spread, always the same.
    fn noise(seed: u64) -> impl Iterator<Item = f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            #[expect(clippy::cast_precision_loss, reason = "a part of 1")]
            let part = (state >> 11) as f64 / (1_u64 << 53) as f64;
            part - 0.5
        })
    }

    #[test]
    fn the_middle_and_the_ends() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
    }

    #[test]
    fn ranks_leave_out_as_many_as_the_tables_say() {
        // Tables of the signed-rank test, two-sided 5 %: critical values of 6, 8, 10 and 20 pairs.
        for (pairs, critical) in [(6, 0), (8, 3), (10, 8), (20, 52)] {
            assert_eq!(rare(&signed_ranks(pairs)), Some(critical), "{pairs}");
        }
        assert_eq!(rare(&signed_ranks(5)), None);
        // Of the rank-sum test: 4 and 4, 5 and 5, 10 and 10.
        for (size, critical) in [(4, 0), (5, 2), (10, 23)] {
            assert_eq!(rare(&rank_sums(size, size)), Some(critical), "{size}");
        }
        assert_eq!(rare(&rank_sums(3, 3)), None);
    }

    #[test]
    fn students_interval_of_few_rounds() {
        // 1, 2, 3: mean 2, standard error 1/√3, t of two degrees 4.303.
        let (low, high) = interval(&[1.0, 2.0, 3.0]).unwrap();
        assert!((low - (2.0 - 4.303 / 3f64.sqrt())).abs() < 1e-9 && (high - 4.484_344).abs() < 1e-3);
        assert_eq!(interval(&[1.0]), None);
    }

    #[test]
    fn a_steady_difference_is_found_and_an_outlier_does_not_hide_it() {
        let slow = rounds(&[100.0, 104.0, 96.0, 99.0, 101.0, 100.0, 98.0, 103.0, 100.0, 97.0, 102.0, 30.0]);
        let fast: Rounds = slow.iter().map(|(round, value)| (*round, value * 1.1)).collect();
        let mut fast_with_outlier = fast.clone();
        fast_with_outlier[3].1 = 20.0;
        for fast in [fast, fast_with_outlier] {
            let compared = ratio(&fast, &slow).unwrap();
            assert!((compared.value - 1.1).abs() < 0.01 && !compared.within_noise(), "{compared:?}");
        }
    }

    #[test]
    fn one_round_noise_and_a_percent_prove_nothing() {
        let one = ratio(&rounds(&[2.0]), &rounds(&[1.0])).unwrap();
        assert!(one.within_noise() && one.interval.is_none());
        assert!(
            ratio(&rounds(&[100.0, 140.0, 90.0]), &rounds(&[110.0, 100.0, 105.0])).unwrap().within_noise()
        );
        assert!(ratio(&rounds(&[101.0; 10]), &rounds(&[100.0; 10])).unwrap().within_noise());
    }

    #[test]
    fn no_answers_no_ratio() {
        assert_eq!(ratio(&rounds(&[0.0]), &rounds(&[1.0])), None);
        assert_eq!(ratio(&rounds(&[]), &rounds(&[1.0])), None);
        assert_eq!(change(&[], &[1.0]), None);
        assert!(change(&[1.0], &[2.0]).unwrap().within_noise());
    }

    #[test]
    fn intervals_hold_as_often_as_they_say() {
        // Student's assumes normal noise; this is even.
        for (rounds_of_a_run, at_least) in [(4, 910), (6, 935), (12, 935)] {
            let mut held = 0;
            for seed in 0..1000 {
                let mut noise = noise(seed + 1);
                let values: Vec<f64> = noise.by_ref().skip(20).take(rounds_of_a_run).collect();
                let (low, high) = interval(&values).unwrap();
                held += u32::from(low <= 0.0 && 0.0 <= high);
            }
            assert!(held >= at_least, "{held} of 1000 with {rounds_of_a_run} rounds");
        }
    }

    #[test]
    fn two_runs_differ_or_not() {
        let run = |seed, factor: f64| noise(seed).skip(20).take(10).map(move |n| factor * (1.0 + 0.1 * n));
        let old: Vec<f64> = run(1, 100.0).collect();
        assert!(change(&old, &run(2, 100.0).collect::<Vec<_>>()).unwrap().within_noise());
        let slower = change(&old, &run(3, 85.0).collect::<Vec<_>>()).unwrap();
        assert!(!slower.within_noise() && slower.value < 0.9, "{slower:?}");
        assert!(change(&[1.0, 1.01], &[1.0, 1.02]).unwrap().within_noise());
        assert!(!change(&[1.0; 2], &[2.0; 2]).unwrap().within_noise());
    }
}
