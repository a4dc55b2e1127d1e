//! All pairs of a damaged file that can be read.

use std::ops::Range;

use hamdex_fingerprint::Fingerprint;

use crate::codec::Scratch;
use crate::error::ReadError;
use crate::ids::reader::IdTable;
use crate::index::{Index, TableView};

pub(super) fn for_each<F: Fingerprint>(index: &Index<F>, visit: &mut dyn FnMut(Option<u64>, F, u64)) {
    let stretches = stretches(index);
    let known = stretches.iter().map(|stretch| stretch.entries).sum::<u64>();
    let is_complete = known == index.len();
    let last_gap = stretches.iter().rposition(|stretch| stretch.found.is_some());
    // Number of fingerprints before the next one, if known: from the start up to the first gap, and from the
    // end back to the last one.
    let mut rank = Some(0);
    let mut left = known;
    let mut ids = index.id_table().map(|ids| Places { ids, file: index.bytes(), end: Some(0) });
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
