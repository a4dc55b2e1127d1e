//! Queries of a set.
//!
//! [`searcher`] answers them, one at a time and many at once.
//!
//! A set of shards is a [`FingerprintSet`](hamdex::FingerprintSet). In a self-join of families, shards are joined one
//! by one: a pair belongs to the first family in which both fingerprints are in the same shard. Beyond the set's
//! distance, and in layout `hash`, shards that together have every fingerprint are joined as one: see
//! [`hamdex::MultiIndex::pairs`].

pub(crate) mod searcher;

use std::borrow::Cow;
use std::ops::ControlFlow;

use searcher::ShardsSearcher;

use crate::error::Error;
use crate::manifest::IdType;
use crate::set::Shards;
use hamdex::set::{
    Description, EntryVisitor, MatchIds, MatchVisitor, PairVisitor, ShinglePart, ShingleVisitor, StoredId,
    ids_of_parts,
};
use hamdex::{
    BatchOptions, Fingerprint, FingerprintSet, Match, Pair, PairsOptions, ProgressCallback, RECIPE_KEY,
    SetError, SetSearcher, Verified, VerifyOptions, shingles,
};

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

impl<F: Fingerprint> ShardsSearcher<'_, F> {
    /// Returns the ids of a fingerprint in all shards: numbers ascending, each once; ids with names by shard and then
    /// ascending. Empty if the fingerprint is not stored, or the set has no ids.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block or page that is read is damaged.
    pub fn ids(&mut self, fingerprint: F) -> Result<Vec<StoredId>, Error> {
        Ok(self.first_ids(fingerprint, usize::MAX)?.collect())
    }

    /// Returns the first `most` ids of a fingerprint in all shards, in the order of [`ShardsSearcher::ids`], and the
    /// number of all.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::ids`].
    pub fn first_ids(&mut self, fingerprint: F, most: usize) -> Result<MatchIds<'static>, Error> {
        let set = self.set();
        let Some(id_type) = set.manifest().id_type else { return Ok(Vec::<StoredId>::new().into()) };
        let shards: Vec<usize> = if let Some(number) = set.home(fingerprint) {
            vec![number]
        } else {
            let found = self.whole()?.within(fingerprint, 0)?.get(0);
            found.iter().flat_map(|found| found.found_in).map(|found| found.index).collect()
        };
        let set = self.set();
        let mut lists = Vec::with_capacity(shards.len());
        for &number in &shards {
            lists.push((number, set.shard(number)?.ids(fingerprint)?));
        }
        lists.sort_unstable_by_key(|(number, _)| *number);
        Ok(ids_of_parts(lists, id_type == IdType::Names, most))
    }
}

impl<F: Fingerprint> Shards<F> {
    /// Returns the name of an id; `None` if ids have no names.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn name(&self, id: StoredId) -> Result<Option<&[u8]>, Error> {
        match self.shard(id.part)?.names()? {
            Some(names) => Ok(Some(names.name_of(id.id)?)),
            None => Ok(None),
        }
    }

    /// Returns the shard of a fingerprint in some family, preferably an open one; `None` without families.
    fn home(&self, fingerprint: F) -> Option<usize> {
        let partition = self.partition()?;
        let homes = |family| family * partition.shards() + partition.shard(family, fingerprint);
        let mut all = (0..partition.families()).map(homes);
        all.clone().find(|&number| self.is_open(number)).or_else(|| all.next())
    }
}

impl<F: Fingerprint> Shards<F> {
    /// Calls `visit`, on this thread, with all pairs in batches until it breaks. Returns whether it did.
    fn for_each_pair_batch(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut dyn FnMut(&[Pair<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let Some(partition) = self.partition_for(distance) else {
            return Ok(self.whole()?.pairs(distance).options(options).for_each_batch(visit)?);
        };
        let mut own = Vec::new();
        for number in 0..self.manifest().shards.len() {
            let family = number / partition.shards();
            let pairs = self.shard(number)?.pairs(distance).options(options);
            let outcome = pairs.for_each_batch(|pairs| {
                own.clear();
                own.extend(pairs.iter().filter(|pair| partition.owner(pair.a, pair.b) == Some(family)));
                if own.is_empty() { ControlFlow::Continue(()) } else { visit(&own) }
            })?;
            if outcome.is_break() {
                return Ok(outcome);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the number of pairs at each distance from 0, at which there are none.
    fn count_pairs_by_distance(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, Error> {
        if self.partition_for(distance).is_none() {
            return Ok(self.whole()?.pairs(distance).options(options).count_by_distance()?);
        }
        let mut counts = vec![0; distance as usize + 1];
        let _ = self.for_each_pair_batch(distance, options, &mut |pairs| {
            pairs.iter().for_each(|pair| counts[pair.distance as usize] += 1);
            ControlFlow::Continue(())
        })?;
        Ok(counts)
    }
}
