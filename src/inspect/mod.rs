//! The parts of an index file, for tools that show or measure them: sizes and codes of its tables, blocks as they
//! are stored, the plan of a query.
//!
//! - [`Stats`], from [`Index::stats`](crate::Index::stats), with [`TableStats`] and [`IdStats`]
//! - [`RawBlock`], from [`Index::raw_block`](crate::Index::raw_block); [`mod@reference`] reads it bit by bit, or
//!   returns a [`BlockError`]
//! - [`ProbeTrace`], from [`Index::explain`](crate::Index::explain): the blocks that a query reads, and why
//! - [`Permutation`], from [`Index::permutation`](crate::Index::permutation)
//! - [`Plan`], from [`Design::plan`](crate::Design::plan), with its [`Probe`]s and [`Cost`]
//! - [`FilterCost`], from [`Design::filter_cost`](crate::Design::filter_cost)
//! - [`blocks_read`], of all queries of this process

mod false_positives;
mod locate;
mod raw_block;
mod stats;

pub use crate::codec::{BlockError, reference};
pub use crate::design::{Cost, FilterCost, Plan, Probe};
pub use crate::permutation::Permutation;
pub use crate::table::blocks_read::blocks_read;
pub use locate::{BlockTrace, FilterTrace, PassedPrefix, ProbeTrace, TracedMatch};
pub use raw_block::RawBlock;
pub use stats::{FilterStats, IdStats, Stats, TableStats};
