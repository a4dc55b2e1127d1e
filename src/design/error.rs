//! Why a design is refused.

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
    /// The distance exceeds what is possible or provided for.
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
        /// Number of were given.
        found: usize,
        /// Number of are allowed.
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
