//! The lists of shingles of a file, as a search reads them.
//!
//! The pairs of a shingle lie in a row, so a list is a range of positions: of a block, and of an entry in it. Most lists
//! lie in one block or two. Their ends are looked up when they are found, for all at once, and nothing else is read of
//! them; of longer ones the keys of the blocks tell enough, until they are read.

use std::ops::Range;

use crate::codec::elias_fano::decode_entries;
use crate::codec::{Located, SCAN_BATCH, Scratch, Target};
use crate::error::ReadError;
use crate::index::read_ahead::ReadAhead;
use crate::mapping::Mapping;
use crate::names::directory::Directory;
use crate::shingles::{List, Lists, PairTable};
use crate::table::scanner::{Scanner, prefetch_fronts};
use crate::table::{self, runs_of};

/// The most blocks of a list whose ends are looked up.
const SHORT: usize = 2;

/// Bits of the number of an entry in its block, of a position.
const ENTRY_BITS: u32 = u16::BITS;

/// The longest list, in entries, in which a place is looked for by decoding all.
const DECODED: u64 = 8;

/// The lists of a file, to be searched.
pub(crate) struct PairLists<'i> {
    pairs: &'i PairTable,
    documents: Directory<'i>,
    data: &'i Mapping,
    read_ahead: &'i ReadAhead,
    memory: &'i mut PairMemory,
    /// Blocks that have been read, and are to be counted.
    blocks_read: usize,
}

/// The memory of a search, used again and again.
#[derive(Debug, Default)]
pub(crate) struct PairMemory {
    targets: Vec<Target<u128>>,
    located: Vec<Located>,
    scanner: Scanner<u128>,
    scratch: Scratch<u128>,
    values: Vec<u128>,
}

/// The position of an entry of a block. A list of several blocks ends before entry 0 of the next, and starts with entry
/// 0: the first and the last of its blocks may have pairs of other shingles, too.
fn position(block: usize, entry: usize) -> u64 {
    (block as u64) << ENTRY_BITS | entry as u64
}

/// Returns the block and the entry of a position.
fn block_and_entry(position: u64) -> (usize, usize) {
    ((position >> ENTRY_BITS) as usize, (position & ((1 << ENTRY_BITS) - 1)) as usize)
}

impl<'i> PairLists<'i> {
    pub(crate) fn new(
        (pairs, documents): (&'i PairTable, Directory<'i>),
        (data, read_ahead): (&'i Mapping, &'i ReadAhead),
        memory: &'i mut PairMemory,
    ) -> Self {
        Self { pairs, documents, data, read_ahead, memory, blocks_read: 0 }
    }

    fn file(&self) -> &'i [u8] {
        self.data.as_ref()
    }

    /// Returns the target of a shingle: all of its pairs.
    fn target(&self, shingle: u64) -> Target<u128> {
        let head = self.pairs.head();
        let prefix_bits = u128::BITS - head.place_bits;
        Target { query: head.pair(shingle, 0), prefix_bits, radius: 0, distance: u128::BITS }
    }

    /// Returns the least and the greatest pair of a shingle.
    fn range_of(&self, shingle: u64) -> (u128, u128) {
        let target = self.target(shingle);
        target.run_of(target.query, 0)
    }

    /// Replaces `memory.values` by the pairs of some entries of a block.
    fn decode(&mut self, block: usize, entries: Range<usize>, shingle: u64) -> Result<(), ReadError> {
        let (table, range) = (self.pairs.table(), self.range_of(shingle));
        let bytes = table.block(self.file(), block)?;
        let values = &mut self.memory.values;
        values.clear();
        decode_entries(bytes, entries, range, values).map_err(|error| table.damaged(block, error))
    }

    /// Returns whether a block has a pair.
    fn has(&mut self, block: usize, query: u128) -> Result<bool, ReadError> {
        self.blocks_read += 1;
        let located = [Located { table: 0, block: block as u32, target: 0 }];
        let target = [Target { query, prefix_bits: u128::BITS, radius: 0, distance: 0 }];
        let tables = std::slice::from_ref(self.pairs.table());
        self.read_ahead.query(self.data, tables, &located);
        let mut is_there = false;
        let visit = |_: Located, _| is_there = true;
        self.memory.scanner.find_runs(tables, self.file(), &located, &target, visit)?;
        Ok(is_there)
    }
}

