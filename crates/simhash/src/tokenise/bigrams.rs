//! Words, and overlapping pairs of characters in scripts without spaces.

use unicode_script::{Script, UnicodeScript};
use unicode_segmentation::UnicodeSegmentation;

use super::Part;
use super::words::words_with;

/// Calls `token` with the words of UAX 29; adjacent characters of a script without spaces are replaced by all pairs of
/// neighbours. Pairs distinguish texts far better than characters: all long Chinese texts have the same characters. A
/// character without a neighbour is a token.
pub(super) fn words<'t>(text: &'t str, token: &mut impl FnMut(&'t str)) {
    parts(text, &mut |part| {
        if let Part::Both(text) | Part::Pair(text) = part {
            token(text);
        }
    });
}

/// Calls `part` with the words of UAX 29, and with the tokens of [`words`] among them.
pub(super) fn parts<'t>(text: &'t str, part: &mut impl FnMut(Part<'t>)) {
    words_with(text, part, pair_up);
}

fn pair_up<'t>(piece: &'t str, part: &mut impl FnMut(Part<'t>)) {
    // The last character of a script without spaces: its start, its end, and whether it is in a pair.
    let mut last: Option<(usize, usize, bool)> = None;
    for (start, word) in piece.unicode_word_indices() {
        let end = start + word.len();
        let unspaced = word.chars().next().is_some_and(is_unspaced);
        let neighbour = last.filter(|&(_, last_end, _)| unspaced && last_end == start);
        match (last, neighbour) {
            (_, Some((neighbour_start, ..))) => part(Part::Pair(&piece[neighbour_start..end])),
            (Some((alone_start, alone_end, false)), None) => part(Part::Pair(&piece[alone_start..alone_end])),
            _ => {}
        }
        part(if unspaced { Part::Word(word) } else { Part::Both(word) });
        last = unspaced.then_some((start, end, neighbour.is_some()));
    }
    if let Some((start, end, false)) = last {
        part(Part::Pair(&piece[start..end]));
    }
}

/// Returns whether each character of the script is a word in UAX 29, since the script has no spaces.
fn is_unspaced(c: char) -> bool {
    c >= '\u{e00}'
        && matches!(
            c.script(),
            Script::Han
                | Script::Hiragana
                | Script::Bopomofo
                | Script::Yi
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
        )
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Tokeniser, tokens};
    use super::parts;

    fn all(text: &str) -> Vec<&str> {
        tokens(Tokeniser::WordsBigrams, text)
    }

    #[test]
    fn neighbours_are_paired() {
        assert_eq!(all("我们在 arm64 上安装 Debian。"), ["我们", "们在", "arm64", "上安", "安装", "Debian"]);
        assert_eq!(all("在a我 b"), ["在", "a", "我", "b"]);
        assert_eq!(all("你，我们\n好"), ["你", "我们", "好"]);
    }

    #[test]
    fn the_words_are_there_as_well() {
        let text = "我们在 arm64 上安装 Debian。データを見る, 在";
        let mut words = Vec::new();
        parts(text, &mut |part| {
            if let Part::Both(word) | Part::Word(word) = part {
                words.push(word);
            }
        });
        assert_eq!(words, tokens(Tokeniser::Words, text));
    }

    #[test]
    fn katakana_and_hangul_words_stay_whole() {
        assert_eq!(all("データを見る"), ["データ", "を見", "見る"]);
        assert_eq!(all("한국어 텍스트"), ["한국어", "텍스트"]);
    }

    #[test]
    fn combining_marks_stay_with_their_letter() {
        let pairs = all("ภาษาไทย");
        assert!(
            pairs.len() >= 3 && pairs.windows(2).all(|two| two[0].chars().last() != two[1].chars().last())
        );
        assert_eq!(all("naïve Ελλάδα"), ["naïve", "Ελλάδα"]);
    }
}
