//! The documents of a memtable: the names of ids, and their shingles, which are searched for similar documents.

use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use hamdex::similar::{Alike, Condition, MemoryLists, Search};
use hamdex::{ReadError, Report};

use crate::error::Unpoisoned;
use crate::memtable::shingle_filter::ShingleFilter;
use crate::write::{Document, Name};

/// Maximum number of names in a chunk, unless they are inserted together.
const MAX_CHUNK: usize = 1 << 13;

const _: () = assert!(
    MAX_CHUNK <= MemoryLists::MAX_DOCUMENTS,
    "a chunk of several insertions has one list of each shingle"
);

/// Maximum number of bytes of new documents that get lists of their own for one question, rather than those of their chunk
/// for good.
const MAX_APART: usize = 1 << 16;

/// Maximum number of chunks outside groups, which every write copies.
const MAX_UNGROUPED: usize = 64;

/// Names by ascending id.
type Chunk = Arc<NameChunk>;

#[derive(Debug)]
struct NameChunk {
    names: Box<[Name]>,
    by_hash: ByHash,
    /// The lists of the shingles of each [`MemoryLists::MAX_DOCUMENTS`] documents, once they are searched.
    lists: OnceLock<Box<[Arc<MemoryLists>]>>,
    /// The lists of some of the chunks that it was merged from, each with the place of its first document; until its own
    /// are made of them.
    earlier: Mutex<Vec<(usize, Arc<MemoryLists>)>>,
}

impl NameChunk {
    /// Merges chunks, and names after theirs.
    fn merged(chunks: &[Chunk], names: &[Name]) -> Self {
        let (mut all, mut earlier) = (Vec::new(), Vec::new());
        for chunk in chunks {
            earlier.extend(chunk.known_lists().into_iter().map(|(at, lists)| (all.len() + at, lists)));
            all.extend_from_slice(&chunk.names);
        }
        all.extend_from_slice(names);
        Self {
            names: all.into(),
            by_hash: ByHash::default(),
            lists: OnceLock::new(),
            earlier: Mutex::new(earlier),
        }
    }

    /// Calls `visit` with the id and the similarity of each document, with an id from one on, that meets a condition.
    fn for_each_similar(
        &self,
        (shingles, condition): (&[u64], &Condition),
        from: u64,
        search: &mut Search,
        check: &dyn Fn() -> Result<(), ReadError>,
        visit: &mut dyn FnMut(u64, f64),
    ) -> Result<(), ReadError> {
        check()?;
        let later = &self.names[self.names.partition_point(|(id, _)| *id < from)..];
        let mut search = |documents: &[Name], lists: &MemoryLists, first: u64| {
            for &Alike { place, size, shared, .. } in
                search.run(&mut lists.from_place(first), shingles, condition, check)?
            {
                visit(documents[place as usize].0, condition.share(shared, shingles.len(), size));
            }
            Ok(())
        };
        let is_small = || later.iter().map(|(_, document)| document.len()).sum::<usize>() <= MAX_APART;
        if later.len() < self.names.len() && self.lists.get().is_none() && is_small() {
            return search(later, &lists_of(later), 0);
        }
        for (documents, lists) in self.lists() {
            search(documents, lists, documents.partition_point(|(id, _)| *id < from) as u64)?;
        }
        Ok(())
    }

    /// Returns the documents that share lists, and these lists.
    fn lists(&self) -> impl Iterator<Item = (&[Name], &MemoryLists)> {
        let documents = self.names.chunks(MemoryLists::MAX_DOCUMENTS);
        let mut is_made = false;
        let lists = self.lists.get_or_init(|| {
            is_made = true;
            // A writer may merge this chunk meanwhile, and takes them over.
            let earlier = self.earlier.lock().unpoisoned().clone();
            if earlier.is_empty() {
                return documents.clone().map(|documents| Arc::new(lists_of(documents))).collect();
            }
            let (mut parts, mut end) = (Vec::new(), 0);
            for (at, lists) in earlier {
                parts.push(Arc::new(lists_of(&self.names[end..at])));
                end = at + lists.documents();
                parts.push(lists);
            }
            parts.push(Arc::new(lists_of(&self.names[end..])));
            Box::new([Arc::new(MemoryLists::joined(parts.iter().map(Arc::as_ref)))])
        });
        if is_made {
            self.earlier.lock().unpoisoned().clear();
        }
        documents.zip(lists.iter().map(Arc::as_ref))
    }

    /// Returns the lists that have been made, each with the place of its first document.
    fn known_lists(&self) -> Vec<(usize, Arc<MemoryLists>)> {
        match self.lists.get() {
            Some(lists) => lists.iter().map(|lists| (0, Arc::clone(lists))).collect(),
            None => self.earlier.lock().unpoisoned().clone(),
        }
    }

