//! Filling blocks: first the end of each one, which depends on all before it and is fast; then the
//! bits of each, which does not, so that many can be written at once.

use byteorder::{ByteOrder, LittleEndian};

use crate::bits::Writer;
use crate::codec::huffman::block::{HEADER_BYTES, codes_at};
use crate::codec::huffman::codec::HuffmanCodec;
use crate::codec::layout::CHECKSUM_BYTES;
use hamdex_fingerprint::Fingerprint;

impl HuffmanCodec {
    /// Returns how many of the ascending, distinct, non-empty `values` the next block takes. If it takes all of
    /// them, more might fit.
    pub(crate) fn fill<F: Fingerprint>(&self, values: &[F]) -> usize {
        let mut room = (self.layout.block_bytes - codes_at::<F>()) * 8;
        let most = values.len().min(usize::from(u16::MAX));
        for at in 1..most {
            let h = values[at].first_difference(values[at - 1]);
            let bits = usize::from(self.codebook.lengths()[h as usize]) + (F::BITS - 1 - h) as usize;
            match room.checked_sub(bits) {
                Some(rest) => room = rest,
                None => return at,
            }
        }
        most
    }

    /// Writes a block of these values into `bytes`, which are zero, all but its checksum.
    pub(crate) fn encode<F: Fingerprint>(&self, values: &[F], bytes: &mut [u8]) {
        LittleEndian::write_u16(&mut bytes[CHECKSUM_BYTES..], values.len() as u16);
        values[0].write_le(&mut bytes[HEADER_BYTES..]);
        let hs = || values.windows(2).map(|pair| pair[1].first_difference(pair[0]));
        let mut codes = Writer::new(bytes, codes_at::<F>() * 8);
        hs().for_each(|h| self.codebook.encode(&mut codes, h));
        codes.finish();
        // The suffixes run backwards from the end of the block, so that a query that has decoded some
        // codes knows where the suffixes of these entries are.
        let suffix_bits: usize = hs().map(|h| (F::BITS - 1 - h) as usize).sum();
        let start = bytes.len() * 8 - suffix_bits;
        let mut suffixes = Writer::new(bytes, start);
        for pair in values.windows(2).rev() {
            let suffix_bits = F::BITS - 1 - pair[1].first_difference(pair[0]);
            suffixes.put_fingerprint(pair[1] & !F::prefix_mask(F::BITS - suffix_bits), suffix_bits);
        }
        suffixes.finish();
    }
}
