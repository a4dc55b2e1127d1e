//! Checksums of many parts of some bytes. In forged bytes they may overlap: each of many headers claims all the rest.

use std::ops::Range;

use crc32fast::Hasher;

/// Bytes between two prefixes whose checksums are kept.
const STEP: usize = 256;

/// Checksums of parts of some bytes, in a time that hardly depends on the length of a part once so many have been read
/// that they must overlap.
#[derive(Debug)]
pub(super) struct PartChecksums<'a> {
    bytes: &'a [u8],
    /// The checksum of each prefix whose length is a multiple of [`STEP`]; empty as long as parts are read as a whole.
    of_prefixes: Vec<u32>,
    /// The number of bytes that were read for checksums.
    read: usize,
}

impl<'a> PartChecksums<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, of_prefixes: Vec::new(), read: 0 }
    }

    /// Returns the checksum of the bytes of a context and a part.
    pub(super) fn of(&mut self, mut context: Hasher, part: Range<usize>) -> u32 {
        if self.of_prefixes.is_empty() {
            self.read += part.len();
            if self.read <= self.bytes.len() {
                context.update(&self.bytes[part]);
                return context.finalize();
            }
            self.add_prefixes();
        }
        let length = part.len() as u64;
        // As a checksum is linear, the one of the part is the difference between those of the prefixes at its ends.
        let mut of_part = Hasher::new_with_initial(self.of_prefix(part.start));
        of_part.combine(&Hasher::new_with_initial_len(self.of_prefix(part.end), length));
        context.combine(&Hasher::new_with_initial_len(of_part.finalize(), length));
        context.finalize()
    }

    fn add_prefixes(&mut self) {
        let mut hasher = Hasher::new();
        self.of_prefixes.push(0);
        for bytes in self.bytes.chunks_exact(STEP) {
            hasher.update(bytes);
            self.of_prefixes.push(hasher.clone().finalize());
        }
        self.read += self.bytes.len();
    }

    fn of_prefix(&mut self, end: usize) -> u32 {
        let start = end - end % STEP;
        let mut hasher = Hasher::new_with_initial(self.of_prefixes[end / STEP]);
        hasher.update(&self.bytes[start..end]);
        self.read += end - start;
        hasher.finalize()
    }

    #[cfg(test)]
    pub(super) fn read(&self) -> usize {
        self.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_parts_have_the_checksums_of_their_bytes() {
        let bytes: Vec<u8> = (0..2000_u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        for length in [0, 1, STEP - 1, STEP, STEP + 1, bytes.len()] {
            let bytes = &bytes[..length];
            let mut checksums = PartChecksums::new(bytes);
            let ends = [0, 1, 31, STEP - 1, STEP, STEP + 1, 2 * STEP, 3 * STEP + 7, length];
            for start in ends.into_iter().filter(|start| *start <= length) {
                for end in ends.into_iter().filter(|end| (start..=length).contains(end)) {
                    let mut context = Hasher::new();
                    context.update(b"context");
                    let expected = crc32fast::hash(&[b"context", &bytes[start..end]].concat());
                    assert_eq!(checksums.of(context, start..end), expected, "{start}..{end} of {length}");
                }
            }
        }
    }
}
