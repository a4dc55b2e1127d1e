//! Writing ids while table 0 is written: the sections grow beside it and are put into the file after
//! its blocks.

use std::io::{self, Read, Write};

use crate::format::footer::IdsRecord;
use crate::ids::packing::Packer;

/// Packs ids and marks into two streams, which may be files.
pub(crate) struct IdWriter<W> {
    record: IdsRecord,
    ids: Stream<W>,
    starts: Stream<W>,
}

/// Bytes on their way to a writer.
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
        }
    }

    /// Appends an id; `first` when it is the first of its fingerprint.
    pub(crate) fn push(&mut self, id: u64, first: bool) -> io::Result<()> {
        self.record.count += 1;
        self.ids.put(id - self.record.base, self.record.bits)?;
        self.starts.put(u64::from(first), 1)
    }

    /// The description for the footer, the ids and the marks.
    pub(crate) fn finish(self) -> io::Result<(IdsRecord, W, W)> {
        Ok((self.record, self.ids.finish()?, self.starts.finish()?))
    }
}

/// The place of the first mark of each block, given how many marks each one has.
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
        for (&byte, bit) in buffer[..count].iter().flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            if byte & 0x80 >> bit != 0 {
                if until_next == 0 {
                    until_next = u64::from(entries[starts.len()]);
                    starts.push(place);
                }
                until_next -= 1;
            }
            place += 1;
        }
    }
}
