//! One table of a design.

use hamdex_fingerprint::Fingerprint;

/// The most tables that a design may have.
pub const MAX_TABLES: usize = 64;

/// One table of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TableDesign<F> {
    /// The bits that lead: its count of ones is the prefix length.
    pub mask: F,
    /// Maximum number of errors inside the prefix.
    pub radius: u32,
}

impl<F: Fingerprint> TableDesign<F> {
    /// Returns a table that leads with the bits under `mask` and admits `radius` errors among them.
    #[must_use]
    pub fn new(mask: F, radius: u32) -> Self {
        Self { mask, radius }
    }

    /// Returns the number of bits under the mask.
    #[must_use]
    pub fn prefix_bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Returns whether this table's probe meets a stored fingerprint that differs from the query in exactly the
    /// bits of `difference`.
    #[inline]
    #[must_use]
    pub fn admits(&self, difference: F) -> bool {
        (difference & self.mask).count_ones() <= self.radius
    }
}
