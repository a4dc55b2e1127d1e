//! Writing ids while table 0 is written: the sections grow in memory and follow its blocks in the file.

use std::io::{self, Read, Write};

use crate::format::footer::{IdsRecord, RANKED_PLACES};
use crate::ids::packing::Packer;

/// Packs ids and marks into two streams, which may be files.
pub(crate) struct IdWriter<W> {
    record: IdsRecord,
    ids: Stream<W>,
    starts: Stream<W>,
    marks: u64,
    ranks: Vec<u64>,
}

/// The properties of packed ids.
pub(crate) struct Packed<W> {
    /// For the footer.
    pub(crate) record: IdsRecord,
    pub(crate) ids: W,
    /// The marks.
    pub(crate) starts: W,
    /// Number of marks before each place that is a multiple of [`RANKED_PLACES`], except the first.
    pub(crate) ranks: Vec<u64>,
}

/// Packs numbers for a writer.
struct Stream<W> {
    packer: Packer,
    finished: Vec<u8>,
    output: W,
}

/// Bytes gathered before they are written, or read at once.
const GATHER_BYTES: usize = 1 << 16;

impl<W: Write> Stream<W> {
    fn new(output: W) -> Self {
        Self { packer: Packer::default(), finished: Vec::with_capacity(GATHER_BYTES + 8), output }
    }

    fn put(&mut self, value: u64, bits: u32) -> io::Result<()> {
        self.packer.put(value, bits, &mut self.finished);
        if self.finished.len() >= GATHER_BYTES {
            self.output.write_all(&self.finished)?;
            self.finished.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<W> {
        self.packer.finish(&mut self.finished);
        self.output.write_all(&self.finished)?;
        Ok(self.output)
    }
}

impl<W: Write> IdWriter<W> {
    /// For ids from `least` to `most`.
    pub(crate) fn new(least: u64, most: u64, ids: W, starts: W) -> Self {
        let bits = u64::BITS - (most - least).leading_zeros();
        Self {
            record: IdsRecord { count: 0, base: least, bits },
            ids: Stream::new(ids),
            starts: Stream::new(starts),
            marks: 0,
            ranks: Vec::new(),
        }
    }

    /// Appends an id; `first` when it is the first of its fingerprint.
    pub(crate) fn push(&mut self, id: u64, first: bool) -> io::Result<()> {
        let place = self.record.count;
        if place > 0 && place.is_multiple_of(RANKED_PLACES) {
            self.ranks.push(self.marks);
        }
        self.record.count += 1;
        self.marks += u64::from(first);
        self.ids.put(id - self.record.base, self.record.bits)?;
        self.starts.put(u64::from(first), 1)
    }

    pub(crate) fn finish(self) -> io::Result<Packed<W>> {
        let Self { record, ids, starts, ranks, .. } = self;
        Ok(Packed { record, ids: ids.finish()?, starts: starts.finish()?, ranks })
    }
}

/// Returns the place of the first mark of each block, given how many marks each one has.
pub(crate) fn block_starts(marks: &mut impl Read, entries: &[u16]) -> io::Result<Vec<u64>> {
    let mut starts = Vec::with_capacity(entries.len());
    let mut place = 0u64;
    // Marks to pass before the next block starts.
    let mut until_next = 0u64;
    let mut buffer = vec![0; GATHER_BYTES];
    loop {
        let count = marks.read(&mut buffer)?;
        if count == 0 {
            return Ok(starts);
        }
        for &byte in &buffer[..count] {
            let mut left = byte;
            while u64::from(left.count_ones()) > until_next {
                // No block is empty, so the next one starts at this mark or at a later one.
                (0..until_next).for_each(|_| left ^= 0x80 >> left.leading_zeros());
                until_next = u64::from(entries[starts.len()]);
                starts.push(place + u64::from(left.leading_zeros()));
            }
            until_next -= u64::from(left.count_ones());
            place += 8;
        }
    }
}
