//! Which prefixes a table has: asked before any block is read.
//!
//! A probe that admits errors in its prefix looks up many prefixes, of which a table has few. A *filter* of a
//! table answers for one prefix from one cache line: either that the table has no fingerprint with this
//! prefix, or that it probably has. A filter never denies a prefix that the table has, so answers do not
//! depend on it.
//!
//! - [`geometry`]: where the bits of a prefix are
//! - [`patterns`]: the prefixes of a probe
//!
//! `design/filter_choice.rs` says which tables have one, `writer/filter.rs` writes it, and `table/filter.rs` asks it.
//!
//! Filters before compressed runs are those of log-structured stores (Bloom 1970; blocked: Putze, Sanders and
//! Singler 2007); that the high bits of a prefix choose the line is what keeps the neighbours of a prefix in
//! few lines.

use hamdex_fingerprint::Fingerprint;

pub(crate) mod geometry;
pub(crate) mod patterns;

/// Returns the first `bits` bits of a value in the order of a table's bits, at least 1 and at most 64.
#[inline(always)]
pub(crate) fn prefix_of<F: Fingerprint>(value: F, bits: u32) -> u64 {
    (value >> (F::BITS - bits)).to_u128() as u64
}
