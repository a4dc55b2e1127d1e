//! The designs of the paper: split the bits into r groups, let r − k of them lead, and do the same
//! again to the bits that are left, until a probe meets few enough candidates (§3.1.2).

use crate::design::table::TableDesign;
use hamdex_fingerprint::Fingerprint;

/// Returns the tables of a nested split: at each level every choice of r − k of r near-equal groups, in
/// lexicographic order, so that the first table leads with the leading bits.
pub(super) fn tables<F: Fingerprint>(splits: &[u32], distance: u32) -> Vec<TableDesign<F>> {
    nested(splits, distance, F::ZERO, F::ONES)
        .into_iter()
        .map(|mask| TableDesign { mask, radius: 0 })
        .collect()
}

fn nested<F: Fingerprint>(splits: &[u32], distance: u32, led: F, rest: F) -> Vec<F> {
    let Some((&r, deeper)) = splits.split_first() else { return vec![led] };
    let groups = split(rest, r);
    choices(r, r - distance)
        .into_iter()
        .flat_map(|chosen| {
            let lead = chosen.into_iter().fold(F::ZERO, |mask, group| mask | groups[group as usize]);
            nested(deeper, distance, led | lead, rest & !lead)
        })
        .collect()
}

/// Returns the bits of `mask` in `parts` near-equal groups of neighbours, the larger groups first.
pub(crate) fn split<F: Fingerprint>(mask: F, parts: u32) -> Vec<F> {
    let positions: Vec<u32> = (0..F::BITS).filter(|&p| mask & F::bit(p) != F::ZERO).collect();
    let (each, larger) = (positions.len() / parts as usize, positions.len() % parts as usize);
    let mut rest = positions.as_slice();
    (0..parts as usize)
        .map(|group| {
            let (mine, others) = rest.split_at(each + usize::from(group < larger));
            rest = others;
            mine.iter().fold(F::ZERO, |mask, &p| mask | F::bit(p))
        })
        .collect()
}

/// Returns all ways to choose `count` of 0..`of`, each ascending, in lexicographic order.
pub(super) fn choices(of: u32, count: u32) -> Vec<Vec<u32>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    (0..of)
        .flat_map(|last| {
            choices(last, count - 1).into_iter().map(move |mut chosen| {
                chosen.push(last);
                chosen
            })
        })
        .collect()
}

/// C(n, k), exact below 2^53.
pub(super) fn binomial(n: u32, k: u32) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k.min(n - k)).fold(1.0, |product, i| product * f64::from(n - i) / f64::from(i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_examples_come_out() {
        // §3.1.1: k = 3, 64 bits, 2^34 fingerprints: 4 tables with 2^18 candidates, 16 with 2^6,
        // 10 with 2^8.5 (25 or 26 bits lead), 20 with about 2^2.
        for (splits, count, least_prefix) in
            [(&[4][..], 4, 16), (&[5], 10, 25), (&[4, 4], 16, 28), (&[6], 20, 31)]
        {
            let tables = tables::<u64>(splits, 3);
            let least = tables.iter().map(|table| table.mask.count_ones()).min();
            assert_eq!((tables.len(), least), (count, Some(least_prefix)), "{splits:?}");
        }
    }

    #[test]
    fn binomials_are_exact() {
        assert_eq!(binomial(64, 3), 41_664.0);
        assert_eq!(binomial(5, 6), 0.0);
        assert_eq!(binomial(5, 0), 1.0);
    }
}
