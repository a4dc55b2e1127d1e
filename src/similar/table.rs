//! Lists on disk: pairs of a shingle and a document, one more sorted table in blocks.
//!
//! Documents are numbers: their places in the directory of shingles. A pair of shingle and place is the number
//! `shingle · 2^p + place`; with `p` bits for any place. Two optional sections have them: the blocks, each an
//! Elias–Fano block of 128-bit numbers; and the keys of the blocks, with the number of shingles of each document:
//!
//! ```text
//! 0         8     the number of documents
//! 8         8     the number of pairs
//! 16        8     b, the number of blocks
//! 24        1     p, the bits of a place
//! 25        1     s, the bits of the number of shingles of a document
//! 26        6     zero
//! 32        16 b  the keys: the last pair of each block
//! 32 + 16 b …     for each document its number of shingles, in s bits; up to a whole byte
//! ```

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use crate::bits;
use crate::checked::Checked;
use crate::codec::{BlockCodec, Codec, Layout, Scratch};
use crate::digest;
use crate::error::ReadError;
use crate::format::checksum::{Context, UnitKind};
use crate::format::section::Section;
use crate::permutation::Permutation;
use crate::shingles;
use crate::table::Table;
use crate::table::keys::Keys;
use hamdex_fingerprint::Fingerprint;

/// Bytes before the keys.
pub(crate) const HEAD_BYTES: usize = 32;

/// Bytes of a key.
const KEY_BYTES: usize = u128::BYTES;

/// The blocks of all files. Larger ones than those of fingerprints: a list is short, and there are few more of them than
/// pairs, so memory for keys counts more than reading a block.
pub(crate) const LAYOUT: Layout = Layout { codec: Codec::EliasFano, block_bytes: 2048 };

/// Blocks verified between cancellation checks.
const VERIFIED_BLOCKS: usize = 1 << 10;

/// Documents verified between cancellation checks.
const VERIFIED_AT_ONCE: usize = 1 << 16;

/// Replaces the contents of a vector by the shingles of the document at a place.
type SetOf<'s> = dyn FnMut(u64, &mut Vec<u64>) -> Result<(), ReadError> + 's;

/// The numbers before the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) documents: u64,
    pub(crate) pairs: u64,
    pub(crate) blocks: u64,
    pub(crate) place_bits: u32,
    pub(crate) size_bits: u32,
}

impl Head {
    /// Returns the bits of any place.
    pub(crate) fn place_bits_of(documents: u64) -> u32 {
        u64::BITS - documents.saturating_sub(1).leading_zeros()
    }

    pub(crate) fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        LittleEndian::write_u64_into(&[self.documents, self.pairs, self.blocks], &mut bytes[..24]);
        bytes[24] = self.place_bits as u8;
        bytes[25] = self.size_bits as u8;
        bytes
    }

    /// Returns the head in these bytes; `None` if a field is out of range.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [documents, pairs, blocks] = [0, 8, 16].map(|at| LittleEndian::read_u64(&bytes[at..]));
        let [place_bits, size_bits] = [bytes[24], bytes[25]].map(u32::from);
        let fits = place_bits == Self::place_bits_of(documents)
            && size_bits <= u32::BITS
            && u32::try_from(blocks).is_ok()
            && bytes[26..HEAD_BYTES].iter().all(|&byte| byte == 0);
        fits.then_some(Self { documents, pairs, blocks, place_bits, size_bits })
    }

    /// Returns the start of the sizes of documents, and the bytes of the section; `None` beyond 64 bits.
    fn layout(&self) -> Option<(u64, u64)> {
        let sizes_at = self.blocks.checked_mul(KEY_BYTES as u64)?.checked_add(HEAD_BYTES as u64)?;
        let sizes = self.documents.checked_mul(u64::from(self.size_bits))?.div_ceil(8);
        Some((sizes_at, sizes_at.checked_add(sizes)?))
    }

    /// Returns the pair of a shingle and a place.
    pub(crate) fn pair(&self, shingle: u64, place: u64) -> u128 {
        u128::from(shingle) << self.place_bits | u128::from(place)
    }

    /// Returns the place of a pair.
    pub(crate) fn place_of(&self, pair: u128) -> u64 {
        (pair & ((1 << self.place_bits) - 1)) as u64
    }
}

/// The lists of the shingles of a file.
pub(crate) struct PairTable {
    head: Head,
    table: Table<u128>,
    /// Head, keys and sizes.
    keys: Section,
    sizes_at: u64,
}

