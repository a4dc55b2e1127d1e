//! Symbols as words, for texts that have little else: `a == b` and `a != b` have the same letters.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use crate::tokenise::Tokeniser;

/// Returns whether a character is a sign: a symbol (general category S), of private use (Co) or unassigned (Cn); U+FFFD
/// is none, since it stands for any character.
pub(crate) fn is_sign(character: char) -> bool {
    if character == char::REPLACEMENT_CHARACTER {
        return false;
    }
    let category = character.general_category();
    matches!(category, GeneralCategory::PrivateUse | GeneralCategory::Unassigned)
        || character.general_category_group() == GeneralCategoryGroup::Symbol
}

/// Returns the versions of the tables.
pub(crate) fn tables() -> String {
    Tokeniser::PyWords.tables()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Returns the number of characters other than white space of ASCII.
pub(crate) fn visible(text: &str) -> usize {
    text.bytes().filter(|&byte| byte & 0xc0 != 0x80 && !is_space(byte)).count()
}

/// Calls `word` with every word of a text and every segment with a sign, in order.
pub(crate) fn words_and_signs<'t>(text: &'t str, mut word: impl FnMut(&'t str)) {
    for piece in text.split(|character: char| u8::try_from(character).is_ok_and(is_space)) {
        let mut words = piece.unicode_word_indices().peekable();
        for segment in piece.split_word_bound_indices() {
            if words.next_if_eq(&segment).is_some() || segment.1.chars().any(is_sign) {
                word(segment.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_words_among_words() {
        let mut found = Vec::new();
        words_and_signs("a == don't, \u{1f44d}\u{1f3fd}b \u{e000}!\u{b}3.14€ (x)", |word| found.push(word));
        assert_eq!(found, ["a", "=", "=", "don't", "\u{1f44d}\u{1f3fd}", "b", "\u{e000}", "3.14", "€", "x"]);
        assert_eq!(visible(" a\u{b}é\t€\n"), 3);
        assert!(
            !is_sign('!')
                && !is_sign('-')
                && !is_sign('字')
                && is_sign('~')
                && is_sign('\u{2801}')
                && !is_sign('\u{fffd}')
        );
    }
}
