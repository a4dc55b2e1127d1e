//! Whether a filter pays, and how large it is.

use std::fmt;
use std::str::FromStr;

use crate::codec::Layout;
use crate::design::table::TableDesign;
use crate::design::{Design, Plan};
use crate::filter::geometry::{Geometry, MAX_PREFIX_BITS};
use hamdex_fingerprint::Fingerprint;

/// Bits per fingerprint and table of an automatic filter: with eleven, one prefix in 120 that a table lacks
/// passes. More bits cost more memory than the blocks that they save are worth, fewer the other way round.
const AUTO_BITS: u32 = 11;

/// The most bits per fingerprint and table that can be asked for.
pub(crate) const MAX_BITS: u32 = 64;

/// The least number of fingerprints for which [`FilterChoice::Auto`] makes filters: a smaller index is in the
/// processor's caches.
const AUTO_MIN_COUNT: u64 = 1 << 14;

/// Share of a query's estimated time that automatic filters must save.
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
    /// A filter of at most so many bits per fingerprint, 1 to 64, for each table whose prefix has at most 64 bits.
    Bits(u32),
}

impl FilterChoice {
    /// Returns the filter of each table of an index of so many fingerprints.
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
                let plan = Plan::of_design(design, count, layout, &filters);
                let without = Plan::of_design(design, count, layout, &vec![None; filters.len()]);
                let is_saved = plan.ns(count, layout, &filters)
                    < (1.0 - AUTO_SAVED_SHARE) * without.ns(count, layout, &filters);
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
    type Err = UnknownFilter;

    fn from_str(text: &str) -> Result<Self, UnknownFilter> {
        // One spelling for each choice: `str::parse` would take a sign and leading zeros.
        let bits = || (1..=MAX_BITS).find(|bits| bits.to_string() == text);
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            _ => bits().map(Self::Bits).ok_or(UnknownFilter),
        }
    }
}

/// The error of a text that is no [`FilterChoice`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid filter; use auto, none or 1 to {MAX_BITS} bits per fingerprint")]
#[non_exhaustive]
pub struct UnknownFilter;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_back() {
        let bits = (1..=MAX_BITS).map(FilterChoice::Bits);
        for choice in [FilterChoice::Auto, FilterChoice::None].into_iter().chain(bits) {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for text in ["", "0", "65", "-1", "+7", "07", "Auto", "all", " 7", "4294967307"] {
            assert_eq!(text.parse::<FilterChoice>(), Err(UnknownFilter), "{text:?}");
        }
    }
}
