//! The layout of a block.
//!
//! ```text
//! offset  size            what
//! 0       4               CRC-32 of the block's context and of its bytes from offset 4 on
//! 4       2               n: entries, at least 1
//! 6       2               spare: unused bits at the end of the block, all zero
//! 8       W × S           the first fingerprint of each segment, S = ⌈n / restart interval⌉
//! …       2 × (S − 1)     where each later segment starts, in bits from the start of the first one
//! …       …               the segments: codes forwards, then suffixes backwards, as bit strings
//! ```

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::error::BlockError;
use crate::codec::layout::CHECKSUM_BYTES;
use hamdex_fingerprint::Fingerprint;

/// Bytes before the first raw fingerprint.
pub(crate) const HEADER_BYTES: usize = 8;

/// Bytes of a segment's start.
pub(crate) const START_BYTES: usize = 2;

/// Bits of a code, about: for guesses.
pub(super) const TYPICAL_CODE_BITS: usize = 3;

/// A block whose header has been checked.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a, F> {
    bytes: &'a [u8],
    count: usize,
    segments: usize,
    restart_interval: usize,
    end: usize,
    width: std::marker::PhantomData<F>,
}

/// One segment: entries that follow a raw fingerprint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<F> {
    /// The entry that is raw.
    pub(crate) first: F,
    /// How many entries, the raw one included.
    pub(crate) count: usize,
    /// Where its codes start, in bits.
    pub(crate) start: usize,
    /// Where the suffix of its first coded entry ends, in bits.
    pub(crate) end: usize,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Reads the header. Everything that later reads rely on is checked here.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], restart_interval: usize) -> Result<Self, BlockError> {
        let count = usize::from(LittleEndian::read_u16(&bytes[CHECKSUM_BYTES..]));
        let spare = usize::from(LittleEndian::read_u16(&bytes[CHECKSUM_BYTES + 2..]));
        let segments = count.div_ceil(restart_interval);
        if count == 0 || count > bytes.len() * 8 {
            return Err(BlockError::Count);
        }
        let streams = streams_at::<F>(segments);
        if streams > bytes.len() {
            return Err(BlockError::Count);
        }
        let end = bytes.len() * 8;
        match end.checked_sub(spare) {
            Some(end) if end >= streams * 8 => {
                Ok(Self { bytes, count, segments, restart_interval, end, width: std::marker::PhantomData })
            }
            _ => Err(BlockError::Segments),
        }
    }

    /// The whole block.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many entries.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// How many segments.
    #[inline]
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    /// Where the bits in use end.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The raw fingerprint that a segment begins with.
    #[inline]
    pub(crate) fn first_of(&self, segment: usize) -> F {
        F::read_le(&self.bytes[HEADER_BYTES + segment * F::BYTES..])
    }

    /// Where a segment starts; for the number after the last one, where the block's bits end.
    #[inline]
    fn start_of(&self, segment: usize) -> usize {
        let streams = streams_at::<F>(self.segments) * 8;
        if segment == 0 {
            streams
        } else if segment == self.segments {
            self.end
        } else {
            let at = HEADER_BYTES + self.segments * F::BYTES + (segment - 1) * START_BYTES;
            streams + usize::from(LittleEndian::read_u16(&self.bytes[at..]))
        }
    }

    /// One segment.
    #[inline]
    pub(crate) fn segment(&self, segment: usize) -> Result<Segment<F>, BlockError> {
        let (start, end) = (self.start_of(segment), self.start_of(segment + 1));
        if start > end || end > self.end {
            return Err(BlockError::Segments);
        }
        let before = segment * self.restart_interval;
        let count = self.restart_interval.min(self.count - before);
        Ok(Segment { first: self.first_of(segment), count, start, end })
    }

    /// The number of the first entry of a segment.
    #[inline]
    pub(crate) fn first_entry_of(&self, segment: usize) -> usize {
        segment * self.restart_interval
    }
}

/// Where the bit strings start in a block with this number of segments, in bytes.
#[inline]
pub(crate) fn streams_at<F: Fingerprint>(segments: usize) -> usize {
    HEADER_BYTES + segments * (F::BYTES + START_BYTES) - START_BYTES
}
