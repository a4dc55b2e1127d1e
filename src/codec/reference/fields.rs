//! The fields of a block.

use std::ops::Range;

use hamdex_fingerprint::Fingerprint;

/// The coding of the blocks of a table: all that is needed to read one.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Coding<'a> {
    /// First differing positions and suffixes.
    Huffman {
        /// The code lengths of the table's codebook, by position: a complete code of at most 16 bits.
        code_lengths: &'a [u8],
    },
    /// Buckets in unary, and low bits.
    EliasFano,
}

/// The meaning of a run of bits in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind<F> {
    /// The block's checksum.
    Checksum(u32),
    /// Number of entries.
    Count(u16),
    /// The first entry, raw.
    Raw {
        /// The entry's number in the block.
        entry: usize,
        /// The fingerprint, in the table's order of bits.
        fingerprint: F,
    },
    /// The Huffman code of an entry's first differing position.
    Code {
        /// The entry's number in the block.
        entry: usize,
        /// The position h of the code.
        h: u32,
    },
    /// The bits of an entry to the right of h.
    Suffix {
        /// The entry's number in the block.
        entry: usize,
        /// The whole fingerprint, in the table's order of bits.
        fingerprint: F,
    },
    /// Number of low bits of each later entry.
    LowBits(u8),
    /// The bits of a byte that must be zero.
    Zero,
    /// An entry's bucket, in unary, counted on from that of the entry before it.
    Bucket {
        /// The entry's number in the block.
        entry: usize,
        /// The bucket, counted from that of the first entry.
        bucket: u128,
    },
    /// An entry's low bits.
    Low {
        /// The entry's number in the block.
        entry: usize,
        /// The whole fingerprint, in the table's order of bits.
        fingerprint: F,
    },
    /// Unused bits.
    Padding,
}

/// A field of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field<F> {
    /// Its bits, counted from the start of the block; within a byte from the most significant bit where
    /// the codec is Huffman's, from the least significant where it is Elias–Fano.
    pub bits: Range<usize>,
    /// Their meaning.
    pub kind: FieldKind<F>,
}

/// Returns the fingerprints among a block's fields, in order.
pub fn fingerprints<F: Fingerprint>(fields: &[Field<F>]) -> Vec<F> {
    let mut numbered: Vec<(usize, F)> = fields
        .iter()
        .filter_map(|field| match field.kind {
            FieldKind::Raw { entry, fingerprint }
            | FieldKind::Suffix { entry, fingerprint }
            | FieldKind::Low { entry, fingerprint } => Some((entry, fingerprint)),
            _ => None,
        })
        .collect();
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, fingerprint)| fingerprint).collect()
}
