//! Queries of an index of any width, one at a time.

use std::ops::ControlFlow;

use crate::error::ReadError;
use crate::ids::Ids;
use crate::index::any::index::AnyIndex;
use crate::index::any::{narrow, widen};
use crate::index::handle::Index;
use crate::index::matches::Match;
use crate::index::searcher::Searcher;
use crate::progress::Progress;
use hamdex_fingerprint::Fingerprint;

/// Queries an [`AnyIndex`], using the same memory again and again. Made by [`AnyIndex::searcher`]; see
/// [`Searcher`], whose methods these are.
#[derive(Debug)]
pub struct AnySearcher<'i> {
    searcher: Either<'i>,
    matches: Vec<Match<u128>>,
}

#[derive(Debug)]
enum Either<'i> {
    Bits64(Searcher<&'i Index<u64>>),
    Bits128(Searcher<&'i Index<u128>>),
}

/// Does the same with a searcher of either width.
macro_rules! either {
    ($any:expr, $searcher:ident => $result:expr) => {
        match $any {
            Either::Bits64($searcher) => $result,
            Either::Bits128($searcher) => $result,
        }
    };
}

impl AnyIndex {
    /// A searcher: the memory that queries use again and again. One for each thread.
    #[must_use]
    pub fn searcher(&self) -> AnySearcher<'_> {
        let searcher = match self {
            Self::Bits64(index) => Either::Bits64(index.searcher()),
            Self::Bits128(index) => Either::Bits128(index.searcher()),
        };
        AnySearcher { searcher, matches: Vec::new() }
    }
}

impl AnySearcher<'_> {
    /// What to call while a query reads many blocks; it may stop the query: see [`Searcher::progress`].
    #[must_use]
    pub fn progress(self, report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        let searcher = match self.searcher {
            Either::Bits64(searcher) => Either::Bits64(searcher.progress(report)),
            Either::Bits128(searcher) => Either::Bits128(searcher.progress(report)),
        };
        Self { searcher, ..self }
    }

    /// All stored fingerprints within `distance` of `query`: see [`Searcher::within`].
    ///
    /// # Errors
    /// When a block that matters is damaged, or the query is too wide.
    pub fn within(&mut self, query: u128, distance: u32) -> Result<&[Match<u128>], ReadError> {
        self.nearest_within(query, usize::MAX, distance)
    }

    /// Some stored fingerprint within `distance` of `query`, if there is one: see [`Searcher::first`].
    ///
    /// # Errors
    /// When a block that matters is damaged, or the query is too wide.
    pub fn first(&mut self, query: u128, distance: u32) -> Result<Option<Match<u128>>, ReadError> {
        either!(&mut self.searcher, searcher => {
            let first = searcher.first(narrow(searcher.index(), query)?, distance)?;
            Ok(first.as_ref().map(widen))
        })
    }

    /// The `count` nearest of the stored fingerprints within `distance` of `query`: see
    /// [`Searcher::nearest_within`].
    ///
    /// # Errors
    /// When a block that matters is damaged, or the query is too wide.
    pub fn nearest_within(
        &mut self,
        query: u128,
        count: usize,
        distance: u32,
    ) -> Result<&[Match<u128>], ReadError> {
        let Self { searcher, matches } = self;
        matches.clear();
        either!(searcher, searcher => {
            let query = narrow(searcher.index(), query)?;
            let found = if count == usize::MAX {
                searcher.within(query, distance)?
            } else {
                searcher.nearest_within(query, count, distance)?
            };
            matches.extend(found.iter().map(widen));
        });
        Ok(matches)
    }

    /// The ids of each of these matches, in their order: see [`Searcher::ids_of`].
    ///
    /// # Errors
    /// When a block or page that matters is damaged, or a fingerprint is too wide.
    pub fn ids_of(&mut self, matches: &[Match<u128>]) -> Result<Vec<Ids<'_>>, ReadError> {
        either!(&mut self.searcher, searcher => {
            let matches = matches.iter().map(|found| narrow_match(searcher.index(), found)).collect::<Result<Vec<_>, _>>()?;
            searcher.ids_of(&matches)
        })
    }
}

/// A match as an index of fewer bits has it.
fn narrow_match<F: Fingerprint>(index: &Index<F>, found: &Match<u128>) -> Result<Match<F>, ReadError> {
    let Match { distance, fingerprint, entry } = *found;
    Ok(Match { distance, fingerprint: narrow(index, fingerprint)?, entry })
}
