//! What the processor's caches should bring before it is read.

use crate::arch::{LINE_BYTES, prefetch};
use crate::codec::Target;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

impl<F: Fingerprint> Table<F> {
    /// Prefetches what [`Self::locate`] needs first for this target.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, target: &Target<F>) {
        self.keys.prefetch_directory(target.query);
    }

    /// Prefetches what [`Self::locate`] needs next for this target; and some bytes near to the block that
    /// it will find, so that their page has been looked up by then.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, file: &[u8], target: &Target<F>) {
        if let Some(block) = self.keys.in_file(file).prefetch_keys(target.query) {
            prefetch(file, self.offset + block * self.block_bytes());
        }
    }

    /// Prefetches the front of a block, and what says whether it has been checked.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self, file: &[u8], block: u32) {
        let start = self.offset + block as usize * self.block_bytes();
        prefetch(file, start);
        prefetch(file, start + LINE_BYTES);
        self.checked.prefetch(block as usize);
    }

    /// Prefetches what a scan would read behind the front of a block if all entries of the table were evenly
    /// spread.
    #[inline(always)]
    pub(crate) fn prefetch_likely(&self, file: &[u8], block: u32, target: &Target<F>) {
        let block = block as usize;
        let keys = self.keys.in_file(file);
        let low = if block > 0 { keys.get(block - 1) } else { F::ZERO };
        let start = self.offset + block * self.block_bytes();
        self.codec.prefetch_likely(file, start, target, [low, keys.get(block)], self.entries_per_block);
    }
}
