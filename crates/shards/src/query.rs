//! Queries of a set, one at a time and many at once: each is routed to the shards that can have a match.
//!
//! A set of shards is a [`FingerprintSet`](hamdex::FingerprintSet). In a self-join of families, shards are joined one
//! by one: a pair belongs to the first family in which both fingerprints are in the same shard. Beyond the set's
//! distance, and in layout `hash`, shards that together have every fingerprint are joined as one: see
//! [`hamdex::MultiIndex::pairs`].

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hamdex::multi::{MultiSearcher, Router, batch_by_routes};
use hamdex::set::{Description, MatchIds, SetEntries, ShinglePart, StoredId, Visited, ids_of_parts};
use hamdex::similar::{Condition, SimilarDocument};
use hamdex::{
    BatchOptions, Fingerprint, FingerprintSet, Index, Match, MultiIndex, Pair, PairsOptions, RECIPE_KEY,
    ReadError, Report, SetError, SetSearcher, Verified, VerifyOptions, check_distance, shingles,
};

use crate::error::Error;
use crate::manifest::IdType;
use crate::partition::Partition;
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
        // A shard without lists says so when it is searched.
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
        let Some(partition) = self.partition_for(distance) else {
            return self.whole()?.pairs(distance).options(options).for_each_batch(visit);
        };
        let mut own = Vec::new();
        for number in 0..self.manifest().shards.len() {
            let family = number / partition.shards();
            let pairs = self.shard(number)?.pairs(distance).options(options);
            pairs.for_each_batch(|pairs| {
                own.clear();
                own.extend(pairs.iter().filter(|pair| partition.owner(pair.a, pair.b) == Some(family)));
                if own.is_empty() { Ok(()) } else { visit(&own) }
            })?;
        }
        Ok(())
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        if self.partition_for(distance).is_none() {
            return Ok(self.whole()?.pairs(distance).options(options).count_by_distance()?);
        }
        let mut counts = vec![0; distance as usize + 1];
        self.visit_pairs(distance, options, &mut |pairs| {
            pairs.iter().for_each(|pair| counts[pair.distance as usize] += 1);
            Ok(())
        })?;
        Ok(counts)
    }

    fn read_entries(&self, from: F) -> Result<SetEntries<'_, F>, SetError> {
        self.whole()?.read_entries(from)
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        Ok(self.name(id)?.map(Cow::Borrowed))
    }

    /// Divides the documents of each shard of the first family.
    fn shingle_parts(&self, memory: u64) -> Result<Option<Vec<ShinglePart>>, SetError> {
        if self.manifest().shingles.is_none() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for file in self.first_family() {
            let documents =
                self.shard(file)?.shingles()?.map_or(Ok(Vec::new()), |shingles| shingles.parts(memory))?;
            parts.extend(documents.into_iter().map(|documents| ShinglePart { file, documents }));
        }
        Ok(Some(parts))
    }

    fn visit_shingles(
        &self,
        part: &ShinglePart,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
        visit: &mut dyn FnMut(StoredId, &[u64]) -> Visited,
    ) -> Result<(), SetError> {
        let Some(shingles) = self.shard(part.file)?.shingles()? else { return Ok(()) };
        let visit = |id, set: &[u64]| visit(StoredId { part: part.file, id }, set);
        shingles.for_each_while(part.documents.clone(), check_cancelled, visit)
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

impl<F: Fingerprint> ShardsSearcher<'_, F> {
    /// Returns the documents that meet a condition with a set of shingles, which ascend: the most similar first, then by
    /// id; at most `limit`. Each document is in one shard of the first family, and all of these are searched.
    ///
    /// # Errors
    /// When the set has no shingles, a shard cannot be opened, or a block or page that is read is damaged.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, Error> {
        Ok(self.whole()?.similar(shingles, condition, limit)?)
    }

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
        let shards = match set.home(fingerprint) {
            Some(number) => vec![number],
            None => self.whole()?.indexes_of(fingerprint)?,
        };
        let set = self.set();
        let mut lists = Vec::with_capacity(shards.len());
        for number in shards {
            lists.push((number, set.shard(number)?.ids(fingerprint)?));
        }
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

/// A searcher of a set, with buffers that are reused between queries; one per thread. Made by [`Shards::searcher`].
///
/// All shards of a query are searched in one plan: all lookups, one wave of reads, all scans.
pub struct ShardsSearcher<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    /// A searcher of one shard per family, those of the last query.
    near: MultiSearcher<F>,
    /// A searcher of all shards in layout `hash`, or of the first family; created when first needed.
    whole: Option<MultiSearcher<F>>,
    report: Report,
}

