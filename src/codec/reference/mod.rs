//! The codecs once more, slowly: bit by bit, straight from format-spec.md.
//!
//! They share nothing with the fast codecs but the format. Tests hold the two against each other, and
//! the dump tool shows a block through them, field by field.

mod elias_fano;
mod huffman;

use std::ops::Range;

use bitvec::field::BitField;
use bitvec::prelude::{BitOrder, BitSlice};

use crate::codec::BlockError;
use hamdex_fingerprint::Fingerprint;

/// How the blocks of a table are coded, with all that it takes to read one.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Coding<'a> {
    /// First differing positions and suffixes.
    Huffman {
        /// Of the table's codebook, by position: those of a complete code of at most 16 bits.
        code_lengths: &'a [u8],
        /// Entries from one raw fingerprint to the next, at least 1.
        restart_interval: usize,
    },
    /// Buckets in unary, and low bits.
    EliasFano,
}

/// What a run of bits in a block means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind<F> {
    /// The block's checksum.
    Checksum(u32),
    /// How many entries there are.
    Count(u16),
    /// How many bits at the end are unused.
    Spare(u16),
    /// The raw fingerprint of the entry of that number, which begins a segment.
    Raw {
        /// The entry's number in the block.
        entry: usize,
        /// The fingerprint, in the table's order of bits.
        fingerprint: F,
    },
    /// Where a segment starts, in bits from the start of the first one.
    Start(u16),
    /// The Huffman code of an entry's first differing position.
    Code {
        /// The entry's number in the block.
        entry: usize,
        /// The position h that the code stands for.
        h: u32,
    },
    /// The bits of an entry to the right of h.
    Suffix {
        /// The entry's number in the block.
        entry: usize,
        /// The whole fingerprint, in the table's order of bits.
        fingerprint: F,
    },
    /// How many low bits each later entry has.
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
pub struct Field<F> {
    /// Its bits, counted from the start of the block; within a byte from the most significant bit where
    /// the codec is Huffman's, from the least significant where it is Elias–Fano.
    pub bits: Range<usize>,
    /// What they mean.
    pub kind: FieldKind<F>,
}

/// Takes a block apart into its fields, in the order of their bits. The checksum is given, not checked.
///
/// # Errors
/// When the bytes are not a block as format-spec.md describes it.
///
/// # Panics
/// When the coding is not as [`Coding`] asks for.
pub fn read_block<F: Fingerprint>(bytes: &[u8], coding: Coding<'_>) -> Result<Vec<Field<F>>, BlockError> {
    match coding {
        Coding::Huffman { code_lengths, restart_interval } => {
            huffman::read_block(bytes, code_lengths, restart_interval)
        }
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
        Coding::Huffman { code_lengths, restart_interval } => {
            huffman::write_block(values, code_lengths, restart_interval, block_bytes)
        }
        Coding::EliasFano => elias_fano::write_block(values, block_bytes),
    }
}

/// The fingerprints among a block's fields, in order.
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

/// A block being taken apart, its bits in the order `O`.
struct Reader<'a, F, O: BitOrder> {
    bits: &'a BitSlice<u8, O>,
    at: usize,
    fields: Vec<Field<F>>,
}

impl<F: Fingerprint, O: BitOrder> Reader<'_, F, O>
where
    BitSlice<u8, O>: BitField,
{
    /// The next `count` bits, whole bytes, as a number, first byte lowest.
    fn little_endian(&self, count: usize) -> Option<u128> {
        let bytes = self.bits.get(self.at..self.at + count)?.chunks(8);
        // A byte has its value, whatever the order in which its bits are counted.
        Some(bytes.rev().fold(0, |value, byte| value << 8 | u128::from(byte.load_le::<u8>())))
    }

    fn field(&mut self, bits: usize, kind: FieldKind<F>) {
        self.fields.push(Field { bits: self.at..self.at + bits, kind });
        self.at += bits;
    }

    /// What every block starts with: the checksum and the number of entries, which it gives.
    fn start(&mut self) -> Result<usize, BlockError> {
        let checksum = self.little_endian(32).ok_or(BlockError::Count)? as u32;
        self.field(32, FieldKind::Checksum(checksum));
        let count = self.little_endian(16).ok_or(BlockError::Count)? as u16;
        self.field(16, FieldKind::Count(count));
        if count == 0 { Err(BlockError::Count) } else { Ok(usize::from(count)) }
    }

    /// A raw fingerprint, that of the entry of this number.
    fn raw(&mut self, entry: usize) -> Result<F, BlockError> {
        let fingerprint = F::truncate(self.little_endian(F::BITS as usize).ok_or(BlockError::Count)?);
        self.field(F::BITS as usize, FieldKind::Raw { entry, fingerprint });
        Ok(fingerprint)
    }
}
