//! Sorted permuted tables: blocks in the file, the last fingerprint of each block in memory.
//!
//! - [`keys`]: from a value to the block that may hold it
//! - [`directory`]: the number of keys below a value, mostly without reading a key
//! - [`filter`]: which prefixes the table may have
//! - [`locate`]: from a query to the blocks that may hold a match
//! - [`scanner`]: from such blocks to the entries that match
//! - [`writer`]: from sorted values to blocks and keys

pub(crate) mod directory;
pub(crate) mod filter;
pub(crate) mod keys;
pub(crate) mod locate;
pub(crate) mod scanner;
pub(crate) mod writer;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use byteorder::{ByteOrder, LittleEndian};
use filter::Filter;
use keys::Keys;

use crate::codec::{BlockCodec, BlockError, CHECKSUM_BYTES, Scratch};
use crate::error::{Place, ReadError};
use crate::format::checksum::Checked;
use crate::format::checksum::{Context, UnitKind};
use crate::permutation::Permutation;
use hamdex_fingerprint::Fingerprint;

/// Blocks that are decoded together.
const DECODED_TOGETHER: usize = 8;

/// Blocks in runs of [`DECODED_TOGETHER`], the last one maybe shorter.
pub(crate) fn runs_of(blocks: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    blocks.clone().step_by(DECODED_TOGETHER).map(move |start| start..blocks.end.min(start + DECODED_TOGETHER))
}

/// A table: the position and the codec of its blocks.
pub(crate) struct Table<F> {
    /// The kind of its blocks.
    pub(crate) unit: UnitKind,
    pub(crate) number: usize,
    pub(crate) permutation: Permutation<F>,
    pub(crate) codec: BlockCodec,
    pub(crate) keys: Keys<F>,
    /// Which prefixes it has, if that is known.
    pub(crate) filter: Option<Filter>,
    /// Entries of a block, on average: for guesses.
    pub(crate) entries_per_block: usize,
    /// Offset of block 0 in the file.
    pub(crate) offset: usize,
    pub(crate) context: Context,
    /// The blocks whose checksums have been verified.
    pub(crate) checked: Checked,
    /// Whether checksums are verified at every read.
    pub(crate) always_check: bool,
}

impl<F: Fingerprint> Table<F> {
    fn block_bytes(&self) -> usize {
        self.codec.layout().block_bytes
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        let filter = self.filter.as_ref().map_or(0, Filter::memory_bytes);
        self.keys.bytes() + self.codec.memory_bytes() + self.checked.bytes() + filter
    }

    /// Returns the place of a block in the file.
    pub(crate) fn place(&self, block: usize) -> Place {
        let offset = (self.offset + block * self.block_bytes()) as u64;
        match self.unit {
            UnitKind::ShinglePairs => Place::ShingleBlock { block: block as u64, offset },
            _ => Place::Block { table: self.number, block: block as u64, offset },
        }
    }

    /// Returns the error for a block that contradicts itself.
    #[cold]
    pub(crate) fn damaged(&self, block: usize, error: BlockError) -> ReadError {
        ReadError::damaged(self.place(block), error)
    }

