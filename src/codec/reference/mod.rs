//! The codecs once more, slowly: bit by bit, straight from format-spec.md.
//!
//! They share nothing with the fast codecs but the format. Tests hold the two against each other, and
//! the dump tool shows a block through them, field by field.

mod elias_fano;
mod fields;
mod huffman;
mod reader;

pub use fields::{Coding, Field, FieldKind, fingerprints};

use crate::codec::error::BlockError;
use hamdex_fingerprint::Fingerprint;

/// Takes a block apart into its fields, in the order of their bits. The checksum is returned, not verified.
///
/// # Errors
/// When the bytes are not a block as format-spec.md describes it.
///
/// # Panics
/// When the coding is not as [`Coding`] requires.
pub fn read_block<F: Fingerprint>(bytes: &[u8], coding: Coding<'_>) -> Result<Vec<Field<F>>, BlockError> {
    match coding {
        Coding::Huffman { code_lengths } => huffman::read_block(bytes, code_lengths),
        Coding::EliasFano => elias_fano::read_block(bytes),
    }
}

/// Writes ascending, distinct fingerprints as one block, its checksum left zero. `None` when they are
/// none or do not fit.
///
/// # Panics
/// As [`read_block`].
#[must_use]
pub fn write_block<F: Fingerprint>(values: &[F], coding: Coding<'_>, block_bytes: usize) -> Option<Vec<u8>> {
    match coding {
        Coding::Huffman { code_lengths } => huffman::write_block(values, code_lengths, block_bytes),
        Coding::EliasFano => elias_fano::write_block(values, block_bytes),
    }
}
