//! Bits that bring pairs together.

use crate::design::Admits;
use crate::permutation::Permutation;
use hamdex_fingerprint::Fingerprint;

/// A mask: it admits what agrees in all of its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreement<F>(pub(super) F);

impl<F: Fingerprint> Admits<F> for Agreement<F> {
    #[inline(always)]
    fn admits(&self, difference: F) -> bool {
        difference & self.0 == F::ZERO
    }
}

/// An order of bits: that of a table, or the one in which some bits come first, and all others behind them, each as the
/// table has them.
#[derive(Debug, Clone)]
pub(super) struct Order<F> {
    table: Permutation<F>,
    /// From the table's order on.
    leading: Permutation<F>,
}

impl<F: Fingerprint> Order<F> {
    /// Returns the order of a table.
    pub(super) fn of_table(table: Permutation<F>) -> Self {
        Self { table, leading: Permutation::new(F::ZERO) }
    }

    /// Returns the bits under `mask` first, the others behind them.
    pub(super) fn with_leading(mask: F, table: Permutation<F>) -> Self {
        Self { leading: Permutation::new(table.apply(mask)), table }
    }

    /// From the natural order.
    pub(super) fn apply(&self, value: F) -> F {
        self.leading.apply(self.table.apply(value))
    }

    /// Back to the natural order.
    pub(super) fn undo(&self, value: F) -> F {
        self.table.undo(self.leading.undo(value))
    }

    /// Returns the permutation from the table's order to this one.
    pub(super) fn leading(&self) -> &Permutation<F> {
        &self.leading
    }
}

/// A lead, in the order of bits of the values that it brings together.
#[derive(Debug, Clone)]
pub(super) struct Lead<F> {
    /// The table whose values are read; 0 if only the natural order exists.
    pub(super) table: usize,
    /// The order of bits.
    pub(super) order: Order<F>,
    /// The bits that agree.
    pub(super) mask: F,
    /// The leads that come before it: what agrees under one of these belongs there.
    pub(super) earlier: Vec<Agreement<F>>,
}