    fn bytes_of_lists(&self) -> usize {
        match self.lists.get() {
            Some(lists) => lists.iter().map(|lists| lists.bytes()).sum(),
            None => self.earlier.lock().unpoisoned().iter().map(|(_, lists)| lists.bytes()).sum(),
        }
    }
}

/// Returns the lists of the shingles of documents.
fn lists_of(documents: &[Name]) -> MemoryLists {
    MemoryLists::of(documents.iter().map(|(_, document)| {
        let mut set = Vec::new();
        document.decode_shingles(&mut set);
        set
    }))
}

/// Chunks that no insertion merges any more.
#[derive(Debug)]
struct Group {
    chunks: Box<[Chunk]>,
    by_hash: ByHash,
}

/// Ids by the hash of their names, once a name is looked up.
#[derive(Debug, Default)]
struct ByHash {
    ids: OnceLock<Box<[(u64, u64)]>>,
}

impl ByHash {
    /// Returns the ids, from one on, of all these names, whose names have a hash.
    fn ids<'n>(
        &self,
        names: impl Iterator<Item = &'n Name>,
        hash: u64,
        from: u64,
    ) -> impl Iterator<Item = u64> {
        let ids = self.ids.get_or_init(|| {
            let mut ids: Vec<(u64, u64)> = names.map(|(id, name)| (hash_of(name.name()), *id)).collect();
            ids.sort_unstable();
            ids.into()
        });
        let first = ids.partition_point(|entry| *entry < (hash, from));
        ids[first..].iter().take_while(move |entry| entry.0 == hash).map(|entry| entry.1)
    }
}

impl Group {
    fn names(&self) -> impl Iterator<Item = &Name> {
        self.chunks.iter().flat_map(|chunk| &*chunk.names)
    }
}

fn hash_of(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name);
    hasher.finish()
}

/// Names by ascending id, in immutable chunks. Chunks of about equal size are merged up to a limit, as digits of a
/// binary counter carry. So a name is moved a few times at most, and a clone is a snapshot.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemtableDocuments {
    /// The older chunks in groups, so that a write copies few references. Ids ascend from group to group.
    groups: Arc<Vec<Arc<Group>>>,
    /// The chunks after the groups. Ids ascend from chunk to chunk.
    chunks: Arc<Vec<Chunk>>,
    /// The shingles of all documents, and perhaps others.
    filter: Arc<ShingleFilter>,
    /// The number of shingles of all documents. As it is not shared, a refused write leaves no trace in [`Self::bytes`].
    shingles: u64,
    bytes: usize,
}

impl MemtableDocuments {
    /// Inserts names whose ids are above all present ones.
    pub(crate) fn insert(&mut self, names: &[Name]) {
        if names.is_empty() {
            return;
        }
        self.bytes += names.iter().map(|(_, name)| size_of::<Name>() + name.len()).sum::<usize>();
        let mut set = Vec::new();
        for (_, document) in names.iter().filter(|(_, document)| !document.shingles().is_empty()) {
            document.decode_shingles(&mut set);
            self.filter.add(&set, self.shingles);
            self.shingles += set.len() as u64;
        }
        let chunks = Arc::make_mut(&mut self.chunks);
        let mut first = chunks.len();
        let mut length = names.len();
        while let Some(before) = chunks[..first].last()
            && before.names.len() <= 2 * length
            && before.names.len() + length <= MAX_CHUNK
        {
            first -= 1;
            length += before.names.len();
        }
        let merged = NameChunk::merged(&chunks[first..], names);
        chunks.truncate(first);
        chunks.push(Arc::new(merged));
        if chunks.len() > MAX_UNGROUPED {
            // The last chunks may still grow.
            let chunks = chunks.drain(..MAX_UNGROUPED / 2).collect();
            Arc::make_mut(&mut self.groups).push(Arc::new(Group { chunks, by_hash: ByHash::default() }));
        }
    }

    /// Returns the name of an id.
    pub(crate) fn get(&self, id: u64) -> Option<&[u8]> {
        self.document(id).map(Document::name)
    }

    /// Returns the name of an id, and the shingles of its document.
    pub(crate) fn document(&self, id: u64) -> Option<&Document> {
        let in_group =
            |chunks: &[Chunk]| chunks.partition_point(|chunk| chunk.names[0].0 <= id).checked_sub(1);
        let chunk = match in_group(&self.chunks) {
            Some(at) => &self.chunks[at],
            None => {
                let after = self.groups.partition_point(|group| group.chunks[0].names[0].0 <= id);
                let group = &self.groups[after.checked_sub(1)?];
                &group.chunks[in_group(&group.chunks)?]
            }
        };
        let place = chunk.names.binary_search_by_key(&id, |name| name.0).ok()?;
        Some(&chunk.names[place].1)
    }

