//! Blocks of Huffman-coded first differing positions.

use bitvec::prelude::{BitSlice, BitVec, Msb0};

use crate::codec::error::BlockError;
use crate::codec::reference::fields::{Field, FieldKind};
use crate::codec::reference::reader::Reader;
use hamdex_fingerprint::Fingerprint;

pub(super) fn read_block<F: Fingerprint>(
    bytes: &[u8],
    code_lengths: &[u8],
) -> Result<Vec<Field<F>>, BlockError> {
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

pub(super) fn write_block<F: Fingerprint>(
    values: &[F],
    code_lengths: &[u8],
    block_bytes: usize,
) -> Option<Vec<u8>> {
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
