//! The token sample of trafilatura.

use super::python;

/// The number of tokens (half the fingerprint's width) that must be left for a least length to be used.
const ENOUGH: usize = 32;

/// Returns the tokens between white space, stripped of ASCII punctuation, that consist of letters and digits; without
/// any (in languages with other punctuation), the text is cut at punctuation too. Keeps tokens longer than 4
/// characters, or 3, 2, 1, whichever first leaves at least 32; otherwise all.
pub(super) fn sample(text: &str) -> Vec<&str> {
    let plain = |token: &&str| !token.is_empty() && token.chars().all(python::is_alphanumeric);
    let mut tokens: Vec<&str> = text
        .split(python::is_space)
        .map(|token| token.trim_matches(|c: char| c.is_ascii_punctuation()))
        .filter(plain)
        .collect();
    if tokens.is_empty() {
        tokens = text.split(|c| python::is_space(c) || python::is_punctuation(c)).filter(plain).collect();
    }

    let longer_than = |token: &str, least: usize| token.chars().nth(least).is_some();
    for least in (1..=4).rev() {
        if tokens.iter().filter(|token| longer_than(token, least)).count() >= ENOUGH {
            tokens.retain(|token| longer_than(token, least));
            break;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_is_stripped_at_the_ends_only() {
        assert_eq!(sample("(Hello), wor-ld! a.b 42."), ["Hello", "42"]);
    }

    #[test]
    fn chinese_punctuation_cuts_where_nothing_else_is_found() {
        assert_eq!(sample("这是一个测试。我们在测试中文。"), ["这是一个测试", "我们在测试中文"]);
        assert_eq!(sample("测试。 ok"), ["ok"]);
    }

    #[test]
    fn the_length_limit_relaxes_until_enough_are_left() {
        let long = "abcde ".repeat(32);
        assert_eq!(sample(&format!("{long} abcd abc")).len(), 32);
        let fewer = "abcde ".repeat(31);
        assert_eq!(sample(&format!("{fewer} abcd abc")).len(), 32);
        assert_eq!(sample(&format!("{fewer} abc a")).len(), 32);
        assert_eq!(sample("abcde a").len(), 2);
    }
}
