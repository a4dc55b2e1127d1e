//! The cosine of term counts, as a method to compare with (Salton's vector space model).

use std::collections::HashMap;
use std::num::NonZeroUsize;

use hamdex_simhash::Shingler;

use crate::truth::{LevelScore, Levels, STEP_PERCENT, Truth, percents};

/// Returns the scores of the cosine of the angle between texts as vectors, whose components are the numbers of
/// occurrences of each word (as [`Shingler`] cuts them), for thresholds of 100 hundredths down to 5 in steps of 5.
/// The level is the least cosine, in hundredths.
///
/// Every pair that shares a word is compared: a word that m documents share costs m²/2 steps.
pub(crate) fn by_cosine<T: AsRef<str>>(texts: &[T], truth: &Truth) -> Vec<LevelScore> {
    let mut shingler = Shingler::new(NonZeroUsize::MIN);
    let mut numbers: HashMap<Box<str>, usize> = HashMap::new();
    // The documents that have a word, and how often.
    let mut holders: Vec<Vec<(u32, f64)>> = Vec::new();
    let mut norms: Vec<f64> = Vec::with_capacity(texts.len());
    let mut products: Vec<f64> = vec![0.0; texts.len()];
    let mut met: Vec<u32> = Vec::new();
    let mut levels = Levels::new(truth, percents().count());
    for (document, text) in (0..).zip(texts) {
        let mut counts: HashMap<usize, f64> = HashMap::new();
        shingler.words(text.as_ref(), |word| {
            let number = numbers.get(word).copied().unwrap_or_else(|| {
                holders.push(Vec::new());
                numbers.insert(word.into(), holders.len() - 1);
                holders.len() - 1
            });
            *counts.entry(number).or_default() += 1.0;
        });
        let norm = counts.values().map(|count| count * count).sum::<f64>().sqrt();
        for (&word, &count) in &counts {
            for &(other, its) in &holders[word] {
                if products[other as usize] == 0.0 {
                    met.push(other);
                }
                products[other as usize] += count * its;
            }
            holders[word].push((document, count));
        }
        for other in met.drain(..) {
            let product = std::mem::take(&mut products[other as usize]);
            // Products are whole numbers; the roots are not, so an angle of 0 may come out a little wider.
            let percent = (product / (norm * norms[other as usize]) * 100.0 + 1e-9) as u32;
            if percent >= STEP_PERCENT {
                levels.report(((100 - percent.min(100)).div_ceil(STEP_PERCENT)) as usize, other, document);
            }
        }
        norms.push(norm);
    }
    percents().zip(levels.scores()).map(|(level, score)| LevelScore { level, score }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Score;

    #[test]
    fn the_cosine_is_that_of_the_counts() {
        // (2, 1) and (1, 1): 3 / √10 = 0.948...; (1, 1) and (3, 3) have an angle of 0.
        let texts = ["a a b", "b a", "A, b! a b a b", "c", ""];
        let scores = by_cosine(&texts, &Truth::of_pairs([(1, 2)]));
        let at = |percent| scores.iter().find(|each| each.level == percent).unwrap().score;
        assert_eq!(at(100), Score { reported: 1, right: 1, truth: 1 });
        assert_eq!(at(95), Score { reported: 1, right: 1, truth: 1 });
        assert_eq!(at(90), Score { reported: 3, right: 1, truth: 1 });
        assert_eq!(at(5), Score { reported: 3, right: 1, truth: 1 });
    }
}
