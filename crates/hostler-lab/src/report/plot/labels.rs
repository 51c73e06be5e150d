//! Names beside the ends of lines, pushed apart so that none covers another.

/// Least distance of two names.
pub(super) const APART: f64 = 15.0;

/// Moves places apart by [`APART`] where they are nearer, within bounds as long as there is room; their order stays.
pub(super) fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let mut placed = wanted.to_vec();
    let mut least = top;
    for index in &order {
        placed[*index] = placed[*index].max(least);
        least = placed[*index] + APART;
    }
    let mut most = bottom;
    for index in order.iter().rev() {
        placed[*index] = placed[*index].min(most);
        most = placed[*index] - APART;
    }
    placed
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_do_not_cover_each_other() {
        let placed = super::spread(&[100.0, 98.0, 20.0, 101.0], 0.0, 105.0);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 14.9), "{placed:?}");
        assert!(sorted[3] <= 105.0 && placed[1] < placed[0] && placed[0] < placed[3], "{placed:?}");
    }
}
