//! From sorted values to blocks and keys.

use std::io::{self, Write};
use std::{iter, mem};

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::{BlockCodec, CHECKSUM_BYTES};
use crate::format::checksum::Context;
use crate::threads::{for_each, join};
use hamdex_fingerprint::Fingerprint;

/// Writes the blocks of one table, given its values in order, in pieces of any size.
///
/// The end of a block depends on all before it, so one thread finds the ends, and one writes. Both overlap with
/// the encoding, by all threads: while a batch is read, the one before it is encoded and the one before that is
/// written.
pub(crate) struct TableWriter<F> {
    codec: BlockCodec,
    context: Context,
    planner: Planner<F>,
    /// Cut into blocks, and to be encoded.
    planned: Batch<F>,
    /// Encoded, and to be written.
    encoded: Vec<u8>,
    /// Memory to be used again.
    spare: Vec<u8>,
    reusable: Batch<F>,
}

/// The results of writing a table's blocks.
pub(crate) struct Written<F> {
    /// The last value of each block.
    pub(crate) keys: Vec<F>,
    /// The number of values in each block.
    pub(crate) entries: Vec<u16>,
}

/// Finds the ends of blocks.
struct Planner<F> {
    /// Values that no block has been closed over.
    pending: Vec<F>,
    written: Written<F>,
}

/// Values of whole blocks.
#[derive(Default)]
struct Batch<F> {
    values: Vec<F>,
    /// Number of entries in each block.
    entries: Vec<u16>,
    /// The number of the first block.
    first_block: usize,
}

impl<F: Fingerprint> Planner<F> {
    /// Takes values that ascend, from what has been taken before on, and drops repeats. Returns how many
    /// it has taken.
    fn take(&mut self, values: impl Iterator<Item = F>) -> io::Result<u64> {
        let before = self.pending.len();
        let mut last = self.pending.last().or(self.written.keys.last()).copied();
        for value in values {
            if last >= Some(value) {
                if last == Some(value) {
                    continue;
                }
                // A file whose order is wrong answers wrongly: the last chance to see it before it has
                // a name.
                let what = "sorted values came back out of order";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            self.pending.push(value);
            last = Some(value);
        }
        Ok((self.pending.len() - before) as u64)
    }

    /// Cuts off all blocks whose end is certain; `at_end` it always is. `batch` is memory to reuse.
    fn plan(&mut self, codec: &BlockCodec, at_end: bool, mut batch: Batch<F>) -> Batch<F> {
        batch.entries.clear();
        batch.first_block = self.written.keys.len();
        let mut done = 0;
        while done < self.pending.len() {
            let rest = &self.pending[done..];
            let count = codec.fill(rest);
            if count == rest.len() && !at_end {
                break;
            }
            self.written.keys.push(rest[count - 1]);
            batch.entries.push(count as u16);
            done += count;
        }
        self.written.entries.extend(&batch.entries);
        batch.values.clear();
        batch.values.extend_from_slice(&self.pending[done..]);
        self.pending.truncate(done);
        std::mem::swap(&mut batch.values, &mut self.pending);
        batch
    }
}

impl<F: Fingerprint> Batch<F> {
    /// Encodes all blocks.
    fn encode(&self, codec: &BlockCodec, context: &Context, buffer: &mut Vec<u8>) {
        let block_bytes = codec.layout().block_bytes;
        let mut rest = self.values.as_slice();
        let blocks: Vec<&[F]> = self
            .entries
            .iter()
            .map(|&entries| rest.split_off(..usize::from(entries)).expect("they have been counted"))
            .collect();
        buffer.clear();
        buffer.resize(blocks.len() * block_bytes, 0);
        for_each(
            buffer.chunks_exact_mut(block_bytes).zip(&blocks).enumerate().collect(),
            |(number, (bytes, values))| {
                codec.encode(values, bytes);
                let number = (self.first_block + number) as u64;
                LittleEndian::write_u32(bytes, context.checksum(number, &bytes[CHECKSUM_BYTES..]));
            },
        );
    }
}

/// Counts the blocks that values take, without writing them.
pub(crate) struct BlockCounter<F> {
    codec: BlockCodec,
    /// Values that no block has been closed over.
    pending: Vec<F>,
    blocks: u64,
}

impl<F: Fingerprint> BlockCounter<F> {
    pub(crate) fn new(codec: BlockCodec) -> Self {
        Self { codec, pending: Vec::new(), blocks: 0 }
    }

    /// Takes ascending values, not below the previous ones; a repeat counts once.
    pub(crate) fn push(&mut self, values: impl Iterator<Item = F>) {
        self.pending.extend(values);
        self.pending.dedup();
        let mut done = 0;
        while done < self.pending.len() {
            let rest = &self.pending[done..];
            let count = self.codec.fill(rest);
            if count == rest.len() {
                break;
            }
            done += count;
            self.blocks += 1;
        }
        self.pending.drain(..done);
    }

    /// Returns the number of blocks of all values.
    pub(crate) fn finish(self) -> u64 {
        // The pending values fit into one.
        self.blocks + u64::from(!self.pending.is_empty())
    }
}

/// Returns the minimum number of entries of a block that is not the last of its table.
pub(crate) fn min_entries<F: Fingerprint>(block_bytes: usize) -> u64 {
    // With either codec an entry takes at most all of its bits and 16 more, and 512 bits hold what else there is:
    // header, first entry, buckets.
    (block_bytes as u64 * 8 - 512) / u64::from(F::BITS + 16)
}

impl<F: Fingerprint> TableWriter<F> {
    pub(crate) fn new(codec: BlockCodec, context: Context) -> Self {
        let planner =
            Planner { pending: Vec::new(), written: Written { keys: Vec::new(), entries: Vec::new() } };
        let (planned, encoded, spare, reusable) = Default::default();
        Self { codec, context, planner, planned, encoded, spare, reusable }
    }

    /// Takes ascending values, not below the previous ones; a repeat counts once. Returns how many it has
    /// taken.
    pub(crate) fn push(
        &mut self,
        values: impl Iterator<Item = F> + Send,
        output: &mut (impl Write + Send),
    ) -> io::Result<u64> {
        self.step(values, false, output)
    }

    /// Closes the last block, and writes all that has not been written.
    pub(crate) fn finish(mut self, output: &mut (impl Write + Send)) -> io::Result<Written<F>> {
        // Once each for planning, encoding and writing the last.
        for _ in 0..3 {
            self.step(iter::empty(), true, output)?;
        }
        Ok(self.planner.written)
    }

    /// Plans a batch, encodes the one before, writes the one before that.
    fn step(
        &mut self,
        values: impl Iterator<Item = F> + Send,
        at_end: bool,
        output: &mut (impl Write + Send),
    ) -> io::Result<u64> {
        let Self { codec, context, planner, planned, encoded, spare, reusable } = self;
        let (codec, context, next) = (&*codec, &*context, mem::take(reusable));
        let plan = || -> io::Result<(u64, Batch<F>)> {
            let taken = planner.take(values)?;
            Ok((taken, planner.plan(codec, at_end, next)))
        };
        let (plan, (written, ())) =
            join(plan, || join(|| output.write_all(encoded), || planned.encode(codec, context, spare)));
        let (taken, next) = plan?;
        written?;
        *reusable = mem::replace(planned, next);
        mem::swap(encoded, spare);
        Ok(taken)
    }
}
