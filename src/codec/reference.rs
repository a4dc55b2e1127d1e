//! The codec once more, slowly: bit by bit, straight from format-spec.md.
//!
//! It shares nothing with the fast codec but the format. Tests hold the two against each other, and
//! the dump tool shows a block through it, field by field.

use std::ops::Range;

use bitvec::prelude::{BitSlice, BitVec, Msb0};

use crate::codec::BlockError;
use crate::fingerprint::Fingerprint;

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
    /// Unused bits at the end.
    Padding,
}

/// A field of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<F> {
    /// Its bits, counted from the start of the block, most significant bit of each byte first.
    pub bits: Range<usize>,
    /// What they mean.
    pub kind: FieldKind<F>,
}

/// Takes a block apart into its fields, in the order of their bits. `code_lengths` are those of the
/// table's codebook. The checksum is given, not checked.
///
/// # Errors
/// When the bytes are not a block as format-spec.md describes it.
///
/// # Panics
/// When `restart_interval` is 0, or `code_lengths` are not those of a complete code of at most 16 bits.
pub fn read_block<F: Fingerprint>(
    bytes: &[u8],
    code_lengths: &[u8],
    restart_interval: usize,
) -> Result<Vec<Field<F>>, BlockError> {
    let mut reader = Reader { bits: BitSlice::from_slice(bytes), at: 0, fields: Vec::new() };
    let codes = codes(code_lengths);

    let checksum = reader.little_endian(32).ok_or(BlockError::Count)? as u32;
    reader.field(32, FieldKind::Checksum(checksum));
    let count = reader.little_endian(16).ok_or(BlockError::Count)? as u16;
    reader.field(16, FieldKind::Count(count));
    let spare = reader.little_endian(16).ok_or(BlockError::Count)? as u16;
    reader.field(16, FieldKind::Spare(spare));
    let count = usize::from(count);
    if count == 0 {
        return Err(BlockError::Count);
    }

    let mut firsts = Vec::new();
    for entry in (0..count).step_by(restart_interval) {
        let fingerprint = F::truncate(reader.little_endian(F::BITS as usize).ok_or(BlockError::Count)?);
        reader.field(F::BITS as usize, FieldKind::Raw { entry, fingerprint });
        firsts.push((entry, fingerprint));
    }
    let mut starts = Vec::new();
    for _ in 1..firsts.len() {
        let start = reader.little_endian(16).ok_or(BlockError::Count)? as u16;
        reader.field(16, FieldKind::Start(start));
        starts.push(usize::from(start));
    }

    let streams = reader.at;
    for (segment, &(entry, first)) in firsts.iter().enumerate() {
        if segment > 0 && reader.at - streams != starts[segment - 1] {
            return Err(BlockError::Length);
        }
        let entries = entry + 1..count.min(entry + restart_interval);
        let mut hs = Vec::new();
        for entry in entries {
            let (h, bits) = reader.code(&codes).ok_or(BlockError::Length)?;
            reader.field(bits, FieldKind::Code { entry, h });
            hs.push((entry, h));
        }
        let previous = reader.suffixes(&hs, first)?;
        if let Some((_, next)) = firsts.get(segment + 1)
            && *next <= previous
        {
            return Err(BlockError::Order);
        }
    }

    let padding = reader.bits.len() - reader.at;
    if padding != usize::from(spare) {
        return Err(BlockError::Length);
    }
    if reader.bits[reader.at..].any() {
        return Err(BlockError::Padding);
    }
    reader.field(padding, FieldKind::Padding);
    Ok(reader.fields)
}

/// The fingerprints among a block's fields, in order.
pub fn fingerprints<F: Fingerprint>(fields: &[Field<F>]) -> Vec<F> {
    let mut numbered: Vec<(usize, F)> = fields
        .iter()
        .filter_map(|field| match field.kind {
            FieldKind::Raw { entry, fingerprint } | FieldKind::Suffix { entry, fingerprint } => {
                Some((entry, fingerprint))
            }
            _ => None,
        })
        .collect();
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, fingerprint)| fingerprint).collect()
}

