//! Salvage of damaged files: the parts and pairs that the rest of a file proves.
//!
//! [`mend`] restores parts that follow from others, in memory: header, footer, trailer, keys, id directory, shingle
//! directory. It replaces damaged filters by ones that every prefix passes.
//!
//! Used by repairs. Nothing here writes to a file.

mod mend;

use std::ops::Range;

use crate::category::Category;
use crate::codec::Scratch;
use crate::error::ReadError;
use crate::format::FileId;
use crate::ids::reader::IdTable;
use crate::index::{Index, SortedBlocks, TableView};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

type Mend<F> = fn(&mut [u8], FileId, std::marker::PhantomData<F>);
type ForEachReadable<F> = fn(&Index<F>, &mut dyn FnMut(Option<u64>, F, u64));

per_width! {
    compiled_mend: Mend = mend::mend;
    compiled_for_each: ForEachReadable = for_each;
}

/// Restores, in memory, the parts of a damaged file that follow from others, so that it can be opened: header, footer,
/// trailer, keys, directories of ids and shingles, filters. `file` is as long as it was when it was written, with this file id.
pub fn mend<F: Fingerprint>(file: &mut [u8], file_id: impl Into<FileId>) {
    compiled_mend::<F>()(file, file_id.into(), std::marker::PhantomData);
}

/// Calls `visit` with every pair of a damaged file that can be read, in the order of places: its place if that is
/// known, its fingerprint and its id, 0 if there are no ids.
///
/// Blocks of table 0 that cannot be read are put together from other tables, which have the same fingerprints. With ids
/// they count only if they are complete, so that each fingerprint has its own ids.
pub fn for_each_readable<F: Fingerprint>(index: &Index<F>, visit: &mut dyn FnMut(Option<u64>, F, u64)) {
    compiled_for_each()(index, visit);
}

fn for_each<F: Fingerprint>(index: &Index<F>, visit: &mut dyn FnMut(Option<u64>, F, u64)) {
    let stretches = stretches(index);
    let known = stretches.iter().map(|stretch| stretch.entries).sum::<u64>();
    let is_complete = known == index.len();
    let last_gap = stretches.iter().rposition(|stretch| stretch.found.is_some());
    // Number of fingerprints before the next one, if known: from the start up to the first gap, and from the
    // end back to the last one.
    let mut rank = Some(0);
    let mut left = known;
    let mut ids = index.ids.as_ref().map(|ids| Places { ids, file: index.data.as_ref(), end: Some(0) });
    let (mut scratch, mut values) = (Scratch::default(), Vec::new());
    for (number, stretch) in stretches.iter().enumerate() {
        values.clear();
        match &stretch.found {
            Some(found) => values.extend_from_slice(found),
            None => {
                let decoded = index.natural_table().decode(stretch.blocks.clone(), &mut scratch, &mut values);
                debug_assert!(decoded.is_ok(), "it has been read before");
            }
        }
        if stretch.found.is_some() && !is_complete {
            rank = None;
        } else if last_gap.is_some_and(|last| number == last + 1) {
            rank = index.len().checked_sub(left);
        }
        match &mut ids {
            None => {
                for (entry, &value) in (0..).zip(&values) {
                    visit(rank.map(|rank| rank + entry), value, 0);
                }
            }
            Some(places) => places.visit(stretch, &values, visit),
        }
        left -= values.len() as u64;
        rank = rank.map(|rank| rank + values.len() as u64);
    }
}

/// Calls `visit` with the id and the shingles of each document whose shingles, and whose entry of the directory, can all
/// be read, by id; reads the sets of some documents at a time, in `memory` bytes.
///
/// # Errors
/// When memory runs out, or an earlier version has written the shingles: other errors than damage, which is skipped.
pub fn for_each_set<F: Fingerprint>(
    index: &Index<F>,
    memory: u64,
    visit: &mut dyn FnMut(u64, &[u64]),
) -> Result<(), ReadError> {
    let skip = |error: ReadError| if error.category() == Category::Damaged { Ok(()) } else { Err(error) };
    let shingles = match index.shingles() {
        Ok(Some(shingles)) => shingles,
        Ok(None) => return Ok(()),
        // Without the head of its directory, no set is known to be whole.
        Err(error) => return skip(error),
    };
    let mut parts = shingles.readable_parts(memory).into_iter();
    parts.try_for_each(|part| shingles.for_each_readable(part, visit).or_else(skip))
}

/// Blocks of table 0 next to each other.
struct Stretch<F> {
    blocks: Range<usize>,
    entries: u64,
    /// The entries that other tables have of blocks that cannot be read; `None` for a block that can.
    found: Option<Vec<F>>,
}