impl<F: Fingerprint> Shards<F> {
    /// Creates a searcher; one per thread.
    #[must_use]
    pub fn searcher(&self) -> ShardsSearcher<'_, F> {
        ShardsSearcher { set: self, near: MultiIndex::new([]).searcher(), whole: None, report: Report::new() }
    }

    /// Calls `visit` with the index of each query and its matches within `distance`, nearest first, then by
    /// fingerprint; in the order of the queries, with or without matches. An error of `visit` ends it.
    ///
    /// In a set of families, each shard answers a batch of the queries that are routed to it. [`BatchOptions::memory`]
    /// limits the memory whatever the number of shards; progress is reported per batch of a shard.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block that is read is damaged, and earlier queries may have been visited; or
    /// the distance exceeds the width; the error of `visit`.
    pub fn batch_with<E: From<Error> + From<ReadError>>(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.families_for(distance) {
            Some(families) => batch_by_routes(&families, queries, distance, options, visit),
            None => self.whole()?.batch_with(queries, distance, options, visit),
        }
    }

    /// Returns the families, if there are some for this distance.
    fn families_for(&self, distance: u32) -> Option<Families<'_, F>> {
        Some(Families { set: self, partition: self.partition_for(distance)? })
    }
}

/// The shards of a set of families.
struct Families<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    partition: &'s Partition<F>,
}

impl<F: Fingerprint> Router<F> for Families<'_, F> {
    type Error = Error;

    fn families(&self) -> usize {
        self.partition.families()
    }

    fn route(&self, family: usize, fingerprint: F) -> usize {
        family * self.partition.shards() + self.partition.shard(family, fingerprint)
    }

    fn index(&self, number: usize) -> Result<&Arc<Index<F>>, Error> {
        self.set.shard(number)
    }
}

impl<F: Fingerprint> ShardsSearcher<'_, F> {
    /// Returns all stored fingerprints within `distance` of `query`, each once, nearest first, then by fingerprint.
    ///
    /// Any distance up to the width is exact. Beyond the set's distance, a query takes longer; a set of families
    /// answers it from all shards of one family.
    ///
    /// # Errors
    /// When a shard cannot be opened, a block that is read is damaged, or the distance exceeds the width.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], Error> {
        self.nearest_within(query, usize::MAX, distance)
    }

    /// Returns any stored fingerprint within `distance` of `query`, not necessarily the nearest.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, Error> {
        check_distance::<F>(distance)?;
        let reach = self.reach(distance);
        let mut found = self.route(query, reach)?.first(query, reach)?;
        if found.is_none() && reach < distance {
            found = self.route(query, distance)?.first(query, distance)?;
        }
        Ok(found)
    }

    /// Returns the `count` nearest stored fingerprints within `distance` of `query`, or all if there are fewer, nearest
    /// first, then by fingerprint.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], Error> {
        check_distance::<F>(distance)?;
        // All matches take one search at the full distance. A limited number may lie within the set's own distance, which
        // is cheaper.
        let reach = if count == usize::MAX { distance } else { self.reach(distance) };
        let is_near =
            reach < distance && self.route(query, reach)?.nearest_within(query, count, reach)?.len() >= count;
        if is_near {
            return Ok(self.near.matches());
        }
        Ok(self.route(query, distance)?.nearest_within(query, count, distance)?)
    }

    /// Sets the progress callback and the cancellations of later queries that read many blocks: see
    /// [`MultiSearcher::report_to`].
    pub fn report_to(&mut self, report: Report) {
        self.near.report_to(report.clone());
        if let Some(whole) = &mut self.whole {
            whole.report_to(report.clone());
        }
        self.report = report;
    }

    /// Returns the distance of the first attempt: within the set's distance, families need fewer shards.
    fn reach(&self, distance: u32) -> u32 {
        if self.set.partition().is_some() { distance.min(self.set.distance()) } else { distance }
    }

    /// Returns a searcher of the shards for a query within a distance.
    fn route(&mut self, query: F, distance: u32) -> Result<&mut MultiSearcher<F>, Error> {
        let Some(families) = self.set.families_for(distance) else { return self.whole() };
        self.near.turn_to_route(&families, query)?;
        Ok(&mut self.near)
    }

    /// Returns a searcher of shards that together have every fingerprint.
    pub(crate) fn whole(&mut self) -> Result<&mut MultiSearcher<F>, Error> {
        if self.whole.is_none() {
            let mut whole = self.set.whole()?.searcher();
            whole.report_to(self.report.clone());
            self.whole = Some(whole);
        }
        Ok(self.whole.as_mut().expect("it was created above"))
    }

    /// Returns the set.
    #[must_use]
    pub fn set(&self) -> &Shards<F> {
        self.set
    }
}

impl<F: Fingerprint> fmt::Debug for ShardsSearcher<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardsSearcher").field("set", &self.set).finish_non_exhaustive()
    }
}
