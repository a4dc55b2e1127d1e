//! Dividing the tables of all inputs at common values, as far as their keys permit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::error::ReadError;
use crate::index::TableView;
use hamdex_fingerprint::Fingerprint;

/// The fewest blocks that a part takes, all inputs together.
const MIN_BLOCKS: usize = 256;

/// Blocks per input of a part, if there are many inputs: each has one more that two parts read.
const BLOCKS_PER_INPUT: usize = 8;

/// Ids of a part; more only if a single block has more.
const IDS: u64 = 1 << 17;

/// All values between two bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part<F> {
    /// For each input its blocks that may hold some.
    pub(super) blocks: Vec<Range<usize>>,
    /// They lie above this, unless it is the first part,
    pub(super) above: Option<F>,
    /// and not above this.
    pub(super) up_to: F,
    /// About how many ids they have.
    pub(super) ids: u64,
}

/// The parts of all tables, ascending.
pub(super) struct Parts<'i, F> {
    tables: Vec<TableView<'i, F>>,
    /// The key of the first block of each input that no part has covered.
    next_keys: BinaryHeap<Reverse<(F, usize)>>,
    next_blocks: Vec<usize>,
    above: Option<F>,
    /// Whether the size of a part includes ids.
    with_ids: bool,
}

impl<'i, F: Fingerprint> Parts<'i, F> {
    pub(super) fn new(tables: Vec<TableView<'i, F>>, with_ids: bool) -> Self {
        let keys = tables.iter().enumerate().filter(|(_, table)| table.blocks() > 0);
        let next_keys = keys.map(|(input, table)| Reverse((table.key(0), input))).collect();
        let next_blocks = vec![0; tables.len()];
        Self { tables, next_keys, next_blocks, above: None, with_ids }
    }

    /// Returns the next part.
    pub(super) fn next(&mut self) -> Result<Option<Part<F>>, ReadError> {
        let max_blocks = MIN_BLOCKS.max(BLOCKS_PER_INPUT * self.tables.len());
        let first_blocks = self.next_blocks.clone();
        let (mut blocks, mut ids, mut up_to) = (0, 0, None);
        while let Some(&Reverse((key, input))) = self.next_keys.peek() {
            // A value lies in one part, so blocks with the same key go together.
            if up_to != Some(key) && (blocks >= max_blocks || ids >= IDS) {
                break;
            }
            self.next_keys.pop();
            let (table, block) = (self.tables[input], self.next_blocks[input]);
            if self.with_ids {
                ids += table.ids_before(block + 1)?.saturating_sub(table.ids_before(block)?);
            }
            blocks += 1;
            up_to = Some(key);
            self.next_blocks[input] += 1;
            if block + 1 < table.blocks() {
                self.next_keys.push(Reverse((table.key(block + 1), input)));
            }
        }
        let Some(up_to) = up_to else { return Ok(None) };
        let end = |(input, first): (usize, usize)| {
            // The block after the last one that ends here may begin with values of this part.
            first..self.tables[input].blocks().min(self.next_blocks[input] + 1)
        };
        let blocks = first_blocks.into_iter().enumerate().map(end).collect();
        Ok(Some(Part { blocks, above: self.above.replace(up_to), up_to, ids }))
    }
}
