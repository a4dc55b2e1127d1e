//! A table's code for h, ready for use.

use crate::codec::bits::{Writer, window};
use crate::codec::huffman::{MAX_CODE_BITS, canonical_codes, code_lengths, is_complete};

/// Bits of a look-up. Longer codes are rarer than one in 2^11.
const LOOKUP_BITS: u32 = 11;

/// The most symbols that one look-up yields: as many as fit beside two bytes in a word.
const LOOKUP_SYMBOLS: usize = 6;

/// How far beyond the symbols asked for [`Codebook::decode`] may write.
pub(crate) const DECODE_SLACK: usize = 8;

/// One answer of the table: up to six symbols, how many, and how many bits they take.
#[derive(Clone, Copy)]
struct Lookup(u64);

impl Lookup {
    fn new(symbols: &[u8], bits: u32) -> Self {
        let mut word = [0; 8];
        word[..symbols.len()].copy_from_slice(symbols);
        word[6] = symbols.len() as u8;
        word[7] = bits as u8;
        Self(u64::from_le_bytes(word))
    }

    #[inline]
    fn symbols(self) -> usize {
        ((self.0 >> 48) & 0xff) as usize
    }

    #[inline]
    fn bits(self) -> usize {
        (self.0 >> 56) as usize
    }
}

/// How far the decoding of a run of codes has come. The last look-up may have gone on beyond the
/// symbols asked for, and even into what follows the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecodedTo {
    /// How many symbols there are.
    pub(crate) symbols: usize,
    /// The position after their codes, in bits.
    pub(crate) position: usize,
}

impl DecodedTo {
    /// Nothing yet, the codes starting at that bit.
    pub(crate) fn start(position: usize) -> Self {
        Self { symbols: 0, position }
    }
}

/// A complete canonical code for the symbols 0 to `lengths.len() − 1`.
#[derive(Clone)]
pub(crate) struct Codebook {
    lengths: Box<[u8]>,
    codes: Box<[u16]>,
    lookups: Box<[Lookup; 1 << LOOKUP_BITS]>,
    /// The symbols by code, and for each length where its codes end (left-justified, 16 bits) and
    /// how to get from a code to its place in `by_code`.
    by_code: Box<[u8]>,
    ends: [u32; MAX_CODE_BITS as usize + 1],
    places: [i32; MAX_CODE_BITS as usize + 1],
}

impl Codebook {
    /// The best code for symbols that occur so often.
    pub(crate) fn from_counts(counts: &[u64]) -> Self {
        Self::from_lengths(&code_lengths(counts)).expect("package-merge gives complete codes")
    }

    /// The code of these lengths; `None` when they are not those of a complete code.
    pub(crate) fn from_lengths(lengths: &[u8]) -> Option<Self> {
        if !is_complete(lengths) {
            return None;
        }
        let codes = canonical_codes(lengths);
        let mut by_code: Vec<u8> = (0..lengths.len()).map(|symbol| symbol as u8).collect();
        by_code.sort_by_key(|&symbol| (lengths[symbol as usize], symbol));
        let mut ends = [0; MAX_CODE_BITS as usize + 1];
        let mut places = [0; MAX_CODE_BITS as usize + 1];
        let mut place = 0;
        for length in 1..=MAX_CODE_BITS {
            let of_length = by_code.iter().filter(|&&s| u32::from(lengths[s as usize]) == length).count();
            let first = ends[length as usize - 1] >> (MAX_CODE_BITS - length);
            places[length as usize] = place - first as i32;
            ends[length as usize] = (first + of_length as u32) << (MAX_CODE_BITS - length);
            place += of_length as i32;
        }
        let mut book = Self {
            lengths: lengths.into(),
            codes: codes.into(),
            lookups: Box::new([Lookup(0); 1 << LOOKUP_BITS]),
            by_code: by_code.into(),
            ends,
            places,
        };
        for index in 0..book.lookups.len() {
            book.lookups[index] = book.lookup_of(index as u64);
        }
        Some(book)
    }

    /// All symbols that the bits of a look-up spell out completely.
    fn lookup_of(&self, index: u64) -> Lookup {
        let mut symbols = Vec::with_capacity(LOOKUP_SYMBOLS);
        let mut bits = 0;
        while symbols.len() < LOOKUP_SYMBOLS {
            let (symbol, length) = self.one((index << (64 - LOOKUP_BITS)) << bits);
            if bits + length > LOOKUP_BITS {
                break;
            }
            symbols.push(symbol);
            bits += length;
        }
        Lookup::new(&symbols, bits)
    }

