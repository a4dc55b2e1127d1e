//! The codecs once more, slowly: bit by bit, straight from format-spec.md.
//!
//! They share nothing with the fast codecs but the format. Tests hold the two against each other, and
//! the dump tool shows a block through them, field by field.

use std::ops::Range;

use bitvec::field::BitField;
use bitvec::prelude::{BitOrder, BitSlice, BitVec, Lsb0, Msb0};

use crate::codec::BlockError;
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
        Coding::Huffman { code_lengths } => read_huffman(bytes, code_lengths),
        Coding::EliasFano => read_elias_fano(bytes),
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
        Coding::Huffman { code_lengths } => write_huffman(values, code_lengths, block_bytes),
        Coding::EliasFano => write_elias_fano(values, block_bytes),
    }
}

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
    /// Returns the next `count` bits, whole bytes, as a number, first byte lowest.
    fn little_endian(&self, count: usize) -> Option<u128> {
        let bytes = self.bits.get(self.at..self.at + count)?.chunks(8);
        // The value of a byte does not depend on the order in which its bits are counted.
        Some(bytes.rev().fold(0, |value, byte| value << 8 | u128::from(byte.load_le::<u8>())))
    }

    fn field(&mut self, bits: usize, kind: FieldKind<F>) {
        self.fields.push(Field { bits: self.at..self.at + bits, kind });
        self.at += bits;
    }

    /// Reads the start of a block: the checksum, and the number of entries, which it returns.
    fn start(&mut self) -> Result<usize, BlockError> {
        let checksum = self.little_endian(32).ok_or(BlockError::Count)? as u32;
        self.field(32, FieldKind::Checksum(checksum));
        let count = self.little_endian(16).ok_or(BlockError::Count)? as u16;
        self.field(16, FieldKind::Count(count));
        if count == 0 { Err(BlockError::Count) } else { Ok(usize::from(count)) }
    }

    /// Returns a raw fingerprint, that of the entry of this number.
    fn raw(&mut self, entry: usize) -> Result<F, BlockError> {
        let fingerprint = F::truncate(self.little_endian(F::BITS as usize).ok_or(BlockError::Count)?);
        self.field(F::BITS as usize, FieldKind::Raw { entry, fingerprint });
        Ok(fingerprint)
    }
}

fn read_huffman<F: Fingerprint>(bytes: &[u8], code_lengths: &[u8]) -> Result<Vec<Field<F>>, BlockError> {
    let mut reader = Reader { bits: BitSlice::<u8, Msb0>::from_slice(bytes), at: 0, fields: Vec::new() };
    let codes = codes(code_lengths);
    let count = reader.start()?;
    let first = reader.raw(0)?;
    let mut hs = Vec::new();
    for entry in 1..count {
        let (h, bits) = reader.code(&codes).ok_or(BlockError::Length)?;
        reader.field(bits, FieldKind::Code { entry, h });
        hs.push((entry, h));
    }
    let suffix_bits: usize = hs.iter().map(|&(_, h)| (F::BITS - 1 - h) as usize).sum();
    let padding = (reader.bits.len() - reader.at).checked_sub(suffix_bits).ok_or(BlockError::Length)?;
    if reader.bits[reader.at..][..padding].any() {
        return Err(BlockError::Padding);
    }
    reader.field(padding, FieldKind::Padding);
    reader.suffixes(&hs, first)?;
    Ok(reader.fields)
}

fn write_huffman<F: Fingerprint>(values: &[F], code_lengths: &[u8], block_bytes: usize) -> Option<Vec<u8>> {
    let book = codes(code_lengths);
    let mut codes: BitVec<u8, Msb0> = BitVec::new();
    let mut suffixes: Vec<BitVec<u8, Msb0>> = Vec::new();
    for pair in values.windows(2) {
        let h = (pair[0] ^ pair[1]).leading_zeros();
        codes.extend_from_bitslice(&book[h as usize]);
        suffixes.push((h + 1..F::BITS).map(|position| pair[1] & F::bit(position) != F::ZERO).collect());
    }
    let suffixes: BitVec<u8, Msb0> = suffixes.into_iter().rev().flatten().collect();

    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(&u16::try_from(values.len()).ok()?.to_le_bytes());
    let mut raw = [0; 16];
    values.first()?.write_le(&mut raw);
    bytes.extend_from_slice(&raw[..F::BYTES]);
    let padding = (block_bytes * 8).checked_sub(bytes.len() * 8 + codes.len() + suffixes.len())?;
    codes.resize(codes.len() + padding, false);
    codes.extend_from_bitslice(&suffixes);
    bytes.extend_from_slice(codes.as_raw_slice());
    Some(bytes)
}

/// Returns the canonical code of every symbol, as bits.
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

/// Returns the bits as a number, first bit highest.
fn big_endian(bits: &BitSlice<u8, Msb0>) -> u128 {
    bits.iter().fold(0, |value, bit| value << 1 | u128::from(*bit))
}

