//! The words of mfonda/simhash: matches of `[\w']+(?:\://[\w\./]+){0,1}` with the `\w` of ASCII.

/// All matches, from left to right.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_word)?;
        let word = &rest[start..];
        let mut end = word.find(|c| !is_word(c)).unwrap_or(word.len());
        if let Some(address) = word[end..].strip_prefix("://") {
            let length = address.find(|c| !is_address(c)).unwrap_or(address.len());
            // The pattern requires at least one character there; without it the scheme alone is a word.
            if length > 0 {
                end += "://".len() + length;
            }
        }
        let (matched, after) = word.split_at(end);
        rest = after;
        Some(matched)
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

fn is_address(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<&str> {
        words(text).collect()
    }

    #[test]
    fn words_and_addresses_are_matched() {
        assert_eq!(all("it's http://a.org/x_y?q=1 ok"), ["it's", "http://a.org/x_y", "q", "1", "ok"]);
        assert_eq!(all("x:// y:/z a://b://c"), ["x", "y", "z", "a://b", "c"]);
        assert_eq!(all("https://it's"), ["https://it", "'s"]);
    }

    #[test]
    fn letters_beyond_ascii_separate() {
        assert_eq!(all("naïve 中文"), ["na", "ve"]);
        assert_eq!(all(""), [""; 0]);
    }
}
