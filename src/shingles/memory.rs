//! Lists in memory: of up to 65,536 documents that are known at once, and of documents that are added one by one.

use std::collections::HashMap;
use std::ops::Range;

use crate::arch::prefetch;
use crate::error::ReadError;
use crate::shingles::{self, List, Lists};
use crate::table::directory::Directory;

/// Bits of a place, which a shingle leaves of 64.
const PLACE_BITS: u32 = u64::BITS - shingles::BITS;

/// The greatest place.
const MOST_PLACE: u64 = (1 << PLACE_BITS) - 1;

/// Shingles that are looked up at once.
const AT_ONCE: usize = 64;

/// The lists of some documents, in memory.
///
/// ```
/// use hamdex::similar::{Condition, Measure, MemoryLists, Search};
///
/// let lists = MemoryLists::of([&[1, 2, 3, 4][..], &[7, 8, 9]]);
/// let condition = Condition::new(Measure::Resemblance, 0.6).expect("it is a share");
/// let mut search = Search::default();
/// let alike = search.run(&mut lists.from_place(0), &[1, 2, 3], &condition, &|| Ok(()))?;
/// assert_eq!((alike[0].place, alike[0].shared), (0, 3));
/// # Ok::<(), hamdex::ReadError>(())
/// ```
#[derive(Debug)]
pub struct MemoryLists {
    /// Shingle and place of each pair, ascending.
    pairs: Box<[u64]>,
    /// Leads to a pair, and shows for most shingles that no document has them.
    directory: Directory<u64>,
    sizes: Box<[u32]>,
}

impl MemoryLists {
    /// The most documents of one.
    pub const MAX_DOCUMENTS: usize = 1 << PLACE_BITS;

    /// Makes the lists of documents from their sets of shingles, which ascend and have no more than [`shingles::BITS`]
    /// bits: the first document has place 0, and so on.
    ///
    /// # Panics
    /// When there are more than [`MemoryLists::MAX_DOCUMENTS`], or 2^32 shingles in all, or a set does not ascend.
    #[must_use]
    pub fn of<S: AsRef<[u64]>>(sets: impl IntoIterator<Item = S>) -> Self {
        let (mut pairs, mut sizes) = (Vec::new(), Vec::new());
        for (place, set) in sets.into_iter().enumerate() {
            pairs.extend(set.as_ref().iter().map(|shingle| shingle << PLACE_BITS | place as u64));
            sizes.push(set.as_ref().len() as u32);
        }
        pairs.sort_unstable();
        Self::of_pairs(pairs, sizes)
    }

    /// Joins lists: the documents of the first keep their places, and those of each other follow the ones before.
    ///
    /// # Panics
    /// When there are more than [`MemoryLists::MAX_DOCUMENTS`] documents, or 2^32 shingles in all.
    #[must_use]
    pub fn joined<'l>(lists: impl IntoIterator<Item = &'l Self>) -> Self {
        let (mut pairs, mut sizes) = (Vec::new(), Vec::new());
        for one in lists {
            let before = sizes.len() as u64;
            pairs.extend(one.pairs.iter().map(|pair| pair + before));
            sizes.extend_from_slice(&one.sizes);
        }
        // This sort merges runs that ascend.
        pairs.sort();
        Self::of_pairs(pairs, sizes)
    }

    fn of_pairs(pairs: Vec<u64>, sizes: Vec<u32>) -> Self {
        let most = Self::MAX_DOCUMENTS;
        assert!(sizes.len() <= most, "these lists have at most {most} documents");
        assert!(u32::try_from(pairs.len()).is_ok(), "these lists have fewer than 2^32 pairs");
        let ends = pairs.first().copied().zip(pairs.last().copied());
        let directory = Directory::new(pairs.iter().copied(), pairs.len(), ends).expect("sets ascend");
        Self { pairs: pairs.into(), directory, sizes: sizes.into() }
    }

    /// Returns the lists to search: those of the documents from a place on, which is at most
    /// [`MemoryLists::MAX_DOCUMENTS`]; 0 for all.
    #[must_use]
    pub fn from_place(&self, first: u64) -> LaterLists<'_> {
        LaterLists { lists: self, first }
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the bytes of memory in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.pairs) + self.directory.bytes() + size_of_val(&*self.sizes)
    }

    /// Returns the positions among which the pairs of a shingle are, if any are.
    fn positions(&self, shingle: u64) -> Range<usize> {
        let (start, _) = self.directory.bounds(shingle << PLACE_BITS);
        let (_, end) = self.directory.bounds(shingle << PLACE_BITS | MOST_PLACE);
        // No pair is below the first one, not even that one itself.
        if end == 0 { 0..1 } else { start..end }
    }
}

/// The lists of the documents from a place on: made by [`MemoryLists::from_place`].
#[derive(Debug)]
pub struct LaterLists<'l> {
    lists: &'l MemoryLists,
    first: u64,
}