impl<F: Fingerprint> Reader<'_, F, Msb0> {
    /// Returns the symbol whose code comes next, and the code's length.
    fn code(&self, codes: &[BitVec<u8, Msb0>]) -> Option<(u32, usize)> {
        let rest = &self.bits[self.at..];
        let symbol = codes.iter().position(|code| !code.is_empty() && rest.starts_with(code))?;
        Some((symbol as u32, codes[symbol].len()))
    }

    /// The suffixes of the entries that have these h: they are in reverse order, up to the end of the block,
    /// and each entry builds on the one before it.
    fn suffixes(&mut self, hs: &[(usize, u32)], first: F) -> Result<(), BlockError> {
        let (mut previous, mut end) = (first, self.bits.len());
        let mut fields = Vec::new();
        for &(entry, h) in hs {
            let start = end - (F::BITS - 1 - h) as usize;
            let suffix = big_endian(&self.bits[start..end]);
            let fingerprint = (previous & F::prefix_mask(h)) | F::bit(h) | F::truncate(suffix);
            fields.push((end - start, FieldKind::Suffix { entry, fingerprint }));
            // Were the bit set already, they would not differ there.
            if previous & F::bit(h) != F::ZERO {
                return Err(BlockError::Order);
            }
            (previous, end) = (fingerprint, start);
        }
        for (bits, kind) in fields.into_iter().rev() {
            self.field(bits, kind);
        }
        Ok(())
    }
}

/// Maximum number of low bits of an entry.
fn max_low_bits<F: Fingerprint>() -> u32 {
    F::BITS - 8
}

fn read_elias_fano<F: Fingerprint>(bytes: &[u8]) -> Result<Vec<Field<F>>, BlockError> {
    let mut reader = Reader { bits: BitSlice::<u8, Lsb0>::from_slice(bytes), at: 0, fields: Vec::new() };
    let count = reader.start()?;
    let low_bits = reader.little_endian(8).ok_or(BlockError::Count)? as u8;
    reader.field(8, FieldKind::LowBits(low_bits));
    let zero = reader.little_endian(8).ok_or(BlockError::Count)?;
    reader.field(8, FieldKind::Zero);
    if u32::from(low_bits) > max_low_bits::<F>() || zero != 0 {
        return Err(BlockError::LowBits);
    }
    let low_bits = u32::from(low_bits);
    let first: F = reader.raw(0)?;

    let lows = reader.bits.len().checked_sub((count - 1) * low_bits as usize).ok_or(BlockError::Count)?;
    let mut buckets = Vec::new();
    let mut bucket = 0;
    for entry in 1..count {
        let unary = reader.bits.get(reader.at..lows).ok_or(BlockError::Count)?;
        let zeros = unary.first_one().ok_or(BlockError::Length)?;
        bucket += zeros as u128;
        reader.field(zeros + 1, FieldKind::Bucket { entry, bucket });
        buckets.push(bucket);
    }
    let padding = reader.bits.get(reader.at..lows).ok_or(BlockError::Count)?;
    if padding.any() {
        return Err(BlockError::Padding);
    }
    reader.field(padding.len(), FieldKind::Padding);

    let mut previous = first;
    for (place, bucket) in buckets.into_iter().enumerate() {
        let field = &reader.bits[reader.at..reader.at + low_bits as usize];
        let low = field.iter().rev().fold(0, |value, bit| value << 1 | u128::from(*bit));
        let upper = (first >> low_bits).to_u128() + bucket;
        if upper > (F::ONES >> low_bits).to_u128() {
            return Err(BlockError::Order);
        }
        let fingerprint = F::truncate(upper << low_bits | low);
        if fingerprint <= previous {
            return Err(BlockError::Order);
        }
        reader.field(low_bits as usize, FieldKind::Low { entry: place + 1, fingerprint });
        previous = fingerprint;
    }
    Ok(reader.fields)
}

/// Of all numbers of low bits, the one that takes the least room, the smallest if there are several.
fn write_elias_fano<F: Fingerprint>(values: &[F], block_bytes: usize) -> Option<Vec<u8>> {
    let (&first, later) = values.split_first()?;
    let buckets =
        |low_bits: u32| later.iter().map(move |&x| (x >> low_bits).to_u128() - (first >> low_bits).to_u128());
    let room = ((block_bytes - 8 - F::BYTES) * 8) as u128;
    let size = |low_bits: u32| {
        let last = buckets(low_bits).last().unwrap_or(0);
        last.saturating_add(later.len() as u128 * u128::from(low_bits + 1))
    };
    let low_bits = (0..=max_low_bits::<F>()).min_by_key(|&low_bits| size(low_bits))?;
    if size(low_bits) > room || values.len() > usize::from(u16::MAX) {
        return None;
    }

    let mut bytes = vec![0; block_bytes];
    bytes[4..6].copy_from_slice(&(values.len() as u16).to_le_bytes());
    bytes[6] = low_bits as u8;
    first.write_le(&mut bytes[8..]);
    let lows = block_bytes * 8 - later.len() * low_bits as usize;
    let bits = BitSlice::<u8, Lsb0>::from_slice_mut(&mut bytes);
    for (place, (bucket, &value)) in buckets(low_bits).zip(later).enumerate() {
        bits.set((8 + F::BYTES) * 8 + bucket as usize + place, true);
        for bit in 0..low_bits {
            let is_set = value >> bit & F::truncate(1) != F::ZERO;
            bits.set(lows + place * low_bits as usize + bit as usize, is_set);
        }
    }
    Some(bytes)
}
