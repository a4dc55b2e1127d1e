//! Many queries at once.

use std::ops::ControlFlow;

use hamdex::set::MatchVisitor;
use hamdex::{BatchOptions, Fingerprint, Match};

use crate::error::Error;
use crate::partition::Partition;
use crate::set::Shards;

/// The maximum number of queries in a chunk.
const MAX_QUERIES: usize = 1 << 20;

/// Chunks with fewer queries are answered one by one.
const FEW: usize = 16;

/// A match, after the index of its query within the chunk.
type Placed<F> = (u32, Match<F>);

impl<F: Fingerprint> Shards<F> {
    /// Calls `visit` with the index of each query and its matches within `distance`, nearest first, then by
    /// fingerprint; in the order of the queries, with or without matches, until it breaks. Returns whether it did.
    ///
    /// In a set of families, each shard answers a batch of the queries that are routed to it. [`BatchOptions::memory`]
    /// limits the memory whatever the number of shards; progress is reported per batch of a shard.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block that is read is damaged. Earlier queries may have been visited.
    pub fn batch_with(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, Error> {
        match self.partition_for(distance) {
            Some(partition) => self.batch_of_families(partition, queries, distance, options, visit),
            None => {
                let mut matches = Vec::new();
                Ok(self.whole()?.batch_with(queries, distance, options, |place, united| {
                    matches.clear();
                    matches.extend(united.iter().map(|found| found.found_in[0].found));
                    visit(place, &matches)
                })?)
            }
        }
    }

    fn batch_of_families(
        &self,
        partition: &Partition<F>,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, Error> {
        let (mut at, mut size) = (0, MAX_QUERIES);
        while at < queries.len() {
            let chunk = &queries[at..queries.len().min(at + size)];
            let mut visit = |place: usize, matches: &[Match<F>]| visit(at + place, matches);
            let outcome = if chunk.len() < FEW {
                size = FEW - 1;
                self.one_by_one(chunk, distance, options, &mut visit)?
            } else if let Some(found) = self.batch_of_chunk(partition, chunk, distance, options)? {
                deliver(chunk.len(), &found, options.match_limit(), &mut visit)
            } else {
                size = chunk.len() / 2;
                continue;
            };
            if outcome.is_break() {
                return Ok(outcome);
            }
            at += chunk.len();
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the matches of all queries, sorted by query and match; `None` if they exceed the memory limit.
    fn batch_of_chunk(
        &self,
        partition: &Partition<F>,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
    ) -> Result<Option<Vec<Placed<F>>>, Error> {
        let room = options.match_bytes() / size_of::<Placed<F>>();
        let mut found: Vec<Placed<F>> = Vec::new();
        let mut routed = Vec::new();
        for family in 0..partition.families() {
            let places = Places::of(partition, family, queries);
            for shard in 0..partition.shards() {
                let places = places.of_shard(shard);
                if places.is_empty() {
                    continue;
                }
                routed.clear();
                routed.extend(places.iter().map(|&place| queries[place as usize]));
                let index = self.shard(family * partition.shards() + shard)?;
                let outcome = index.batch_with(&routed, distance, options, |number, matches| {
                    let query = routed[number];
                    let own = |near: &&Match<F>| partition.owner(query, near.fingerprint) == Some(family);
                    found.extend(matches.iter().filter(own).map(|near| (places[number], *near)));
                    if found.len() <= room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                if outcome.is_break() {
                    return Ok(None);
                }
            }
        }
        found.sort_unstable();
        Ok(Some(found))
    }

    fn one_by_one(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, Error> {
        let mut searcher = self.searcher();
        for (place, &query) in queries.iter().enumerate() {
            let matches = searcher.nearest_within(query, options.match_limit(), distance)?;
            if visit(place, matches).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Passes on the matches of each query, at most `most` of each.
fn deliver<F: Fingerprint>(
    queries: usize,
    found: &[Placed<F>],
    most: usize,
    visit: &mut MatchVisitor<'_, F>,
) -> ControlFlow<()> {
    let mut rest = found;
    let mut matches = Vec::new();
    for place in 0..queries {
        let count = rest.iter().take_while(|(query, _)| *query as usize == place).count();
        let (own, behind) = rest.split_at(count);
        rest = behind;
        matches.clear();
        matches.extend(own.iter().take(most).map(|(_, found)| *found));
        visit(place, &matches)?;
    }
    ControlFlow::Continue(())
}

/// The indexes of queries, by the shard of a family to which they are routed.
struct Places {
    places: Vec<u32>,
    /// The end of each shard's part.
    ends: Vec<usize>,
}

impl Places {
    fn of<F: Fingerprint>(partition: &Partition<F>, family: usize, queries: &[F]) -> Self {
        let shards: Vec<u32> = queries.iter().map(|&query| partition.shard(family, query) as u32).collect();
        let mut ends = vec![0; partition.shards()];
        shards.iter().for_each(|&shard| ends[shard as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // The start of the shard's part, until it is filled.
            (*end, sum) = (sum, sum + *end);
        }
        let mut places = vec![0; queries.len()];
        for (place, &shard) in shards.iter().enumerate() {
            let at = &mut ends[shard as usize];
            places[*at] = place as u32;
            *at += 1;
        }
        Self { places, ends }
    }

    fn of_shard(&self, shard: usize) -> &[u32] {
        let start = if shard == 0 { 0 } else { self.ends[shard - 1] };
        &self.places[start..self.ends[shard]]
    }
}
