//! The number of blocks that queries have read.

use std::sync::atomic::{AtomicU64, Ordering};

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
