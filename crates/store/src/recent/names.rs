//! The names of recent ids.

use std::sync::Arc;

use crate::batch::Name;

/// Names by ascending id, in chunks that never change: as digits of a binary counter carry, chunks of about equal size
/// become one, so a name is moved a logarithmic number of times, and whoever holds a copy sees what was there.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecentNames {
    /// From the oldest and longest to the newest. Ids ascend from chunk to chunk as well.
    chunks: Arc<Vec<Arc<[Name]>>>,
    bytes: usize,
}

impl RecentNames {
    /// Adds names whose ids are above all that there are.
    pub(crate) fn insert(&mut self, names: &[Name]) {
        if names.is_empty() {
            return;
        }
        self.bytes += names.iter().map(|(_, name)| size_of::<Name>() + name.len()).sum::<usize>();
        let chunks = Arc::make_mut(&mut self.chunks);
        let mut first = chunks.len();
        let mut length = names.len();
        while first > 0 && chunks[first - 1].len() <= 2 * length {
            first -= 1;
            length += chunks[first].len();
        }
        let carried = chunks[first..].iter().flat_map(|chunk| chunk.iter());
        let carried: Arc<[Name]> = carried.chain(names).cloned().collect();
        chunks.truncate(first);
        chunks.push(carried);
    }

    /// The name of an id.
    pub(crate) fn get(&self, id: u64) -> Option<&[u8]> {
        let after = self.chunks.partition_point(|chunk| chunk[0].0 <= id);
        let chunk = &self.chunks[after.checked_sub(1)?];
        let place = chunk.binary_search_by_key(&id, |name| name.0).ok()?;
        Some(&chunk[place].1)
    }

    /// All of them, by ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_copies_stay_as_they_are() {
        let mut names = RecentNames::default();
        let mut copies = Vec::new();
        let named = |id: u64| (id, format!("name {id}").into_bytes().into());
        for batch in 0..300u64 {
            copies.push(names.clone());
            // Ids have gaps: nothing is inserted where something was near.
            let ids: Vec<Name> = (0..batch % 4).map(|n| named(10 * batch + 2 * n)).collect();
            names.insert(&ids);
        }
        assert!(names.chunks.len() <= 12, "{}", names.chunks.len());
        for (batches, names) in (0u64..).zip(copies.iter().chain([&names])) {
            for id in 0..3010 {
                let is_there = id / 10 < batches && id % 2 == 0 && id % 10 / 2 < id / 10 % 4;
                let expected = is_there.then(|| format!("name {id}").into_bytes());
                assert_eq!(names.get(id), expected.as_deref(), "{id} after {batches}");
            }
        }
        assert!(names.iter().map(|name| name.0).is_sorted());
        assert!(names.bytes() > names.iter().map(|(_, name)| name.len()).sum());
    }
}
