//! Designs: which sorted tables an index keeps, and why together they miss nothing.
//!
//! A table leads with the bits under its mask, its *prefix*, and admits up to *radius* errors inside
//! it. A design is exact for distance k when **every way to place at most k errors leaves some table
//! with at most its radius of them inside its prefix** (the covering argument of §3.1 of Manku, Jain
//! and Das Sarma, WWW 2007, with radii as in the general pigeonhole principle). The constructor
//! decides that exactly, so a [`Design`] that does not cover cannot exist.
//!
//! - [`coverage`]: the decision
//! - [`catalogue`]: the designs that have a name, the choice `auto`, and the masks by which a self-join brings fingerprints together
//! - [`cost`]: what a design costs
//! - [`filter_choice`]: which tables have a filter
//! - [`plan`]: which tables a query of any distance probes
//!
//! Each match is reported once. The results of tables overlap: a stored fingerprint that differs from a query in one
//! bit is within the reach of most tables. A match belongs to the *first* table of the list that admits its difference;
//! every other one passes it over. The difference alone decides, so no set of matches seen is needed. Single queries,
//! both kinds of batches and the self-join all use this rule.

mod catalogue;
mod cost;
mod coverage;
mod filter_choice;
mod plan;

pub use catalogue::AUTO;
pub(crate) use catalogue::{lead_sets, lead_sets_of_all, split};
pub(crate) use cost::AskingCost;
pub use cost::Cost;
pub(crate) use filter_choice::MAX_BITS as MAX_FILTER_BITS;
pub use filter_choice::{FilterChoice, FilterCost};
pub(crate) use plan::{IndexShape, PLAN_VISITS};
pub use plan::{Plan, Probe};

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

/// A set of tables that finds everything within a distance.
///
/// ```
/// use hamdex::Design;
///
/// let design = Design::<u64>::named("halves", 3)?;
/// assert_eq!(design.tables().len(), 2);
/// assert_eq!(design.tables()[0].prefix_bits(), 32);
///
/// // Two quarters alone do not cover three errors; the refusal shows an error pattern they miss.
/// let quarters = Design::<u64>::named("paper-4", 3)?.tables()[..2].to_vec();
/// let refusal = Design::custom("mine", 3, quarters).unwrap_err();
/// assert!(refusal.to_string().contains("misses"));
/// # Ok::<(), hamdex::DesignError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design<F> {
    name: String,
    distance: u32,
    tables: Vec<TableDesign<F>>,
}

impl<F: Fingerprint> Design<F> {
    /// Returns a design of your own: up to [`MAX_TABLES`] tables, the first of which leads with the leading
    /// bits (so that table 0 is in natural order).
    ///
    /// # Errors
    /// When it does not cover `distance` errors (the error shows a pattern that it misses), or when
    /// a mask or count is out of range.
    pub fn custom(
        name: impl Into<String>,
        distance: u32,
        tables: Vec<TableDesign<F>>,
    ) -> Result<Self, DesignError> {
        let name = name.into();
        if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
            return Err(DesignError::BadName);
        }
        if distance > F::BITS {
            return Err(DesignError::DistanceTooLarge { distance, max: F::BITS });
        }
        if tables.is_empty() || tables.len() > MAX_TABLES {
            return Err(DesignError::TableCount { found: tables.len(), max: MAX_TABLES });
        }
        if let Some(table) = tables.iter().position(|t| t.mask == F::ZERO || t.radius > t.prefix_bits()) {
            return Err(DesignError::BadTable { table });
        }
        if tables[0].mask != F::prefix_mask(tables[0].prefix_bits()) {
            return Err(DesignError::FirstNotLeading);
        }
        let mut steps_left = coverage::THOROUGH_STEPS;
        match coverage::missed(&tables, distance, &mut steps_left) {
            coverage::Verdict::Covers => Ok(Self { name, distance, tables }),
            coverage::Verdict::Misses(pattern) => {
                Err(DesignError::NotCovering { name, distance, missed: pattern.hex().to_string() })
            }
            coverage::Verdict::TooComplex => Err(DesignError::TooComplex { name, distance }),
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the distance k up to which it finds everything.
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// Returns its tables; the first is in natural order.
    #[must_use]
    pub fn tables(&self) -> &[TableDesign<F>] {
        &self.tables
    }
}

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

/// Errors of choosing a design.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// Some errors within the distance stay outside every table's reach.
    #[error(
        "design {name} does not cover distance {distance}: it misses a fingerprint that differs in the bits {missed}; \
         add a table or raise a radius"
    )]
    NotCovering {
        /// The design's name.
        name: String,
        /// The distance wanted.
        distance: u32,
        /// The bits in which a fingerprint may differ and not be found, as hexadecimal digits.
        missed: String,
    },
    /// The check for coverage would take too long; nothing is known of the design.
    #[error(
        "cannot check whether design {name} covers distance {distance}: use fewer tables or a smaller distance"
    )]
    TooComplex {
        /// The design's name.
        name: String,
        /// The distance wanted.
        distance: u32,
    },
    /// No design has that name at that distance.
    #[error("unknown design {name:?} for distance {distance}; use one of: {}", known.join(", "))]
    Unknown {
        /// The name wanted.
        name: String,
        /// The distance wanted.
        distance: u32,
        /// The names that exist for that distance.
        known: Vec<String>,
    },
    /// The distance exceeds the maximum.
    #[error("distance {distance} is too large here: at most {max}")]
    DistanceTooLarge {
        /// The distance wanted.
        distance: u32,
        /// The largest one possible.
        max: u32,
    },
    /// No tables, or too many.
    #[error("a design has 1 to {max} tables, not {found}")]
    TableCount {
        /// The number given.
        found: usize,
        /// The greatest number allowed.
        max: usize,
    },
    /// A table without prefix, or with a radius beyond its prefix.
    #[error("table {table} needs at least one prefix bit and a radius of at most its prefix length")]
    BadTable {
        /// The table, 0-based.
        table: usize,
    },
    /// Table 0 has to be in natural order.
    #[error(
        "the mask of table 0 must be leading ones, since table 0 keeps the natural order; relabel the bits"
    )]
    FirstNotLeading,
    /// An empty, overlong or unprintable name.
    #[error("a design's name has 1 to 64 bytes and no control characters")]
    BadName,
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
