//! A snapshot as a [`FingerprintSet`], and the shingles of its documents.

use std::borrow::Cow;
use std::collections::HashSet;

use hamdex::set::{Description, MatchIds, SetEntries, ShinglePart, StoredId, Visited};
use hamdex::similar::{Condition, SimilarDocument};
use hamdex::{
    BatchOptions, Fingerprint, FingerprintSet, Match, Pair, PairsOptions, RECIPE_KEY, ReadError, Report,
    SetError, SetSearcher, Verified, VerifyOptions, shingles,
};

use crate::read::Snapshot;
use crate::read::reader::verify_files;
use crate::read::searcher::Searcher;

impl<F: Fingerprint> FingerprintSet<F> for Snapshot<F> {
    fn describe(&self) -> Description {
        let schema = &self.schema;
        let mut description = Description::new(F::BITS, schema.distance);
        description.design = Some(schema.design.clone());
        description.codec = Some(schema.codec);
        (description.fingerprints, description.is_counted) =
            self.view().fingerprints(schema.identity.has_ids);
        description.has_ids = schema.identity.has_ids;
        description.has_names = schema.identity.has_names;
        description.has_shingles = schema.identity.has_shingles;
        description.has_lookups = schema.lookups;
        let metadata = [(RECIPE_KEY, &schema.recipe), (shingles::KEY, &schema.shingles)];
        let metadata =
            metadata.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.as_ref()?)));
        description.metadata = metadata.map(|(key, value)| (key, value.as_bytes().to_vec())).collect();
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
        self.indexes()?.pairs(distance).options(options).for_each_batch(visit)
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        Ok(self.indexes()?.pairs(distance).options(options).count_by_distance()?)
    }

    fn read_entries(&self, from: F) -> Result<SetEntries<'_, F>, SetError> {
        let mut pairs = self.pairs_in_order_from(from).peekable();
        Ok(Box::new(std::iter::from_fn(move || {
            let (fingerprint, first) = match pairs.next()? {
                Ok(pair) => pair,
                Err(error) => return Some(Err(error.into())),
            };
            let mut ids = vec![first];
            while let Some(Ok((_, id))) =
                pairs.next_if(|next| matches!(next, Ok((next, _)) if *next == fingerprint))
            {
                ids.push(id);
            }
            if !self.schema.identity.has_ids {
                ids.clear();
            }
            Some(Ok((fingerprint, ids.into())))
        })))
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        if !self.schema.identity.has_names {
            return Ok(None);
        }
        Ok(Some(Cow::Borrowed(self.name(id.id)?.unwrap_or_default())))
    }

    /// Divides the documents into parts: those of the segments, from 0 on, and then those of the memtables.
    fn shingle_parts(&self, memory: u64) -> Result<Option<Vec<ShinglePart>>, SetError> {
        if !self.schema.identity.has_shingles {
            return Ok(None);
        }
        self.removed_ids()?;
        let mut parts = Vec::new();
        for (file, live) in self.view().segments.iter().enumerate() {
            let documents =
                live.index().shingles()?.map_or(Ok(Vec::new()), |shingles| shingles.parts(memory))?;
            parts.extend(documents.into_iter().map(|documents| ShinglePart { file, documents }));
        }
        let first = self.view().segments.len();
        for (file, memtable) in (first..).zip(self.view().memtables()) {
            let count = memtable.documents.len() as u64;
            let starts = (0..count).step_by(MEMTABLE_PART as usize);
            parts.extend(
                starts.map(|start| ShinglePart { file, documents: start..count.min(start + MEMTABLE_PART) }),
            );
        }
        Ok(Some(parts))
    }

    /// Visits the documents of a part whose pairs have not been removed.
    fn visit_shingles(
        &self,
        part: &ShinglePart,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
        visit: &mut dyn FnMut(StoredId, &[u64]) -> Visited,
    ) -> Result<(), SetError> {
        let documents = part.documents.clone();
        let mut visit = |id, set: &[u64]| visit(StoredId { part: 0, id }, set);
        let view = self.view();
        let Some(live) = view.segments.get(part.file) else {
            let Some(memtable) = view.memtables().nth(part.file - view.segments.len()) else {
                return Ok(());
            };
            let count = (documents.end - documents.start) as usize;
            let names = || memtable.documents.iter_from(documents.start as usize).take(count);
            let mut pairs = Vec::new();
            memtable.append_pairs_with_ids(&names().map(|(id, _)| *id).collect(), &mut pairs);
            let stored: HashSet<u64> = pairs.into_iter().map(|(_, id)| id).collect();
            let mut set = Vec::new();
            for (id, document) in names().filter(|(id, _)| stored.contains(id)) {
                document.decode_shingles(&mut set);
                visit(*id, &set)?;
            }
            return Ok(());
        };
        let Some(shingles) = live.index().shingles()? else { return Ok(()) };
        let removed = self.removed_ids.get().map(|removed| &removed[part.file]);
        shingles.for_each_while(documents, check_cancelled, |id, set| {
            if removed.is_some_and(|removed| removed.contains(&id)) { Ok(()) } else { visit(id, set) }
        })
    }

    fn check_files(&self) -> Result<(), SetError> {
        Ok(self.view().check_files()?)
    }

    /// Checks the segments of the snapshot; all files of the store if it is
    /// [all that is left of a reader](crate::StoreReader::into_snapshot).
    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        if let Some(disk) = &self.files {
            return Ok(verify_files::<F>(&**disk, options)?);
        }
        let mut sum = Verified::default();
        sum.families = 1;
        for segment in self.view().segments.iter() {
            sum.add(&segment.index().verify_with(options)?);
        }
        Ok(sum)
    }
}

impl<F: Fingerprint> SetSearcher<F> for Searcher<F> {
    fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], SetError> {
        Ok(self.nearest_within(query, count, distance)?)
    }

    fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, SetError> {
        Ok(self.first(query, distance)?)
    }

    fn ids_of(&mut self, matches: &[Match<F>], most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        matches.iter().map(|found| Ok(self.snapshot().first_ids(found.fingerprint, most)?)).collect()
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

/// Documents of a memtable in one part.
const MEMTABLE_PART: u64 = 1 << 12;
