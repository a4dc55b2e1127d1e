//! From sorted values to blocks and keys.

use std::io::{self, Write};

use byteorder::{ByteOrder, LittleEndian};
use rayon::prelude::*;

use crate::codec::{BlockCodec, CHECKSUM_BYTES};
use crate::fingerprint::Fingerprint;
use crate::format::checksum::Context;

/// Writes the blocks of one table, given its values in order, in pieces of any size.
pub(crate) struct TableWriter<F> {
    codec: BlockCodec,
    context: Context,
    /// Values that no block has been closed over.
    pending: Vec<F>,
    /// The last value of each block, and how many it has.
    keys: Vec<F>,
    entries: Vec<u16>,
    buffer: Vec<u8>,
}

/// What a table's blocks have been closed with.
pub(crate) struct Written<F> {
    /// The last value of each block.
    pub(crate) keys: Vec<F>,
    /// The number of values in each block.
    pub(crate) entries: Vec<u16>,
}

impl<F: Fingerprint> TableWriter<F> {
    pub(crate) fn new(codec: BlockCodec, context: Context) -> Self {
        let (pending, keys, entries, buffer) = Default::default();
        Self { codec, context, pending, keys, entries, buffer }
    }

    /// Takes values that are ascending, distinct, and above all before.
    pub(crate) fn push(&mut self, values: &[F], output: &mut impl Write) -> io::Result<()> {
        // A file whose order is wrong answers wrongly: the last chance to see it before it has a name.
        let follows = self.pending.last().or(self.keys.last()).is_none_or(|last| Some(last) < values.first());
        if !(values.is_empty() || follows && values.is_sorted_by(|a, b| a < b)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "sorted values came back out of order"));
        }
        self.pending.extend_from_slice(values);
        self.write_blocks(false, output)
    }

    /// Closes the last block.
    pub(crate) fn finish(mut self, output: &mut impl Write) -> io::Result<Written<F>> {
        self.write_blocks(true, output)?;
        Ok(Written { keys: self.keys, entries: self.entries })
    }

    /// Writes all blocks whose end is certain; where it is not certain, it is so `at_end`. Finding the
    /// ends is one thread's work; the rest is that of all.
    fn write_blocks(&mut self, at_end: bool, output: &mut impl Write) -> io::Result<()> {
        let mut blocks: Vec<&[F]> = Vec::new();
        let mut rest = self.pending.as_slice();
        while !rest.is_empty() {
            let count = self.codec.fill(rest);
            if count == rest.len() && !at_end {
                break;
            }
            let (block, after) = rest.split_at(count);
            blocks.push(block);
            rest = after;
        }

        let block_bytes = self.codec.layout().block_bytes;
        let before = self.keys.len();
        self.buffer.clear();
        self.buffer.resize(blocks.len() * block_bytes, 0);
        self.buffer.par_chunks_exact_mut(block_bytes).zip(&blocks).enumerate().for_each(
            |(number, (bytes, values))| {
                self.codec.encode(values, bytes);
                let checksum = self.context.checksum((before + number) as u64, &bytes[CHECKSUM_BYTES..]);
                LittleEndian::write_u32(bytes, checksum);
            },
        );
        self.keys.extend(blocks.iter().map(|block| block[block.len() - 1]));
        self.entries.extend(blocks.iter().map(|block| block.len() as u16));
        let done = self.pending.len() - rest.len();
        self.pending.drain(..done);
        output.write_all(&self.buffer)
    }
}
