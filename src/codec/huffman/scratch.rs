//! Memory that is used again and again.

use crate::codec::blocks::Located;
use crate::codec::huffman::candidate::Candidate;
use crate::codec::huffman::differences::Differences;

/// Memory that reading blocks uses again and again.
#[derive(Debug)]
pub(crate) struct Scratch<F> {
    pub(super) differences: Differences,
    /// Blocks to be scanned.
    pub(super) candidates: Vec<(Located, Candidate<F>)>,
}

impl<F> Default for Scratch<F> {
    fn default() -> Self {
        Self { differences: Differences::default(), candidates: Vec::new() }
    }
}
