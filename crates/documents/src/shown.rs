//! Pieces of inputs as messages show them.

/// The longest piece that a message shows, in characters.
const MAX_CHARACTERS: usize = 40;

/// The greatest number of names that a message lists.
const MAX_NAMES: usize = 20;

/// Returns a piece of an input: quoted, and not all of it if it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

/// Returns names of columns for a message. What is no name, as in a table without names, is not all shown: it may
/// be a whole document.
pub(crate) fn shown_names(names: &[String]) -> Vec<String> {
    let short = |name: &String| {
        let line = name.lines().next().unwrap_or_default();
        match line.char_indices().nth(MAX_CHARACTERS) {
            None if line.len() == name.len() => name.clone(),
            None => format!("{line}…"),
            Some((end, _)) => format!("{}…", &line[..end]),
        }
    };
    let mut shown: Vec<String> = names.iter().take(MAX_NAMES).map(short).collect();
    if names.len() > MAX_NAMES {
        shown.push(format!("and {} more", names.len() - MAX_NAMES));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_document_is_shown_whole() {
        assert_eq!(shown("a\tb"), "\"a\\tb\"");
        assert_eq!(shown(&"é".repeat(41)), format!("\"{}\"…", "é".repeat(40)));
        let names = ["id".to_owned(), "one\ntwo".to_owned(), "long ".repeat(100)];
        assert_eq!(shown_names(&names), ["id", "one…", &format!("{}…", "long ".repeat(8))]);
        assert_eq!(shown_names(&vec!["x".to_owned(); 30]).last().unwrap(), "and 10 more");
    }
}