    /// Returns the greatest id.
    pub(crate) fn last_id(&self) -> Option<u64> {
        let last = self.chunks.last().or_else(|| self.groups.last()?.chunks.last());
        Some(last?.names.last()?.0)
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.all_chunks().map(|chunk| chunk.names.len()).sum()
    }

    /// Returns the names by ascending id, except the first `skipped`.
    pub(crate) fn iter_from(&self, mut skipped: usize) -> impl Iterator<Item = &Name> {
        self.all_chunks().flat_map(move |chunk| {
            let (_, names) = chunk.names.split_at(skipped.min(chunk.names.len()));
            skipped -= chunk.names.len() - names.len();
            names
        })
    }

    /// Returns the chunks with an id from one on.
    fn chunks_from(&self, first: u64) -> impl Iterator<Item = &Chunk> {
        self.all_chunks().filter(move |chunk| chunk.names.last().is_some_and(|(id, _)| *id >= first))
    }

    fn all_chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.groups.iter().flat_map(|group| &*group.chunks).chain(&*self.chunks)
    }

    /// Calls `visit` with each id, from one on, that has a name. The first call hashes all names.
    pub(crate) fn for_each_id_of(&self, name: &[u8], from: u64, mut visit: impl FnMut(u64)) {
        let hash = hash_of(name);
        let grouped = self.groups.iter().flat_map(|group| group.by_hash.ids(group.names(), hash, from));
        let recent = self.chunks.iter().flat_map(|chunk| chunk.by_hash.ids(chunk.names.iter(), hash, from));
        grouped.chain(recent).filter(|&id| self.get(id) == Some(name)).for_each(&mut visit);
    }

    /// Calls `visit` with the id and the similarity of each document, with an id from one on, that meets a condition with
    /// a set of shingles, whether or not it has been removed.
    pub(crate) fn for_each_similar(
        &self,
        (shingles, condition): (&[u64], &Condition),
        from: u64,
        report: &Report,
        mut visit: impl FnMut(u64, f64),
    ) -> Result<(), ReadError> {
        if !self.filter.may_have(shingles, condition.least_shared_with_any(shingles.len())) {
            return Ok(());
        }
        let mut search = Search::default();
        let check = || Ok(report.check()?);
        for chunk in self.chunks_from(from) {
            chunk.for_each_similar((shingles, condition), from, &mut search, &check, &mut visit)?;
        }
        Ok(())
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let made = self.all_chunks().map(|chunk| chunk.bytes_of_lists()).sum::<usize>();
        // Lists that questions may still make count too, so that the limit of memory holds.
        self.bytes + ShingleFilter::bytes(self.shingles) + made.max(self.filter.bytes_of_lists(self.shingles))
    }
}

#[cfg(test)]
mod tests {
    use hamdex::shingles;
    use hamdex::similar::Measure;

    use super::*;

    #[test]
    fn names_are_found_and_copies_stay_as_they_are() {
        let mut names = MemtableDocuments::default();
        let mut copies = Vec::new();
        let named = |id: u64| (id, format!("name {id}").into_bytes().into());
        for batch in 0..300u64 {
            copies.push(names.clone());
            // Ids have gaps: near pairs are not inserted.
            let ids: Vec<Name> = (0..batch % 4).map(|n| named(10 * batch + 2 * n)).collect();
            names.insert(&ids);
        }
        assert!(names.chunks.len() <= 12 && names.groups.is_empty(), "{}", names.chunks.len());
        for (batches, names) in (0u64..).zip(copies.iter().chain([&names])) {
            for id in 0..3010 {
                let is_there = id / 10 < batches && id % 2 == 0 && id % 10 / 2 < id / 10 % 4;
                let expected = is_there.then(|| format!("name {id}").into_bytes());
                assert_eq!(names.get(id), expected.as_deref(), "{id} after {batches}");
                let mut ids = Vec::new();
                names.for_each_id_of(format!("name {id}").as_bytes(), 0, |id| ids.push(id));
                assert_eq!(ids, if is_there { vec![id] } else { Vec::new() });
            }
        }
        assert!(names.iter_from(0).map(|name| name.0).is_sorted());
        assert!(names.bytes() > names.iter_from(0).map(|(_, name)| name.len()).sum());
    }

