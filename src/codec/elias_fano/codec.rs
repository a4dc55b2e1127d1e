//! The codec of a table: it has nothing of its own but the layout.

use crate::arch::{LINE_BYTES, prefetch};
use crate::codec::layout::Layout;

/// Encodes and decodes blocks.
#[derive(Clone, Copy)]
pub struct EliasFanoCodec {
    pub(super) layout: Layout,
}

impl EliasFanoCodec {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout }
    }

    pub(crate) fn layout(self) -> Layout {
        self.layout
    }

    /// Prefetches what a scan would read behind the front of a block if all entries were evenly spread: see
    /// [`BlockCodec::prefetch_likely`](crate::codec::BlockCodec::prefetch_likely).
    #[inline(always)]
    pub(crate) fn prefetch_likely(self, file: &[u8], start: usize, fraction: f32) {
        let place = (fraction * (self.layout.block_bytes - LINE_BYTES) as f32) as usize;
        // The line in which the nearest to the query would be, and those next to it.
        prefetch(file, start + LINE_BYTES / 2 + place);
        prefetch(file, start + LINE_BYTES * 3 / 2 + place);
        prefetch(file, start + LINE_BYTES * 5 / 2 + place);
    }
}
