//! The lists of shingles of a file, as a search reads them.

use std::ops::ControlFlow;

use crate::codec::{Located, Scratch, Target};
use crate::error::ReadError;
use crate::index::read_ahead::ReadAhead;
use crate::mapping::Mapping;
use crate::similar::{List, Lists, PairTable};
use crate::table::runs_of;
use crate::table::scanner::Scanner;

/// The most blocks of a list that are scanned at once, with those of other lists.
const SHORT: usize = 2;

/// The lists of a file, to be searched.
pub(crate) struct PairLists<'i> {
    pairs: &'i PairTable,
    data: &'i Mapping,
    read_ahead: &'i ReadAhead,
    memory: &'i mut PairMemory,
}

/// The memory of a search, used again and again.
#[derive(Debug, Default)]
pub(crate) struct PairMemory {
    targets: Vec<Target<u128>>,
    located: Vec<Located>,
    /// The number of a shingle and a place.
    met: Vec<(u32, u64)>,
    scanner: Scanner<u128>,
    scratch: Scratch<u128>,
    values: Vec<u128>,
}

impl<'i> PairLists<'i> {
    pub(crate) fn new(
        pairs: &'i PairTable,
        (data, read_ahead): (&'i Mapping, &'i ReadAhead),
        memory: &'i mut PairMemory,
    ) -> Self {
        Self { pairs, data, read_ahead, memory }
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
        let PairMemory { targets, located, met, scanner, .. } = &mut *self.memory;
        located.clear();
        met.clear();
        for (number, (target, &shingle)) in targets.iter().zip(shingles).enumerate() {
            let (least, greatest) = target.run_of(target.query, 0);
            let [first, last] = match keys.find_for_both(least, greatest) {
                Some(block) => [block; 2],
                None => [keys.find(least), keys.find(greatest)],
            };
            let blocks = first..keys.len().min(last + 1);
            if blocks.len() > SHORT {
                let length = (blocks.len() * table.entries_per_block) as u64;
                let at = blocks.start as u64..blocks.end as u64;
                lists.push(List { shingle, length, at, is_at_hand: false });
            } else {
                let of_block =
                    |block: usize| Located { table: 0, block: block as u32, target: number as u32 };
                located.extend(blocks.map(of_block));
            }
        }
        let tables = std::slice::from_ref(table);
        self.read_ahead.query(self.data, tables, located);
        let mut visit = |at: Located, _, pair| {
            met.push((at.target, self.pairs.head().place_of(pair)));
            ControlFlow::Continue(())
        };
        let _ = scanner.scan(tables, file, located, targets, &mut visit)?;
        met.sort_unstable();
        // The blocks of a damaged file may have a pair twice.
        met.dedup();
        let mut start = 0;
        for met in met.chunk_by(|one, other| one.0 == other.0) {
            let at = start as u64..(start + met.len()) as u64;
            start += met.len();
            let shingle = shingles[met[0].0 as usize];
            lists.push(List { shingle, length: met.len() as u64, at, is_at_hand: true });
        }
        Ok(())
    }

    fn for_each(
        &mut self,
        list: &List,
        visit: &mut dyn FnMut(u64) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let at = list.at.start as usize..list.at.end as usize;
        if list.is_at_hand {
            return self.memory.met[at].iter().try_for_each(|&(_, place)| visit(place));
        }
        let (table, file) = (self.pairs.table(), self.file());
        let target = self.target(list.shingle);
        let (least, greatest) = target.run_of(target.query, 0);
        let PairMemory { scratch, values, .. } = &mut *self.memory;
        for blocks in runs_of(at) {
            self.read_ahead.blocks(self.data, table, blocks.clone());
            values.clear();
            table.decode_run(file, blocks, scratch, values)?;
            let start = values.partition_point(|&pair| pair < least);
            let own = values[start..].iter().take_while(|&&pair| pair <= greatest);
            own.map(|&pair| self.pairs.head().place_of(pair)).try_for_each(&mut *visit)?;
        }
        Ok(())
    }

    fn contains(&mut self, list: &List, place: u64) -> Result<bool, ReadError> {
        if list.is_at_hand {
            let met = &self.memory.met[list.at.start as usize..list.at.end as usize];
            return Ok(met.binary_search_by_key(&place, |&(_, place)| place).is_ok());
        }
        let (table, file) = (self.pairs.table(), self.file());
        let query = self.pairs.head().pair(list.shingle, place);
        let block = table.keys.in_file(file).find(query);
        if block == table.keys.len() {
            return Ok(false);
        }
        let located = [Located { table: 0, block: block as u32, target: 0 }];
        let target = [Target { query, prefix_bits: u128::BITS, radius: 0, distance: 0 }];
        let mut is_there = false;
        let mut visit = |_: Located, _, _| {
            is_there = true;
            ControlFlow::Break(())
        };
        let tables = std::slice::from_ref(table);
        self.read_ahead.query(self.data, tables, &located);
        let _ = self.memory.scanner.scan(tables, file, &located, &target, &mut visit)?;
        Ok(is_there)
    }

    fn size(&self, place: u64) -> Result<usize, ReadError> {
        self.pairs.size(self.file(), place)
    }
}
