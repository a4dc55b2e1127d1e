//! JSON as other readers take it, beyond the standard (RFC 8259).

use std::borrow::Cow;

/// The values of Python, JavaScript and pandas that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Returns JSON in which `NaN` and infinities are null, and escapes of surrogates without a partner are U+FFFD; `None` if
/// it has neither.
pub(crate) fn standard(text: &str) -> Option<String> {
    let mut standard = String::with_capacity(text.len());
    let (mut is_changed, mut is_in_string) = (false, false);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (length, written) = match next {
            '"' => {
                is_in_string = !is_in_string;
                (1, Cow::Borrowed("\""))
            }
            '\\' if is_in_string => escape(rest),
            _ if is_in_string => {
                let length = rest.find(['"', '\\']).unwrap_or(rest.len());
                (length, Cow::Borrowed(&rest[..length]))
            }
            _ => match NO_NUMBERS.iter().find(|word| rest.starts_with(*word)) {
                Some(word) => (word.len(), Cow::Owned("null".to_owned())),
                None => (next.len_utf8(), Cow::Borrowed(&rest[..next.len_utf8()])),
            },
        };
        is_changed |= matches!(written, Cow::Owned(_));
        standard.push_str(&written);
        rest = &rest[length..];
    }
    is_changed.then_some(standard)
}

/// Returns the length of the escape at the start of a text, and an escape in its place.
fn escape(rest: &str) -> (usize, Cow<'_, str>) {
    let same = |length: usize| {
        let length = rest.char_indices().map(|(at, _)| at).find(|&at| at >= length).unwrap_or(rest.len());
        (length, Cow::Borrowed(&rest[..length]))
    };
    match code(rest) {
        Some(0xd800..0xdc00) if matches!(rest.get(6..).and_then(code), Some(0xdc00..0xe000)) => same(12),
        Some(0xd800..0xe000) => (6, Cow::Owned("\\ufffd".to_owned())),
        Some(_) => same(6),
        None => same(2),
    }
}

/// Returns the code unit of an escape with four hexadecimal digits.
fn code(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_and_halves_of_pairs_are_replaced() {
        for (text, expected) in [
            (
                r#"{"a": NaN, "b": [-Infinity,Infinity], "c": -1}"#,
                Some(r#"{"a": null, "b": [null,null], "c": -1}"#),
            ),
            (r#"{"a": "NaN \" NaN", "b": 1}"#, None),
            (r#"{"a": "x\ud83dy"}"#, Some(r#"{"a": "x\ufffdy"}"#)),
            (r#"{"a": "\ude00\ud83d\ude00"}"#, Some(r#"{"a": "\ufffd\ud83d\ude00"}"#)),
            (r#"{"a": "\ud83d\ud83d\ude00"}"#, Some(r#"{"a": "\ufffd\ud83d\ude00"}"#)),
            (r#"{"a": "\\ud83d é\n"}"#, None),
            (r#"{"a": "\ud83"#, None),
            (r#"{"a": "\é"#, None),
            ("", None),
        ] {
            assert_eq!(standard(text).as_deref(), expected, "{text}");
        }
    }
}
