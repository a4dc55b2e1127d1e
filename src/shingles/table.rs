//! Lists on disk: pairs of a shingle and a document, one more sorted table in blocks.
//!
//! Documents are numbers: their places in the directory of shingles, which has their ids and the number of shingles of
//! each. A pair of shingle and place is the number `shingle · 2^p + place`; with `p` bits for any place. Two optional
//! sections have them: the blocks, each an Elias–Fano block of 128-bit numbers; and the keys of the blocks:
//!
//! ```text
//! 0   8     the number of documents
//! 8   8     the number of pairs
//! 16  8     b, the number of blocks
//! 24  1     p, the bits of a place
//! 25  7     zero
//! 32  16 b  the keys: the last pair of each block
//! ```

use std::ops::Range;
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::{BlockCodec, CHECKSUM_BYTES, Codec, Layout, Scratch};
use crate::digest::SetDigest;
use crate::error::{Place, ReadError};
use crate::format::checksum::Checked;
use crate::format::checksum::{Context, UnitKind};
use crate::format::section::Section;
use crate::names::directory::Directory;
use crate::permutation::Permutation;
use crate::shingles;
use crate::table::Table;
use crate::table::keys::Keys;
use hamdex_fingerprint::Fingerprint;

/// Bytes before the keys.
pub(crate) const HEAD_BYTES: usize = 32;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = u128::BYTES;

/// The blocks of all files. Larger ones than those of fingerprints: a list is short, and there are few more of them than
/// pairs, so memory for keys counts more than reading a block.
pub(crate) const LAYOUT: Layout = Layout { codec: Codec::EliasFano, block_bytes: 2048 };

/// Plausible pairs per block, on average. In memory they take four times the bytes of a block.
const PLAUSIBLE_PAIRS: u64 = 1024;

/// Blocks verified between cancellation checks.
const VERIFIED_BLOCKS: usize = 1 << 10;

/// Documents verified between cancellation checks.
const VERIFIED_AT_ONCE: usize = 1 << 16;

/// The numbers before the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) documents: u64,
    pub(crate) pairs: u64,
    pub(crate) blocks: u64,
    pub(crate) place_bits: u32,
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
        bytes
    }

    /// Returns the head in these bytes; `None` if a field is out of range.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [documents, pairs, blocks] = [0, 8, 16].map(|at| LittleEndian::read_u64(&bytes[at..]));
        let place_bits = u32::from(bytes[24]);
        let fits = place_bits == Self::place_bits_of(documents)
            && u32::try_from(blocks).is_ok()
            && bytes[25..HEAD_BYTES].iter().all(|&byte| byte == 0);
        fits.then_some(Self { documents, pairs, blocks, place_bits })
    }

    /// Returns the bytes of the section.
    pub(crate) fn section_bytes(&self) -> u64 {
        // Fewer than 2^32 blocks.
        HEAD_BYTES as u64 + self.blocks * KEY_BYTES as u64
    }

    /// Returns the pair of a shingle and a place.
    pub(crate) fn pair(&self, shingle: u64, place: u64) -> u128 {
        u128::from(shingle) << self.place_bits | u128::from(place)
    }

    /// Returns the greatest pair that there can be.
    pub(crate) fn most_pair(&self) -> u128 {
        self.pair((1 << shingles::BITS) - 1, u64::MAX.checked_shr(u64::BITS - self.place_bits).unwrap_or(0))
    }

    /// Returns the shingle of a pair.
    pub(crate) fn shingle_of(&self, pair: u128) -> u64 {
        (pair >> self.place_bits) as u64
    }

    /// Returns the place of a pair.
    pub(crate) fn place_of(&self, pair: u128) -> u64 {
        (pair & ((1 << self.place_bits) - 1)) as u64
    }
}

/// The shingles of a file.
pub(crate) enum ShingleTable {
    /// By document, as an earlier version wrote them.
    Old,
    /// By shingle.
    Listed {
        /// The ids of the documents, and the number of shingles of each.
        directory: Section,
        pairs: Box<PairTable>,
    },
}

