//! Finds the Chinese parts of a text.

use unicode_script::{Script, UnicodeScript};

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

#[cfg(test)]
mod tests {
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
}
