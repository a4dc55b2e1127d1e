//! The place of a prefix in a filter. `format-spec.md` has the same in words.

use byteorder::{ByteOrder, LittleEndian};

use crate::arch::{Instructions, LANES};

/// Bytes of a line: a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// Bits of a line.
const LINE_BITS: u64 = 512;

/// The greatest length of a prefix, in bits.
pub(crate) const MAX_PREFIX_BITS: u32 = 64;

/// Multiplier of the hash: 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming 3, §6.4).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Five bits for each prefix, three in one word of the line and two in another.
    Bloom,
    /// One bit for each prefix that there can be.
    Bitmap,
}

/// The form and the size of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) form: Form,
    /// Length of its prefixes: 1 to [`MAX_PREFIX_BITS`].
    pub(crate) prefix_bits: u32,
    /// Number of lines, at least 1.
    pub(crate) lines: u64,
}

/// A word of a line, and bits of it.
pub(crate) type Marks = (u64, u64);

impl Geometry {
    /// Returns the smallest filter without false positives that fits into `bits` bits; otherwise one with as many lines
    /// as fit, and at least one.
    pub(crate) fn within(bits: u128, prefix_bits: u32) -> Self {
        let all = 1u128 << prefix_bits;
        if let Some(lines) = Self::lines_of_bitmap(prefix_bits)
            && all <= bits
        {
            return Self { form: Form::Bitmap, prefix_bits, lines };
        }
        // More lines than prefixes would be of no use.
        let lines = (bits / u128::from(LINE_BITS)).clamp(1, all.min(u128::from(u64::MAX >> 10))) as u64;
        Self { form: Form::Bloom, prefix_bits, lines }
    }

    /// Returns the number of lines of a bitmap; `None` beyond 2^54.
    pub(crate) fn lines_of_bitmap(prefix_bits: u32) -> Option<u64> {
        (prefix_bits < MAX_PREFIX_BITS).then(|| ((1u64 << prefix_bits) / LINE_BITS).max(1))
    }

    /// Returns the line in front of all others, which says what they are.
    pub(crate) fn head(&self) -> [u8; LINE_BYTES] {
        let mut head = [0; LINE_BYTES];
        let form = match self.form {
            Form::Bloom => 1,
            Form::Bitmap => 2,
        };
        LittleEndian::write_u32(&mut head, form);
        LittleEndian::write_u32(&mut head[4..], self.prefix_bits);
        LittleEndian::write_u64(&mut head[8..], self.lines);
        head
    }

    /// Returns the share of absent prefixes that pass, if that many evenly spread ones are present.
    pub(crate) fn false_positives(&self, present: u64) -> f64 {
        if self.form == Form::Bitmap {
            return 0.0;
        }
        let load = present as f64 * 5.0 / (self.lines as f64 * LINE_BITS as f64);
        // Lines and words are not loaded evenly: measured from 8 to 16 bits per prefix.
        1.3 * (1.0 - (-load).exp()).powi(5)
    }

    /// Returns the line of a prefix: in the order of prefixes.
    #[inline(always)]
    pub(crate) fn line(&self, prefix: u64) -> u64 {
        let fraction = prefix << (u64::BITS - self.prefix_bits);
        ((u128::from(fraction) * u128::from(self.lines)) >> u64::BITS) as u64
    }

    /// Returns the lines of some prefixes: see [`Self::line`].
    #[inline(always)]
    pub(crate) fn lines_of(&self, prefixes: &[u64; LANES]) -> [u64; LANES] {
        let mut lines = [0; LANES];
        if self.prefix_bits <= u32::BITS && self.lines <= 1 << u32::BITS {
            // The product fits into a word, so that all lanes are one operation.
            for lane in 0..LANES {
                lines[lane] = (prefixes[lane] * self.lines) >> self.prefix_bits;
            }
        } else {
            for lane in 0..LANES {
                lines[lane] = self.line(prefixes[lane]);
            }
        }
        lines
    }

    /// Returns the bits of a prefix in its line.
    #[inline(always)]
    pub(crate) fn marks(&self, prefix: u64) -> [Marks; 2] {
        match self.form {
            Form::Bloom => [first_marks(prefix), second_marks(prefix)],
            Form::Bitmap => [bitmap_marks(prefix); 2],
        }
    }

    /// Returns whether a line has the bits of a prefix.
    pub(crate) fn is_marked(&self, line: &[u8; LINE_BYTES], prefix: u64) -> bool {
        self.marks(prefix)
            .into_iter()
            .all(|(word, bits)| LittleEndian::read_u64(&line[8 * word as usize..]) & bits == bits)
    }

    /// Returns a bit mask of the prefixes whose marks are all set; the first has the lowest bit. `starts` are the
    /// offsets of their lines in `bytes`.
    #[inline(always)]
    pub(crate) fn are_marked(
        &self,
        instructions: impl Instructions,
        bytes: &[u8],
        starts: &[u64; LANES],
        prefixes: &[u64; LANES],
    ) -> u32 {
        // No closure: only what is sure to become part of a kernel is compiled for its instructions.
        let (mut offsets, mut bits) = (*starts, [0; LANES]);
        if self.form == Form::Bitmap {
            for lane in 0..LANES {
                let (word, mark) = bitmap_marks(prefixes[lane]);
                offsets[lane] += 8 * word;
                bits[lane] = mark;
            }
            return instructions.have_bits(bytes, &offsets, &bits);
        }
        for lane in 0..LANES {
            let (word, marks) = first_marks(prefixes[lane]);
            offsets[lane] += 8 * word;
            bits[lane] = marks;
        }
        // Most prefixes that are absent fail at the first word.
        let marked = instructions.have_bits(bytes, &offsets, &bits);
        if marked == 0 {
            return 0;
        }
        for lane in 0..LANES {
            let (word, marks) = second_marks(prefixes[lane]);
            offsets[lane] = starts[lane] + 8 * word;
            bits[lane] = marks;
        }
        marked & instructions.have_bits(bytes, &offsets, &bits)
    }
}

/// Returns the one mark of a prefix in a bitmap.
#[inline(always)]
fn bitmap_marks(prefix: u64) -> Marks {
    ((prefix >> 6) & 7, 1 << (prefix & 63))
}

/// Returns three of the five marks of a prefix.
#[inline(always)]
fn first_marks(prefix: u64) -> Marks {
    let hash = prefix.wrapping_mul(MULTIPLIER);
    (hash >> 61, bit(hash, 52) | bit(hash, 46) | bit(hash, 40))
}

/// Returns the other two, which are in another word.
#[inline(always)]
fn second_marks(prefix: u64) -> Marks {
    let hash = prefix.wrapping_mul(MULTIPLIER);
    let word = ((hash >> 61) + 1 + (((hash >> 58) & 7) * 7 / 8)) & 7;
    (word, bit(hash, 34) | bit(hash, 28))
}

/// Returns the bit that six bits of a hash name.
#[inline(always)]
fn bit(hash: u64, from: u32) -> u64 {
    1 << ((hash >> from) & 63)
}
