//! The designs of the paper: split the bits into r groups, let r − k of them lead, and do the same
//! again to the bits that are left, until a probe meets few enough candidates (§3.1.2).

use crate::design::table::{MAX_TABLES, TableDesign};
use hamdex_fingerprint::Fingerprint;

/// Returns the splits of the least number of tables: X(f, k, d) = 1 if d ≤ τ, else the least over r > k of
/// C(r, k) · X(f·k/r, k, d − (r − k)·f/r). No split at all if the fingerprints are so few that one
/// table's scan will do; `None` beyond [`MAX_TABLES`].
pub(super) fn least_tables(
    bits: u32,
    distance: u32,
    log2_count: f64,
    log2_candidates: f64,
) -> Option<Vec<u32>> {
    search(f64::from(bits), distance, log2_count, log2_candidates, MAX_TABLES as f64)
        .map(|(_, splits)| splits)
}

fn search(bits: f64, k: u32, log2_count: f64, log2_candidates: f64, most: f64) -> Option<(f64, Vec<u32>)> {
    if log2_count <= log2_candidates {
        return Some((1.0, Vec::new()));
    }
    let mut best: Option<(f64, Vec<u32>)> = None;
    for r in k + 1.. {
        let here = binomial(r, k);
        let group = bits / f64::from(r);
        if here > most || group < 1.0 {
            break;
        }
        let led = group * f64::from(r - k);
        let below = search(bits - led, k, log2_count - led, log2_candidates, most / here);
        let Some((below, splits)) = below else { continue };
        let total = here * below;
        if best.as_ref().is_none_or(|(least, _)| total < *least) {
            best = Some((total, [vec![r], splits].concat()));
        }
    }
    best
}

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
        assert_eq!(least_tables(64, 3, 34.0, 18.0), Some(vec![4]));
        assert_eq!(least_tables(64, 3, 34.0, 9.0), Some(vec![5]));
        assert_eq!(least_tables(64, 3, 34.0, 6.0), Some(vec![4, 4]));
        assert_eq!(least_tables(64, 3, 34.0, 2.0), Some(vec![6]));
        assert_eq!(tables::<u64>(&[4, 4], 3).len(), 16);
    }

    #[test]
    fn impossible_demands_are_refused() {
        assert_eq!(least_tables(64, 8, 40.0, 0.0), None);
    }

    #[test]
    fn binomials_are_exact() {
        assert_eq!(binomial(64, 3), 41_664.0);
        assert_eq!(binomial(5, 6), 0.0);
        assert_eq!(binomial(5, 0), 1.0);
    }
}
