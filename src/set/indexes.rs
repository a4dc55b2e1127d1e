//! An index, and several indexes as one, as sets.

use std::borrow::Cow;

use crate::batch::BatchOptions;
use crate::error::{ReadError, SetError};
use crate::ids::Ids;
use crate::index::{Index, Match, Searcher};
use crate::join::{Pair, PairsOptions};
use crate::multi::{MultiIndex, MultiSearcher};
use crate::progress::Report;
use crate::set::{
    Description, FingerprintSet, MatchIds, SetEntries, SetSearcher, ShinglePart, StoredId, Visited,
    ids_of_parts,
};
use crate::shingles::{self, Condition, SimilarDocument};
use crate::verify::{Verified, VerifyOptions};
use hamdex_fingerprint::Fingerprint;

impl<F: Fingerprint> FingerprintSet<F> for Index<F> {
    fn describe(&self) -> Description {
        let mut description = Description::new(F::BITS, self.design().distance());
        description.design = Some(self.design().name().to_owned());
        description.codec = Some(self.codec());
        description.fingerprints = self.len();
        description.has_ids = self.has_ids();
        description.has_names = self.has_names();
        description.has_shingles = self.has_shingles();
        description.has_lookups = self.has_lookups();
        description.metadata.clone_from(self.metadata());
        description.file_id = Some(self.file_id());
        description
    }

    fn as_index(&self) -> Option<&Index<F>> {
        Some(self)
    }

    fn open_searcher(&self) -> Box<dyn SetSearcher<F> + Send + '_> {
        Box::new(self.searcher())
    }

    fn visit_batch(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut dyn FnMut(usize, &[Match<F>]) -> Visited,
    ) -> Result<(), SetError> {
        self.batch_with(queries, distance, options, visit)
    }

    fn visit_pairs(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Visited,
    ) -> Result<(), SetError> {
        self.pairs(distance).options(options).for_each_batch(visit)
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        Ok(self.pairs(distance).options(options).count_by_distance()?)
    }

    fn read_entries(&self, from: F) -> Result<SetEntries<'_, F>, SetError> {
        let entries = self.entries().from(from);
        Ok(Box::new(
            entries.map(|entry| entry.map(|one| (one.fingerprint, one.ids.into())).map_err(SetError::from)),
        ))
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        let Some(names) = self.names()? else { return Ok(None) };
        Ok(Some(Cow::Borrowed(names.name_of(id.id)?)))
    }

    fn shingle_parts(&self, memory: u64) -> Result<Option<Vec<ShinglePart>>, SetError> {
        let Some(shingles) = self.shingles()? else { return Ok(None) };
        let parts = shingles.parts(memory)?;
        Ok(Some(parts.into_iter().map(|documents| ShinglePart { file: 0, documents }).collect()))
    }

    fn visit_shingles(
        &self,
        part: &ShinglePart,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
        visit: &mut dyn FnMut(StoredId, &[u64]) -> Visited,
    ) -> Result<(), SetError> {
        let Some(shingles) = self.shingles()? else { return Ok(()) };
        let visit = |id, set: &[u64]| visit(StoredId { part: 0, id }, set);
        shingles.for_each_while(part.documents.clone(), check_cancelled, visit)
    }

    fn check_files(&self) -> Result<(), SetError> {
        Ok(self.check_file()?)
    }

    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        Ok(self.verify_with(options)?)
    }
}

impl<F: Fingerprint> SetSearcher<F> for Searcher<&Index<F>> {
    fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], SetError> {
        Ok(self.nearest_within(query, count, distance)?)
    }

    fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, SetError> {
        Ok(self.first(query, distance)?)
    }

    fn ids_of(&mut self, matches: &[Match<F>], most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        Ok(self.ids_of(matches)?.into_iter().map(|ids| MatchIds::from(ids).limit(most)).collect())
    }

    fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, SetError> {
        Ok(self.similar(shingles, condition, limit)?)
    }

    fn report_to(&mut self, report: Report) {
        self.report_to(report);
    }
}

/// Ids are united over all indexes; where they have names, each index numbers its own, and no id is that of another
/// index.
impl<F: Fingerprint> FingerprintSet<F> for MultiIndex<F> {
    fn describe(&self) -> Description {
        let mut description = Description::new(F::BITS, self.distance());
        description.fingerprints = self.stored();
        description.is_counted = self.as_slice().is_empty() && !self.has_memory();
        description.has_ids = self.as_slice().iter().any(|index| index.has_ids());
        description.has_names = has_names(self);
        if let Some(definition) = definition_of_shingles(self) {
            description.has_shingles = true;
            description.metadata.insert(shingles::KEY.to_owned(), definition);
        }
        description
    }

