//! A probe of a plan, for many queries.

use crate::batch::probe::order::Queries;
use crate::codec::{Located, Target};
use crate::design::{Probe, is_first};
use crate::error::ReadError;
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
    /// Whether the filter of the table is asked for each prefix.
    pub(super) asks_filter: bool,
    pub(super) queries: Queries<'a, F>,
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

    /// Calls `visit` with the targets that together meet what a permuted query's does, each value once: the
    /// query's own, or one for each prefix that the filter passes.
    ///
    /// # Errors
    /// When a filter is damaged.
    #[inline]
    pub(super) fn for_each_target(&self, query: F, visit: impl FnMut(Target<F>)) -> Result<(), ReadError> {
        self.table.for_each_target(self.file, &self.target(query), self.asks_filter, visit)
    }

    /// Returns the permuted query of an item with this value.
    #[inline]
    pub(super) fn query_of_item(&self, value: F, query: u32) -> F {
        // Items are in the order of blocks, so reading a query may miss the cache.
        if self.asks_filter { self.queries.permuted(query) } else { value }
    }

    /// Returns the target of an item, whose value is that of a target of the query.
    #[inline]
    pub(super) fn target_of_item(&self, value: F, query: u32) -> Target<F> {
        let target = self.target(value);
        if !self.asks_filter {
            return target;
        }
        let errors = (value ^ self.query_of_item(value, query)).count_ones();
        Target { radius: 0, distance: self.distance - errors, ..target }
    }

    /// Returns whether what differs in `difference`, permuted, from the value of an item is for this item to find: the
    /// items of a query that a filter has left have a prefix each.
    #[inline]
    pub(super) fn is_sought(&self, difference: F) -> bool {
        let prefix = F::prefix_mask(self.probes[self.number].reach.prefix_bits());
        !self.asks_filter || difference & prefix == F::ZERO
    }

    /// Returns whether a match that differs in `difference` belongs to this probe: see [`is_first`].
    #[inline]
    pub(super) fn owns(&self, difference: F) -> bool {
        self.probes[self.number].reach.admits(difference) && is_first(&self.probes[..self.number], difference)
    }
}
