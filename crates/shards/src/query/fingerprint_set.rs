//! A set of shards as a [`FingerprintSet`].

use std::borrow::Cow;
use std::ops::ControlFlow;

use hamdex::set::{
    Description, EntryVisitor, MatchIds, MatchVisitor, PairVisitor, ShinglePart, ShingleVisitor, StoredId,
};
use hamdex::{
    BatchOptions, Fingerprint, FingerprintSet, Match, PairsOptions, ProgressCallback, RECIPE_KEY, SetError,
    SetSearcher, Verified, VerifyOptions, shingles,
};

use crate::manifest::IdType;
use crate::query::searcher::ShardsSearcher;
use crate::set::Shards;

impl<F: Fingerprint> FingerprintSet<F> for Shards<F> {
    fn describe(&self) -> Description {
        let manifest = self.manifest();
        let mut description = Description::new(F::BITS, manifest.distance);
        description.fingerprints = self.len();
        description.is_counted = manifest.families() > 1;
        description.has_ids = manifest.id_type.is_some();
        description.has_names = manifest.id_type == Some(IdType::Names);
        let recipe = manifest.recipe.iter().map(|recipe| (RECIPE_KEY.to_owned(), recipe.as_bytes().to_vec()));
        let definition = manifest.shingles.iter();
        let definition = definition.map(|text| (shingles::KEY.to_owned(), text.as_bytes().to_vec()));
        description.metadata = recipe.chain(definition).collect();
        description.has_shingles = manifest.shingles.is_some();
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
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        Ok(self.batch_with(queries, distance, options, visit)?)
    }

    fn visit_pairs(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut PairVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        Ok(self.for_each_pair_batch(distance, options, visit)?)
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        Ok(self.count_pairs_by_distance(distance, options)?)
    }

    fn visit_entries(&self, from: F, visit: &mut EntryVisitor<'_, F>) -> Result<ControlFlow<()>, SetError> {
        self.whole()?.visit_entries(from, visit)
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        Ok(self.name(id)?.map(Cow::Borrowed))
    }

    /// Divides the documents of each shard of the first family.
    fn shingle_parts(&self) -> Result<Option<Vec<ShinglePart>>, SetError> {
        if self.manifest().shingles.is_none() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for file in self.first_family() {
            let documents =
                self.shard(file)?.shingles()?.map_or(Ok(Vec::new()), |shingles| shingles.parts())?;
            parts.extend(documents.into_iter().map(|documents| ShinglePart { file, documents }));
        }
        Ok(Some(parts))
    }

    fn visit_shingles(
        &self,
        part: &ShinglePart,
        visit: &mut ShingleVisitor<'_>,
    ) -> Result<ControlFlow<()>, SetError> {
        let Some(shingles) = self.shard(part.file)?.shingles()? else { return Ok(ControlFlow::Continue(())) };
        let visit = |id, set: &[u64]| visit(StoredId { part: part.file, id }, set);
        Ok(shingles.for_each_in(part.documents.clone(), visit)?)
    }

    fn check_files(&self) -> Result<(), SetError> {
        Ok(self.check_opened()?)
    }

    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        Ok(self.verify(options)?)
    }
}

impl<F: Fingerprint> SetSearcher<F> for ShardsSearcher<'_, F> {
    fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], SetError> {
        Ok(self.nearest_within(query, count, distance)?)
    }

    fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, SetError> {
        Ok(self.first(query, distance)?)
    }

    fn ids_of(&mut self, matches: &[Match<F>], most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        matches.iter().map(|found| Ok(self.first_ids(found.fingerprint, most)?)).collect()
    }

    fn set_progress(&mut self, report: ProgressCallback) {
        self.report_to(report);
    }
}
