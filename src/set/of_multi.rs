//! Several indexes as one set.

use std::borrow::Cow;
use std::ops::ControlFlow;

use hamdex_fingerprint::Fingerprint;

use crate::batch::BatchOptions;
use crate::error::SetError;
use crate::ids::Ids;
use crate::index::{Match, MatchVisitor};
use crate::join::PairsOptions;
use crate::multi::{FoundIn, MultiIndex, MultiSearcher};
use crate::progress::ProgressCallback;
use crate::set::{
    Description, EntryVisitor, FingerprintSet, MatchIds, PairVisitor, SetSearcher, ShinglePart,
    ShingleVisitor, StoredId, unite_ids,
};
use crate::verify::{Verified, VerifyOptions};

/// Ids are united over all indexes; names come from the index in which an id was found.
impl<F: Fingerprint> FingerprintSet<F> for MultiIndex<F> {
    fn describe(&self) -> Description {
        let mut description = Description::new(F::BITS, self.distance());
        description.fingerprints = self.stored();
        description.is_counted = self.as_slice().is_empty();
        description.has_ids = self.as_slice().iter().any(|index| index.has_ids());
        description.has_names = self.as_slice().iter().any(|index| index.has_names());
        description
    }

    fn open_searcher(&self) -> Box<dyn SetSearcher<F> + Send + '_> {
        Box::new(OneByOne { searcher: self.searcher(), matches: Vec::new() })
    }

    fn visit_batch(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        let mut matches = Vec::new();
        Ok(self.batch_with(queries, distance, options, |place, found| {
            matches.clear();
            matches.extend(found.iter().map(|found| found.found_in[0].found));
            visit(place, &matches)
        })?)
    }

    fn visit_pairs(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut PairVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        Ok(self.pairs(distance).options(options).for_each_batch(visit)?)
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        Ok(self.pairs(distance).options(options).count_by_distance()?)
    }

    fn visit_entries(&self, from: F, visit: &mut EntryVisitor<'_, F>) -> Result<ControlFlow<()>, SetError> {
        let mut searcher = self.searcher();
        let mut walks: Vec<_> =
            self.as_slice().iter().map(|index| index.fingerprints().from(from).peekable()).collect();
        loop {
            let mut least = None;
            for walk in &mut walks {
                match walk.peek() {
                    Some(Ok(fingerprint)) => least = least.into_iter().chain([*fingerprint]).min(),
                    Some(Err(_)) => return Err(walk.next().and_then(Result::err).expect("it failed").into()),
                    None => {}
                }
            }
            let Some(least) = least else { return Ok(ControlFlow::Continue(())) };
            for walk in &mut walks {
                walk.next_if(|next| matches!(next, Ok(fingerprint) if *fingerprint == least));
            }
            let found: Vec<FoundIn<F>> =
                searcher.within(least, 0)?.get(0).map_or_else(Vec::new, |found| found.found_in.to_vec());
            if !found.is_empty()
                && visit(least, stored_ids(&mut searcher, &found, usize::MAX)?.0.into()).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        match self.as_slice().get(id.part) {
            Some(index) => FingerprintSet::name_of(&**index, id),
            None => Ok(None),
        }
    }

    /// It has none.
    fn shingle_parts(&self) -> Result<Option<Vec<ShinglePart>>, SetError> {
        Ok(None)
    }

    fn visit_shingles(
        &self,
        _part: &ShinglePart,
        _visit: &mut ShingleVisitor<'_>,
    ) -> Result<ControlFlow<()>, SetError> {
        Ok(ControlFlow::Continue(()))
    }

    fn check_files(&self) -> Result<(), SetError> {
        Ok(self.as_slice().iter().try_for_each(|index| index.check_file())?)
    }

    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        let mut sum = Verified::default();
        for index in self.as_slice() {
            sum.add(&index.verify_with(options)?);
        }
        Ok(sum)
    }
}

/// Returns the first `most` ids of a match in the indexes that it was found in, each id once, and the number of all.
fn stored_ids<F: Fingerprint>(
    searcher: &mut MultiSearcher<F>,
    found_in: &[FoundIn<F>],
    most: usize,
) -> Result<(Vec<StoredId>, u64), SetError> {
    let indexes = searcher.indexes().clone();
    let mut lists = Vec::new();
    for found in found_in {
        lists.extend(indexes.as_slice()[found.index].ids_of(std::slice::from_ref(&found.found))?);
    }
    let counts: Vec<u64> = lists.iter().map(|ids: &Ids<'_>| ids.len() as u64).collect();
    let lists = lists.into_iter().zip(found_in);
    let stored = lists.map(|(ids, found)| ids.map(|id| StoredId { part: found.index, id })).collect();
    Ok(unite_ids(stored, &counts, false, most))
}

/// Keeps the matches of a query without the indexes that they are in.
struct OneByOne<F> {
    searcher: MultiSearcher<F>,
    matches: Vec<Match<F>>,
}

impl<F: Fingerprint> SetSearcher<F> for OneByOne<F> {
    fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], SetError> {
        let found = self.searcher.nearest_within(query, count, distance)?;
        self.matches.clear();
        self.matches.extend(found.iter().map(|found| found.found_in[0].found));
        Ok(&self.matches)
    }

    fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, SetError> {
        Ok(self.searcher.first(query, distance)?.map(|found| found.found))
    }

    fn ids_of(&mut self, matches: &[Match<F>], most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        let of_match = |one: &Match<F>| {
            let found = self.searcher.within(one.fingerprint, 0)?.get(0);
            let found_in = found.map_or_else(Vec::new, |found| found.found_in.to_vec());
            let (first, all) = stored_ids(&mut self.searcher, &found_in, most)?;
            Ok(MatchIds::first_of(first, all))
        };
        matches.iter().map(of_match).collect()
    }

    fn set_progress(&mut self, report: ProgressCallback) {
        self.searcher.report_to(report);
    }
}
