//! A table's code for h, ready for use.

use crate::bits::{WINDOW_BITS, Writer, window};
use crate::codec::huffman::lengths::{MAX_CODE_BITS, canonical_codes, is_complete};

/// Bits of a look-up. Longer codes are rarer than one in 2^11.
const LOOKUP_BITS: u32 = 11;

/// The most symbols that one look-up yields: as many as fit in a word together with two bytes.
const LOOKUP_SYMBOLS: usize = 6;

/// Look-ups that a window of 57 bits is good for.
const WINDOW_LOOKUPS: usize = 5;
const _: () = assert!(WINDOW_LOOKUPS as u32 * LOOKUP_BITS <= WINDOW_BITS);

/// Number of symbols that a [`CodeReader`] may write beyond the wanted ones: eight bytes from any position that
/// fits a byte, so no check is needed.
pub(crate) const DECODE_SLACK: usize = u8::MAX as usize + 8;
const _: () = assert!(WINDOW_LOOKUPS * LOOKUP_SYMBOLS <= u8::MAX as usize);

/// One answer of the table: up to six symbols, how many, and how many bits they take.
#[derive(Clone, Copy)]
struct DecodeEntry(u64);

impl DecodeEntry {
    fn new(symbols: &[u8], bits: u32) -> Self {
        let mut word = [0; 8];
        word[..symbols.len()].copy_from_slice(symbols);
        word[6] = bits as u8;
        word[7] = symbols.len() as u8;
        Self(u64::from_le_bytes(word))
    }

    /// Returns the bits that the symbols take, and 256 times their number: so both are summed at once.
    #[inline(always)]
    fn advance(self) -> u64 {
        self.0 >> 48
    }
}

/// A complete canonical code for the symbols 0 to `lengths.len() − 1`.
#[derive(Clone)]
pub(crate) struct Codebook {
    lengths: Box<[u8]>,
    codes: Box<[u16]>,
    lookups: Box<[DecodeEntry; 1 << LOOKUP_BITS]>,
    /// The symbols by code, and for each length where its codes end (left-justified, 16 bits) and
    /// how to get from a code to its place in `by_code`.
    by_code: Box<[u8]>,
    ends: [u32; MAX_CODE_BITS as usize + 1],
    places: [i32; MAX_CODE_BITS as usize + 1],
}

impl Codebook {
    /// Returns the best code for symbols that occur so often.
    #[cfg(test)]
    pub(crate) fn from_counts(counts: &[u64]) -> Self {
        use crate::codec::huffman::lengths::code_lengths;
        Self::from_lengths(&code_lengths(counts)).expect("package-merge gives complete codes")
    }

    /// Returns the code of these lengths; `None` if they do not make a complete code.
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
            lookups: Box::new([DecodeEntry(0); 1 << LOOKUP_BITS]),
            by_code: by_code.into(),
            ends,
            places,
        };
        for index in 0..book.lookups.len() {
            book.lookups[index] = book.lookup_of(index as u64);
        }
        Some(book)
    }

    /// Returns all symbols that the bits of a look-up contain completely.
    fn lookup_of(&self, index: u64) -> DecodeEntry {
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
        DecodeEntry::new(&symbols, bits)
    }

    /// Returns the symbol whose code leads `window`, and its length in bits.
    fn one(&self, window: u64) -> (u8, u32) {
        let top = (window >> (64 - MAX_CODE_BITS)) as u32;
        let length = (1..MAX_CODE_BITS).find(|&l| top < self.ends[l as usize]).unwrap_or(MAX_CODE_BITS);
        let place = (top >> (MAX_CODE_BITS - length)) as i32 + self.places[length as usize];
        (self.by_code[place as usize], length)
    }

    /// Returns the code lengths, by symbol.
    pub(crate) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Returns the codes, by symbol: the low bits of each, as many as its length.
    pub(crate) fn codes(&self) -> &[u16] {
        &self.codes
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        let by_symbol = size_of_val(&*self.lengths) + size_of_val(&*self.codes) + size_of_val(&*self.by_code);
        size_of_val(&*self.lookups) + by_symbol
    }

    /// Appends the code of a symbol.
    #[inline]
    pub(crate) fn encode(&self, writer: &mut Writer<'_>, symbol: u32) {
        let symbol = symbol as usize;
        writer.put(u64::from(self.codes[symbol]), u32::from(self.lengths[symbol]));
    }
}

