//! Filling blocks: first where each one ends, which depends on all before it and is quick; then the
//! bits of each, which does not, so that many can be written at once.

use byteorder::{ByteOrder, LittleEndian};

use crate::bits::Writer;
use crate::codec::huffman::block::{HEADER_BYTES, START_BYTES, streams_at};
use crate::codec::huffman::codec::HuffmanCodec;
use crate::codec::layout::CHECKSUM_BYTES;
use hamdex_fingerprint::Fingerprint;

impl HuffmanCodec {
    /// How many of `values`, which are ascending and distinct and not empty, the next block takes.
    /// When it takes all of them, more might have fitted.
    pub(crate) fn fill<F: Fingerprint>(&self, values: &[F]) -> usize {
        let room = self.layout.block_bytes * 8;
        let restart_bits = F::BITS as usize + START_BYTES * 8;
        let mut used = streams_at::<F>(1) * 8;
        let most = values.len().min(usize::from(u16::MAX));
        for at in 1..most {
            used += if at % self.layout.restart_interval == 0 {
                restart_bits
            } else {
                let h = values[at].first_difference(values[at - 1]);
                usize::from(self.codebook.lengths()[h as usize]) + (F::BITS - 1 - h) as usize
            };
            if used > room {
                return at;
            }
        }
        most
    }

    /// Writes a block of these values into `bytes`, which are zero, all but its checksum.
    pub(crate) fn encode<F: Fingerprint>(&self, values: &[F], bytes: &mut [u8]) {
        let segments = values.len().div_ceil(self.layout.restart_interval);
        let mut starts = Vec::with_capacity(segments);
        let streams = streams_at::<F>(segments);
        let mut writer = Writer::new(bytes, streams);
        for segment in values.chunks(self.layout.restart_interval) {
            starts.push(writer.position() - streams * 8);
            for pair in segment.windows(2) {
                self.codebook.encode(&mut writer, pair[1].first_difference(pair[0]));
            }
            // The suffixes run backwards, the first entry's last: so a probe that has decoded some codes
            // knows where those entries' suffixes are, counted from the segment's end.
            for pair in segment.windows(2).rev() {
                let suffix_bits = F::BITS - 1 - pair[1].first_difference(pair[0]);
                writer.put_fingerprint(pair[1] & !F::prefix_mask(F::BITS - suffix_bits), suffix_bits);
            }
        }
        let spare = self.layout.block_bytes * 8 - writer.finish();
        LittleEndian::write_u16(&mut bytes[CHECKSUM_BYTES..], values.len() as u16);
        LittleEndian::write_u16(&mut bytes[CHECKSUM_BYTES + 2..], spare as u16);
        for (segment, values) in values.chunks(self.layout.restart_interval).enumerate() {
            values[0].write_le(&mut bytes[HEADER_BYTES + segment * F::BYTES..]);
        }
        let starts_at = HEADER_BYTES + segments * F::BYTES;
        for (place, start) in starts[1..].iter().enumerate() {
            LittleEndian::write_u16(&mut bytes[starts_at + place * START_BYTES..], *start as u16);
        }
    }
}
