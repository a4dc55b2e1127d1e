//! The self-join of what is stored.

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Fingerprint, Index, Pair, Pairs};
use hamdex_shards::{Shards, ShardsPairs};
use hamdex_store::SnapshotIndexes;

use crate::bars::Phases;
use crate::failure::Failure;

/// What a self-join goes through.
pub(crate) enum Joined<'a, F: Fingerprint> {
    File(&'a Index<F>),
    Store(SnapshotIndexes<F>),
    Shards(&'a Shards<F>),
}

/// All pairs within a distance.
pub(crate) enum JoinedPairs<'a, F: Fingerprint> {
    One(Pairs<'a, F>),
    Shards(ShardsPairs<'a, F>),
}

impl<F: Fingerprint> Joined<'_, F> {
    pub(crate) fn pairs(&self, distance: u32) -> JoinedPairs<'_, F> {
        match self {
            Self::File(index) => JoinedPairs::One(index.pairs(distance)),
            Self::Store(indexes) => JoinedPairs::One(indexes.pairs(distance)),
            Self::Shards(set) => JoinedPairs::Shards(set.pairs(distance)),
        }
    }

    /// How many fingerprints there are; where one may lie in several files, at most.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(index) => index.len(),
            Self::Store(indexes) => indexes.stored(),
            Self::Shards(set) => set.len(),
        }
    }

    /// Whether [`Joined::len`] is exact.
    pub(crate) fn is_counted(&self) -> bool {
        match self {
            Self::File(_) => true,
            Self::Store(_) => false,
            Self::Shards(set) => set.manifest().families() > 1,
        }
    }
}

impl<F: Fingerprint> JoinedPairs<'_, F> {
    pub(crate) fn progress(self, phases: &Arc<Phases>) -> Self {
        match self {
            Self::One(pairs) => Self::One(pairs.progress(phases.reporter())),
            Self::Shards(pairs) => Self::Shards(pairs.progress(phases.reporter())),
        }
    }

    pub(crate) fn threads(self, threads: usize) -> Self {
        match self {
            Self::One(pairs) => Self::One(pairs.threads(threads)),
            Self::Shards(pairs) => Self::Shards(pairs.threads(threads)),
        }
    }

    pub(crate) fn memory(self, bytes: u64) -> Self {
        match self {
            Self::One(pairs) => Self::One(pairs.memory(bytes)),
            Self::Shards(pairs) => Self::Shards(pairs.memory(bytes)),
        }
    }

    /// Calls `visit` with all pairs, some at a time, until it breaks.
    pub(crate) fn for_each_batch(
        &self,
        visit: &mut dyn FnMut(&[Pair<F>]) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        // The visitor knows whether it has broken.
        let _ = match self {
            Self::One(pairs) => pairs.for_each_batch(visit).map_err(Failure::Index)?,
            Self::Shards(pairs) => pairs.for_each_batch(visit)?,
        };
        Ok(())
    }

    /// How many there are at each distance.
    pub(crate) fn count_by_distance(&self) -> Result<Vec<u64>, Failure> {
        match self {
            Self::One(pairs) => pairs.count_by_distance().map_err(Failure::Index),
            Self::Shards(pairs) => Ok(pairs.count_by_distance()?),
        }
    }
}
