//! Length-limited Huffman codes, canonical.
//!
//! The lengths come from the package-merge algorithm (Larmore and Hirschberg, "A fast algorithm for
//! optimal length-limited Huffman codes", J. ACM 1990), which is exact. Every symbol gets a code, also
//! one that was never counted, so the code is always complete: no bit string is invalid.

/// The longest code, in bits. 64 and 128 symbols fit, and what the limit costs against an unlimited
/// code is too small to measure.
pub(crate) const MAX_CODE_BITS: u32 = 16;

/// A leaf or two nodes put together, in an arena.
#[derive(Clone, Copy)]
struct Node {
    weight: u128,
    children: Children,
}

#[derive(Clone, Copy)]
enum Children {
    Symbol(usize),
    Pair(usize, usize),
}

/// Returns the lengths of an optimal code with at most [`MAX_CODE_BITS`] bits per symbol.
///
/// # Panics
/// When there are fewer than two symbols or more than 2^[`MAX_CODE_BITS`].
pub(crate) fn code_lengths(counts: &[u64]) -> Vec<u8> {
    assert!((2..=1usize << MAX_CODE_BITS).contains(&counts.len()), "{} symbols", counts.len());
    let mut arena: Vec<Node> = counts
        .iter()
        .enumerate()
        .map(|(symbol, &count)| Node { weight: u128::from(count), children: Children::Symbol(symbol) })
        .collect();
    let mut leaves: Vec<usize> = (0..counts.len()).collect();
    leaves.sort_by_key(|&leaf| arena[leaf].weight);

    // From the longest codes to the shortest: pair up the level below, merge with the leaves.
    let mut level = leaves.clone();
    for _ in 1..MAX_CODE_BITS {
        let mut packages = Vec::with_capacity(level.len() / 2);
        for pair in level.chunks_exact(2) {
            let weight = arena[pair[0]].weight + arena[pair[1]].weight;
            packages.push(arena.len());
            arena.push(Node { weight, children: Children::Pair(pair[0], pair[1]) });
        }
        level = leaves.iter().copied().chain(packages).collect();
        // Stable: equal weights stay in the order leaves first, so the result is always the same.
        level.sort_by_key(|&node| arena[node].weight);
    }

    let mut lengths = vec![0; counts.len()];
    let mut open: Vec<usize> = level[..2 * counts.len() - 2].to_vec();
    while let Some(node) = open.pop() {
        match arena[node].children {
            Children::Symbol(symbol) => lengths[symbol] += 1,
            Children::Pair(left, right) => open.extend([left, right]),
        }
    }
    lengths
}

/// Returns the canonical codes of the lengths: shorter codes first, then smaller symbols, counting upwards.
pub(crate) fn canonical_codes(lengths: &[u8]) -> Vec<u16> {
    let mut codes = vec![0; lengths.len()];
    let mut next = 0u32;
    for length in 1..=MAX_CODE_BITS {
        next <<= 1;
        for (code, _) in codes.iter_mut().zip(lengths).filter(|(_, l)| u32::from(**l) == length) {
            *code = next as u16;
            next += 1;
        }
    }
    codes
}

/// Returns the bits that symbols which occur so often take with codes of these lengths.
pub(crate) fn cost(counts: &[u64], lengths: &[u8]) -> u128 {
    counts.iter().zip(lengths).map(|(&count, &length)| u128::from(count) * u128::from(length)).sum()
}

/// Returns whether the lengths make a complete code: each from 1 to the limit, with a Kraft sum of exactly 1.
pub(crate) fn is_complete(lengths: &[u8]) -> bool {
    let in_range = lengths.iter().all(|&l| (1..=MAX_CODE_BITS).contains(&u32::from(l)));
    in_range
        && lengths.iter().map(|&l| 1u64 << (MAX_CODE_BITS - u32::from(l))).sum::<u64>() == 1 << MAX_CODE_BITS
}

#[cfg(test)]
mod tests {
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Returns the cost of an unlimited Huffman code: the sum of all inner nodes.
    fn unlimited_cost(counts: &[u64]) -> u64 {
        let mut heap: BinaryHeap<_> = counts.iter().map(|&c| std::cmp::Reverse(c)).collect();
        let mut cost = 0;
        while let (Some(a), Some(b)) = (heap.pop(), heap.pop()) {
            cost += a.0 + b.0;
            heap.push(std::cmp::Reverse(a.0 + b.0));
            if heap.len() == 1 {
                break;
            }
        }
        cost
    }

    fn cost(counts: &[u64], lengths: &[u8]) -> u64 {
        counts.iter().zip(lengths).map(|(&c, &l)| c * u64::from(l)).sum()
    }

    proptest! {
        #[test]
        fn codes_are_complete_and_optimal_where_the_limit_does_not_bind(
            counts in prop::collection::vec(1u64..50, 64),
        ) {
            let lengths = code_lengths(&counts);
            prop_assert!(is_complete(&lengths));
            prop_assert_eq!(cost(&counts, &lengths), unlimited_cost(&counts));
        }

        #[test]
        fn codes_are_complete_for_any_counts(counts in prop::collection::vec(any::<u64>(), 128)) {
            prop_assert!(is_complete(&code_lengths(&counts)));
        }
    }

    #[test]
    fn no_counts_give_the_flat_code() {
        assert_eq!(code_lengths(&[0; 64]), [6; 64]);
        assert_eq!(code_lengths(&[0; 128]), [7; 128]);
    }

    #[test]
    fn the_limit_holds_where_huffman_would_exceed_it() {
        let fibonacci: Vec<u64> = std::iter::successors(Some((1u64, 1u64)), |&(a, b)| Some((b, a + b)))
            .map(|(a, _)| a)
            .take(64)
            .collect();
        let lengths = code_lengths(&fibonacci);
        assert!(is_complete(&lengths));
        assert_eq!(lengths.iter().max(), Some(&16));
        assert!(lengths.is_sorted_by(|rare, common| rare >= common), "{lengths:?}");
    }

    #[test]
    fn canonical_codes_count_upwards() {
        assert_eq!(canonical_codes(&[2, 1, 3, 3]), [0b10, 0b0, 0b110, 0b111]);
    }

    #[test]
    fn incomplete_lengths_are_seen() {
        assert!(!is_complete(&[1, 2]));
        assert!(!is_complete(&[1, 1, 1]));
        assert!(!is_complete(&[0, 1, 1]));
        assert!(!is_complete(&[17, 1]));
        assert!(is_complete(&[1, 1]));
    }
}
