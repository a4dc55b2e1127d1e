//! Sketches of super-shingles, as a method to compare with (Broder, Glassman, Manasse and Zweig, "Syntactic Clustering
//! of the Web", WWW 1997; with these numbers Fetterly, Manasse and Najork, "On the Evolution of Clusters of
//! Near-Duplicate Web Pages", 2003).

use std::collections::HashMap;
use std::num::NonZeroUsize;

use hamdex_simhash::Shingler;
use hamdex_simhash::recipe::Hash;

use crate::truth::{LevelScore, Levels, Truth};

/// The super-shingles of a text, and the least shingles that each is made of.
const SUPER_SHINGLES: usize = 6;
const OF_EACH: usize = 14;

/// Returns the scores of sketches: 84 permutations give 84 least shingles of `width` words, each 14 of which are hashed
/// to one of six super-shingles; pairs are reported that have at least n of them in common, for n from 6 down to 1.
/// The level is n; Broder's rule is n = 2.
///
/// A super-shingle that m documents share makes m²/2 pairs.
pub(crate) fn by_super_shingles<T: AsRef<str>>(
    texts: &[T],
    truth: &Truth,
    width: NonZeroUsize,
) -> Vec<LevelScore> {
    let mut shingler = Shingler::new(width);
    let mut holders: [HashMap<u64, Vec<u32>>; SUPER_SHINGLES] = Default::default();
    let mut equal: HashMap<u32, u32> = HashMap::new();
    let mut levels = Levels::new(truth, SUPER_SHINGLES);
    for (document, text) in (0..).zip(texts) {
        let shingles = shingler.shingles(text.as_ref());
        let Some(sketch) = sketch(shingles.hashes()) else { continue };
        for (holders, super_shingle) in holders.iter_mut().zip(sketch) {
            let others = holders.entry(super_shingle).or_default();
            others.iter().for_each(|&other| *equal.entry(other).or_default() += 1);
            others.push(document);
        }
        for (other, equal) in equal.drain() {
            levels.report(SUPER_SHINGLES - equal as usize, other, document);
        }
    }
    let counts = (1..=SUPER_SHINGLES as u32).rev();
    counts.zip(levels.scores()).map(|(level, score)| LevelScore { level, score }).collect()
}

/// Returns the super-shingles of a set of shingles; none of an empty one.
fn sketch(shingles: &[u64]) -> Option<[u64; SUPER_SHINGLES]> {
    let least = |permutation: usize| shingles.iter().map(|&shingle| permuted(shingle, permutation)).min();
    (!shingles.is_empty()).then(|| {
        std::array::from_fn(|part| {
            let least = (part * OF_EACH..(part + 1) * OF_EACH).flat_map(least);
            let bytes: Vec<u8> = least.flat_map(u64::to_le_bytes).collect();
            Hash::Xxh3 { seed: 0 }.of(&bytes)
        })
    })
}

/// Returns the place of a shingle in one of the permutations.
fn permuted(shingle: u64, permutation: usize) -> u64 {
    // A bijection that differs for each: shingles are hashes already, so one round mixes enough.
    let mut place = shingle ^ (permutation as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    place = (place ^ place >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    place ^ place >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Score;

    #[test]
    fn equal_texts_share_all_and_different_ones_nothing() {
        let story = |start: usize| (start..start + 200).map(|word| format!("w{word} ")).collect::<String>();
        let texts = [story(0), story(0).to_uppercase(), story(1000), String::new(), String::new()];
        let scores = by_super_shingles(&texts, &Truth::of_pairs([(0, 1)]), NonZeroUsize::MIN);
        assert_eq!(scores.iter().map(|each| each.level).collect::<Vec<_>>(), [6, 5, 4, 3, 2, 1]);
        assert!(scores.iter().all(|each| each.score == Score { reported: 1, right: 1, truth: 1 }));
    }

    #[test]
    fn a_super_shingle_is_equal_as_often_as_the_resemblance_says() {
        // Of sets that resemble each other to 0.95, 14 least shingles are equal with a probability of about 0.49.
        let set = |changed: u64| -> Vec<u64> {
            let shingle = |number: u64| number.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number << 40;
            (0..780).map(|number| shingle(if number < 20 { number + changed } else { number })).collect()
        };
        let whole = sketch(&set(0)).unwrap();
        let equal: usize = (1..200u64)
            .map(|round| {
                let other = sketch(&set(round * 10_000)).unwrap();
                whole.iter().zip(other).filter(|(one, other)| **one == *other).count()
            })
            .sum();
        let share = equal as f64 / (199 * SUPER_SHINGLES) as f64;
        assert!((0.35..0.65).contains(&share), "{share}");
    }
}
