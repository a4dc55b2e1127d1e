//! Many queries at once.

use std::ops::ControlFlow;

use hamdex::set::MatchVisitor;
use hamdex::{BatchOptions, Fingerprint, Gathered, Match, Parts, deliver};

use crate::error::Error;
use crate::partition::Partition;
use crate::query::searcher::ShardsSearcher;
use crate::set::Shards;

impl<F: Fingerprint> Shards<F> {
    /// Calls `visit` with the index of each query and its matches within `distance`, nearest first, then by
    /// fingerprint; in the order of the queries, with or without matches, until it breaks. Returns whether it did.
    ///
    /// In a set of families, each shard answers a batch of the queries that are routed to it. [`BatchOptions::memory`]
    /// limits the memory whatever the number of shards; progress is reported per batch of a shard.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block that is read is damaged, and earlier queries may have been visited; or
    /// the distance exceeds the width.
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
        let limit = options.match_limit();
        let mut parts = Families { set: self, partition, distance, searcher: None };
        deliver(&mut parts, queries, options, &mut |place, found: &[Match<F>]| {
            visit(place, &found[..found.len().min(limit)])
        })
    }
}

/// The shards of a set of families, as a batch asks them.
struct Families<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    partition: &'s Partition<F>,
    distance: u32,
    /// Made for the first query that is answered alone.
    searcher: Option<ShardsSearcher<'s, F>>,
}

impl<F: Fingerprint> Parts<F, Match<F>> for Families<'_, F> {
    type Error = Error;

    fn gather(
        &mut self,
        queries: &[F],
        options: &BatchOptions,
        found: &mut Gathered<'_, Match<F>>,
    ) -> Result<ControlFlow<()>, Error> {
        let partition = self.partition;
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
                let index = self.set.shard(family * partition.shards() + shard)?;
                let outcome = index.batch_with(&routed, self.distance, options, |number, matches| {
                    let query = routed[number];
                    let own = |near: &&Match<F>| partition.owner(query, near.fingerprint) == Some(family);
                    matches.iter().filter(own).try_for_each(|near| found.push(places[number] as usize, *near))
                })?;
                if outcome.is_break() {
                    return Ok(outcome);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn answer(&mut self, query: F, options: &BatchOptions, found: &mut Vec<Match<F>>) -> Result<(), Error> {
        let searcher = self.searcher.get_or_insert_with(|| {
            let mut searcher = self.set.searcher();
            options.callback().into_iter().for_each(|report| searcher.report_to(report));
            searcher
        });
        found.clear();
        found.extend_from_slice(searcher.nearest_within(query, options.match_limit(), self.distance)?);
        Ok(())
    }
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