impl PairTable {
    /// Opens the table whose blocks are the bytes of a file from `blocks.start` on. `context` is that of the blocks.
    pub(crate) fn open(
        file: &[u8],
        (blocks, context): (Range<usize>, Context),
        keys: Section,
        (copies_keys, always_check): (bool, bool),
    ) -> Result<Self, ReadError> {
        let damaged = |what: &str| keys.damaged(what);
        let head = keys.read(file, 0..HEAD_BYTES.min(keys.length()))?;
        let head = Some(head).filter(|head| head.len() == HEAD_BYTES).and_then(Head::from_bytes);
        let head = head.ok_or_else(|| damaged("a field of its first bytes is out of range"))?;
        let (sizes_at, _) = head
            .layout()
            .filter(|&(_, length)| length == keys.length() as u64)
            .ok_or_else(|| damaged("it is shorter or longer than its entries need"))?;
        let most = head.blocks.saturating_mul(LAYOUT.block_bytes as u64 * 8);
        if head.blocks > head.pairs
            || head.pairs > most
            || head.blocks.checked_mul(LAYOUT.block_bytes as u64) != Some(blocks.len() as u64)
        {
            return Err(damaged("its number of blocks is impossible"));
        }
        keys.read(file, HEAD_BYTES..sizes_at as usize)?;
        let start = keys.contents().start;
        let in_file = Keys::new(file, start + HEAD_BYTES..start + sizes_at as usize)
            .ok_or_else(|| damaged("its keys are not ascending"))?;
        let table = Table {
            unit: UnitKind::ShinglePairs,
            number: 0,
            permutation: Permutation::new(u128::ONES),
            codec: BlockCodec::from_counts(LAYOUT, &[], None),
            keys: if copies_keys { in_file.copied(file) } else { in_file },
            filter: None,
            entries_per_block: (head.pairs / head.blocks.max(1)) as usize,
            offset: blocks.start,
            context,
            checked: Checked::new(head.blocks as usize),
            always_check,
        };
        Ok(Self { head, table, keys, sizes_at })
    }

    /// Returns the table of pairs.
    pub(crate) fn table(&self) -> &Table<u128> {
        &self.table
    }

    /// Returns the section of the keys and sizes.
    pub(crate) fn section(&self) -> &Section {
        &self.keys
    }

    /// Returns the numbers before the keys.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the number of shingles of a document.
    pub(crate) fn size(&self, file: &[u8], place: u64) -> Result<usize, ReadError> {
        let bits = u64::from(self.head.size_bits);
        if place >= self.head.documents {
            return Err(self.keys.damaged(format_args!("it has no document {place}")));
        }
        let first_bit = place * bits;
        let start = (self.sizes_at + first_bit / 8) as usize;
        let end = (self.sizes_at + (first_bit + bits).div_ceil(8)) as usize;
        let bytes = self.keys.read(file, start..end)?;
        Ok(bits::read::<u64>(bytes, (first_bit % 8) as usize, self.head.size_bits) as usize)
    }

    /// The bits after the last size are zero.
    fn verify_spare_bits(&self, file: &[u8]) -> Result<(), ReadError> {
        let used = self.head.documents.wrapping_mul(u64::from(self.head.size_bits)) % 8;
        match file[self.keys.contents()].last() {
            Some(last) if used > 0 && last & (0xff >> used) != 0 => {
                Err(self.keys.damaged("a bit after the last number of shingles is set"))
            }
            _ => Ok(()),
        }
    }

    /// Reads everything, and checks it against the sets of the documents, which `set_of` returns by place.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        documents: u64,
        set_of: &mut SetOf<'_>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.keys.verify_while(file, check_cancelled)?;
        self.verify_spare_bits(file)?;
        if documents != self.head.documents {
            return Err(self.keys.damaged("it has more or fewer documents than the shingles"));
        }
        let (mut scratch, mut values) = (Scratch::default(), Vec::new());
        let (mut digest, mut pairs) = (0u128, 0u64);
        for block in 0..self.table.keys.len() {
            if block.is_multiple_of(VERIFIED_BLOCKS) {
                check_cancelled()?;
            }
            values.clear();
            self.table.check(file, block)?;
            self.table.decode(file, block, &mut scratch, &mut values)?;
            pairs += values.len() as u64;
            digest = values.iter().fold(digest, |sum, &pair| sum.wrapping_add(scrambled(pair)));
        }
        if pairs != self.head.pairs {
            return Err(self
                .keys
                .damaged(format_args!("the blocks have {pairs} pairs, not {}", self.head.pairs)));
        }
        let (mut set, mut expected) = (Vec::new(), 0u128);
        for place in 0..documents {
            if place.is_multiple_of(VERIFIED_AT_ONCE as u64) {
                check_cancelled()?;
            }
            set_of(place, &mut set)?;
            if self.size(file, place)? != set.len() {
                return Err(self.keys.damaged(format_args!("document {place} has {} shingles", set.len())));
            }
            let pairs = set.iter().map(|&shingle| scrambled(self.head.pair(shingle, place)));
            expected = pairs.fold(expected, u128::wrapping_add);
        }
        if digest != expected {
            return Err(self.keys.damaged("the blocks have other pairs than the shingles of the documents"));
        }
        Ok(())
    }
}

/// Returns the share of a pair in the digest of all.
fn scrambled(pair: u128) -> u128 {
    digest::of_bytes(0, &pair.to_le_bytes())
}

const _: () = assert!(shingles::BITS + u64::BITS <= u128::BITS, "a pair fits into 128 bits");
