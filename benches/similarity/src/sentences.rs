//! A text's longest sentences, as a method to compare with.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

use crate::truth::{LevelScore, Levels, Score, Truth};

/// Returns the scores of equality of the `n` longest sentences (of Unicode Standard Annex 29; in lower case, white
/// space and punctuation left out; longest in characters, of equal ones the earlier), for every n from 1
/// to `max`. The level is n. Of a text with fewer sentences all count; one without any is in no pair.
///
/// Time and memory are linear in the texts, but m texts with equal sentences make m²/2 pairs.
pub(crate) fn by_longest_sentences<T: AsRef<str>>(texts: &[T], truth: &Truth, max: usize) -> Vec<LevelScore> {
    let longest: Vec<Vec<String>> = texts.iter().map(|text| longest(text.as_ref(), max)).collect();
    let at = |sentences| LevelScore { level: sentences as u32, score: score(&longest, truth, sentences) };
    (1..=max).map(at).collect()
}

fn score(longest: &[Vec<String>], truth: &Truth, sentences: usize) -> Score {
    let mut levels = Levels::new(truth, 1);
    let mut equal: HashMap<String, Vec<u32>> = HashMap::new();
    for (document, its) in (0..).zip(longest) {
        let joined = its[..sentences.min(its.len())].join("\n");
        if joined.is_empty() {
            continue;
        }
        let others = equal.entry(joined).or_default();
        others.iter().for_each(|&other| levels.report(0, other, document));
        others.push(document);
    }
    levels.scores().last().unwrap_or_default()
}

fn longest(text: &str, max: usize) -> Vec<String> {
    // Lowered after cutting: a sentence does not end before a lower-case letter.
    let mut sentences: Vec<String> = text
        .unicode_sentences()
        .map(|sentence| sentence.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect())
        .filter(|sentence: &String| !sentence.is_empty())
        .collect();
    sentences.sort_by_cached_key(|sentence| std::cmp::Reverse(sentence.chars().count()));
    sentences.truncate(max);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_sentences_decide() {
        let texts = [
            "A rather long sentence. Short one.",
            "Other. A rather LONG, sentence!",
            "短。这是一个比较长的句子。",
            "这是一个比较长的句子！",
            "",
        ];
        let scores = by_longest_sentences(&texts, &Truth::of_pairs([(0, 1)]), 2);
        assert_eq!(scores[0].score, Score { reported: 2, right: 1, truth: 1 });
        assert_eq!(scores[1].score, Score { reported: 0, right: 0, truth: 1 });
    }
}
