//! Verification of the id sections.

use crate::error::{Place, ReadError};
use crate::format::footer::RANKED_PLACES;
use crate::ids::packing::get;
use crate::ids::reader::IdTable;

/// Ids that are verified between cancellation checks.
const IDS_AT_ONCE: u64 = 1 << 20;

/// Blocks whose first ids are verified between cancellation checks.
const BLOCKS_AT_ONCE: usize = 1 << 10;

impl IdTable {
    /// Checks all three sections, and that each fingerprint has ids, ascending. `entries` gives how
    /// many entries each block of table 0 has. Ends early with an error of `check_cancelled`.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        entries: &[usize],
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        for section in [&self.ids, &self.starts, &self.directory] {
            section.verify_while(file, check_cancelled)?;
        }
        let ids = self.ids.read_all(file)?;
        let marks = self.starts.read_all(file)?;
        let is_first =
            |place: u64| self.all_single() || marks[(place / 8) as usize] & 0x80 >> (place % 8) != 0;
        self.verify_spare_bits(ids, marks)?;
        self.verify_order(ids, is_first, check_cancelled)?;

        self.verify_ranks(file, marks)?;
        let mut place = 0;
        for (block, &entries) in entries.iter().enumerate() {
            if block % BLOCKS_AT_ONCE == 0 {
                check_cancelled()?;
            }
            if self.first_of_block(file, block)? != place {
                return Err(ReadError::damaged(
                    Place::IdDirectory,
                    format_args!("block {block} does not start where the one before it ends"),
                ));
            }
            place = self.after(file, place, entries as u64)?;
        }
        let all_marks: u64 = marks.iter().map(|byte| u64::from(byte.count_ones())).sum();
        if place != self.record.count || !(self.all_single() || all_marks == self.fingerprints) {
            return Err(ReadError::damaged(
                Place::IdStarts,
                "there are more or fewer marks than fingerprints",
            ));
        }
        Ok(())
    }

    fn verify_ranks(&self, file: &[u8], marks: &[u8]) -> Result<(), ReadError> {
        let mut rank = 0;
        let stretches = marks.chunks((RANKED_PLACES / 8) as usize);
        for (number, stretch) in (1..=self.record.ranks(self.fingerprints)).zip(stretches) {
            rank += stretch.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            if self.rank(file, number)? != rank {
                let what = format_args!("rank {number} is not the number of marks before it");
                return Err(ReadError::damaged(Place::IdDirectory, what));
            }
        }
        Ok(())
    }

    fn verify_order(
        &self,
        ids: &[u8],
        is_first: impl Fn(u64) -> bool,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut previous = 0;
        for place in 0..self.record.count {
            if place % IDS_AT_ONCE == 0 {
                check_cancelled()?;
            }
            let id = get(ids, place, self.record.bits);
            if self.record.base.checked_add(id).is_none() {
                return Err(ReadError::damaged(Place::Ids, format_args!("id {place} exceeds 64 bits")));
            }
            if !is_first(place) && (place == 0 || id <= previous) {
                return Err(ReadError::damaged(Place::Ids, format_args!("id {place} is out of order")));
            }
            previous = id;
        }
        Ok(())
    }

    /// The bits after the last id and the last mark are zero.
    fn verify_spare_bits(&self, ids: &[u8], marks: &[u8]) -> Result<(), ReadError> {
        let id_bits = self.record.count * u64::from(self.record.bits);
        for (place, bytes, bits) in [(Place::Ids, ids, id_bits), (Place::IdStarts, marks, self.record.count)]
        {
            let spare = bits % 8;
            if let (true, Some(last)) = (spare > 0, bytes.last())
                && last & (0xff >> spare) != 0
            {
                return Err(ReadError::damaged(place, "bits after its end are set"));
            }
        }
        Ok(())
    }
}
