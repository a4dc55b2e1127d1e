//! The ids of many matches: matches that know the place of their ids need no look-up, and the others are looked
//! up together, so that their memory accesses overlap.

use std::ops::ControlFlow;

use crate::codec::{Located, SCAN_BATCH, Target};
use crate::error::ReadError;
use crate::ids::Ids;
use crate::index::handle::Index;
use crate::index::matches::Match;
use crate::table::scanner::{Scanner, prefetch_fronts};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Matches that are looked up together.
const TOGETHER: usize = 256;

type IdsOf<F> = for<'i> fn(&'i Index<F>, &[Match<F>], &mut Scanner<F>) -> Result<Vec<Ids<'i>>, ReadError>;

per_width! {
    compiled_ids_of: IdsOf = ids_of_with;
}

impl<F: Fingerprint> Index<F> {
    /// Returns the ids of each of these matches, in their order, each list ascending; empty if the index has no
    /// ids. Matches of other indexes are looked up, too; fingerprints that are not stored in this index have no
    /// ids.
    ///
    /// It saves the look-up for matches that a [`Searcher`](crate::Searcher) has found in table 0: all of them
    /// with the design `single`, most with `halves`, a part with others. The rest are looked up together, which
    /// is faster than one by one.
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("news.hamdex");
    /// let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true))?;
    /// [(0xff, 3), (0xfe, 8), (0xff, 1)].into_iter().try_for_each(|(x, id)| builder.push_with_id(x, id))?;
    /// builder.finish()?;
    ///
    /// let index = Index::<u64>::open(&path)?;
    /// let mut searcher = index.searcher();
    /// let found = searcher.within(0xff, 3)?;
    /// let lists = index.ids_of(found)?;
    /// for (found, ids) in found.iter().zip(lists) {
    ///     println!("{:016x} is {} bits away: {:?}", found.fingerprint, found.distance, ids.collect::<Vec<_>>());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids_of(&self, matches: &[Match<F>]) -> Result<Vec<Ids<'_>>, ReadError> {
        self.ids_of_through(matches, &mut Scanner::default())
    }

    /// Returns the ids of matches, with this scanner.
    pub(crate) fn ids_of_through(
        &self,
        matches: &[Match<F>],
        scanner: &mut Scanner<F>,
    ) -> Result<Vec<Ids<'_>>, ReadError> {
        compiled_ids_of()(self, matches, scanner)
    }

    /// Finds the block of table 0, and the number in it, of each match; `None` if it is not stored.
    fn places_of(
        &self,
        matches: &[Match<F>],
        scanner: &mut Scanner<F>,
        places: &mut [Option<(usize, usize)>],
    ) -> Result<(), ReadError> {
        let tag = self.tag();
        let (table, file) = (&self.tables[0], self.data.as_ref());
        let mut targets = [Target { query: F::ZERO, prefix_bits: F::BITS, radius: 0, distance: 0 }; TOGETHER];
        let mut wanted = [0; TOGETHER];
        let mut unknown = 0;
        for (number, (found, place)) in matches.iter().zip(&mut *places).enumerate() {
            *place = found.entry.of_file(tag);
            if place.is_none() {
                targets[unknown].query = found.fingerprint;
                table.prefetch_directory(&targets[unknown]);
                wanted[unknown] = number;
                unknown += 1;
            }
        }
        if unknown == 0 {
            return Ok(());
        }
        let targets = &targets[..unknown];
        for target in targets {
            table.prefetch_keys(file, target);
        }
        let mut located = [Located { table: 0, block: 0, target: 0 }; TOGETHER];
        let mut count = 0;
        for (number, target) in targets.iter().enumerate() {
            let block = table.keys.in_file(file).find(target.query);
            if block < table.keys.len() {
                located[count] = Located { table: 0, block: block as u32, target: number as u32 };
                count += 1;
            }
        }
        let located = &located[..count];
        self.read_ahead.query(&self.data, &self.tables, located);
        prefetch_fronts(&self.tables, file, &located[..count.min(SCAN_BATCH)], targets);
        let outcome = scanner.scan(&self.tables, file, located, targets, &mut |at, entry, _| {
            places[wanted[at.target as usize]] = Some((at.block as usize, entry));
            ControlFlow::Continue(())
        });
        outcome.map(drop).map_err(|error| self.error(error))
    }
}

fn ids_of_with<'i, F: Fingerprint>(
    index: &'i Index<F>,
    matches: &[Match<F>],
    scanner: &mut Scanner<F>,
) -> Result<Vec<Ids<'i>>, ReadError> {
    let Some(ids) = &index.ids else { return Ok(vec![Ids::NONE; matches.len()]) };
    let mut lists = Vec::with_capacity(matches.len());
    let mut places = [None; TOGETHER];
    for matches in matches.chunks(TOGETHER) {
        let places = &mut places[..matches.len()];
        index.places_of(matches, scanner, places)?;
        for place in places {
            let of = |(block, entry)| ids.of(index.data.as_ref(), block, entry);
            lists.push(place.map_or(Ok(Ids::NONE), of).map_err(|error| index.error(error))?);
        }
    }
    Ok(lists)
}