impl Lists for LaterLists<'_> {
    fn find(&mut self, shingles: &[u64], lists: &mut Vec<List>) -> Result<(), ReadError> {
        let Self { lists: MemoryLists { pairs, directory, .. }, first } = self;
        // A pair has no room for a greater place.
        if pairs.is_empty() || *first > MOST_PLACE {
            return Ok(());
        }
        for some in shingles.chunks(AT_ONCE) {
            // One step of all look-ups before the next, so that their waits for memory overlap.
            some.iter().for_each(|shingle| directory.prefetch(shingle << PLACE_BITS));
            let mut positions = [const { 0..0 }; AT_ONCE];
            for (positions, &shingle) in positions.iter_mut().zip(some) {
                *positions = self.lists.positions(shingle);
                if positions.start < positions.end {
                    prefetch(pairs, positions.start.midpoint(positions.end));
                }
            }
            for (positions, &shingle) in positions.into_iter().zip(some) {
                let least = shingle << PLACE_BITS | *first;
                let start = positions.start + pairs[positions.clone()].partition_point(|&pair| pair < least);
                let own = pairs[start..positions.end].partition_point(|pair| pair >> PLACE_BITS == shingle);
                if own > 0 {
                    let (start, length) = (start as u64, own as u64);
                    lists.push(List { shingle, length, at: start..start + length });
                }
            }
        }
        Ok(())
    }

    fn for_each(
        &mut self,
        list: &List,
        visit: &mut dyn FnMut(u64) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.pairs_of(list).iter().try_for_each(|pair| visit(pair & MOST_PLACE))
    }

    fn contains(&mut self, list: &List, place: u64) -> Result<bool, ReadError> {
        Ok(self.pairs_of(list).binary_search(&(list.shingle << PLACE_BITS | place)).is_ok())
    }

    fn size(&self, place: u64) -> Result<usize, ReadError> {
        Ok(self.lists.sizes[place as usize] as usize)
    }
}

impl<'l> LaterLists<'l> {
    fn pairs_of(&self, list: &List) -> &'l [u64] {
        &self.lists.pairs[list.at.start as usize..list.at.end as usize]
    }
}

/// The lists of documents that are added one by one.
#[derive(Debug, Default)]
pub struct GrowingLists {
    lists: HashMap<u64, Places>,
    sizes: Vec<usize>,
}

/// The places of a list. Most lists have one, which takes no memory of its own.
#[derive(Debug)]
enum Places {
    One(u64),
    Several(Vec<u64>),
}

impl Places {
    fn as_slice(&self) -> &[u64] {
        match self {
            Self::One(place) => std::slice::from_ref(place),
            Self::Several(places) => places,
        }
    }

    fn push(&mut self, place: u64) {
        match self {
            Self::One(first) => *self = Self::Several(vec![*first, place]),
            Self::Several(places) => places.push(place),
        }
    }
}

impl GrowingLists {
    /// Adds a document with this set of shingles. The first has place 0, and so on.
    pub fn add(&mut self, set: &[u64]) {
        let place = self.sizes.len() as u64;
        self.lists.reserve(set.len());
        for &shingle in set {
            let list = self.lists.entry(shingle);
            list.and_modify(|places| places.push(place)).or_insert(Places::One(place));
        }
        self.sizes.push(set.len());
    }
}

impl Lists for &GrowingLists {
    fn find(&mut self, shingles: &[u64], lists: &mut Vec<List>) -> Result<(), ReadError> {
        for &shingle in shingles {
            if let Some(places) = self.lists.get(&shingle) {
                let length = places.as_slice().len() as u64;
                lists.push(List { shingle, length, at: 0..length });
            }
        }
        Ok(())
    }

    fn for_each(
        &mut self,
        list: &List,
        visit: &mut dyn FnMut(u64) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.lists[&list.shingle].as_slice().iter().try_for_each(|&place| visit(place))
    }

    fn contains(&mut self, list: &List, place: u64) -> Result<bool, ReadError> {
        Ok(self.lists[&list.shingle].as_slice().binary_search(&place).is_ok())
    }

