//! Words of Chinese text, by jieba.

use std::sync::LazyLock;

use jieba_rs::Jieba;

use super::python;

/// One for the whole process: reading its dictionary takes a tenth of a second and its tables 25 MB.
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Calls `token` with every word that contains a letter or a digit.
pub(super) fn words<'t>(text: &'t str, token: &mut impl FnMut(&'t str)) {
    for piece in JIEBA.cut(text, true) {
        if piece.word.chars().any(python::is_alphanumeric) {
            token(piece.word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tokeniser, tokens};

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
