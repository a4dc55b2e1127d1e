//! Blocks of Huffman-coded first differing positions.

use bitvec::prelude::{BitSlice, BitVec, Msb0};

use crate::codec::error::BlockError;
use crate::codec::reference::fields::{Field, FieldKind};
use crate::codec::reference::reader::Reader;
use hamdex_fingerprint::Fingerprint;

pub(super) fn read_block<F: Fingerprint>(
    bytes: &[u8],
    code_lengths: &[u8],
    restart_interval: usize,
) -> Result<Vec<Field<F>>, BlockError> {
    let mut reader = Reader { bits: BitSlice::<u8, Msb0>::from_slice(bytes), at: 0, fields: Vec::new() };
    let codes = codes(code_lengths);

    let count = reader.start()?;
    let spare = reader.little_endian(16).ok_or(BlockError::Count)? as u16;
    reader.field(16, FieldKind::Spare(spare));

    let mut firsts = Vec::new();
    for entry in (0..count).step_by(restart_interval) {
        let fingerprint = reader.raw(entry)?;
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

pub(super) fn write_block<F: Fingerprint>(
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

impl<F: Fingerprint> Reader<'_, F, Msb0> {
    /// The symbol whose code comes next, and the code's length.
    fn code(&self, codes: &[BitVec<u8, Msb0>]) -> Option<(u32, usize)> {
        let rest = &self.bits[self.at..];
        let symbol = codes.iter().position(|code| !code.is_empty() && rest.starts_with(code))?;
        Some((symbol as u32, codes[symbol].len()))
    }

    /// The suffixes of a segment's entries, given their h: they stand in reverse order, and each entry
    /// builds on the one before it. Returns the last entry.
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
            // Were the bit set already, they would not differ there.
            if previous & F::bit(h) != F::ZERO {
                return Err(BlockError::Order);
            }
            (previous, end) = (fingerprint, start);
        }
        for (bits, kind) in fields.into_iter().rev() {
            self.field(bits, kind);
        }
        Ok(previous)
    }
}
