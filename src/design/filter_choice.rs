//! Whether a filter pays, and how large it is.

use std::fmt;
use std::str::FromStr;

use crate::category::ParseOptionError;
use crate::codec::{Codec, Layout};
use crate::design::{Design, IndexShape, TableDesign};
use crate::filter_bits::{Geometry, LINE_BYTES, MAX_PREFIX_BITS};
use hamdex_fingerprint::Fingerprint;

/// Bits per fingerprint and table of an automatic filter: with eleven, one prefix in 120 that a table lacks
/// passes. More bits cost more memory than the blocks that they save are worth, fewer the other way round.
const AUTO_BITS: u32 = 11;

/// The maximum number of bits per fingerprint and table.
pub(crate) const MAX_BITS: u32 = 64;

/// The least number of fingerprints for which [`FilterChoice::Auto`] makes filters: a smaller index is in the
/// processor's caches.
const AUTO_MIN_COUNT: u64 = 1 << 14;

/// Bytes of checksums per byte of a section.
const CHECKSUMS_SHARE: f64 = 4.0 / 4096.0;

/// Share of a query's estimated time, and of its blocks, that automatic filters must save.
const AUTO_SAVED_SHARE: f64 = 0.25;

/// The filters of an index: see [`BuildOptions::filter`](crate::BuildOptions::filter).
///
/// ```
/// use hamdex::FilterChoice;
///
/// assert_eq!("none".parse(), Ok(FilterChoice::None));
/// assert_eq!("12".parse(), Ok(FilterChoice::Bits(12)));
/// assert!("65".parse::<FilterChoice>().is_err());
/// assert_eq!(FilterChoice::default().to_string(), "auto");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FilterChoice {
    /// A filter for each table for which the cost model says that it pays: the default.
    #[default]
    Auto,
    /// No filter.
    None,
    /// A filter of at most this many bits per fingerprint, 1 to 64, for each table whose prefix has at most 64 bits.
    Bits(u32),
}

impl FilterChoice {
    /// Returns the filter of each table of an index of `count` fingerprints.
    pub(crate) fn filters<F: Fingerprint>(
        self,
        design: &Design<F>,
        count: u64,
        layout: Layout,
    ) -> Vec<Option<Geometry>> {
        let of = |bits: u32| -> Vec<Option<Geometry>> {
            let prefix_bits = design.tables().iter().map(TableDesign::prefix_bits);
            let geometry = |prefix_bits: u32| {
                let is_possible = count > 0 && prefix_bits <= MAX_PREFIX_BITS;
                is_possible.then(|| Geometry::within(u128::from(count) * u128::from(bits), prefix_bits))
            };
            prefix_bits.map(geometry).collect()
        };
        match self {
            Self::None => vec![None; design.tables().len()],
            Self::Bits(bits) => of(bits),
            Self::Auto if count < AUTO_MIN_COUNT => vec![None; design.tables().len()],
            Self::Auto => {
                let filters = of(AUTO_BITS);
                let shape = IndexShape { count, layout, filters: &filters };
                let plan = design.plan_with(design.distance(), shape);
                let without = design.plan(design.distance(), count, layout.codec, layout.block_bytes as u32);
                let left = 1.0 - AUTO_SAVED_SHARE;
                // Both: where most prefixes occur, a filter denies few of them.
                let is_saved = plan.ns(shape) < left * without.ns(shape)
                    && plan.blocks(shape) < left * without.blocks(shape);
                // One block without an error is found about as fast as one line.
                let admits_errors = |table: usize| design.tables()[table].radius > 0;
                let is_used = |table: usize| is_saved && admits_errors(table) && plan.uses_filter(table);
                filters
                    .into_iter()
                    .enumerate()
                    .map(|(table, filter)| filter.filter(|_| is_used(table)))
                    .collect()
            }
        }
    }