/// Decodes consecutive codes.
pub(crate) struct CodeReader<'a> {
    codebook: &'a Codebook,
    lookups: &'a [DecodeEntry; 1 << LOOKUP_BITS],
    bytes: &'a [u8],
    /// Start of the next code, in bits; it may lie beyond the end of damaged bytes.
    position: usize,
    /// The decoded symbols, and room for [`DECODE_SLACK`] symbols more than wanted.
    symbols: &'a mut [u8],
    done: usize,
    wanted: usize,
}

impl<'a> CodeReader<'a> {
    /// `wanted` codes, of which `done` have been decoded; the next one starts at bit `position`.
    #[inline(always)]
    pub(crate) fn new(
        codebook: &'a Codebook,
        bytes: &'a [u8],
        (position, done): (usize, usize),
        symbols: &'a mut [u8],
        wanted: usize,
    ) -> Self {
        debug_assert!(symbols.len() >= wanted + DECODE_SLACK);
        Self { codebook, lookups: &codebook.lookups, bytes, position, symbols, done, wanted }
    }

    /// Returns the start of the next code, in bits, and the number of decoded codes, which may exceed the
    /// wanted number.
    #[inline(always)]
    pub(crate) fn state(&self) -> (usize, usize) {
        (self.position, self.done)
    }

    /// Decodes the symbols of one window, if any are left to decode. Returns whether
    /// there was.
    #[inline(always)]
    fn step(&mut self) -> bool {
        if self.done >= self.wanted {
            return false;
        }
        let first = window(self.bytes, self.position);
        let room: &mut [u8; DECODE_SLACK] =
            self.symbols[self.done..].first_chunk_mut().expect("there is room behind what is wanted");
        let mut advance = 0;
        for _ in 0..WINDOW_LOOKUPS {
            // The bits so far are fewer than 64: the bits above them change nothing.
            let window = first.wrapping_shl(advance as u32);
            let lookup = self.lookups[(window >> (64 - LOOKUP_BITS)) as usize];
            // All eight bytes at once: what is written too much is overwritten or ignored. A code too
            // long for the table yields nothing, and so do the look-ups after it.
            let at = usize::from((advance >> 8) as u8);
            let place: &mut [u8; 8] = room[at..].first_chunk_mut().expect("there is room behind any place");
            // Not by `copy_from_slice`, which may be a call.
            *place = lookup.0.to_le_bytes();
            advance += lookup.advance();
        }
        if advance == 0 {
            let (symbol, length) = self.codebook.one(first);
            room[0] = symbol;
            advance = 1 << 8 | u64::from(length);
        }
        self.done += (advance >> 8) as usize;
        self.position += (advance & 0xff) as usize;
        true
    }
}

/// Lets several readers decode in lockstep. Each look-up of a reader waits for the one before it; those of
/// other readers need not wait with it.
#[inline(always)]
pub(crate) fn decode_together(readers: &mut [Option<CodeReader<'_>>]) {
    loop {
        let mut any = false;
        for reader in readers.iter_mut().flatten() {
            any |= reader.step();
        }
        if !any {
            return;
        }
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
            let mut writer = Writer::new(&mut bytes, 24);
            for &symbol in &symbols {
                book.encode(&mut writer, u32::from(symbol));
            }
            let end = writer.position();
            writer.put(after, 64);
            writer.finish();
            let mut decoded = vec![0; symbols.len() + DECODE_SLACK];
            let mut first_half = vec![0; symbols.len() / 2 + DECODE_SLACK];
            let mut readers = [
                Some(CodeReader::new(&book, &bytes, (24, 0), &mut decoded, symbols.len())),
                Some(CodeReader::new(&book, &bytes, (24, 0), &mut first_half, symbols.len() / 2)),
            ];
            decode_together(&mut readers);
            let state = readers[0].as_ref().unwrap().state();
            prop_assert!(state.0 >= end && state.1 >= symbols.len());
            prop_assert_eq!(&first_half[..symbols.len() / 2], &symbols[..symbols.len() / 2]);
            prop_assert_eq!(&decoded[..symbols.len()], &symbols[..]);
        }

        #[test]
        fn any_bytes_decode_to_something(bytes: Vec<u8>, count in 0usize..500) {
            let mut counts = [0; 128];
            counts[7] = 1 << 40;
            counts[8] = 1 << 20;
            let mut symbols = vec![0; count + DECODE_SLACK];
            let book = Codebook::from_counts(&counts);
            decode_together(&mut [Some(CodeReader::new(&book, &bytes, (5, 0), &mut symbols, count))]);
            prop_assert!(symbols[..count].iter().all(|&s| s < 128));
        }
    }

    #[test]
    fn lengths_that_are_no_code_are_refused() {
        assert!(Codebook::from_lengths(&[1, 2]).is_none());
    }
}