    fn open_searcher(&self) -> Box<dyn SetSearcher<F> + Send + '_> {
        Box::new(self.searcher())
    }

    fn visit_batch(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut dyn FnMut(usize, &[Match<F>]) -> Visited,
    ) -> Result<(), SetError> {
        self.batch_with(queries, distance, options, visit)
    }

    fn visit_pairs(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Visited,
    ) -> Result<(), SetError> {
        self.pairs(distance).options(options).for_each_batch(visit)
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        Ok(self.pairs(distance).options(options).count_by_distance()?)
    }

    fn read_entries(&self, from: F) -> Result<SetEntries<'_, F>, SetError> {
        let (mut searcher, have_names) = (self.searcher(), has_names(self));
        let mut counting = move |fingerprint, mut lists: Vec<(usize, Ids<'_>)>| {
            if lists.iter().any(|(number, _)| self.is_filtered(*number)) {
                let counts_in = searcher.indexes_of(fingerprint)?;
                lists.retain(|(number, _)| counts_in.contains(number));
            }
            Ok((!lists.is_empty()).then(|| (fingerprint, ids_of_parts(lists, have_names, usize::MAX))))
        };
        let counting = move |entry: Result<_, ReadError>| {
            entry
                .and_then(|(fingerprint, lists)| counting(fingerprint, lists))
                .map_err(SetError::from)
                .transpose()
        };
        Ok(Box::new(self.entries_from(from).filter_map(counting)))
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        match self.as_slice().get(id.part) {
            Some(index) => FingerprintSet::name_of(&**index, id),
            None => Ok(None),
        }
    }

    fn shingle_parts(&self, memory: u64) -> Result<Option<Vec<ShinglePart>>, SetError> {
        if definition_of_shingles(self).is_none() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for (file, index) in self.as_slice().iter().enumerate() {
            let parts = FingerprintSet::shingle_parts(&**index, memory)?.unwrap_or_default();
            all.extend(parts.into_iter().map(|part| ShinglePart { file, ..part }));
        }
        Ok(Some(all))
    }

    fn visit_shingles(
        &self,
        part: &ShinglePart,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
        visit: &mut dyn FnMut(StoredId, &[u64]) -> Visited,
    ) -> Result<(), SetError> {
        let Some(index) = self.as_slice().get(part.file) else { return Ok(()) };
        let number = if has_names(self) { part.file } else { 0 };
        let visit = &mut |id: StoredId, set: &[u64]| visit(StoredId { part: number, ..id }, set);
        FingerprintSet::visit_shingles(&**index, part, check_cancelled, visit)
    }

    fn check_files(&self) -> Result<(), SetError> {
        Ok(self.as_slice().iter().try_for_each(|index| index.check_file())?)
    }

    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        let mut sum = Verified { families: 1, ..Verified::default() };
        for index in self.as_slice() {
            sum.add(&index.verify_with(options)?);
        }
        Ok(sum)
    }
}

/// Returns how the shingles of all indexes are made; `None` unless all have some, made in the same way.
fn definition_of_shingles<F: Fingerprint>(indexes: &MultiIndex<F>) -> Option<Vec<u8>> {
    let of_index = |index: &Index<F>| {
        index.has_shingles().then(|| index.metadata().get(shingles::KEY).cloned().unwrap_or_default())
    };
    let mut all = indexes.as_slice().iter().map(|index| of_index(index));
    let first = all.next()??;
    (!indexes.has_memory() && all.all(|other| other.as_ref() == Some(&first))).then_some(first)
}

fn has_names<F: Fingerprint>(indexes: &MultiIndex<F>) -> bool {
    indexes.as_slice().iter().any(|index| index.has_names())
}

impl<F: Fingerprint> SetSearcher<F> for MultiSearcher<F> {
    fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], SetError> {
        Ok(self.nearest_within(query, count, distance)?)
    }

    fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, SetError> {
        Ok(self.first(query, distance)?)
    }

    fn ids_of(&mut self, matches: &[Match<F>], most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        let of_match = |one: &Match<F>| {
            let found = self.matches_of(one.fingerprint)?;
            let mut lists = Vec::with_capacity(found.len());
            for (number, one) in found {
                let Some(index) = self.indexes().as_slice().get(number) else { continue };
                lists.extend(index.ids_of(&[one])?.into_iter().map(|ids| (number, ids)));
            }
            Ok(ids_of_parts(lists, has_names(self.indexes()), most))
        };
        matches.iter().map(of_match).collect()
    }

    fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, SetError> {
        Ok(self.similar(shingles, condition, limit)?)
    }

    fn report_to(&mut self, report: Report) {
        self.report_to(report);
    }
}
