//! Prefetching from storage: all blocks of a query, or of a part of a batch, at once; a window ahead of a scan;
//! all blocks of one task of many. Otherwise each block would be waited for on its own, since the system does
//! not read ahead (`MADV_RANDOM`).

use std::ops::Range;

use crate::codec::Located;
use crate::mapping::Mapping;
use crate::table::Table;
use hamdex_fingerprint::Fingerprint;

/// Bytes that a scan reads ahead at once: enough to keep storage busy while the window before is read.
const WINDOW_BYTES: usize = 1 << 20;

/// Blocks sampled to estimate how many have been read.
const SAMPLED_BLOCKS: usize = 64;

/// The prefetching of an index whose bytes come from storage.
pub(crate) struct ReadAhead {
    is_worth: bool,
    /// Whether blocks may be evicted after they have been read.
    repeat: bool,
}

impl ReadAhead {
    /// For a file; with `repeat`, one that is larger than memory.
    pub(super) fn of_file(repeat: bool) -> Self {
        Self { is_worth: true, repeat }
    }

    /// For bytes in memory.
    pub(crate) fn none() -> Self {
        Self { is_worth: false, repeat: false }
    }

    /// Returns whether the block may be cold.
    fn is_unread<F: Fingerprint>(&self, table: &Table<F>, block: usize) -> bool {
        self.repeat || !table.checked.contains(block)
    }

    /// Reads ahead a range of the file.
    pub(crate) fn bytes(&self, data: &Mapping, range: Range<usize>) {
        if self.is_worth {
            data.will_need(range.start, range.len());
        }
    }

    /// Cuts a range of the file into parts that are read one after the other, and reads ahead each and the one after
    /// it. The parts count from the start of the range.
    pub(crate) fn parts<'a>(
        &'a self,
        data: &'a Mapping,
        range: Range<usize>,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        (0..range.len()).step_by(WINDOW_BYTES).map(move |start| {
            let ahead = if start == 0 { start } else { start + WINDOW_BYTES };
            let ahead = ahead.min(range.len())..range.len().min(start + 2 * WINDOW_BYTES);
            self.bytes(data, range.start + ahead.start..range.start + ahead.end);
            start..range.len().min(start + WINDOW_BYTES)
        })
    }

    /// Hints that a range of the file is read by most queries.
    pub(crate) fn keep(&self, data: &Mapping, range: Range<usize>) {
        if self.is_worth {
            data.keep(range.start, range.len());
        }
    }

    /// Hints that parts of a range are read repeatedly, if each read is prefetched: one that is not would
    /// bring its neighbours as well.
    pub(super) fn keep_repeated(&self, data: &Mapping, range: Range<usize>) {
        if self.repeat {
            self.keep(data, range);
        }
    }

    /// Reads ahead the blocks that a query is about to read, unless all have been read before: then it
    /// tests a few bits, and makes no system call.
    #[inline]
    pub(crate) fn query<F: Fingerprint>(&self, data: &Mapping, tables: &[Table<F>], located: &[Located]) {
        // A single block is waited for once either way; one that is prefetched every time comes without its neighbours.
        let is_worth = self.is_worth && (located.len() > 1 || self.repeat);
        if is_worth && located.iter().any(|at| self.is_unread(&tables[at.table as usize], at.block as usize))
        {
            self.hint(data, tables, located);
        }
    }

    #[cold]
    fn hint<F: Fingerprint>(&self, data: &Mapping, tables: &[Table<F>], located: &[Located]) {
        // Neighbours in one call: a query of a large distance has long runs of them.
        let mut run: Option<(&Table<F>, Range<usize>)> = None;
        for at in located {
            let (table, block) = (&tables[at.table as usize], at.block as usize);
            if !self.is_unread(table, block) {
                continue;
            }
            match &mut run {
                Some((of, blocks)) if of.number == table.number && blocks.end == block => blocks.end += 1,
                _ => {
                    if let Some((table, blocks)) = run.replace((table, block..block + 1)) {
                        let (offset, length) = table.extent(blocks);
                        data.will_need(offset, length);
                    }
                }
            }
        }
        if let Some((table, blocks)) = run {
            let (offset, length) = table.extent(blocks);
            data.will_need(offset, length);
        }
    }

    /// Reads ahead blocks in a row that are about to be read, unless all have been read before. The range may
    /// lie or end beyond the last one.
    pub(crate) fn blocks<F: Fingerprint>(&self, data: &Mapping, table: &Table<F>, mut blocks: Range<usize>) {
        if !self.is_worth {
            return;
        }
        blocks.end = blocks.end.min(table.keys.len());
        if blocks.clone().any(|block| self.is_unread(table, block)) {
            let (offset, length) = table.extent(blocks);
            data.will_need(offset, length);
        }
    }

    /// About the share of the blocks of a table that storage may have to be waited for, from a few of them.
    pub(crate) fn unread_share<F: Fingerprint>(&self, table: &Table<F>) -> f64 {
        if !self.is_worth {
            return 0.0;
        }
        let blocks = (0..table.keys.len()).step_by(table.keys.len() / SAMPLED_BLOCKS + 1);
        let count = blocks.len().max(1);
        blocks.filter(|&block| self.is_unread(table, block)).count() as f64 / count as f64
    }

    /// For going through the blocks of a table from first to last, or through a part of them.
    pub(crate) fn windows<'a>(&'a self, data: &'a Mapping) -> Windows<'a> {
        Windows { read_ahead: self, data, hinted: 0..0, takes_all: true }
    }

    /// Returns the same, without windows whose blocks have all been read before.
    pub(crate) fn windows_of_unread<'a>(&'a self, data: &'a Mapping) -> Windows<'a> {
        Windows { takes_all: false, ..self.windows(data) }
    }
}

