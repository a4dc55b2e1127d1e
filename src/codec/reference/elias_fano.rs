//! Elias–Fano blocks.

use bitvec::prelude::{BitSlice, Lsb0};

use crate::codec::error::BlockError;
use crate::codec::reference::fields::{Field, FieldKind};
use crate::codec::reference::reader::Reader;
use hamdex_fingerprint::Fingerprint;

/// Returns the most low bits that an entry may have.
fn max_low_bits<F: Fingerprint>() -> u32 {
    F::BITS - 8
}

pub(super) fn read_block<F: Fingerprint>(bytes: &[u8]) -> Result<Vec<Field<F>>, BlockError> {
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
pub(super) fn write_block<F: Fingerprint>(values: &[F], block_bytes: usize) -> Option<Vec<u8>> {
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
