//! Documents of an index that are similar to a set of shingles.

use crate::error::{ReadError, ReadErrorKind};
use crate::index::Index;
use crate::index::lists::PairMemory;
use crate::index::shingles::Shingles;
use crate::progress::{Phase, Progress, Report};
use crate::similar::{Alike, Condition, Search};
use hamdex_fingerprint::Fingerprint;

/// The memory of searches, used again and again.
#[derive(Debug, Default)]
pub(crate) struct SimilarSearch {
    search: Search,
    pairs: PairMemory,
}

impl<F: Fingerprint> Index<F> {
    /// Returns the documents to search.
    ///
    /// # Errors
    /// When the index has no shingles, or a page that is read is damaged.
    pub(crate) fn similar_part(&self) -> Result<Shingles<'_>, ReadError> {
        self.shingles()?.ok_or_else(|| self.error(ReadErrorKind::NoShingles.into()))
    }
}

impl SimilarSearch {
    /// Calls `visit` with the id and the similarity of each document of a part that meets a condition with a set of
    /// shingles, which ascend.
    pub(crate) fn for_each(
        &mut self,
        part: Shingles<'_>,
        (shingles, condition): (&[u64], &Condition),
        report: &Report,
        mut visit: impl FnMut(u64, f64),
    ) -> Result<(), ReadError> {
        let Self { search, pairs } = self;
        let mut lists = part.lists(pairs);
        let check = || Ok(report.progressed(Progress::new(Phase::Query, 0, None))?);
        let mut run = || {
            for &Alike { place, size, shared } in search.run(&mut lists, shingles, condition, &check)? {
                visit(part.documents().id(place)?, condition.share(shared, shingles.len(), size));
            }
            Ok(())
        };
        run().map_err(|error: ReadError| error.of_file(part.documents().path()))
    }
}
