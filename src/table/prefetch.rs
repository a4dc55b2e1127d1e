//! Prefetching into the processor's caches.

use crate::arch::{LINE_BYTES, prefetch};
use crate::codec::Target;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

impl<F: Fingerprint> Table<F> {
    /// Prefetches the data that locating the blocks of this target reads first: the directory's units of its
    /// prefix, and of those with one error.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, target: &Target<F>) {
        self.keys.prefetch_directory(target.query);
        if target.prefix_errors() == 1 {
            for position in 0..target.prefix_bits.min(self.keys.directory_bits()) {
                self.keys.prefetch_directory(target.query ^ F::bit(position));
            }
        }
    }

    /// Prefetches what [`Self::locate`] reads next for this target.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, file: &[u8], target: &Target<F>) {
        self.keys.in_file(file).prefetch_keys(target.query);
    }

    /// Prefetches the front of a block, its bit among the checked ones, and its key, if a scan for the target
    /// reads that.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self, file: &[u8], block: u32, target: &Target<F>) {
        let start = self.offset + block as usize * self.block_bytes();
        prefetch(file, start);
        prefetch(file, start + LINE_BYTES);
        self.checked.prefetch(block as usize);
        if self.codec.needs_key(target) {
            self.keys.in_file(file).prefetch_key(block as usize);
        }
    }

    /// Prefetches the bytes after the front of its block that a scan for the target would read if the entries
    /// of the table were evenly spread. Unknown if the prefix may have errors.
    #[inline(always)]
    pub(crate) fn prefetch_likely(&self, file: &[u8], block: u32, target: &Target<F>) {
        let entries = (self.keys.len() * self.entries_per_block) as u64;
        let entries_per_prefix = entries.checked_shr(target.prefix_bits).unwrap_or(0);
        if target.prefix_errors() > 0 || !self.codec.reads_behind_front(entries_per_prefix) {
            return;
        }
        let start = self.offset + block as usize * self.block_bytes();
        self.codec.prefetch_likely::<F>(
            file,
            start,
            self.keys.fraction(target.query),
            self.entries_per_block,
        );
    }
}
