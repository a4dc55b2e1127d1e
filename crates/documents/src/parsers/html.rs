//! HTML: about the text that a browser shows.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// Elements without visible text.
const UNREAD: [&[u8]; 4] = [b"script", b"style", b"template", b"svg"];

/// Elements that no picture contains: one of them ends a picture that is not closed, as in a browser (HTML Standard,
/// 13.2.6.5).
const OUTSIDE_SVG: [&[u8]; 44] = [
    b"b",
    b"big",
    b"blockquote",
    b"body",
    b"br",
    b"center",
    b"code",
    b"dd",
    b"div",
    b"dl",
    b"dt",
    b"em",
    b"embed",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"hr",
    b"i",
    b"img",
    b"li",
    b"listing",
    b"menu",
    b"meta",
    b"nobr",
    b"ol",
    b"p",
    b"pre",
    b"ruby",
    b"s",
    b"small",
    b"span",
    b"strike",
    b"strong",
    b"sub",
    b"sup",
    b"table",
    b"tt",
    b"u",
    b"ul",
    b"var",
];

/// Elements that do not separate words. All other tags do.
const INLINE: [&[u8]; 24] = [
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"cite", b"code", b"em", b"font", b"i", b"ins", b"kbd", b"mark",
    b"q", b"s", b"samp", b"small", b"span", b"strong", b"sub", b"sup", b"tt", b"u", b"wbr",
];

/// Returns the text of a page without tags, comments, scripts and styles; entities are decoded, invalid UTF-8 is
/// replaced.
pub(crate) fn html_text(html: &[u8]) -> String {
    // The contents of script and similar elements are not markup.
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut text = Vec::new();
    // The skipped element, and its nesting depth.
    let mut unread: Option<(&[u8], usize)> = None;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => {
                let name = tag.name.as_slice();
                if unread.is_some_and(|(open, _)| open == b"svg") && OUTSIDE_SVG.contains(&name) {
                    unread = None;
                }
                match &mut unread {
                    Some((open, depth)) if *open == name && !tag.self_closing => *depth += 1,
                    Some(_) => {}
                    None => {
                        let kind = UNREAD.iter().find(|&&kind| kind == name);
                        // Only pictures have elements that close themselves.
                        let is_closed = tag.self_closing && name == b"svg";
                        unread = kind.filter(|_| !is_closed).map(|&kind| (kind, 1));
                        end_word(name, &mut text);
                    }
                }
            }
            Token::EndTag(tag) => match &mut unread {
                Some((open, depth)) if *open == tag.name.as_slice() => {
                    *depth -= 1;
                    if *depth == 0 {
                        unread = None;
                    }
                }
                Some(_) => {}
                None => end_word(tag.name.as_slice(), &mut text),
            },
            Token::String(string) if unread.is_none() => text.extend_from_slice(&string),
            _ => {}
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn end_word(tag: &[u8], text: &mut Vec<u8>) {
    if !INLINE.contains(&tag) && text.last().is_some_and(|&last| last != b'\n') {
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(html: &str) -> String {
        html_text(html.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tags_are_removed_and_words_stay_separate() {
        assert_eq!(words("<html><title>A &amp; B</title><p>one<br>two</p><td>3<td>4"), "A & B one two 3 4");
        assert_eq!(words("un<b>break</b>able<!-- no -->"), "unbreakable");
    }

    #[test]
    fn invisible_text_is_removed() {
        assert_eq!(words("a<script>if (x < 1) { '</p>' }</script>b<style>p { }</style>c"), "a b c");
        assert_eq!(words("<svg><svg><text>x</text></svg>y</svg>z"), "z");
        assert_eq!(words("a<script src='a.js'/><p>x</p></script>b<svg/>c"), "a b c");
        assert_eq!(words("a<svg><text>x</text><p>b</p>c"), "a b c");
    }

    #[test]
    fn invalid_markup_is_not_an_error() {
        assert_eq!(words("<p>1 < 2 & 3 > 2 </b></p <i>x"), "1 < 2 & 3 > 2 x");
    }
}
