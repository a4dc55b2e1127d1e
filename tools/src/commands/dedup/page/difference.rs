//! Two texts next to each other, with their differences marked.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::html::escape;

/// The most words of a text that are compared and shown.
pub(super) const MAX_WORDS: usize = 3000;

/// Equal words shown before and after a difference; more of them are left out.
const CONTEXT: usize = 25;

/// The most words of a text without a difference.
const MAX_EQUAL: usize = 60;

/// A word, and whether a line ends behind it.
#[derive(Debug, Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    /// Whether a blank separates it from the next one.
    has_blank: bool,
    ends_line: bool,
}

/// Returns the beginning of a text, up to and including [`MAX_WORDS`], and whether it is all.
pub(super) fn beginning(text: &str) -> (&str, bool) {
    match words(text).nth(MAX_WORDS) {
        Some(next) => (&text[..next.text.as_ptr() as usize - text.as_ptr() as usize], false),
        None => (text, true),
    }
}

/// Returns the words of a text; each character of a script without blanks is one.
fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if is_unspaced(first) {
            first.len_utf8()
        } else {
            rest.find(|c: char| c.is_whitespace() || is_unspaced(c)).unwrap_or(rest.len())
        };
        let (text, after) = rest.split_at(end);
        rest = after.trim_start();
        let blank = &after[..after.len() - rest.len()];
        Some(Word { text, has_blank: !blank.is_empty(), ends_line: blank.contains('\n') })
    })
}

/// Returns whether a character is of a script that is written without blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0xe00..=0xeff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff
        | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// Returns both texts as HTML, the words that only one has in `del` and `ins`.
pub(super) fn marked(one: &str, other: &str) -> [String; 2] {
    let [one, other]: [Vec<Word<'_>>; 2] = [one, other].map(|text| words(text).take(MAX_WORDS).collect());
    let mut html = [String::new(), String::new()];
    let texts = [&one, &other].map(|words| words.iter().map(|word| word.text).collect::<Vec<_>>());
    let changes = capture_diff_slices(Algorithm::Myers, &texts[0], &texts[1]);
    let last = changes.len().saturating_sub(1);
    for (number, change) in changes.iter().enumerate() {
        let (one, other) = (&one[change.old_range()], &other[change.new_range()]);
        if let DiffOp::Equal { .. } = change {
            html[0] += &equal(one, number == 0, number == last);
            html[1] += &equal(other, number == 0, number == last);
            continue;
        }
        html[0] += &changed(one, "del");
        html[1] += &changed(other, "ins");
    }
    html
}

/// Returns words that both texts have, without those far from a difference.
fn equal(words: &[Word<'_>], is_first: bool, is_last: bool) -> String {
    let (head, tail) = match (is_first, is_last) {
        (true, true) => (MAX_EQUAL, 0),
        (true, false) => (0, CONTEXT),
        (false, true) => (CONTEXT, 0),
        (false, false) => (CONTEXT, CONTEXT),
    };
    if words.len() <= (head + tail).max(MAX_EQUAL) {
        return joined(words);
    }
    let left_out = words.len() - head - tail;
    format!(
        "{}<span class=\"same\">[{left_out} equal words]</span> {}",
        joined(&words[..head]),
        joined(&words[words.len() - tail..])
    )
}

fn changed(words: &[Word<'_>], tag: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    let text = joined(words);
    let inner = text.trim_end();
    format!("<{tag}>{inner}</{tag}>{}", &text[inner.len()..])
}

fn joined(words: &[Word<'_>]) -> String {
    let mut text = String::new();
    for word in words {
        text += &escape(word.text);
        text += match word {
            Word { ends_line: true, .. } => "\n",
            Word { has_blank: true, .. } => " ",
            _ => "",
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_one_text_has_alone_are_marked() {
        let [one, other] = marked("the <quick> brown\nfox jumps", "the quick brown fox\tjumps again");
        assert_eq!(one, "the <del>&lt;quick&gt;</del> brown\nfox jumps");
        assert_eq!(other, "the <ins>quick</ins> brown fox jumps <ins>again</ins>");
        let [one, other] = marked("我们都知道", "我们不知道 x");
        assert_eq!(
            (one.as_str(), other.as_str()),
            ("我们<del>都</del>知道", "我们<ins>不</ins>知道 <ins>x</ins>")
        );
        assert_eq!(marked("", "a"), ["".to_owned(), "<ins>a</ins>".to_owned()]);
    }

    #[test]
    fn equal_words_far_from_a_difference_are_left_out() {
        let text = |word: &str| {
            let words: Vec<String> =
                (0..401).map(|at| if at == 200 { word.to_owned() } else { format!("w{at}") }).collect();
            words.join(" ")
        };
        let [one, other] = marked(&text("a"), &text("b"));
        let expected = "<span class=\"same\">[175 equal words]</span> w175 ";
        assert!(one.starts_with(expected) && other.starts_with(expected), "{one}");
        assert!(
            one.contains("w199 <del>a</del> w201 ")
                && one.ends_with("w225 <span class=\"same\">[175 equal words]</span> ")
        );
        assert!(marked(&text("a"), &text("a"))[0].contains("[341 equal words]"));
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(beginning("one two"), ("one two", true));
        let long = "word ".repeat(MAX_WORDS + 5);
        let (start, is_all) = beginning(&long);
        assert_eq!((start.len(), is_all), (5 * MAX_WORDS, false));
    }
}