    /// The symbol whose code leads `window`, and its length in bits.
    fn one(&self, window: u64) -> (u8, u32) {
        let top = (window >> (64 - MAX_CODE_BITS)) as u32;
        let length = (1..MAX_CODE_BITS).find(|&l| top < self.ends[l as usize]).unwrap_or(MAX_CODE_BITS);
        let place = (top >> (MAX_CODE_BITS - length)) as i32 + self.places[length as usize];
        (self.by_code[place as usize], length)
    }

    /// The code lengths, by symbol.
    pub(crate) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// The codes, by symbol: the low bits of each, as many as its length.
    pub(crate) fn codes(&self) -> &[u16] {
        &self.codes
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.lookups) + self.lengths.len() * 4
    }

    /// Appends the code of a symbol.
    #[inline]
    pub(crate) fn encode(&self, writer: &mut Writer<'_>, symbol: u32) {
        let symbol = symbol as usize;
        writer.put(u64::from(self.codes[symbol]), u32::from(self.lengths[symbol]));
    }

    /// Decodes symbols into `symbols`, going on from `at`, until at least `count` are there; `symbols`
    /// has at least [`DECODE_SLACK`] more places. On damaged bytes the position may come to lie beyond
    /// the end.
    #[inline]
    pub(crate) fn decode(&self, bytes: &[u8], at: DecodedTo, count: usize, symbols: &mut [u8]) -> DecodedTo {
        debug_assert!(symbols.len() >= count + DECODE_SLACK);
        let DecodedTo { symbols: mut done, mut position } = at;
        while done < count {
            let window = window(bytes, position);
            let lookup = self.lookups[(window >> (64 - LOOKUP_BITS)) as usize];
            if lookup.symbols() == 0 {
                let (symbol, length) = self.one(window);
                symbols[done] = symbol;
                done += 1;
                position += length as usize;
            } else {
                // All eight bytes at once: what is written too much is overwritten or ignored.
                symbols[done..done + 8].copy_from_slice(&lookup.0.to_le_bytes());
                done += lookup.symbols();
                position += lookup.bits();
            }
        }
        DecodedTo { symbols: done, position }
    }

    /// The bits that the codes of some symbols take.
    pub(crate) fn bits_of(&self, symbols: &[u8]) -> usize {
        symbols.iter().map(|&symbol| usize::from(self.lengths[symbol as usize])).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            exponents in prop::collection::vec(0u32..40, 64),
            symbols in prop::collection::vec(0u8..64, 0..300),
            after: u64,
        ) {
            let counts: Vec<u64> = exponents.iter().map(|&e| 1 << e).collect();
            let book = Codebook::from_counts(&counts);
            let mut bytes = vec![0; symbols.len() * 2 + 24];
            let mut writer = Writer::new(&mut bytes, 3);
            for &symbol in &symbols {
                book.encode(&mut writer, u32::from(symbol));
            }
            let end = writer.position();
            writer.put(after, 64);
            writer.finish();
            let mut decoded = vec![0; symbols.len() + DECODE_SLACK];
            let half = book.decode(&bytes, DecodedTo::start(24), symbols.len() / 2, &mut decoded);
            let whole = book.decode(&bytes, half, symbols.len(), &mut decoded);
            prop_assert_eq!(whole.position - book.bits_of(&decoded[symbols.len()..whole.symbols]), end);
            prop_assert_eq!(&decoded[..symbols.len()], &symbols[..]);
        }

        #[test]
        fn any_bytes_decode_to_something(bytes: Vec<u8>, count in 0usize..500) {
            let mut counts = [0; 128];
            counts[7] = 1 << 40;
            counts[8] = 1 << 20;
            let mut symbols = vec![0; count + DECODE_SLACK];
            Codebook::from_counts(&counts).decode(&bytes, DecodedTo::start(5), count, &mut symbols);
            prop_assert!(symbols[..count].iter().all(|&s| s < 128));
        }
    }

    #[test]
    fn lengths_that_are_no_code_are_refused() {
        assert!(Codebook::from_lengths(&[1, 2]).is_none());
    }
}