/// Writes ascending, distinct fingerprints as one block, its checksum left zero. `None` when they are
/// none or do not fit.
///
/// # Panics
/// As [`read_block`].
#[must_use]
pub fn write_block<F: Fingerprint>(
    values: &[F],
    code_lengths: &[u8],
    restart_interval: usize,
    block_bytes: usize,
) -> Option<Vec<u8>> {
    let codes = codes(code_lengths);
    let mut streams: BitVec<u8, Msb0> = BitVec::new();
    let mut starts = Vec::new();
    for segment in values.chunks(restart_interval) {
        starts.push(streams.len());
        let mut suffixes: Vec<BitVec<u8, Msb0>> = Vec::new();
        for pair in segment.windows(2) {
            let h = (pair[0] ^ pair[1]).leading_zeros();
            streams.extend_from_bitslice(&codes[h as usize]);
            suffixes.push((h + 1..F::BITS).map(|position| pair[1] & F::bit(position) != F::ZERO).collect());
        }
        for suffix in suffixes.iter().rev() {
            streams.extend_from_bitslice(suffix);
        }
    }

    let header_bytes = 8 + starts.len() * F::BYTES + starts.len().checked_sub(1)? * 2;
    let spare = (block_bytes * 8).checked_sub(header_bytes * 8 + streams.len())?;
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(&u16::try_from(values.len()).ok()?.to_le_bytes());
    bytes.extend_from_slice(&(spare as u16).to_le_bytes());
    for segment in values.chunks(restart_interval) {
        let mut raw = [0; 16];
        segment[0].write_le(&mut raw);
        bytes.extend_from_slice(&raw[..F::BYTES]);
    }
    for start in &starts[1..] {
        bytes.extend_from_slice(&(*start as u16).to_le_bytes());
    }
    streams.set_uninitialized(false);
    bytes.extend_from_slice(streams.as_raw_slice());
    bytes.resize(block_bytes, 0);
    Some(bytes)
}

/// The canonical code of every symbol, as bits.
fn codes(lengths: &[u8]) -> Vec<BitVec<u8, Msb0>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&symbol| (lengths[symbol], symbol));
    let mut codes = vec![BitVec::new(); lengths.len()];
    let mut code = 0u64;
    let mut length = 0;
    for symbol in order {
        code <<= lengths[symbol] - length;
        length = lengths[symbol];
        codes[symbol] = (0..length).rev().map(|bit| code >> bit & 1 == 1).collect();
        code += 1;
    }
    codes
}

/// The bits as a number, first bit highest.
fn big_endian(bits: &BitSlice<u8, Msb0>) -> u128 {
    bits.iter().fold(0, |value, bit| value << 1 | u128::from(*bit))
}

struct Reader<'a, F> {
    bits: &'a BitSlice<u8, Msb0>,
    at: usize,
    fields: Vec<Field<F>>,
}

impl<F: Fingerprint> Reader<'_, F> {
    /// The next `count` bits, whole bytes, as a number, first byte lowest.
    fn little_endian(&self, count: usize) -> Option<u128> {
        Some(big_endian(self.bits.get(self.at..self.at + count)?).swap_bytes() >> (128 - count))
    }

    /// The symbol whose code comes next, and the code's length.
    fn code(&self, codes: &[BitVec<u8, Msb0>]) -> Option<(u32, usize)> {
        let rest = &self.bits[self.at..];
        let symbol = codes.iter().position(|code| !code.is_empty() && rest.starts_with(code))?;
        Some((symbol as u32, codes[symbol].len()))
    }

    /// The suffixes of a segment's entries, given their h: they stand in reverse order, and each entry
    /// builds on the one before it. Gives the last entry.
    fn suffixes(&mut self, hs: &[(usize, u32)], first: F) -> Result<F, BlockError> {
        let lengths = hs.iter().map(|&(_, h)| (F::BITS - 1 - h) as usize);
        let mut end = self.at + lengths.sum::<usize>();
        let mut previous = first;
        let mut fields = Vec::new();
        for &(entry, h) in hs {
            let start = end - (F::BITS - 1 - h) as usize;
            let suffix = big_endian(self.bits.get(start..end).ok_or(BlockError::Length)?);
            let fingerprint = (previous & F::prefix_mask(h)) | F::bit(h) | F::truncate(suffix);
            fields.push((end - start, FieldKind::Suffix { entry, fingerprint }));
            if fingerprint <= previous {
                return Err(BlockError::Order);
            }
            (previous, end) = (fingerprint, start);
        }
        for (bits, kind) in fields.into_iter().rev() {
            self.field(bits, kind);
        }
        Ok(previous)
    }

    fn field(&mut self, bits: usize, kind: FieldKind<F>) {
        self.fields.push(Field { bits: self.at..self.at + bits, kind });
        self.at += bits;
    }
}
