//! A table's code for h: a canonical Huffman code of limited length, ready for use.
//!
//! The lengths of the codes come from the package-merge algorithm (Larmore and Hirschberg, "A fast algorithm for
//! optimal length-limited Huffman codes", J. ACM 1990), which is exact. Every symbol gets a code, also
//! one that was never counted, so the code is always complete: no bit string is invalid.

use crate::bits::{WINDOW_BITS, Writer, window};

/// The longest code, in bits. 64 and 128 symbols fit, and what the limit costs against an unlimited
/// code is too small to measure.
const MAX_CODE_BITS: u32 = 16;

/// A leaf or two nodes put together, in an arena.
#[derive(Clone, Copy)]
struct Node {
    weight: u128,
    children: Children,
}

#[derive(Clone, Copy)]
enum Children {
    Symbol(usize),
    Pair(usize, usize),
}

/// Returns the lengths of an optimal code with at most [`MAX_CODE_BITS`] bits per symbol.
///
/// # Panics
/// When there are fewer than two symbols or more than 2^[`MAX_CODE_BITS`].
pub(crate) fn code_lengths(counts: &[u64]) -> Vec<u8> {
    assert!((2..=1usize << MAX_CODE_BITS).contains(&counts.len()), "{} symbols", counts.len());
    let mut arena: Vec<Node> = counts
        .iter()
        .enumerate()
        .map(|(symbol, &count)| Node { weight: u128::from(count), children: Children::Symbol(symbol) })
        .collect();
    let mut leaves: Vec<usize> = (0..counts.len()).collect();
    leaves.sort_by_key(|&leaf| arena[leaf].weight);

    // From the longest codes to the shortest: pair up the level below, merge with the leaves.
    let mut level = leaves.clone();
    for _ in 1..MAX_CODE_BITS {
        let mut packages = Vec::with_capacity(level.len() / 2);
        for pair in level.chunks_exact(2) {
            let weight = arena[pair[0]].weight + arena[pair[1]].weight;
            packages.push(arena.len());
            arena.push(Node { weight, children: Children::Pair(pair[0], pair[1]) });
        }
        level = leaves.iter().copied().chain(packages).collect();
        // Stable: equal weights stay in the order leaves first, so the result is always the same.
        level.sort_by_key(|&node| arena[node].weight);
    }

    let mut lengths = vec![0; counts.len()];
    let mut open: Vec<usize> = level[..2 * counts.len() - 2].to_vec();
    while let Some(node) = open.pop() {
        match arena[node].children {
            Children::Symbol(symbol) => lengths[symbol] += 1,
            Children::Pair(left, right) => open.extend([left, right]),
        }
    }
    lengths
}

/// Returns the canonical codes of the lengths: shorter codes first, then smaller symbols, counting upwards.
fn canonical_codes(lengths: &[u8]) -> Vec<u16> {
    let mut codes = vec![0; lengths.len()];
    let mut next = 0u32;
    for length in 1..=MAX_CODE_BITS {
        next <<= 1;
        for (code, _) in codes.iter_mut().zip(lengths).filter(|(_, l)| u32::from(**l) == length) {
            *code = next as u16;
            next += 1;
        }
    }
    codes
}

/// Returns the bits that symbols which occur so often take with codes of these lengths.
pub(crate) fn cost(counts: &[u64], lengths: &[u8]) -> u128 {
    counts.iter().zip(lengths).map(|(&count, &length)| u128::from(count) * u128::from(length)).sum()
}

/// Returns whether the lengths make a complete code: each from 1 to the limit, with a Kraft sum of exactly 1.
pub(crate) fn is_complete(lengths: &[u8]) -> bool {
    let in_range = lengths.iter().all(|&l| (1..=MAX_CODE_BITS).contains(&u32::from(l)));
    in_range
        && lengths.iter().map(|&l| 1u64 << (MAX_CODE_BITS - u32::from(l))).sum::<u64>() == 1 << MAX_CODE_BITS
}

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
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Returns the cost of an unlimited Huffman code: the sum of all inner nodes.
    fn unlimited_cost(counts: &[u64]) -> u64 {
        let mut heap: BinaryHeap<_> = counts.iter().map(|&c| std::cmp::Reverse(c)).collect();
        let mut cost = 0;
        while let (Some(a), Some(b)) = (heap.pop(), heap.pop()) {
            cost += a.0 + b.0;
            heap.push(std::cmp::Reverse(a.0 + b.0));
            if heap.len() == 1 {
                break;
            }
        }
        cost
    }

    fn cost(counts: &[u64], lengths: &[u8]) -> u64 {
        counts.iter().zip(lengths).map(|(&c, &l)| c * u64::from(l)).sum()
    }

    proptest! {
        #[test]
        fn codes_are_complete_and_optimal_where_the_limit_does_not_bind(
            counts in prop::collection::vec(1u64..50, 64),
        ) {
            let lengths = code_lengths(&counts);
            prop_assert!(is_complete(&lengths));
            prop_assert_eq!(cost(&counts, &lengths), unlimited_cost(&counts));
        }

        #[test]
        fn codes_are_complete_for_any_counts(counts in prop::collection::vec(any::<u64>(), 128)) {
            prop_assert!(is_complete(&code_lengths(&counts)));
        }
    }

    #[test]
    fn no_counts_give_the_flat_code() {
        assert_eq!(code_lengths(&[0; 64]), [6; 64]);
        assert_eq!(code_lengths(&[0; 128]), [7; 128]);
    }

    #[test]
    fn the_limit_holds_where_huffman_would_exceed_it() {
        let fibonacci: Vec<u64> = std::iter::successors(Some((1u64, 1u64)), |&(a, b)| Some((b, a + b)))
            .map(|(a, _)| a)
            .take(64)
            .collect();
        let lengths = code_lengths(&fibonacci);
        assert!(is_complete(&lengths));
        assert_eq!(lengths.iter().max(), Some(&16));
        assert!(lengths.is_sorted_by(|rare, common| rare >= common), "{lengths:?}");
    }

    #[test]
    fn canonical_codes_count_upwards() {
        assert_eq!(canonical_codes(&[2, 1, 3, 3]), [0b10, 0b0, 0b110, 0b111]);
    }

    #[test]
    fn incomplete_lengths_are_seen() {
        assert!(!is_complete(&[1, 2]));
        assert!(!is_complete(&[1, 1, 1]));
        assert!(!is_complete(&[0, 1, 1]));
        assert!(!is_complete(&[17, 1]));
        assert!(is_complete(&[1, 1]));
    }

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
