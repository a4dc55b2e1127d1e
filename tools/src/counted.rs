//! Counts of things in words: `1 document`, `2,000 documents`.

use indicatif::HumanCount;

/// Returns the number, with commas between thousands, and the matching form of the noun.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", HumanCount(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_takes_the_singular_and_all_else_the_plural() {
        let said = [0, 1, 2000].map(|number| counted(number, "id", "ids"));
        assert_eq!(said, ["0 ids", "1 id", "2,000 ids"]);
    }
}
