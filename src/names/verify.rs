//! Verification of the sections of names.

use rayon::prelude::*;

use crate::error::ReadError;
use crate::ids::reader::IdTable;
use crate::names::layout::HEAD_BYTES;
use crate::names::reader::{ColumnTable, Names};

/// Names, or ids, verified between cancellation checks.
const AT_ONCE: u64 = 1 << 20;

impl ColumnTable {
    /// Checks both sections, that ids and ends ascend, and that every id of the file has a name. Returns the number
    /// of names. Ends early with an error of `check_cancelled`.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        ids: &IdTable,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<u64, ReadError> {
        for section in [&self.directory, &self.values] {
            section.verify_while(file, check_cancelled)?;
        }
        let names = self.open(file, None)?;
        names.verify_order(check_cancelled)?;
        names.verify_spare_bits(self.directory.read_all(file)?)?;
        for start in (0..ids.record.count).step_by(AT_ONCE as usize) {
            check_cancelled()?;
            let end = ids.record.count.min(start + AT_ONCE);
            let check = |place| {
                let id = ids.id_at(file, place)?;
                if names.contains(id)? {
                    Ok(())
                } else {
                    Err(names.damaged(format_args!("id {id} has none")))
                }
            };
            // The first in the file, so that damage is described in the same words every time.
            let first = (start..end).into_par_iter().find_map_first(|place| check(place).err());
            first.map_or(Ok(()), Err)?;
        }
        Ok(names.len())
    }
}

impl Names<'_> {
    fn verify_order(&self, check_cancelled: &dyn Fn() -> Result<(), ReadError>) -> Result<(), ReadError> {
        let (mut last_id, mut last_end) = (None, 0);
        for place in 0..self.len() {
            if place % AT_ONCE == 0 {
                check_cancelled()?;
            }
            let (id, end) = (self.id(place)?, self.end(place)?);
            // The first one is the base of all others.
            if last_id.replace(id) >= Some(id) || (place == 0 && id != self.head.first) {
                return Err(self.damaged(format_args!("the id of entry {place} is out of order")));
            }
            if end < last_end {
                return Err(self.damaged(format_args!("the end of entry {place} is out of order")));
            }
            last_end = end;
        }
        Ok(())
    }

    /// The bits after the last id and the last end are zero.
    fn verify_spare_bits(&self, directory: &[u8]) -> Result<(), ReadError> {
        let ends_at = self.head.ends_at().expect("the directory is that long") as usize;
        let (ids, ends) = directory.split_at(ends_at);
        for (bytes, bits) in [(&ids[HEAD_BYTES..], self.head.id_bits), (ends, self.head.end_bits)] {
            let spare = self.len().wrapping_mul(u64::from(bits)) % 8;
            if let (true, Some(last)) = (spare > 0, bytes.last())
                && last & (0xff >> spare) != 0
            {
                return Err(self.damaged("bits after its end are set"));
            }
        }
        Ok(())
    }
}
