//! W-shingling and resemblance, as a method to compare with (Broder, "On the resemblance and containment of
//! documents", SEQUENCES 1997).

use std::collections::HashMap;
use std::num::NonZeroUsize;

use hamdex_simhash::Shingler;

use crate::truth::{LevelScore, Levels, STEP_PERCENT, Truth, percents};

/// Returns the scores of exact resemblance of sets of shingles of `width` words (as [`Shingler`] cuts them;
/// Broder's examples have 4, his experiment 10), for thresholds of 100 hundredths down to 5 in steps of 5.
/// The level is the least resemblance, in hundredths.
///
/// The resemblance is that of the whole sets, not of a sketch: the upper bound of the method. Pairs
/// that share no shingle cost nothing; a shingle that m documents share costs m²/2 steps. Memory is
/// 12 bytes per shingle and document, and a list for each distinct one.
pub(crate) fn by_resemblance<T: AsRef<str>>(
    texts: &[T],
    truth: &Truth,
    width: NonZeroUsize,
) -> Vec<LevelScore> {
    let mut shingler = Shingler::new(width);
    let mut holders: HashMap<u64, Vec<u32>> = HashMap::new();
    let mut sizes: Vec<u32> = Vec::with_capacity(texts.len());
    let mut shared: Vec<u32> = vec![0; texts.len()];
    let mut met: Vec<u32> = Vec::new();
    let mut levels = Levels::new(truth, percents().count());

    for (document, text) in (0..).zip(texts) {
        let shingles = shingler.shingles(text.as_ref());
        let shingles = shingles.hashes();
        for &shingle in shingles {
            let others = holders.entry(shingle).or_default();
            for &other in others.iter() {
                if shared[other as usize] == 0 {
                    met.push(other);
                }
                shared[other as usize] += 1;
            }
            others.push(document);
        }
        for other in met.drain(..) {
            let both = std::mem::take(&mut shared[other as usize]);
            let either = sizes[other as usize] + shingles.len() as u32 - both;
            let percent = (u64::from(both) * 100 / u64::from(either)) as u32;
            if percent >= STEP_PERCENT {
                levels.report(((100 - percent).div_ceil(STEP_PERCENT)) as usize, other, document);
            }
        }
        sizes.push(shingles.len() as u32);
    }
    percents().zip(levels.scores()).map(|(level, score)| LevelScore { level, score }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Score;

    fn at(scores: &[LevelScore], percent: u32) -> Score {
        scores.iter().find(|each| each.level == percent).unwrap().score
    }

    #[test]
    fn resemblance_is_shared_over_all() {
        // Shingles of one word: {a b c} and {a b d} share 2 of 4; the third text shares nothing.
        let truth = Truth::of_pairs([(0, 1)]);
        let scores = by_resemblance(&["a b c", "a b d d", "x y", "X, y!"], &truth, NonZeroUsize::MIN);
        assert_eq!(scores.len(), 20);
        assert_eq!(at(&scores, 100), Score { reported: 1, right: 0, truth: 1 });
        assert_eq!(at(&scores, 55), Score { reported: 1, right: 0, truth: 1 });
        assert_eq!(at(&scores, 50), Score { reported: 2, right: 1, truth: 1 });
        assert_eq!(at(&scores, 5), Score { reported: 2, right: 1, truth: 1 });
    }

    #[test]
    fn texts_without_words_resemble_nothing() {
        let scores = by_resemblance(&["", "", "!"], &Truth::default(), NonZeroUsize::MIN);
        assert!(scores.iter().all(|each| each.score.reported == 0));
    }
}
