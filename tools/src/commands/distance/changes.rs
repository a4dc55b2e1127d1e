//! The words in which two texts differ.

use std::time::{Duration, Instant};

use hamdex_simhash::Shingler;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// The time after which long texts with little in common are compared by larger pieces.
const DEADLINE: Duration = Duration::from_secs(10);

/// Words of one text in place of words of the other.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    /// The number of the first of them in the first text, from 1.
    pub(super) word: usize,
    pub(super) removed: Vec<String>,
    pub(super) added: Vec<String>,
}

/// Returns the changes that make the second text of the first, in their order. Words are those of shingles.
pub(super) fn changes(shingler: &mut Shingler, one: &str, other: &str) -> Vec<Change> {
    let mut words = |text: &str| {
        let mut words = Vec::new();
        shingler.words(text, |word| words.push(word.to_owned()));
        words
    };
    let (old, new) = (words(one), words(other));
    let deadline = Some(Instant::now() + DEADLINE);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut changes: Vec<Change> = Vec::new();
    let mut end = (0, 0);
    for operation in operations.iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. })) {
        let (removed, added) = (operation.old_range(), operation.new_range());
        let (gone, come) = (old[removed.clone()].to_vec(), new[added.clone()].to_vec());
        match changes.last_mut() {
            // A removal next to an insertion is one change.
            Some(last) if end == (removed.start, added.start) => {
                last.removed.extend(gone);
                last.added.extend(come);
            }
            _ => changes.push(Change { word: removed.start + 1, removed: gone, added: come }),
        }
        end = (removed.end, added.end);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(one: &str, other: &str) -> Vec<(usize, String, String)> {
        let mut shingler = Shingler::new(std::num::NonZeroUsize::MIN);
        let changes = changes(&mut shingler, one, other);
        changes
            .into_iter()
            .map(|change| (change.word, change.removed.join(" "), change.added.join(" ")))
            .collect()
    }

    #[test]
    fn words_that_differ_are_found() {
        let change = |word, removed: &str, added: &str| (word, removed.to_owned(), added.to_owned());
        assert_eq!(of("the cat sat", "The cat, sat!"), []);
        assert_eq!(of("the cat sat here", "the dog sat"), [change(2, "cat", "dog"), change(4, "here", "")]);
        assert_eq!(of("", "a b"), [change(1, "", "a b")]);
        assert_eq!(of("我们在家", "我在家里"), [change(2, "们", ""), change(5, "", "里")]);
    }
}