    /// Returns the bytes of a block, unchecked.
    #[inline]
    pub(crate) fn bytes<'a>(&self, file: &'a [u8], block: usize) -> &'a [u8] {
        &file[self.offset + block * self.block_bytes()..][..self.block_bytes()]
    }

    /// Returns the offset and the length of some blocks in the file.
    #[inline]
    pub(crate) fn extent(&self, blocks: Range<usize>) -> (usize, usize) {
        (self.offset + blocks.start * self.block_bytes(), blocks.len() * self.block_bytes())
    }

    /// Verifies a block's checksum.
    pub(crate) fn check(&self, file: &[u8], block: usize) -> Result<(), ReadError> {
        let bytes = self.bytes(file, block);
        let stored = LittleEndian::read_u32(bytes);
        if self.context.checksum(block as u64, &bytes[CHECKSUM_BYTES..]) == stored {
            Ok(())
        } else {
            Err(ReadError::damaged(self.place(block), "its checksum does not match"))
        }
    }

    /// Returns the bytes of a block, its checksum verified unless it has been.
    #[inline(always)]
    pub(crate) fn block<'a>(&self, file: &'a [u8], block: usize) -> Result<&'a [u8], ReadError> {
        if self.always_check || !self.checked.contains(block) {
            self.first_check(file, block)?;
        }
        Ok(self.bytes(file, block))
    }

    /// Checks a block's checksum and remembers that it was right.
    #[cold]
    fn first_check(&self, file: &[u8], block: usize) -> Result<(), ReadError> {
        self.check(file, block)?;
        self.checked.insert(block);
        Ok(())
    }

    /// Appends the permuted entries of a block: as [`Self::decode_run`] of that one.
    pub(crate) fn decode(
        &self,
        file: &[u8],
        block: usize,
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), ReadError> {
        self.decode_run(file, block..block + 1, scratch, values)
    }

    /// Appends the permuted entries of some blocks, of which each ends with its key and starts after the one before
    /// it. As many as [`DECODED_TOGETHER`], or more, take the least time for each.
    ///
    /// # Errors
    /// When a block is damaged; the entries of earlier blocks have been appended.
    pub(crate) fn decode_run(
        &self,
        file: &[u8],
        blocks: Range<usize>,
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), ReadError> {
        runs_of(blocks).try_for_each(|run| self.decode_together(file, run, scratch, values))
    }

    /// The same of at most [`DECODED_TOGETHER`] blocks.
    fn decode_together(
        &self,
        file: &[u8],
        blocks: Range<usize>,
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), ReadError> {
        let mut together: [&[u8]; DECODED_TOGETHER] = [&[]; DECODED_TOGETHER];
        let (mut count, mut unread) = (0, None);
        for (bytes, block) in together.iter_mut().zip(blocks.clone()) {
            match self.block(file, block) {
                Ok(found) => *bytes = found,
                Err(error) => {
                    unread = Some(error);
                    break;
                }
            }
            count += 1;
        }
        let check = |place: usize, values: &[F]| self.check_ends(file, blocks.start + place, values);
        let decoded = self.codec.decode(&together[..count], scratch, values, check);
        decoded.map_err(|(place, error)| self.damaged(blocks.start + place, error))?;
        unread.map_or(Ok(()), Err)
    }

    /// Checks that the entries of a block lie between the keys before it and of it.
    fn check_ends(&self, file: &[u8], block: usize, values: &[F]) -> Result<(), BlockError> {
        let keys = self.keys.in_file(file);
        if values.last() != Some(&keys.get(block)) {
            return Err(BlockError::Key);
        }
        if block > 0 && values[0] <= keys.get(block - 1) {
            return Err(BlockError::Order);
        }
        Ok(())
    }
}

static BLOCKS_READ: AtomicU64 = AtomicU64::new(0);

/// Adds blocks of a query or a batch: one call for many blocks, since all threads share the number.
pub(crate) fn count(blocks: usize) {
    BLOCKS_READ.fetch_add(blocks as u64, Ordering::Relaxed);
}

/// Returns the number of blocks that queries and batches of this process have read, of all indexes: those of a walk
/// through an index are not counted.
///
/// ```
/// use hamdex::inspect::blocks_read;
/// use hamdex::{Builder, Index};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("one.hamdex");
/// let mut builder = Builder::<u64>::new(&path)?;
/// builder.push(0x00ff)?;
/// builder.finish()?;
/// let index = Index::<u64>::open(&path)?;
/// let before = blocks_read();
/// assert_eq!(index.searcher().within(0x00fe, 3)?.len(), 1);
/// assert!(blocks_read() > before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn blocks_read() -> u64 {
    BLOCKS_READ.load(Ordering::Relaxed)
}
