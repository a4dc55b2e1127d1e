//! Python's notions of a word character, of a letter or digit, and of white space.
//!
//! For `str` patterns `\w` is `isalnum() or '_'`, and `isalnum` is general category L or N. So it
//! includes `²` and excludes combining marks, ZERO WIDTH JOINER and U+203F, unlike the `\w` of UTS 18.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// `str.isalnum` of one character.
pub(super) fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// Any punctuation: general category P.
pub(super) fn is_punctuation(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// `str.isspace` of one character: the White_Space of Unicode, and four ASCII separators.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The longest runs of `\w`.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !(is_alphanumeric(c) || c == '_')).filter(|word| !word.is_empty())
}

/// The pieces between white space: `str.split`.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_class_is_that_of_python() {
        for inside in ['a', 'Z', '0', '²', '½', 'Ⅷ', '五', 'ª', 'ﬁ', 'ё', '٣', 'ー', '々'] {
            assert!(is_alphanumeric(inside), "{inside:?}");
        }
        for outside in
            ['_', '\u{301}', '\u{93e}', '\u{200d}', '\u{203f}', '‿', '—', '。', '€', 'Ⓐ', '\u{e000}']
        {
            assert!(!is_alphanumeric(outside), "{outside:?}");
        }
    }

    #[test]
    fn the_space_class_is_that_of_python() {
        let spaces = (0..=0x10_ffff).filter_map(char::from_u32).filter(|&c| is_space(c)).count();
        assert_eq!(spaces, 29);
        assert!(is_space('\u{1c}') && is_space('\u{85}') && is_space('\u{3000}'));
        assert!(!is_space('\u{200b}') && !is_space('\u{feff}'));
    }

    #[test]
    fn combining_marks_end_a_word() {
        assert_eq!(words("i\u{307}stanbul x_y—z²").collect::<Vec<_>>(), ["i", "stanbul", "x_y", "z²"]);
    }
}