    fn size(&self, place: u64) -> Result<usize, ReadError> {
        Ok(self.sizes[place as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::shingles::condition::Measure;
    use crate::shingles::{Condition, Search};

    /// Sets that crowd: of few shingles, with the parts of a footer, near each other.
    fn sets() -> impl Strategy<Value = Vec<Vec<u64>>> {
        let apart = prop::collection::btree_set(0u64..1 << shingles::BITS, 0..12);
        let crowded = prop::collection::btree_set(0u64..24, 0..16);
        let ends = prop::collection::btree_set((1u64 << shingles::BITS) - 8..1 << shingles::BITS, 0..5);
        let footer = (0usize..10, apart).prop_map(|(length, mut set): (usize, BTreeSet<u64>)| {
            set.extend(1000..1000 + length as u64);
            set
        });
        // Looked up in several waves.
        let large = prop::collection::btree_set(0u64..250, 60..200);
        let set = prop_oneof![3 => crowded, 3 => footer, 1 => ends, 1 => large];
        prop::collection::vec(set.prop_map(|set| set.into_iter().collect()), 0..40)
    }

    proptest! {
        #[test]
        fn what_meets_a_condition_is_what_a_naive_program_finds(
            stored in sets(),
            queries in sets(),
            percent in 1u32..=100,
        ) {
            let lists = MemoryLists::of(&stored);
            let joined = stored.chunks(7).map(|some| MemoryLists::joined(&[MemoryLists::of(some)]));
            let joined = MemoryLists::joined(&joined.collect::<Vec<_>>());
            let mut growing = GrowingLists::default();
            stored.iter().for_each(|set| growing.add(set));
            let mut search = Search::default();
            for measure in [Measure::Resemblance, Measure::Containing, Measure::Contained] {
                let condition = Condition::new(measure, f64::from(percent) / 100.0).unwrap();
                for query in queries.iter().chain(&stored) {
                    let mut expected = Vec::new();
                    for (place, set) in stored.iter().enumerate() {
                        let shared = query.iter().filter(|&shingle| set.contains(shingle)).count();
                        if shared > 0 && condition.is_met(shared, query.len(), set.len()) {
                            expected.push((place as u64, set.len(), shared));
                        }
                    }
                    for kind in 0..4 {
                        if kind == 3 {
                            expected.retain(|(place, ..)| *place >= 5);
                        }
                        let found = match kind {
                            0 => search.run(&mut lists.from_place(0), query, &condition, &|| Ok(())).unwrap(),
                            1 => search.run(&mut joined.from_place(0), query, &condition, &|| Ok(())).unwrap(),
                            2 => search.run(&mut &growing, query, &condition, &|| Ok(())).unwrap(),
                            _ => search.run(&mut lists.from_place(5), query, &condition, &|| Ok(())).unwrap(),
                        };
                        let found: Vec<_> = found.iter().map(|one| (one.place, one.size, one.shared)).collect();
                        prop_assert_eq!(&found, &expected, "{:?}", condition);
                    }
                }
            }
        }
    }

    /// Lists that count the shingles that are looked up.
    struct Counted<'a>(LaterLists<'a>, usize);

    impl Lists for Counted<'_> {
        fn find(&mut self, shingles: &[u64], lists: &mut Vec<List>) -> Result<(), ReadError> {
            self.1 += shingles.len();
            self.0.find(shingles, lists)
        }

        fn for_each(
            &mut self,
            list: &List,
            visit: &mut dyn FnMut(u64) -> Result<(), ReadError>,
        ) -> Result<(), ReadError> {
            self.0.for_each(list, visit)
        }

        fn contains(&mut self, list: &List, place: u64) -> Result<bool, ReadError> {
            self.0.contains(list, place)
        }

        fn size(&self, place: u64) -> Result<usize, ReadError> {
            self.0.size(place)
        }
    }

    #[test]
    fn a_new_text_is_known_to_be_new_by_a_part_of_its_shingles() {
        let lists = MemoryLists::of([(0..300).collect::<Vec<u64>>()]);
        let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
        let looked_up = |query: Vec<u64>, expected: usize| {
            let mut counted = Counted(lists.from_place(0), 0);
            let mut search = Search::default();
            let found = search.run(&mut counted, &query, &condition, &|| Ok(())).unwrap();
            assert_eq!(found.len(), expected);
            counted.1
        };
        // Of 300, at least 210 are shared: at most 90 are missing.
        assert!(looked_up((1000..1300).collect(), 0) < 130);
        assert!(looked_up((0..600).step_by(2).collect(), 0) <= 300);
        assert_eq!(looked_up((20..320).collect(), 1), 300);
        assert_eq!(looked_up((100..400).collect(), 0), 300);
    }

    #[test]
    fn as_many_documents_as_fit_are_told_apart() {
        let last = (1u64 << shingles::BITS) - 1;
        let lists = MemoryLists::of((0..MemoryLists::MAX_DOCUMENTS as u64).map(|place| [place, last]));
        let condition = Condition::new(Measure::Resemblance, 1.0).unwrap();
        let mut search = Search::default();
        let mut after_all = lists.from_place(MemoryLists::MAX_DOCUMENTS as u64);
        for place in [1, 65_534, 65_535] {
            assert!(search.run(&mut after_all, &[place, last], &condition, &|| Ok(())).unwrap().is_empty());
        }
        let mut found = Vec::new();
        after_all.find(&[1, last], &mut found).unwrap();
        assert!(found.is_empty());
        for place in [0, 1, 65_534, 65_535] {
            let found = search.run(&mut lists.from_place(0), &[place, last], &condition, &|| Ok(())).unwrap();
            assert_eq!(found.iter().map(|one| one.place).collect::<Vec<_>>(), [place]);
        }
        assert!(lists.bytes() > 16 * MemoryLists::MAX_DOCUMENTS);
        assert!(
            search
                .run(&mut MemoryLists::of([[0u64; 0]]).from_place(0), &[1], &condition, &|| Ok(()))
                .unwrap()
                .is_empty()
        );
    }
}
