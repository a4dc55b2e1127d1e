//! Which prefixes a table has: asked before any block is read.
//!
//! A probe that admits errors in its prefix looks up many prefixes, of which a table has few. A *filter* of a
//! table answers for one prefix from one cache line: either that the table has no fingerprint with this
//! prefix, or that it probably has. A filter never denies a prefix that the table has, so answers do not
//! depend on it.
//!
//! `design/filter_choice.rs` says which tables have one, `writer/tables_writer.rs` writes it, and `table/filter.rs`
//! asks it.
//!
//! Filters before compressed runs are those of log-structured stores (Bloom 1970; blocked: Putze, Sanders and
//! Singler 2007); that the high bits of a prefix choose the line is what keeps the neighbours of a prefix in
//! few lines.

use byteorder::{ByteOrder, LittleEndian};

use crate::arch::{Instructions, LANES};
use hamdex_fingerprint::Fingerprint;

/// Returns the first `bits` bits of a value in the order of a table's bits, at least 1 and at most 64.
#[inline(always)]
pub(crate) fn prefix_of<F: Fingerprint>(value: F, bits: u32) -> u64 {
    (value >> (F::BITS - bits)).to_u128() as u64
}

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
        // No closure: its code would not be compiled for the instructions of the kernel.
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

/// Groups whose lines are prefetched while one is tested.
const AHEAD: usize = 8;

/// A prefix, and the number of bits in which it differs from the query's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) prefix: u64,
    pub(crate) errors: u32,
}

/// Up to eight prefixes that differ from one in a bit each: in consecutive bits, so that all are computed at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Group {
    prefix: u64,
    /// The highest of the bits; 0 for the prefix itself.
    highest: u64,
    count: u32,
    /// The errors of each, that bit included.
    errors: u32,
}

impl Group {
    /// Returns the prefixes; behind the last are others.
    #[inline(always)]
    pub(crate) fn prefixes(&self) -> [u64; LANES] {
        let mut prefixes = [self.prefix; LANES];
        for (lane, prefix) in prefixes.iter_mut().enumerate() {
            *prefix ^= self.highest >> lane;
        }
        prefixes
    }

    /// Returns a mask of the lanes that have a prefix of the group.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> u32 {
        (1 << self.count) - 1
    }

    /// Calls `visit` with the prefixes whose bit is set; the first has the lowest.
    #[inline(always)]
    pub(crate) fn visit(&self, mut marked: u32, visit: &mut impl FnMut(Pattern)) {
        while marked != 0 {
            let prefix = self.prefix ^ self.highest >> marked.trailing_zeros();
            visit(Pattern { prefix, errors: self.errors });
            marked &= marked - 1;
        }
    }
}

/// The prefixes within a number of errors of one, in groups, each once. The bits that are flipped descend, so
/// that prefixes of one line follow each other.
pub(crate) struct Groups {
    bits: u32,
    errors: u32,
    /// The prefix of which lower bits are flipped next, and its errors.
    prefix: u64,
    flipped: u32,
    /// Its flipped bits, descending.
    positions: [u8; 64],
    /// The bits below this one are yet to be flipped; `None` before the first group.
    below: Option<u32>,
}

impl Groups {
    /// The prefixes of `bits` bits that differ from `prefix` in at most `errors` bits.
    #[inline(always)]
    pub(crate) fn new(prefix: u64, bits: u32, errors: u32) -> Self {
        Self { bits, errors, prefix, flipped: 0, positions: [0; 64], below: None }
    }

    /// Returns the next group, of the prefix itself first.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Group> {
        let Some(mut below) = self.below else {
            self.below = Some(if self.errors > 0 { self.bits } else { 0 });
            return Some(Group { prefix: self.prefix, highest: 0, count: 1, errors: 0 });
        };
        while below == 0 {
            below = self.turn_to_next()?;
        }
        let count = below.min(LANES as u32);
        self.below = Some(below - count);
        Some(Group { prefix: self.prefix, highest: 1 << (below - 1), count, errors: self.flipped + 1 })
    }

    /// Takes the next prefix that has an error less than there may be; returns its lowest flipped bit.
    fn turn_to_next(&mut self) -> Option<u32> {
        let mut below = match self.flipped {
            0 => self.bits,
            flipped => u32::from(self.positions[flipped as usize - 1]),
        };
        // Another error as well, or the last one in a lower bit.
        if self.flipped + 1 >= self.errors || below == 0 {
            loop {
                self.flipped = self.flipped.checked_sub(1)?;
                below = u32::from(self.positions[self.flipped as usize]);
                self.prefix ^= 1 << below;
                if below > 0 {
                    break;
                }
            }
        }
        below -= 1;
        self.positions[self.flipped as usize] = below as u8;
        self.flipped += 1;
        self.prefix ^= 1 << below;
        Some(below)
    }
}

/// Delays groups, so that the prefetches of a group have ended when it comes out.
#[derive(Default)]
pub(crate) struct Delay {
    ring: [Group; AHEAD],
    pushed: usize,
}

impl Delay {
    /// Takes a group; returns the one that was pushed [`AHEAD`] earlier.
    #[inline(always)]
    pub(crate) fn push(&mut self, group: Group) -> Option<Group> {
        let earlier = std::mem::replace(&mut self.ring[self.pushed % AHEAD], group);
        self.pushed += 1;
        (self.pushed > AHEAD).then_some(earlier)
    }

    /// Returns the groups that have not come out.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &Group> {
        (self.pushed.saturating_sub(AHEAD)..self.pushed).map(|at| &self.ring[at % AHEAD])
    }
}

/// Returns in how many ways at most `errors` of `bits` bits can be flipped.
pub(crate) fn ways(bits: u32, errors: u32) -> f64 {
    let mut ways = 1.0;
    let mut sum = 1.0;
    for taken in 0..errors.min(bits) {
        ways *= f64::from(bits - taken) / f64::from(taken + 1);
        sum += ways;
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_prefix_within_the_errors_comes_once() {
        for (bits, errors) in [(1, 0), (1, 1), (5, 2), (10, 3), (10, 10), (64, 0), (64, 1), (64, 2), (12, 13)]
        {
            let prefix = 0x5555_5555_5555_5555 >> (64 - bits);
            let (mut seen, mut calls) = (BTreeSet::new(), 0);
            let mut groups = Groups::new(prefix, bits, errors);
            while let Some(group) = groups.next() {
                let lanes = group.prefixes();
                group.visit(group.lanes(), &mut |pattern| {
                    assert_eq!((pattern.prefix ^ prefix).count_ones(), pattern.errors);
                    assert!(pattern.errors <= errors && pattern.prefix <= u64::MAX >> (64 - bits));
                    assert!(lanes.contains(&pattern.prefix));
                    seen.insert(pattern.prefix);
                    calls += 1;
                });
            }
            assert_eq!(seen.len(), calls);
            assert_eq!(calls as f64, ways(bits, errors), "{bits} {errors}");
        }
    }

    #[test]
    fn a_delay_loses_and_repeats_nothing() {
        for length in [0, 1, 7, 8, 9, 200] {
            let mut delay = Delay::default();
            let mut out = Vec::new();
            for count in 0..length {
                out.extend(delay.push(Group { count, ..Group::default() }));
            }
            out.extend(delay.rest());
            assert!(out.iter().map(|group| group.count).eq(0..length));
        }
    }
}
