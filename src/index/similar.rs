//! Documents of an index that are similar to a set of shingles.

use std::path::Path;

use crate::error::{ReadError, ReadErrorKind};
use crate::index::read_ahead::ReadAhead;
use crate::index::{Index, IndexRef, Searcher};
use crate::mapping::Mapping;
use crate::names::Names;
use crate::progress::{Phase, Progress, Report};
use crate::set::StoredId;
use crate::similar::{Alike, Condition, PairLists, PairMemory, PairTable, Search, SimilarDocument};
use hamdex_fingerprint::Fingerprint;

/// The memory of searches, used again and again.
#[derive(Debug, Default)]
pub(crate) struct SimilarSearch {
    search: Search,
    pairs: PairMemory,
}

/// The documents of an index, as a search needs them.
#[derive(Clone, Copy)]
pub(crate) struct SimilarPart<'i> {
    pairs: &'i PairTable,
    documents: Names<'i>,
    source: (&'i Mapping, &'i ReadAhead),
    path: Option<&'i Path>,
}

impl<F: Fingerprint> Index<F> {
    /// Returns the documents.
    ///
    /// # Errors
    /// When the index has no shingles, or a page that is read is damaged.
    pub(crate) fn similar_part(&self) -> Result<SimilarPart<'_>, ReadError> {
        let (Some(shingles), Some(pairs)) = (self.shingles()?, &self.pairs) else {
            return Err(self.error(ReadErrorKind::NoShingles.into()));
        };
        let (documents, source) = (shingles.encoded(), (&self.data, &self.read_ahead));
        Ok(SimilarPart { pairs, documents, source, path: self.path.as_deref() })
    }
}

impl SimilarSearch {
    /// Calls `visit` with the id and the similarity of each document of a part that meets a condition with a set of
    /// shingles, which ascend.
    pub(crate) fn for_each(
        &mut self,
        part: SimilarPart<'_>,
        (shingles, condition): (&[u64], &Condition),
        report: &Report,
        mut visit: impl FnMut(u64, f64),
    ) -> Result<(), ReadError> {
        let Self { search, pairs } = self;
        let mut lists = PairLists::new(part.pairs, part.source, pairs);
        let check = || Ok(report.report(Progress::new(Phase::Query, 0, None))?);
        let mut run = || {
            for &Alike { place, size, shared } in search.run(&mut lists, shingles, condition, &check)? {
                visit(part.documents.id(place)?, condition.share(shared, shingles.len(), size));
            }
            Ok(())
        };
        run().map_err(|error: ReadError| error.of_file(part.path))
    }
}

impl<F: Fingerprint, R: IndexRef<Fingerprint = F>> Searcher<R> {
    /// Returns the documents that meet a condition with a set of shingles, which ascend, each once: the most similar
    /// first, then by id; at most `limit`. None is missed, and none is compared by fingerprints.
    ///
    /// ```
    /// use hamdex::similar::{Condition, Measure};
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().ids(true).shingles(true))?;
    /// for (id, shingles) in [(7, [1, 2, 3, 4]), (9, [4, 5, 6, 7])] {
    ///     builder.push_with_id(0x00ff_u64 << id, id)?;
    ///     builder.push_shingles(id, &shingles)?;
    /// }
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    /// let condition = Condition::new(Measure::Resemblance, 0.7).expect("it is a share");
    /// let similar = index.searcher().similar(&[1, 2, 3], &condition, 10)?;
    /// assert_eq!((similar[0].id.id, similar[0].similarity), (7, 0.75));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the index has no shingles, or a block or page that is read is damaged.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, ReadError> {
        let part = self.index.similar_part()?;
        let mut found = Vec::new();
        self.core.similar.for_each(part, (shingles, condition), &self.core.report, |id, similarity| {
            found.push(SimilarDocument { id: StoredId { part: 0, id }, similarity });
        })?;
        SimilarDocument::keep_nearest(&mut found, limit);
        Ok(found)
    }
}