/// Divides table 0 into blocks that can be read, and gaps of blocks that cannot.
fn stretches<F: Fingerprint>(index: &Index<F>) -> Vec<Stretch<F>> {
    let table = index.natural_table();
    let (mut scratch, mut values) = (Scratch::default(), Vec::new());
    let mut stretches: Vec<Stretch<F>> = Vec::new();
    for block in 0..table.blocks() {
        values.clear();
        let is_whole = table.decode(block..block + 1, &mut scratch, &mut values).is_ok();
        match stretches.last_mut() {
            Some(gap) if !is_whole && gap.found.is_some() => gap.blocks.end = block + 1,
            _ => stretches.push(Stretch {
                blocks: block..block + 1,
                entries: if is_whole { values.len() as u64 } else { 0 },
                found: (!is_whole).then(Vec::new),
            }),
        }
    }
    fill(index, table, &mut stretches);
    stretches
}

/// Fills gaps with the fingerprints that other tables have.
fn fill<F: Fingerprint>(index: &Index<F>, natural: TableView<'_, F>, stretches: &mut [Stretch<F>]) {
    let mut gaps: Vec<&mut Stretch<F>> = stretches.iter_mut().filter(|gap| gap.found.is_some()).collect();
    if gaps.is_empty() {
        return;
    }
    let (mut scratch, mut values) = (Scratch::default(), Vec::new());
    for table in index.other_tables() {
        for block in 0..table.blocks() {
            values.clear();
            if table.decode(block..block + 1, &mut scratch, &mut values).is_err() {
                continue;
            }
            for &permuted in &values {
                let value = table.permutation().undo(permuted);
                let at = gaps.partition_point(|gap| natural.key(gap.blocks.end - 1) < value);
                if let Some(gap) = gaps.get_mut(at)
                    && (gap.blocks.start == 0 || value > natural.key(gap.blocks.start - 1))
                {
                    gap.found.as_mut().expect("it is a gap").push(value);
                }
            }
        }
    }
    for gap in gaps {
        let found = gap.found.as_mut().expect("it is a gap");
        found.sort_unstable();
        found.dedup();
        gap.entries = found.len() as u64;
    }
}

/// Finds the places of pairs, stretch by stretch.
struct Places<'i> {
    ids: &'i IdTable,
    file: &'i [u8],
    /// End of the previous stretch, if known.
    end: Option<u64>,
}

impl Places<'_> {
    /// Returns the start of the ids of a block.
    fn start(&self, block: usize) -> Option<u64> {
        if block == self.ids.blocks {
            return Some(self.ids.record.count);
        }
        self.ids.first_of_block(self.file, block).ok()
    }

    /// Visits the pairs of the fingerprints of a stretch.
    fn visit<F: Fingerprint>(
        &mut self,
        stretch: &Stretch<F>,
        values: &[F],
        visit: &mut dyn FnMut(Option<u64>, F, u64),
    ) {
        let start = self.start(stretch.blocks.start).or(self.end);
        self.end = start.and_then(|start| self.visit_from(start, stretch, values, visit).ok().flatten());
    }

    /// Returns the same from a place on; returns the start of the next stretch, if known.
    fn visit_from<F: Fingerprint>(
        &self,
        start: u64,
        stretch: &Stretch<F>,
        values: &[F],
        visit: &mut dyn FnMut(Option<u64>, F, u64),
    ) -> Result<Option<u64>, ReadError> {
        if stretch.found.is_some() {
            let end = self.start(stretch.blocks.end);
            let is_complete = !values.is_empty()
                && end
                    == Some(
                        self.ids.after(self.file, start, values.len() as u64)?.min(self.ids.record.count),
                    );
            if !is_complete {
                return Ok(end);
            }
        }
        let mut place = start;
        for &value in values {
            let end = self.ids.after(self.file, place, 1)?.min(self.ids.record.count);
            for place in place..end {
                if let Ok(id) = self.ids.id_at(self.file, place) {
                    visit(Some(place), value, id);
                }
            }
            place = end;
        }
        Ok(Some(place))
    }
}

/// Returns the place of the one byte of a unit, and what was added to it (exclusive or), that explain why its checksum
/// differs from the stored one by `difference`; `None` if no single byte does.
///
/// CRC-32 is linear: the checksums of two units of one length differ by a number that depends only on the
/// position and the bits of their difference. At most one change of a single byte explains a difference in
/// nearly all cases; the caller checks the result against all other facts.
fn changed_byte(length: usize, difference: u32) -> Option<(usize, u8)> {
    let table: Vec<u32> = (0..=u8::MAX).map(effect_of_last_byte).collect();
    // The effect of each bit of the byte at `place`; one zero byte after it moves the effect on by one step.
    let mut bits: [u32; 8] = std::array::from_fn(|bit| table[1 << bit]);
    for place in (0..length).rev() {
        let mut effects = [0u32; 256];
        for change in 1..256usize {
            effects[change] = effects[change & (change - 1)] ^ bits[change.trailing_zeros() as usize];
            if effects[change] == difference {
                return Some((place, change as u8));
            }
        }
        for effect in &mut bits {
            *effect = table[(*effect & 0xff) as usize] ^ (*effect >> 8);
        }
    }
    None
}

/// By how much the checksum of a unit changes with its last byte.
fn effect_of_last_byte(change: u8) -> u32 {
    crc32fast::hash(&[change]) ^ crc32fast::hash(&[0])
}

#[cfg(test)]
mod tests;
