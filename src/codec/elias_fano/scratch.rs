//! Memory that is used again and again.

use crate::codec::blocks::Located;
use crate::codec::elias_fano::scan::Candidates;

/// Memory that reading blocks uses again and again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The places of the ones of a block's unary part.
    pub(super) places: Vec<u16>,
    /// Blocks in which something is to be compared, and what.
    pub(super) candidates: Vec<(Located, Candidates)>,
}