impl Drop for PairLists<'_> {
    fn drop(&mut self) {
        // Once, since all threads share the number.
        table::count(self.blocks_read);
    }
}

impl Lists for PairLists<'_> {
    fn find(&mut self, shingles: &[u64], lists: &mut Vec<List>) -> Result<(), ReadError> {
        let (table, file) = (self.pairs.table(), self.file());
        let keys = table.keys.in_file(file);
        if keys.len() == 0 {
            return Ok(());
        }
        let mut targets = std::mem::take(&mut self.memory.targets);
        targets.clear();
        // One step of all look-ups before the next, so that their waits for memory overlap.
        targets.extend(shingles.iter().map(|&shingle| self.target(shingle)));
        targets.iter().for_each(|target| table.prefetch_directory(target));
        targets.iter().for_each(|target| table.prefetch_keys(file, target));
        self.memory.targets = targets;
        let PairMemory { targets, located, scanner, .. } = &mut *self.memory;
        located.clear();
        for (number, (target, &shingle)) in targets.iter().zip(shingles).enumerate() {
            let (least, greatest) = target.run_of(target.query, 0);
            let blocks = keys.range(least, greatest);
            if blocks.len() > SHORT {
                let length = (blocks.len() * table.entries_per_block) as u64;
                lists.push(List { shingle, length, at: position(blocks.start, 0)..position(blocks.end, 0) });
            } else {
                let of_block =
                    |block: usize| Located { table: 0, block: block as u32, target: number as u32 };
                located.extend(blocks.map(of_block));
            }
        }
        let tables = std::slice::from_ref(table);
        prefetch_fronts(tables, file, &located[..located.len().min(SCAN_BATCH)], targets);
        self.read_ahead.query(self.data, tables, located);
        self.blocks_read += located.len();
        scanner.find_runs(tables, file, located, targets, |at, entries| {
            let (shingle, block) = (shingles[at.target as usize], at.block as usize);
            let (length, end) = (entries.len() as u64, position(block, entries.end));
            match lists.last_mut().filter(|list| list.shingle == shingle) {
                Some(list) => {
                    list.length += length;
                    list.at = position(block - 1, 0)..position(block + 1, 0);
                }
                None => lists.push(List { shingle, length, at: position(block, entries.start)..end }),
            }
        })
    }

    fn for_each(
        &mut self,
        list: &List,
        visit: &mut dyn FnMut(u64) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let (table, file, head) = (self.pairs.table(), self.file(), self.pairs.head());
        let (first, start) = block_and_entry(list.at.start);
        let (last, end) = block_and_entry(list.at.end);
        if end > 0 {
            self.decode(first, start..end, list.shingle)?;
            return self.memory.values.iter().map(|&pair| head.place_of(pair)).try_for_each(visit);
        }
        let (least, greatest) = self.range_of(list.shingle);
        let PairMemory { scratch, values, .. } = &mut *self.memory;
        for blocks in runs_of(first..last) {
            self.read_ahead.blocks(self.data, table, blocks.clone());
            values.clear();
            table.decode_run(file, blocks, scratch, values)?;
            let start = values.partition_point(|&pair| pair < least);
            let own = values[start..].iter().take_while(|&&pair| pair <= greatest);
            own.map(|&pair| head.place_of(pair)).try_for_each(&mut *visit)?;
        }
        Ok(())
    }

    fn contains(&mut self, list: &List, place: u64) -> Result<bool, ReadError> {
        let query = self.pairs.head().pair(list.shingle, place);
        let (first, start) = block_and_entry(list.at.start);
        let (last, end) = block_and_entry(list.at.end);
        if last > first {
            let keys = self.pairs.table().keys.in_file(self.file());
            let block = keys.find(query);
            return Ok(block < keys.len() && self.has(block, query)?);
        }
        if list.length > DECODED {
            return self.has(first, query);
        }
        self.decode(first, start..end, list.shingle)?;
        Ok(self.memory.values.contains(&query))
    }

    fn size(&self, place: u64) -> Result<usize, ReadError> {
        if place >= self.documents.len() {
            return Err(self.documents.damaged(format_args!("it has no entry {place}")));
        }
        Ok(self.documents.length(place)? as usize)
    }
}