/// The lists of the shingles of a file.
pub(crate) struct PairTable {
    head: Head,
    table: Table<u128>,
    /// Head and keys.
    keys: Section,
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
        if head.section_bytes() != keys.length() as u64 {
            return Err(damaged("it is shorter or longer than its entries need"));
        }
        let most = head.blocks.saturating_mul(LAYOUT.block_bytes as u64 * 8);
        if head.blocks > head.pairs
            || head.pairs > most
            || head.blocks.checked_mul(LAYOUT.block_bytes as u64) != Some(blocks.len() as u64)
        {
            return Err(damaged("its number of blocks is impossible"));
        }
        keys.read_all(file)?;
        let contents = keys.contents();
        let in_file = Keys::new(file, contents.start + HEAD_BYTES..contents.end)
            .ok_or_else(|| damaged("its keys are not ascending"))?;
        let last = in_file.len().checked_sub(1).map(|last| in_file.in_file(file).get(last));
        if last > Some(head.most_pair()) {
            return Err(damaged("its last key exceeds the bits of a shingle"));
        }
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
        Ok(Self { head, table, keys })
    }

    /// Returns the table of pairs.
    pub(crate) fn table(&self) -> &Table<u128> {
        &self.table
    }

    /// Returns an upper bound of the number of pairs, for the room that a reader makes. It reads the blocks only if the head
    /// claims implausibly many pairs per block.
    pub(crate) fn most_pairs(&self, file: &[u8]) -> u64 {
        if self.head.pairs / self.head.blocks.max(1) <= PLAUSIBLE_PAIRS {
            return self.head.pairs;
        }
        let count = |block| match self.table.block(file, block) {
            Ok(bytes) => u64::from(LittleEndian::read_u16(&bytes[CHECKSUM_BYTES..])),
            Err(_) => LAYOUT.block_bytes as u64 * 8,
        };
        (0..self.table.keys.len()).map(count).sum()
    }

    /// Returns the section of the keys.
    pub(crate) fn section(&self) -> &Section {
        &self.keys
    }

    /// Returns the numbers before the keys.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Opens the directory of the documents, and checks that it fits the pairs.
    pub(crate) fn documents<'a>(
        &self,
        file: &'a [u8],
        directory: &'a Section,
        path: Option<&'a Path>,
    ) -> Result<Directory<'a>, ReadError> {
        let documents = Directory::open(file, directory, path)?;
        if documents.len() != self.head.documents {
            return Err(self.keys.damaged("it has more or fewer documents than their directory"));
        }
        // A damaged end fails where it is read, so that a repair reads the other sets.
        if documents.start(documents.len()).is_ok_and(|end| end != self.head.pairs) {
            return Err(self.keys.damaged("it has more or fewer pairs than the documents have shingles"));
        }
        Ok(documents)
    }

    /// Returns the place of a pair that has been read.
    #[inline]
    pub(crate) fn place_of(&self, file: &[u8], pair: u128) -> Result<u64, ReadError> {
        let place = self.head.place_of(pair);
        if place < self.head.documents { Ok(place) } else { Err(self.no_document(file, pair)) }
    }

    #[cold]
    fn no_document(&self, file: &[u8], pair: u128) -> ReadError {
        let block = self.table.keys.in_file(file).find(pair);
        let what = format_args!("there is no document {}", self.head.place_of(pair));
        ReadError::damaged(self.table.place(block), what)
    }

    /// Reads everything: pairs ascend, and each document has as many as its directory says. Returns the number of documents
    /// without any.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        documents: &Directory<'_>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<u64, ReadError> {
        self.keys.verify_while(file, check_cancelled)?;
        let (mut scratch, mut values) = (Scratch::default(), Vec::new());
        let (mut found, mut pairs) = (SetDigest::default(), 0u64);
        for block in 0..self.table.keys.len() {
            if block.is_multiple_of(VERIFIED_BLOCKS) {
                check_cancelled()?;
            }
            values.clear();
            self.table.check(file, block)?;
            self.table.decode(file, block, &mut scratch, &mut values)?;
            pairs += values.len() as u64;
            for &pair in &values {
                found.add(self.place_of(file, pair)?);
            }
        }
        if pairs != self.head.pairs {
            return Err(self
                .keys
                .damaged(format_args!("the blocks have {pairs} pairs, not {}", self.head.pairs)));
        }
        self.check_counts(documents, found, check_cancelled)
    }

    /// Checks that each document has as many pairs as its directory says, given the digest of the places of all pairs.
    /// Returns the number of documents without any.
    pub(crate) fn check_counts(
        &self,
        documents: &Directory<'_>,
        found: SetDigest,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<u64, ReadError> {
        // Sums over all documents, so that no memory is needed for each.
        let (mut expected, mut empty) = (SetDigest::default(), 0);
        for place in 0..self.head.documents {
            if place.is_multiple_of(VERIFIED_AT_ONCE as u64) {
                check_cancelled()?;
            }
            let length = documents.length(place)?;
            expected.add_times(place, length);
            empty += u64::from(length == 0);
        }
        if found != expected {
            let what = "a document has more or fewer than its directory says";
            return Err(ReadError::damaged(Place::Shingles, what));
        }
        Ok(empty)
    }
}

/// Checks the checksums of blocks that are not read otherwise.
pub(crate) fn verify_checksums(
    blocks: &[u8],
    context: Context,
    check_cancelled: &dyn Fn() -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    for (number, block) in blocks.chunks(LAYOUT.block_bytes).enumerate() {
        if number.is_multiple_of(VERIFIED_BLOCKS) {
            check_cancelled()?;
        }
        let stored = block.first_chunk().map(|stored| u32::from_le_bytes(*stored));
        if stored != Some(context.checksum(number as u64, block.get(CHECKSUM_BYTES..).unwrap_or_default())) {
            return Err(ReadError::damaged(
                Place::Shingles,
                format_args!("the checksum of block {number} is wrong"),
            ));
        }
    }
    Ok(())
}

const _: () = assert!(shingles::BITS + u64::BITS <= u128::BITS, "a pair fits into 128 bits");
