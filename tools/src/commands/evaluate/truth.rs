//! Reads the known near-duplicates, from a file of pairs or by groups.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use hamdex_simhash::evaluate::Truth;

use crate::failure::Failure;
use crate::input::Source;

/// Reads lines of two ids. Every id must be that of one document.
pub(super) fn of_file(path: &Path, ids: &[String]) -> Result<Truth, Failure> {
    let source = Source { name: path.display().to_string() };
    let text = fs::read_to_string(path).map_err(|error| source.unreadable(&error))?;
    let mut places: HashMap<&str, Option<u32>> = HashMap::new();
    for (place, id) in (0..).zip(ids) {
        places.entry(id).and_modify(|place| *place = None).or_insert(Some(place));
    }
    let mut pairs = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let complaint = |what: String| source.complaint_at(format!(":{number}"), what);
        let words: Vec<&str> = line.split_whitespace().collect();
        let [one, other] = words[..] else {
            return Err(complaint(format!("expected two ids; found {}", words.len())));
        };
        let place = |id: &str| match places.get(id) {
            Some(Some(place)) => Ok(*place),
            Some(None) => Err(complaint(format!("several documents have the id {id:?}"))),
            None => Err(complaint(format!("no document has the id {id:?}"))),
        };
        pairs.push((place(one)?, place(other)?));
    }
    Ok(Truth::of_pairs(pairs))
}

/// Makes near-duplicates of the documents of each group. A document without a group has none.
pub(super) fn of_groups(groups: Vec<Option<String>>, field: &str) -> Result<Truth, Failure> {
    if groups.iter().all(Option::is_none) {
        return Err(Failure::Usage(format!("no document has a field {field:?} (--group-field)")));
    }
    let alone = (0..).zip(groups).map(|(number, group)| group.ok_or(number));
    Ok(Truth::of_groups::<Result<String, u32>>(alone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_without_a_group_are_alone() {
        let group = |name: &str| Some(name.to_owned());
        let truth = of_groups(vec![group("a"), None, None, group("a")], "g").unwrap();
        assert_eq!(truth.pairs(), 1);
        assert!(truth.contains(0, 3));
        assert!(of_groups(vec![None, None], "g").is_err());
    }
}