/// The prefetched window of a scan.
pub(crate) struct Windows<'a> {
    read_ahead: &'a ReadAhead,
    data: &'a Mapping,
    /// The blocks read ahead without a gap.
    hinted: Range<usize>,
    /// Whether windows whose blocks have all been read before are prefetched, too.
    takes_all: bool,
}

impl Windows<'_> {
    /// To be called with each block of a table before it is read; reads ahead the window that it is in, unless
    /// that has been done, and the next one.
    #[inline]
    pub(crate) fn reach<F: Fingerprint>(&mut self, table: &Table<F>, block: usize) {
        if !self.read_ahead.is_worth {
            return;
        }
        let window = WINDOW_BYTES / table.codec.layout().block_bytes;
        if !self.hinted.contains(&block) {
            self.hinted = block..block;
        } else if self.hinted.end - block > window {
            return;
        }
        let end = table.keys.len().min((block / window + 2) * window);
        if end > self.hinted.end {
            let mut blocks = self.hinted.end..end;
            if self.takes_all || blocks.any(|block| self.read_ahead.is_unread(table, block)) {
                let (offset, length) = table.extent(self.hinted.end..end);
                self.data.will_need(offset, length);
            }
            self.hinted.end = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ReadError;
    use crate::join::{Tuning, Way};
    use crate::{BatchOptions, BuildOptions, Builder, Checksums, Design, Index, OpenOptions, Strategy};

    fn index(options: &OpenOptions, repeat: bool) -> Index<u64> {
        let mix = |i: u64| {
            let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (z ^ z >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        index_of((1..=200_000).map(mix), options, repeat)
    }

    fn index_of(mut stored: impl Iterator<Item = u64>, options: &OpenOptions, repeat: bool) -> Index<u64> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.hamdex");
        let options_of_build = BuildOptions::new().design(Design::named("cover-6", 3).unwrap());
        let mut builder = Builder::<u64>::with_options(&path, options_of_build.block_bytes(512)).unwrap();
        stored.try_for_each(|fingerprint| builder.push(fingerprint)).unwrap();
        builder.finish().unwrap();
        let data = Mapping::recording(std::fs::read(&path).unwrap());
        crate::index::open::read_with(options, data, ReadAhead::of_file(repeat)).unwrap()
    }

    fn hints(index: &Index<u64>) -> Vec<Range<usize>> {
        std::mem::take(&mut index.data.hints.needed.lock().unwrap())
    }

    #[test]
    fn a_query_reads_ahead_what_it_has_not_read_and_no_more() {
        for checksums in [Checksums::FirstTouch, Checksums::Always] {
            let index = index(&OpenOptions::new().checksums(checksums), false);
            let mut searcher = index.searcher();
            the_end_is_read_ahead(&index);
            searcher.within(77, 3).unwrap();
            let first = hints(&index);
            assert!((6..9).contains(&(first.iter().map(Range::len).sum::<usize>() / 512)), "{first:?}");
            searcher.within(77, 3).unwrap();
            assert!(hints(&index).is_empty());
        }
    }

    #[test]
    fn a_file_larger_than_memory_is_asked_every_time() {
        let index = index(&OpenOptions::new(), true);
        the_end_is_read_ahead(&index);
        // The blocks of all tables may stay in memory; the system would evict them first otherwise.
        let kept = index.data.hints.kept.lock().unwrap().clone();
        for table in &index.tables {
            let (offset, length) = table.extent(0..table.keys.len());
            assert!(kept.contains(&(offset..offset + length)), "{kept:?}");
        }
        let mut searcher = index.searcher();
        searcher.within(77, 3).unwrap();
        let first = hints(&index);
        searcher.within(77, 3).unwrap();
        assert_eq!(hints(&index), first);
        assert!(first.len() >= 6);
    }

    /// All from the first key on, before it is read; it is read by every query.
    fn the_end_is_read_ahead(index: &Index<u64>) {
        let (offset, length) = index.tables.last().map(|table| table.extent(0..table.keys.len())).unwrap();
        let hinted = hints(index);
        let end = index.data.as_ref().len();
        assert!(
            matches!(&hinted[..], [range] if range.end == end && range.start >= offset + length),
            "{hinted:?}"
        );
        assert!(index.data.hints.kept.lock().unwrap().contains(&hinted[0]));
    }

    #[test]
    fn a_walk_asks_for_long_runs() {
        let index = index(&OpenOptions::new(), false);
        the_end_is_read_ahead(&index);
        index.searcher().within(77, 40).unwrap();
        let ranges = hints(&index);
        let all: usize = ranges.iter().map(Range::len).sum();
        assert_eq!(all, index.tables[0].keys.len() * 512);
        assert!(ranges.len() <= index.tables[0].keys.len() / 500, "{}", ranges.len());
    }

    #[test]
    fn a_scan_reads_ahead_each_byte_once_and_a_window_ahead() {
        let index = index(&OpenOptions::new(), false);
        the_end_is_read_ahead(&index);
        let (start, length) = index.tables[0].extent(0..index.tables[0].keys.len());
        assert!(length > WINDOW_BYTES);
        let mut end = start;
        for fingerprint in index.fingerprints() {
            fingerprint.unwrap();
            for range in hints(&index) {
                assert_eq!(range.start, end);
                end = range.end;
            }
        }
        assert_eq!(end, start + length);
        // The first time for the window it stands in, and the next one.
        let mut fingerprints = index.fingerprints();
        fingerprints.next().unwrap().unwrap();
        let window = start..start + length.min(2 * WINDOW_BYTES);
        assert_eq!(hints(&index), std::slice::from_ref(&window));
    }

    #[test]
    fn a_batch_asks_for_each_block_before_it_reads_it() {
        let queries: Vec<u64> = (1..=3000u64).map(|i| i.wrapping_mul(0x2545_f491_4f6c_dd1d)).collect();
        for strategy in [Strategy::Probe, Strategy::Scan] {
            let index = index(&OpenOptions::new(), false);
            the_end_is_read_ahead(&index);
            let options = BatchOptions::new().strategy(strategy);
            let answer = || index.batch_with(&queries, 3, &options, |_, _| Ok::<_, ReadError>(()));
            assert!(answer().is_ok());
            every_block_read_was_asked_for(&index);
            assert!(answer().is_ok());
            assert!(hints(&index).is_empty());
        }
    }

    #[test]
    fn a_self_join_asks_for_each_block_before_it_reads_it() {
        for way in [Way::Auto, Way::Gather, Way::Query] {
            let index = index(&OpenOptions::new(), false);
            the_end_is_read_ahead(&index);
            index.pairs(3).tuning(Tuning { way, ..Tuning::default() }).count_by_distance().unwrap();
            every_block_read_was_asked_for(&index);
            index.pairs(3).tuning(Tuning { way, ..Tuning::default() }).count_by_distance().unwrap();
            assert!(hints(&index).is_empty());
        }
    }

    #[test]
    fn a_search_for_the_nearest_asks_for_each_block_before_it_reads_it() {
        let index = index(&OpenOptions::new(), false);
        assert_eq!(index.searcher().nearest(77, 20).unwrap().len(), 20);
        every_block_read_was_asked_for(&index);
        index.searcher().nearest(77, 20).unwrap();
        assert!(hints(&index).is_empty());
    }

    /// Asserts that the blocks read are the blocks checked.
    fn every_block_read_was_asked_for(index: &Index<u64>) {
        let ranges = hints(index);
        let mut read = 0;
        for table in &index.tables {
            for block in (0..table.keys.len()).filter(|&block| table.checked.contains(block)) {
                let (offset, length) = table.extent(block..block + 1);
                let covers = |range: &Range<usize>| range.start <= offset && range.end >= offset + length;
                assert!(ranges.iter().any(covers), "table {}, block {block}", table.number);
                read += 1;
            }
        }
        assert!(read > 1000, "{read} blocks read");
    }

    /// If a run of equal prefixes fills many blocks, the bits after the prefix still select the blocks that may
    /// hold a match.
    #[test]
    fn a_long_run_of_one_prefix_is_not_read_whole() {
        let run = |i: u64| 0x1234_5678_9abc_def0 & !0x3_ffff | i;
        let index = index_of((0..200_000).map(run), &OpenOptions::new(), false);
        the_end_is_read_ahead(&index);
        let blocks: usize = index.tables.iter().map(|table| table.keys.len()).sum();
        index.searcher().within(run(77_777), 1).unwrap();
        let read = hints(&index).iter().map(|range| range.len() / 512).sum::<usize>();
        // At most one probe for each of the 18 varying bits, in each table.
        assert!((6..=6 * 19).contains(&read) && blocks > 3000, "{read} of {blocks}");
    }

    #[test]
    fn checksums_up_front_ask_for_all_blocks() {
        let index = index(&OpenOptions::new().checksums(Checksums::UpFront), false);
        let all: usize = index.tables.iter().map(|table| table.extent(0..table.keys.len()).1).sum();
        // The first is that of the keys.
        assert_eq!(hints(&index)[1..].iter().map(Range::len).sum::<usize>(), all);
    }
}
