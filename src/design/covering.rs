//! A design: tables that together miss nothing, which is checked when it is made.

use crate::design::coverage;
use crate::design::error::DesignError;
use crate::design::table::{MAX_TABLES, TableDesign};
use hamdex_fingerprint::Fingerprint;

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
