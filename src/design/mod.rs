//! Designs: which sorted tables an index keeps, and why together they miss nothing.
//!
//! A table leads with the bits under its mask, its *prefix*, and admits up to *radius* errors inside
//! it. A design is exact for distance k when **every way to place at most k errors leaves some table
//! with at most its radius of them inside its prefix** (the covering argument of §3.1 of Manku, Jain
//! and Das Sarma, WWW 2007, with radii as in the general pigeonhole principle). The constructor
//! decides that exactly, so a [`Design`] that does not cover cannot exist.
//!
//! - [`table`]: a mask and a radius
//! - [`coverage`]: the decision
//! - [`covering`]: the designs that pass it
//! - [`catalogue`]: the designs that have a name
//! - [`recurrence`]: the designs of the paper
//! - [`cost`]: what a design costs
//! - [`filter_choice`]: which tables have a filter
//! - [`ownership`]: which table a match belongs to
//! - [`plan`]: which tables a query of any distance probes
//! - [`leads`]: what a self-join brings together

mod catalogue;
mod cost;
mod coverage;
mod covering;
mod error;
mod filter_choice;
mod leads;
mod ownership;
mod plan;
mod recurrence;
mod table;

pub use catalogue::AUTO;
pub(crate) use cost::AskingCost;
pub use cost::Cost;
pub use covering::Design;
pub use error::DesignError;
pub(crate) use filter_choice::MAX_BITS as MAX_FILTER_BITS;
pub use filter_choice::{FilterChoice, FilterCost};
pub(crate) use leads::{lead_sets, lead_sets_of_all};
pub(crate) use ownership::{Admits, is_first};
pub use plan::{Plan, Probe};
pub(crate) use recurrence::split;
pub use table::{MAX_TABLES, TableDesign};
