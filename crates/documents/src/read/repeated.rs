//! Files that were read before, under another name or path, and ids that occur more than once.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use hamdex_atomic_file::Identity;

use crate::input::input_name;
use crate::problem::{Place, Position, Problem, SomeNames};

/// The regular files that are read, and the first names of repeated ones.
#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    known: HashSet<Identity>,
    names: SomeNames,
}

impl KnownFiles {
    /// Returns whether a file is known already; otherwise it is from now on. Streams never are.
    pub(crate) fn is_repeated(&mut self, path: &Path) -> bool {
        let is_repeated = identity(path).is_some_and(|identity| !self.known.insert(identity));
        if is_repeated {
            self.names.add(&input_name(path));
        }
        is_repeated
    }

    /// Forgets a file that was not read after all.
    pub(crate) fn forget(&mut self, path: &Path) {
        if let Some(identity) = identity(path) {
            self.known.remove(&identity);
        }
    }

    /// Returns the notice of all repeated files, if there are any.
    pub(crate) fn notice(&self) -> Option<(Place, Problem)> {
        let first = self.names.first()?;
        Some((Place::whole(first), Problem::RepeatedFile { names: self.names.clone() }))
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let is_file = path.as_os_str() != "-" && path.is_file();
    if is_file { Identity::of_path(path).ok() } else { None }
}

/// The greatest number of ids compared, 8 bytes each. With more ids, a sample is compared.
const MAX_COMPARED: usize = 1 << 22;

/// Records the ids of all documents.
pub(crate) enum RepeatedIds {
    Counted(Sample),
    Placed(Places),
}

impl RepeatedIds {
    pub(crate) fn new(with_places: bool) -> Self {
        if with_places { Self::Placed(Places::default()) } else { Self::Counted(Sample::new(MAX_COMPARED)) }
    }
}

/// Hashes of all ids or, if there are too many, of the hashes that end with some zero bits.
pub(crate) struct Sample {
    hashes: Vec<u64>,
    mask: u64,
    max: usize,
}

impl Sample {
    fn new(max: usize) -> Self {
        Self { hashes: Vec::new(), mask: 0, max }
    }

    pub(crate) fn record(&mut self, id: &str) {
        let hash = hash(id, 0);
        if hash & self.mask != 0 {
            return;
        }
        self.hashes.push(hash);
        while self.hashes.len() > self.max {
            self.mask = self.mask << 1 | 1;
            let mask = self.mask;
            let before = self.hashes.len();
            self.hashes.retain(|hash| hash & mask == 0);
            if self.hashes.len() == before {
                // One id fills the sample, so it is frequent enough.
                self.hashes.dedup();
            }
        }
    }

    /// Returns the number of documents with the id of an earlier one, and whether all were compared.
    pub(crate) fn count(mut self) -> (u64, bool) {
        self.hashes.sort_unstable();
        let repeated = self.hashes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        (repeated as u64, self.mask == 0)
    }
}

/// The place of the first document with each id.
#[derive(Default)]
pub(crate) struct Places {
    places: HashMap<(u64, u64), (u32, Position)>,
    inputs: Vec<String>,
}

impl Places {
    /// Returns the place of the first document with this id, if there was one.
    pub(crate) fn record(&mut self, id: &str, place: &Place) -> Option<Place> {
        let key = (hash(id, 0), hash(id, 1));
        if let Some(&(input, position)) = self.places.get(&key) {
            return Some(Place { input: self.inputs[input as usize].clone(), position });
        }
        if self.inputs.last() != Some(&place.input) {
            self.inputs.push(place.input.clone());
        }
        self.places.insert(key, (self.inputs.len() as u32 - 1, place.position));
        None
    }
}

fn hash(id: &str, seed: u8) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, id).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_counted_and_placed() {
        let mut sample = Sample::new(100);
        ["a", "b", "a", "c", "a", "b"].iter().for_each(|id| sample.record(id));
        assert_eq!(sample.count(), (3, true));
        let mut places = Places::default();
        assert_eq!(places.record("a", &Place::at("x", Position::Line(1))), None);
        assert_eq!(places.record("b", &Place::at("y", Position::Line(1))), None);
        assert_eq!(
            places.record("a", &Place::at("y", Position::Line(2))),
            Some(Place::at("x", Position::Line(1)))
        );
    }

    #[test]
    fn with_many_ids_a_sample_is_compared_in_bounded_memory() {
        let mut sample = Sample::new(1000);
        for number in 0..100_000u32 {
            sample.record(&(number / 2).to_string());
            assert!(sample.hashes.len() <= 1000);
        }
        let (repeated, is_all) = sample.count();
        assert!(!is_all && repeated > 100, "{repeated}");
        let mut unique = Sample::new(1000);
        (0..100_000u32).for_each(|number| unique.record(&number.to_string()));
        assert_eq!(unique.count(), (0, false));
        let mut same = Sample::new(1000);
        (0..10_000).for_each(|_| same.record("same"));
        assert!(same.hashes.len() <= 1000);
    }
}
