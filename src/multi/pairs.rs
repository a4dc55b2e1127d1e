//! The self-join of several indexes: of all that they store, a pair may lie in two of them.

use crate::error::ReadError;
use crate::index::{EntryPlace, Index, Match};
use crate::join::population::{
    Neighbours, Part, Population, bounds_of_blocks, parts_of_table, read_blocks, read_runs,
};
use crate::join::{Pairs, Workspace};
use crate::memory::give_back;
use crate::multi::MultiIndex;
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

type PairsOfAll<F> = for<'i> fn(&'i MultiIndex<F>, u32) -> Pairs<'i, F>;

per_width! {
    compiled_pairs: PairsOfAll = |indexes, distance| Pairs::of(Box::new(OfIndexes(indexes)), distance);
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Returns the self-join: all pairs within `distance` of fingerprints that are stored in any of the indexes and
    /// count there; each pair once, within and across indexes.
    ///
    /// No table holds them all side by side, so each lead is gathered in memory from table 0 of every index: see
    /// [`Pairs::memory`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use hamdex::{BuildOptions, Builder, Index, MultiIndex};
    ///
    /// let build = |fingerprint: u64| -> Result<Index<u64>, Box<dyn std::error::Error>> {
    ///     let mut builder = Builder::in_memory(BuildOptions::new())?;
    ///     builder.push(fingerprint)?;
    ///     Ok(Index::from_bytes(builder.into_inner()?.0)?)
    /// };
    /// let (one, two) = (build(0x00ff)?, build(0x01ff)?);
    /// let pairs = MultiIndex::new([one, two].map(Arc::new)).pairs(3).collect()?;
    /// assert_eq!((pairs[0].a, pairs[0].b, pairs[0].distance), (0x00ff, 0x01ff, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pairs(&self, distance: u32) -> Pairs<'_, F> {
        compiled_pairs()(self, distance)
    }
}

/// All fingerprints of several indexes.
struct OfIndexes<'a, F>(&'a MultiIndex<F>);

impl<F: Fingerprint> Population<F> for OfIndexes<'_, F> {
    fn len(&self) -> u64 {
        self.0.stored()
    }

    fn has_repeats(&self) -> bool {
        true
    }

    fn parts(&self, _: usize, size: u64) -> Vec<Part> {
        let of_index = |(source, index): (usize, &Index<F>)| {
            parts_of_table(index, &index.tables[0], size).map(move |range| Part { source, range })
        };
        self.0.as_slice().iter().map(|index| &**index).enumerate().flat_map(of_index).collect()
    }

    fn bounds(&self, part: &Part) -> (F, F) {
        let index: &Index<F> = &self.0.as_slice()[part.source];
        bounds_of_blocks(index, &index.tables[0], &part.range)
    }

    fn prefetch(&self, part: &Part) {
        let index = &*self.0.as_slice()[part.source];
        index.read_ahead.blocks(&index.data, &index.tables[0], part.range.clone());
    }

    fn read(
        &self,
        part: &Part,
        workspace: &mut Workspace<F>,
        take: &mut dyn FnMut(&[F]),
    ) -> Result<(), ReadError> {
        let index = &*self.0.as_slice()[part.source];
        if !self.0.is_filtered(part.source) {
            let outcome = read_runs(index, &index.tables[0], part.range.clone(), workspace, take);
            return outcome.map_err(|error| index.error(error));
        }
        let tag = index.tag();
        let mut counting = Vec::new();
        let read = &mut |block, values: &[F]| {
            counting.clear();
            for (number, &fingerprint) in values.iter().enumerate() {
                let entry = EntryPlace::new(block as u32, number, tag);
                if self.0.counts(part.source, &Match { distance: 0, fingerprint, entry })? {
                    counting.push(fingerprint);
                }
            }
            take(&counting);
            Ok(())
        };
        read_blocks(index, part.range.clone(), workspace, read).map_err(|error| match error.path() {
            None => index.error(error),
            Some(_) => error,
        })
    }

    fn neighbours(&self) -> Neighbours<'_, F> {
        let mut searcher = self.0.without_memory().searcher();
        // The matches of a query, with the numbers of the indexes that they are in.
        let mut found: Vec<(Match<F>, usize)> = Vec::new();
        Box::new(move |source, query, distance, visit| {
            give_back(&mut found);
            found.clear();
            searcher.for_each(query, distance, |number, one| {
                found.push((one, number));
                Ok::<_, ReadError>(())
            })?;
            found.sort_unstable();
            found.dedup_by_key(|(one, _)| *one);
            // The nearest is the query itself, in the first of the indexes that it is in.
            match found.split_first() {
                Some(((_, number), others)) if *number >= source => {
                    Ok(others.iter().try_for_each(|(one, _)| visit(one.fingerprint))?)
                }
                _ => Ok(()),
            }
        })
    }
}
