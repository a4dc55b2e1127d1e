//! The Chinese parts of a text, and their words by jieba.

use std::sync::LazyLock;

use jieba_rs::Jieba;
use unicode_script::{Script, UnicodeScript};

use crate::tokenise::is_alphanumeric;

/// The kind of a run of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// Han characters alone, with no kana next to them.
    Chinese,
    /// Anything else, including Japanese.
    Other,
}

/// Cuts a text into runs of Han characters and of everything else. Only the neighbours of a Han run
/// decide whether it is Chinese or Japanese, so one foreign quotation does not change a whole text.
pub(super) fn runs(text: &str) -> impl Iterator<Item = (Run, &str)> {
    let mut rest = text;
    let mut before = None;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let han = is_han(first);
        let end = rest.find(|c| is_han(c) != han).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        let beside_kana = before.is_some_and(is_kana) || after.chars().next().is_some_and(is_kana);
        before = run.chars().next_back();
        rest = after;
        Some((if han && !beside_kana { Run::Chinese } else { Run::Other }, run))
    })
}

fn is_han(c: char) -> bool {
    // Below U+2E80 nothing is Han; so most text needs no search in the table.
    c >= '\u{2e80}' && c.script() == Script::Han
}

fn is_kana(c: char) -> bool {
    matches!(c.script(), Script::Hiragana | Script::Katakana)
}

/// One for the whole process: reading its dictionary takes a tenth of a second and its tables 25 MB.
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Calls `token` with every word that contains a letter or a digit.
pub(super) fn words<'t>(text: &'t str, token: &mut impl FnMut(&'t str)) {
    for piece in JIEBA.cut(text, true) {
        if piece.word.chars().any(is_alphanumeric) {
            token(piece.word);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tokenise::{Tokeniser, tokens};

    use super::*;

    #[test]
    fn han_runs_are_told_from_the_rest() {
        let mixed: Vec<_> = runs("在 arm64 上安装 Debian。").collect();
        assert_eq!(
            mixed,
            [
                (Run::Chinese, "在"),
                (Run::Other, " arm64 "),
                (Run::Chinese, "上安装"),
                (Run::Other, " Debian。")
            ]
        );
    }

    #[test]
    fn han_beside_kana_is_not_chinese() {
        let all: Vec<_> = runs("私は日本語を学ぶ 北京").map(|(run, _)| run).collect();
        assert_eq!(all.iter().filter(|&&run| run == Run::Chinese).count(), 1);
        assert_eq!(all.last(), Some(&Run::Chinese));
    }

    #[test]
    fn nothing_is_lost() {
        for text in ["", "abc", "中", "中a文", "ひ漢ひ"] {
            assert_eq!(runs(text).map(|(_, run)| run).collect::<String>(), text);
        }
    }

    #[test]
    fn chinese_words_stand_beside_english_ones() {
        assert_eq!(
            tokens(Tokeniser::WordsJieba, "我来到北京清华大学, don't panic。"),
            ["我", "来到", "北京", "清华大学", "don't", "panic"]
        );
    }

    #[test]
    fn punctuation_is_no_word() {
        assert_eq!(tokens(Tokeniser::Jieba, "北京，清华大学！ ok"), ["北京", "清华大学", "ok"]);
    }

    #[test]
    fn japanese_is_not_given_to_jieba() {
        assert_eq!(tokens(Tokeniser::WordsJieba, "日本語を"), ["日", "本", "語", "を"]);
    }
}
