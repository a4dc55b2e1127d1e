//! Reading a block field by field.

use bitvec::field::BitField;
use bitvec::prelude::{BitOrder, BitSlice};

use crate::codec::error::BlockError;
use crate::codec::reference::fields::{Field, FieldKind};
use hamdex_fingerprint::Fingerprint;

/// A block being taken apart, its bits in the order `O`.
pub(super) struct Reader<'a, F, O: BitOrder> {
    pub(super) bits: &'a BitSlice<u8, O>,
    pub(super) at: usize,
    pub(super) fields: Vec<Field<F>>,
}

impl<F: Fingerprint, O: BitOrder> Reader<'_, F, O>
where
    BitSlice<u8, O>: BitField,
{
    /// Returns the next `count` bits, whole bytes, as a number, first byte lowest.
    pub(super) fn little_endian(&self, count: usize) -> Option<u128> {
        let bytes = self.bits.get(self.at..self.at + count)?.chunks(8);
        // The value of a byte does not depend on the order in which its bits are counted.
        Some(bytes.rev().fold(0, |value, byte| value << 8 | u128::from(byte.load_le::<u8>())))
    }

    pub(super) fn field(&mut self, bits: usize, kind: FieldKind<F>) {
        self.fields.push(Field { bits: self.at..self.at + bits, kind });
        self.at += bits;
    }

    /// Reads the start of a block: the checksum, and the number of entries, which it returns.
    pub(super) fn start(&mut self) -> Result<usize, BlockError> {
        let checksum = self.little_endian(32).ok_or(BlockError::Count)? as u32;
        self.field(32, FieldKind::Checksum(checksum));
        let count = self.little_endian(16).ok_or(BlockError::Count)? as u16;
        self.field(16, FieldKind::Count(count));
        if count == 0 { Err(BlockError::Count) } else { Ok(usize::from(count)) }
    }

    /// Returns a raw fingerprint, that of the entry of this number.
    pub(super) fn raw(&mut self, entry: usize) -> Result<F, BlockError> {
        let fingerprint = F::truncate(self.little_endian(F::BITS as usize).ok_or(BlockError::Count)?);
        self.field(F::BITS as usize, FieldKind::Raw { entry, fingerprint });
        Ok(fingerprint)
    }
}
