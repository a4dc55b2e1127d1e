//! The parts of an index file, for tools that show or measure them: sizes and codes of its tables, blocks as they
//! are stored, the plan of a query.
//!
//! - [`Stats`], from [`Index::stats`](crate::Index::stats), with [`TableStats`] and [`IdStats`]
//! - [`RawBlock`], from [`Index::raw_block`](crate::Index::raw_block); [`mod@reference`] reads it bit by bit
//! - [`Permutation`], from [`Index::permutation`](crate::Index::permutation)
//! - [`Plan`], from [`Design::plan`](crate::Design::plan), with its [`Probe`]s and [`Cost`]

mod false_positives;
mod raw_block;
mod stats;

pub use crate::codec::reference;
pub use crate::design::{Cost, Plan, Probe};
pub use crate::permutation::Permutation;
pub use raw_block::RawBlock;
pub use stats::{FilterStats, IdStats, Stats, TableStats};
