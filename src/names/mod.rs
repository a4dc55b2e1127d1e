//! Names: a byte string per id of an index.
//!
//! All names are stored one after the other. A directory has the end of each, and, unless the ids are consecutive,
//! the id of each name. So a name is found by two short reads, and no name is kept in memory.
//!
//! - [`directory`]: the ids, and the ends of their names
//! - [`reader`]: the name of an id
//!
//! The name directory:
//!
//! ```text
//! 0   8  how many names
//! 8   8  the id of name 0
//! 16  1  bits of each id; 0: ids are consecutive, and are left out
//! 17  1  bits of each end, at least 1, so that there are no more names than the file has bits
//! 18  6  zero
//! 24  …  ids, each as what it exceeds the first one by; up to a whole byte
//! …   …  ends: where each name ends, counted from the start of name 0; up to a whole byte
//! ```

pub(crate) mod directory;
pub(crate) mod reader;

use byteorder::{ByteOrder, LittleEndian};
use reader::NameTable;
pub use reader::Names;

use crate::error::ReadError;
use crate::ids::reader::IdTable;

/// The most bytes of a name: an answer may have many. Longer ones in older files are read.
pub const MAX_NAME_BYTES: usize = 1 << 16;

/// Bytes before the ids.
pub(crate) const HEAD_BYTES: usize = 24;

/// The number of names, and the form of their list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) count: u64,
    /// The least id that has a name; 0 if there are no names.
    pub(crate) first: u64,
    /// Bits of each id; 0 if ids are consecutive.
    pub(crate) id_bits: u32,
    /// Bits of each end; 0 only if there are no names.
    pub(crate) end_bits: u32,
}

impl Head {
    /// Returns the head for `count` names with ids from `first` to `last` and `bytes` bytes in total.
    pub(crate) fn new(count: u64, (first, last): (u64, u64), bytes: u64) -> Self {
        let bits = |number: u64| u64::BITS - number.leading_zeros();
        let is_consecutive = count == 0 || last - first == count - 1;
        let id_bits = if is_consecutive { 0 } else { bits(last - first) };
        let end_bits = if count == 0 { 0 } else { bits(bytes).max(1) };
        Self { count, first: if count == 0 { 0 } else { first }, id_bits, end_bits }
    }

    pub(crate) fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        LittleEndian::write_u64(&mut bytes, self.count);
        LittleEndian::write_u64(&mut bytes[8..], self.first);
        bytes[16] = self.id_bits as u8;
        bytes[17] = self.end_bits as u8;
        bytes
    }

    /// `None` if a field is out of its range.
    pub(crate) fn from_bytes(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let head = Self {
            count: LittleEndian::read_u64(bytes),
            first: LittleEndian::read_u64(&bytes[8..]),
            id_bits: u32::from(bytes[16]),
            end_bits: u32::from(bytes[17]),
        };
        let in_range = head.id_bits <= 64 && head.end_bits <= 64 && bytes[18..] == [0; 6];
        let is_nothing = head == Self { count: 0, first: 0, id_bits: 0, end_bits: 0 };
        let last_fits = head.id_bits > 0 || head.first.checked_add(head.count.saturating_sub(1)).is_some();
        let is_bounded = if head.count > 0 { head.end_bits > 0 } else { is_nothing };
        (in_range && last_fits && is_bounded).then_some(head)
    }

    /// Returns the offset of the ends in the directory; `None` beyond 64 bits.
    fn ends_at(self) -> Option<u64> {
        packed_bytes(self.count, self.id_bits)?.checked_add(HEAD_BYTES as u64)
    }

    /// Returns the length of the directory; `None` beyond 64 bits.
    fn directory_bytes(self) -> Option<u64> {
        self.ends_at()?.checked_add(packed_bytes(self.count, self.end_bits)?)
    }
}

fn packed_bytes(count: u64, bits: u32) -> Option<u64> {
    u64::try_from((u128::from(count) * u128::from(bits)).div_ceil(8)).ok()
}

impl NameTable {
    /// Checks both sections, and that every id of the file has a name. Returns the number of names. Ends early with an
    /// error of `check_cancelled`.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        ids: &IdTable,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<u64, ReadError> {
        self.values.verify_while(file, check_cancelled)?;
        let names = self.open(file, None)?;
        names.directory.verify(ids, check_cancelled)?;
        Ok(names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_and_consecutive_ids_take_no_bits() {
        for (head, id_bits, end_bits) in [
            (Head::new(0, (9, 9), 0), 0, 0),
            (Head::new(1, (u64::MAX, u64::MAX), 5), 0, 3),
            (Head::new(3, (7, 9), 8), 0, 4),
            (Head::new(3, (7, 10), 0), 2, 1),
            (Head::new(2, (0, u64::MAX), u64::MAX), 64, 64),
        ] {
            assert_eq!((head.id_bits, head.end_bits), (id_bits, end_bits));
            assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head));
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let head = Head::new(3, (7, 10), 100).to_bytes();
        for (at, byte) in [(16, 65), (17, 65), (18, 1), (23, 1)] {
            let mut bytes = head;
            bytes[at] = byte;
            assert_eq!(Head::from_bytes(&bytes), None, "byte {at}");
        }
        // No names, and yet something of them; ids beyond 64 bits; names without ends.
        for head in [
            Head { count: 0, first: 1, id_bits: 0, end_bits: 0 },
            Head { count: 0, first: 0, id_bits: 0, end_bits: 1 },
            Head { count: 2, first: u64::MAX, id_bits: 0, end_bits: 1 },
            Head { count: 2, first: 0, id_bits: 5, end_bits: 0 },
        ] {
            assert_eq!(Head::from_bytes(&head.to_bytes()), None, "{head:?}");
        }
        let long = Head { count: u64::MAX, first: 0, id_bits: 64, end_bits: 64 };
        assert_eq!(long.directory_bytes(), None);
    }
}
