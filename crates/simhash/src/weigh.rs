//! Weights of features: groups equal features, weighs them and keeps the heaviest.

use std::cmp::Ordering;

use crate::recipe::Top;

/// Returns the distinct features with `weight(feature, occurrences)`, heaviest first, those of equal weight
/// in byte order, at most as many as `top` lets vote. The order is part of the result: doubles are summed
/// in it. Features of weight 0 are left out.
pub(crate) fn heaviest(
    mut features: Vec<&str>,
    top: Top,
    weight: impl Fn(&str, usize) -> f64,
) -> Vec<(&str, f64)> {
    features.sort_unstable();
    let mut weighed: Vec<(&str, f64)> = features
        .chunk_by(|a, b| a == b)
        .map(|equal| (equal[0], weight(equal[0], equal.len())))
        .filter(|&(_, weight)| weight > 0.0)
        .collect();
    if let Top::Heaviest(count) = top
        && count.get() < weighed.len()
    {
        weighed.select_nth_unstable_by(count.get(), heavier_first);
        weighed.truncate(count.get());
    }
    weighed.sort_unstable_by(heavier_first);
    weighed
}

fn heavier_first(a: &(&str, f64), b: &(&str, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'t>(features: &[&'t str], top: &str) -> Vec<&'t str> {
        let weighed = heaviest(features.to_vec(), top.parse().unwrap(), |feature, count| {
            if feature == "z" { 0.0 } else { count as f64 }
        });
        weighed.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn equal_weights_are_told_apart_by_their_bytes() {
        assert_eq!(names(&["d", "b", "c", "a", "c"], "all"), ["c", "a", "b", "d"]);
        assert_eq!(names(&["d", "b", "c", "a", "c"], "2"), ["c", "a"]);
        assert_eq!(names(&["a", "d", "c", "c", "b"], "2"), ["c", "a"]);
        assert_eq!(names(&["b", "a"], "9"), ["a", "b"]);
    }

    #[test]
    fn features_of_weight_zero_do_not_vote() {
        assert_eq!(names(&["z", "a"], "2"), ["a"]);
    }
}