    #[test]
    fn similar_documents_are_found_whatever_was_searched_before() {
        let set_of = |id: u64| -> Vec<u64> {
            // Three in four share a footer; every fifth has none but that.
            let own = if id.is_multiple_of(5) { 0..0 } else { 100 * (id / 3)..100 * (id / 3) + id % 4 + 1 };
            let footer = if id.is_multiple_of(4) { 0..0 } else { 1 << 40..(1 << 40) + 3 };
            own.chain(footer).collect()
        };
        let condition = Condition::new(Measure::Resemblance, 0.5).unwrap();
        for searched_every in [1, 2, 7, 1000] {
            let mut names = MemtableDocuments::default();
            let mut stored = 0..0u64;
            for batch in 0..60u64 {
                let ids = stored.end..stored.end + 1 + batch % 23;
                let document = |id: u64| {
                    let encoded = shingles::encode(&set_of(id)).unwrap();
                    (id, Document::with_shingles(id.to_string().as_bytes(), &encoded))
                };
                names.insert(&ids.clone().map(document).collect::<Vec<_>>());
                stored.end = ids.end;
                if !batch.is_multiple_of(searched_every) && batch != 59 {
                    continue;
                }
                let set = set_of(batch * 7 % stored.end);
                let mut found = Vec::new();
                let from = if batch.is_multiple_of(4) { 0 } else { ids.start };
                names
                    .for_each_similar((&set, &condition), from, &Report::new(), |id, _| found.push(id))
                    .unwrap();
                found.sort_unstable();
                let shared = |id: u64| set_of(id).iter().filter(|shingle| set.contains(shingle)).count();
                let is_similar =
                    |&id: &u64| shared(id) > 0 && condition.is_met(shared(id), set.len(), set_of(id).len());
                assert_eq!(found, (from..stored.end).filter(is_similar).collect::<Vec<_>>(), "batch {batch}");
            }
            let has_lists = names.all_chunks().any(|chunk| chunk.lists.get().is_some());
            assert!(has_lists || searched_every == 1000, "the last question may make lists of its own");
            assert!(
                names.bytes() > names.bytes + ShingleFilter::bytes(names.shingles),
                "lists count before they are made"
            );
        }
    }

    #[test]
    fn names_that_a_write_drops_take_no_memory() {
        let condition = Condition::new(Measure::Resemblance, 0.5).unwrap();
        let names = MemtableDocuments::default();
        let set: Vec<u64> = (0..100_000).collect();
        let document = Document::with_shingles(b"name", &shingles::encode(&set).unwrap());
        for _ in 0..20 {
            let mut refused = names.clone();
            refused.insert(&[(1, document.clone())]);
            let mut found = Vec::new();
            let visit = |id, _| found.push(id);
            refused.for_each_similar((&set, &condition), 0, &Report::new(), visit).unwrap();
            assert!(found == [1] && refused.bytes() > 100_000);
            names.for_each_similar((&set, &condition), 0, &Report::new(), |_, _| unreachable!()).unwrap();
            assert_eq!(names.bytes(), 0);
        }
    }

    #[test]
    fn few_names_and_chunks_are_moved_by_an_insertion() {
        for batch in [1, 7, 1000, 5000] {
            let mut names = MemtableDocuments::default();
            for first in (0..150_000u64).step_by(batch) {
                let before = names.clone();
                let ids = first..first + batch as u64;
                names.insert(&ids.map(|id| (id, Document::from(&id.to_le_bytes()[..]))).collect::<Vec<_>>());
                let is_new = |chunk: &&Chunk| !before.chunks.iter().any(|other| Arc::ptr_eq(other, chunk));
                let moved: usize = names.chunks.iter().filter(is_new).map(|chunk| chunk.names.len()).sum();
                assert!(moved <= MAX_CHUNK.max(batch), "{moved} names of batches of {batch}");
                assert!(names.chunks.len() <= MAX_UNGROUPED && names.groups.len() <= 150_000 / 1000);
            }
            assert!((0..150_000).all(|id: u64| names.get(id) == Some(&id.to_le_bytes())));
            for id in (0..150_000u64).step_by(997) {
                let mut ids = Vec::new();
                names.for_each_id_of(&id.to_le_bytes(), 0, |id| ids.push(id));
                assert_eq!(ids, [id]);
            }
            let all = 0..(150_000u64).next_multiple_of(batch as u64);
            for skipped in [0, 1, MAX_CHUNK - 1, MAX_CHUNK, 100_000, all.end as usize, 1 << 20] {
                let expected = all.clone().skip(skipped);
                assert!(names.iter_from(skipped).map(|name| name.0).eq(expected), "{skipped}");
            }
            assert_eq!(names.len() as u64, all.end);
        }
    }
}
