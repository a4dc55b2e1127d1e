//! Designs: which sorted tables an index keeps, and why together they miss nothing.
//!
//! A table leads with the bits under its mask, its *prefix*, and admits up to *radius* errors inside
//! it. A design is exact for distance k when **every way to place at most k errors leaves some table
//! with at most its radius of them inside its prefix** (the covering argument of §3.1 of Manku, Jain
//! and Das Sarma, WWW 2007, with radii as in the general pigeonhole principle). The constructor
//! decides that exactly, so a [`Design`] that does not cover cannot exist.

mod catalogue;
mod cost;
mod coverage;
mod error;
mod leads;
mod plan;
mod recurrence;

pub use cost::Cost;
pub(crate) use cost::information_bound_bits;
pub use error::DesignError;
pub(crate) use leads::lead_sets;
pub use plan::{Plan, Probe};
pub(crate) use recurrence::split;

use crate::codec::Codec;
use hamdex_fingerprint::Fingerprint;

/// The most tables that a design may have.
pub const MAX_TABLES: usize = 64;

/// The name that stands for "choose for me" wherever a design is named.
pub const AUTO: &str = "auto";

/// One table of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableDesign<F> {
    /// The bits that lead: its count of ones is the prefix length.
    pub mask: F,
    /// How many errors inside the prefix the table admits.
    pub radius: u32,
}

impl<F: Fingerprint> TableDesign<F> {
    /// The number of bits under the mask.
    #[must_use]
    pub fn prefix_bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Whether this table's probe meets a stored fingerprint that differs from the query in exactly
    /// the bits of `difference`.
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
    /// A design of your own: up to [`MAX_TABLES`] tables, the first of which leads with the leading
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
            return Err(DesignError::DistanceTooLarge { distance, most: F::BITS });
        }
        if tables.is_empty() || tables.len() > MAX_TABLES {
            return Err(DesignError::TableCount { found: tables.len(), most: MAX_TABLES });
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

    /// The design of that name for that distance; see [`Design::names`]. The name `auto` is refused
    /// here, since the choice needs the number of fingerprints: see [`Design::auto`].
    ///
    /// # Errors
    /// When there is no such design for that distance; the error lists those there are.
    pub fn named(name: &str, distance: u32) -> Result<Self, DesignError> {
        catalogue::named(name, distance)
    }

    /// The names of all designs for a distance, fewest tables first; none beyond distance 16.
    #[must_use]
    pub fn names(distance: u32) -> Vec<String> {
        catalogue::names(distance)
    }

    /// The design that the paper's recurrence (§3.1.2) finds for 2^`log2_count` fingerprints: the
    /// least number of tables such that a probe meets about 2^`log2_candidates` candidates.
    ///
    /// # Errors
    /// When that would take more than [`MAX_TABLES`] tables, or more prefix bits than there are.
    pub fn from_recurrence(
        distance: u32,
        log2_count: f64,
        log2_candidates: f64,
    ) -> Result<Self, DesignError> {
        let splits = recurrence::least_tables(F::BITS, distance, log2_count, log2_candidates)
            .ok_or(DesignError::NoRecurrence { distance, most: MAX_TABLES })?;
        if splits.is_empty() {
            return Self::named("single", distance);
        }
        let tables = recurrence::tables::<F>(&splits, distance);
        Self::custom(format!("paper-{}", tables.len()), distance, tables)
    }

    /// The design to take for `count` fingerprints by somebody who has not named one: the smallest
    /// file whose estimated query stays within a few microseconds, see ARCHITECTURE.md.
    ///
    /// # Errors
    /// When the distance is beyond what the named designs serve.
    pub fn auto(distance: u32, count: u64, codec: Codec, block_bytes: u32) -> Result<Self, DesignError> {
        catalogue::auto(distance, count, codec, block_bytes)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The distance k up to which it finds everything.
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// Its tables; the first is in natural order.
    #[must_use]
    pub fn tables(&self) -> &[TableDesign<F>] {
        &self.tables
    }

    /// What an index of this design over `count` uniformly spread fingerprints costs, by the cost
    /// model.
    #[must_use]
    pub fn cost(&self, count: u64, codec: Codec, block_bytes: u32) -> Cost {
        cost::estimate(&self.tables, count, codec, block_bytes)
    }

    /// How to ask an index of this design for everything within `distance`, which may be any.
    #[must_use]
    pub fn plan(&self, distance: u32, count: u64, codec: Codec, block_bytes: u32) -> Plan<F> {
        plan::make(self, distance, count, codec, block_bytes)
    }
}
