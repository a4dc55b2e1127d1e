//! Each match once.
//!
//! The results of tables overlap: a stored fingerprint that differs from a query in one bit is within the reach
//! of most tables. A match belongs to the *first* table of the list that admits its difference; every other one
//! passes it over. The difference alone decides, so no set of matches seen is needed. Single queries, both
//! kinds of batches and the self-join all use this rule.

use crate::design::plan::Probe;
use crate::design::table::TableDesign;
use hamdex_fingerprint::Fingerprint;

/// One of an ordered list of tables that find matches.
pub(crate) trait Admits<F> {
    /// Returns whether it finds a fingerprint that differs in exactly the bits of `difference`.
    fn admits(&self, difference: F) -> bool;
}

/// Returns whether a match belongs to the table that found it, given the tables before it in the list.
#[inline(always)]
pub(crate) fn is_first<F: Fingerprint>(earlier: &[impl Admits<F>], difference: F) -> bool {
    !earlier.iter().any(|table| table.admits(difference))
}

impl<F: Fingerprint> Admits<F> for TableDesign<F> {
    #[inline(always)]
    fn admits(&self, difference: F) -> bool {
        TableDesign::admits(self, difference)
    }
}

impl<F: Fingerprint> Admits<F> for Probe<F> {
    #[inline(always)]
    fn admits(&self, difference: F) -> bool {
        self.reach.admits(difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_belongs_to_one_table_and_to_the_first() {
        let table = |mask: u64, radius| TableDesign { mask, radius };
        let tables = [table(0xf0, 0), table(0xff, 1), table(0x0f, 0)];
        for difference in 0..=0xffu64 {
            let owners: Vec<usize> = (0..tables.len())
                .filter(|&at| tables[at].admits(difference) && is_first(&tables[..at], difference))
                .collect();
            let first = tables.iter().position(|table| table.admits(difference));
            assert_eq!(owners, Vec::from_iter(first), "{difference:#x}");
        }
    }
}
