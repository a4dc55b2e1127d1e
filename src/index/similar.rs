//! Documents of an index that are similar to a set of shingles.

use std::path::Path;

use crate::error::{ReadError, ReadErrorKind};
use crate::index::Index;
use crate::index::lists::{PairLists, PairMemory};
use crate::index::read_ahead::ReadAhead;
use crate::mapping::Mapping;
use crate::names::Names;
use crate::progress::{Phase, Progress, Report};
use crate::similar::{Alike, Condition, PairTable, Search};
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
        let Some(shingles) = self.shingles()? else {
            return Err(self.error(ReadErrorKind::NoShingles.into()));
        };
        let Some(pairs) = &self.pairs else {
            return Err(self.error(ReadErrorKind::OldShingles.into()));
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
