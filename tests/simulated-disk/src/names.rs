//! The names of files, durable and not yet durable.

use std::collections::{BTreeMap, BTreeSet};

use crate::choice::Choices;

/// The number of a file, independent of its names.
pub(crate) type FileNumber = usize;

/// Names and the files that they stand for. Names are full paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    current: BTreeMap<String, FileNumber>,
    durable: BTreeMap<String, FileNumber>,
    unsynced: Vec<Change>,
}

/// One change of a directory: a removed name, an added name, or both at once.
#[derive(Debug, Clone)]
struct Change {
    goes: Option<String>,
    comes: Option<(String, FileNumber)>,
}

impl Change {
    fn names(&self) -> impl Iterator<Item = &String> {
        self.goes.iter().chain(self.comes.iter().map(|(name, _)| name))
    }

    fn is_in(&self, directory: &str) -> bool {
        self.names().any(|name| directory_of(name) == directory)
    }

    fn apply(&self, names: &mut BTreeMap<String, FileNumber>) {
        if let Some(name) = &self.goes {
            names.remove(name);
        }
        if let Some((name, file)) = &self.comes {
            names.insert(name.clone(), *file);
        }
    }
}

/// Returns the directory part of a path.
pub(crate) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

impl Names {
    /// Returns names that are all durable.
    pub(crate) fn durable(names: BTreeMap<String, FileNumber>) -> Self {
        Self { current: names.clone(), durable: names, unsynced: Vec::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<FileNumber> {
        self.current.get(name).copied()
    }

    pub(crate) fn all(&self) -> &BTreeMap<String, FileNumber> {
        &self.current
    }

    pub(crate) fn add(&mut self, name: &str, file: FileNumber) {
        self.change(Change { goes: None, comes: Some((name.to_owned(), file)) });
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.change(Change { goes: Some(name.to_owned()), comes: None });
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        assert_eq!(directory_of(from), directory_of(to), "files are renamed within their directory");
        let file = self.current[from];
        self.change(Change { goes: Some(from.to_owned()), comes: Some((to.to_owned(), file)) });
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.unsynced.push(change);
    }

    pub(crate) fn sync(&mut self, directory: &str) {
        let durable = &mut self.durable;
        self.unsynced.retain(|change| {
            let is_synced = change.is_in(directory);
            if is_synced {
                change.apply(durable);
            }
            !is_synced
        });
    }

    /// Returns the names that a crash leaves.
    pub(crate) fn survivors(&self, choices: &mut Choices) -> BTreeMap<String, FileNumber> {
        let mut left = self.durable.clone();
        let mut lost = BTreeSet::new();
        for change in &self.unsynced {
            if change.names().all(|name| !lost.contains(name)) && choices.keeps_name() {
                change.apply(&mut left);
            } else {
                lost.extend(change.names());
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Survival;

    fn survivors(names: &Names) -> BTreeSet<Vec<(String, FileNumber)>> {
        let any = |seed| names.survivors(&mut Choices::new(Survival::Any(seed)));
        (0..500).map(|seed| any(seed).into_iter().collect()).collect()
    }

    fn list(names: &[(&str, FileNumber)]) -> Vec<(String, FileNumber)> {
        names.iter().map(|&(name, file)| (name.to_owned(), file)).collect()
    }

    #[test]
    fn a_rename_is_whole_or_absent() {
        let mut names = Names::durable([("d/old".to_owned(), 1)].into());
        names.add("d/new", 2);
        names.sync("d");
        names.rename("d/new", "d/old");
        let expected = [list(&[("d/new", 2), ("d/old", 1)]), list(&[("d/old", 2)])];
        assert_eq!(survivors(&names), expected.into());
    }

    #[test]
    fn names_are_independent_and_changes_of_one_name_are_not() {
        let mut names = Names::default();
        names.add("d/one", 1);
        names.add("d/two", 2);
        names.remove("d/one");
        let expected =
            [list(&[]), list(&[("d/one", 1)]), list(&[("d/two", 2)]), list(&[("d/one", 1), ("d/two", 2)])];
        assert_eq!(survivors(&names), expected.into());
    }

    #[test]
    fn a_sync_is_of_one_directory() {
        let mut names = Names::default();
        names.add("a/x", 1);
        names.add("b/x", 2);
        names.sync("a");
        assert_eq!(survivors(&names), [list(&[("a/x", 1)]), list(&[("a/x", 1), ("b/x", 2)])].into());
    }
}