    /// Returns whether it can be made: whether a number of bits is one of 1 to 64.
    pub(crate) fn is_valid(self) -> bool {
        !matches!(self, Self::Bits(bits) if !(1..=MAX_BITS).contains(&bits))
    }
}

/// Estimated effect of the filters of an index; see [`Design::filter_cost`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FilterCost {
    /// Number of tables that have a filter.
    pub filters: usize,
    /// Bytes of the filters per distinct fingerprint, in addition to
    /// [`Cost::bytes_per_fingerprint`](crate::inspect::Cost::bytes_per_fingerprint).
    pub bytes_per_fingerprint: f64,
    /// Blocks that a query at the design's distance reads with them.
    pub blocks_per_query: f64,
}

impl<F: Fingerprint> Design<F> {
    /// Returns the cost and the effect of filters of an index of this design over `count` uniformly spread
    /// fingerprints, by the cost model.
    #[must_use]
    pub fn filter_cost(
        &self,
        count: u64,
        codec: Codec,
        block_bytes: u32,
        filter: FilterChoice,
    ) -> FilterCost {
        let layout = Layout { codec, block_bytes: block_bytes as usize };
        let filters = filter.filters(self, count, layout);
        let shape = IndexShape { count, layout, filters: &filters };
        let plan = self.plan_with(self.distance(), shape);
        let bytes_of = |filter: &Geometry| {
            // The head is a line, and each page has a checksum.
            (filter.lines + 1) as f64 * LINE_BYTES as f64 * (1.0 + CHECKSUMS_SHARE)
        };
        let bytes: f64 = filters.iter().flatten().map(bytes_of).sum();
        FilterCost {
            filters: filters.iter().flatten().count(),
            bytes_per_fingerprint: bytes / count.max(1) as f64,
            blocks_per_query: plan.blocks(shape),
        }
    }
}

impl fmt::Display for FilterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::None => f.pad("none"),
            Self::Bits(bits) => fmt::Display::fmt(bits, f),
        }
    }
}

impl FromStr for FilterChoice {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Self, ParseOptionError> {
        // One spelling for each choice: `str::parse` would take a sign and leading zeros.
        let bits = || (1..=MAX_BITS).find(|bits| bits.to_string() == text);
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            _ => bits().map(Self::Bits).ok_or_else(|| {
                let message =
                    format!("invalid filter; use auto, none or 1 to {MAX_BITS} bits per fingerprint");
                ParseOptionError::new(message)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_cost_bytes_and_save_blocks() {
        let cost = |name, count, filter| {
            let design = Design::<u64>::named(name, 3).expect("there is such a design");
            design.filter_cost(count, Codec::Huffman, 1024, filter)
        };
        let auto = cost("halves", 100_000_000, FilterChoice::Auto);
        assert_eq!(auto.filters, 2);
        assert!((auto.bytes_per_fingerprint - 2.0 * 11.0 / 8.0).abs() < 0.01, "{auto:?}");
        let none = cost("halves", 100_000_000, FilterChoice::None);
        assert_eq!((none.filters, none.bytes_per_fingerprint), (0, 0.0));
        assert!(auto.blocks_per_query * 5.0 < none.blocks_per_query, "{auto:?}, {none:?}");
        assert_eq!(cost("cover-8", 100_000_000, FilterChoice::Auto).filters, 0);
        assert_eq!(cost("halves", 100, FilterChoice::Auto).filters, 0);
        assert_eq!(cost("halves", 0, FilterChoice::Bits(64)).filters, 0);
    }

    #[test]
    fn every_choice_is_read_back() {
        let bits = (1..=MAX_BITS).map(FilterChoice::Bits);
        for choice in [FilterChoice::Auto, FilterChoice::None].into_iter().chain(bits) {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for text in ["", "0", "65", "-1", "+7", "07", "Auto", "all", " 7", "4294967307"] {
            assert!(text.parse::<FilterChoice>().is_err(), "{text:?}");
        }
    }
}
