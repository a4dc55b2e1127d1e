//! A probe of a plan, for many queries.

use crate::codec::{Located, Target};
use crate::design::{Probe, is_first};
use crate::permutation::Permutation;
use crate::progress::Counter;
use crate::table::locate::target_of;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// A probe of a plan, in its table.
pub(super) struct TableProbe<'a, F> {
    pub(super) file: &'a [u8],
    pub(super) tables: &'a [Table<F>],
    pub(super) table: &'a Table<F>,
    pub(super) probes: &'a [Probe<F>],
    /// The number of the probe.
    pub(super) number: usize,
    pub(super) distance: u32,
    /// From how many queries on a block is decoded.
    pub(super) dense_from: usize,
    /// Reads ahead blocks that are about to be used.
    pub(super) read_ahead: &'a (dyn Fn(&[Located]) + Sync),
    /// The cancellation check.
    pub(super) done: &'a Counter,
}

impl<F: Fingerprint> TableProbe<'_, F> {
    pub(super) fn permutation(&self) -> &Permutation<F> {
        &self.table.permutation
    }

    /// Returns the target of a permuted query.
    #[inline]
    pub(super) fn target(&self, query: F) -> Target<F> {
        target_of(&self.probes[self.number].reach, self.distance, query)
    }

    /// Returns whether a match that differs in `difference` belongs to this probe: see [`is_first`].
    #[inline]
    pub(super) fn owns(&self, difference: F) -> bool {
        self.probes[self.number].reach.admits(difference) && is_first(&self.probes[..self.number], difference)
    }
}
