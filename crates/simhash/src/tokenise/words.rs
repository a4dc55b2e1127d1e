//! The words of Unicode Standard Annex 29, piece by piece between white space; in scripts without spaces, overlapping
//! pairs of characters instead.

use unicode_script::{Script, UnicodeScript};
use unicode_segmentation::UnicodeSegmentation;

use crate::tokenise::Part;

/// Calls `token` with every word of `text`: every segment that contains a letter or a digit.
pub(super) fn words<'t>(text: &'t str, token: &mut impl FnMut(&'t str)) {
    let mut part = |part: Part<'t>| {
        if let Part::Both(word) = part {
            token(word);
        }
    };
    words_with(text, &mut part, |piece, part| piece.unicode_words().for_each(|word| part(Part::Both(word))));
}

/// As [`words`], with `other` to cut the longest pieces that contain anything but ASCII and no ASCII white
/// space.
///
/// ASCII white space ends every word, so the pieces can be cut one by one. (The only difference is a
/// combining mark after a space: in the annex it belongs to the space, here to nothing.)
fn words_with<'t, T: FnMut(Part<'t>)>(text: &'t str, part: &mut T, other: impl Fn(&'t str, &mut T)) {
    let is_space = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let mut rest = text;
    while let Some(first) = rest.bytes().position(|byte| !byte.is_ascii()) {
        let bytes = rest.as_bytes();
        let start = bytes[..first].iter().rposition(is_space).map_or(0, |space| space + 1);
        let end = bytes[first..].iter().position(is_space).map_or(bytes.len(), |length| first + length);
        ascii_words(&rest[..start], &mut |word| part(Part::Both(word)));
        other(&rest[start..end], part);
        rest = &rest[end..];
    }
    ascii_words(rest, &mut |word| part(Part::Both(word)));
}

/// The rules of the annex reduced to ASCII, where most words of most texts are: letters,
/// digits and low lines stay together (WB5, WB8 to WB10, WB13a and b), and so do two letters with one of
/// `'.:` between them (WB6, WB7), and two digits with one of `'.,;` (WB11, WB12).
fn ascii_words<'t>(text: &'t str, token: &mut impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let class = |index: usize| bytes.get(index).map_or(Class::Other, |&byte| CLASSES[usize::from(byte)]);
    let mut end = 0;
    while end < bytes.len() {
        let start = end;
        let mut is_word = false;
        loop {
            while class(end) != Class::Other {
                is_word |= class(end) != Class::LowLine;
                end += 1;
            }
            let joins = matches!(
                (class(end.wrapping_sub(1)), bytes.get(end), class(end + 1)),
                (Class::Letter, Some(b'\'' | b'.' | b':'), Class::Letter)
                    | (Class::Digit, Some(b'\'' | b'.' | b',' | b';'), Class::Digit)
            );
            if end == start || !joins {
                break;
            }
            end += 1;
        }
        if is_word {
            token(&text[start..end]);
        }
        end = end.max(start + 1);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Letter,
    Digit,
    LowLine,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        if character.is_ascii_alphabetic() {
            classes[byte] = Class::Letter;
        } else if character.is_ascii_digit() {
            classes[byte] = Class::Digit;
        } else if character == b'_' {
            classes[byte] = Class::LowLine;
        }
        byte += 1;
    }
    classes
};

/// Calls `token` with the words of UAX 29; adjacent characters of a script without spaces are replaced by all pairs of
/// neighbours. Pairs distinguish texts far better than characters: all long Chinese texts have the same characters. A
/// character without a neighbour is a token.
pub(super) fn words_and_bigrams<'t>(text: &'t str, token: &mut impl FnMut(&'t str)) {
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
    use proptest::prelude::*;

    use crate::tokenise::{Tokeniser, tokens};

    use super::*;

    fn all(text: &str) -> Vec<&str> {
        let mut tokens = Vec::new();
        words(text, &mut |token| tokens.push(token));
        tokens
    }

    proptest! {
        #[test]
        fn ascii_is_cut_as_the_library_cuts_it(text in "[a-b0-1_'.:,; \n-]{0,40}|[ -~\t\r\n]{0,40}") {
            prop_assert_eq!(all(&text), text.unicode_words().collect::<Vec<_>>());
        }

        #[test]
        fn other_text_is_cut_as_the_library_cuts_it(text in "[a1_.:' \néяΣ中カひ한ก’\u{301}\u{200d}\u{2028}🇦]{0,20}") {
            prop_assert_eq!(all(&text), text.unicode_words().collect::<Vec<_>>());
        }
    }

    #[test]
    fn infixes_join_like_with_like() {
        assert_eq!(
            all("don't 3.14 a.1 1'000 e:g x_y __ a..b 1,a u.s.a."),
            ["don't", "3.14", "a", "1", "1'000", "e:g", "x_y", "a", "b", "1", "a", "u.s.a"]
        );
    }

    fn parts_of(text: &str) -> Vec<&str> {
        tokens(Tokeniser::WordsBigrams, text)
    }

    #[test]
    fn neighbours_are_paired() {
        assert_eq!(
            parts_of("我们在 arm64 上安装 Debian。"),
            ["我们", "们在", "arm64", "上安", "安装", "Debian"]
        );
        assert_eq!(parts_of("在a我 b"), ["在", "a", "我", "b"]);
        assert_eq!(parts_of("你，我们\n好"), ["你", "我们", "好"]);
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
        assert_eq!(parts_of("データを見る"), ["データ", "を見", "見る"]);
        assert_eq!(parts_of("한국어 텍스트"), ["한국어", "텍스트"]);
    }

    #[test]
    fn combining_marks_stay_with_their_letter() {
        let pairs = parts_of("ภาษาไทย");
        assert!(
            pairs.len() >= 3 && pairs.windows(2).all(|two| two[0].chars().last() != two[1].chars().last())
        );
        assert_eq!(parts_of("naïve Ελλάδα"), ["naïve", "Ελλάδα"]);
    }
}
