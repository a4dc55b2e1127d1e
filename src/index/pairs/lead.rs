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

/// A lead, in the order of bits of the values that it brings together.
#[derive(Debug, Clone)]
pub(super) struct Lead<F> {
    /// What that order is.
    pub(super) permutation: Permutation<F>,
    /// The bits that agree.
    pub(super) mask: F,
    /// The leads that come before it: what agrees under one of these belongs there.
    pub(super) earlier: Vec<Agreement<F>>,
}
