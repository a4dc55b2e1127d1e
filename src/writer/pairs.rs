//! From sets of shingles to a table of pairs.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use byteorder::{ByteOrder, LittleEndian, ReadBytesExt};

use crate::codec::BlockCodec;
use crate::error::BuildError;
use crate::format::checksum::UnitKind;
use crate::ids::Packer;
use crate::progress::Counter;
use crate::shingles;
use crate::similar::table::{HEAD_BYTES, Head, LAYOUT};
use crate::table::writer::TableWriter;
use crate::writer::sections::Sections;
use crate::writer::sort::Sorter;
use crate::writer::spill;
use hamdex_fingerprint::Fingerprint;

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 16;

/// Takes the sets of documents in order, and writes their pairs as a sorted table.
pub(super) struct PairsWriter {
    head: Head,
    sorter: Sorter<u128>,
    /// The number of shingles of each document.
    sizes: BufWriter<File>,
    most: u32,
    taken: u64,
    set: Vec<u64>,
    temp_dir: PathBuf,
}

impl PairsWriter {
    /// For so many documents; sorts in `memory` bytes.
    pub(super) fn new(documents: u64, memory: usize, temp_dir: &Path) -> Result<Self, BuildError> {
        let place_bits = Head::place_bits_of(documents);
        Ok(Self {
            head: Head { documents, pairs: 0, blocks: 0, place_bits, size_bits: 0 },
            sorter: Sorter::new(memory, temp_dir),
            sizes: spill::spool(temp_dir)?,
            most: 0,
            taken: 0,
            set: Vec::new(),
            temp_dir: temp_dir.to_owned(),
        })
    }

    /// Takes the set of the next document, in its encoded form.
    pub(super) fn push(&mut self, encoded: &[u8], done: &Counter) -> Result<(), BuildError> {
        let Self { head, sorter, sizes, set, .. } = self;
        if !shingles::decode(encoded, set) {
            return Err(BuildError::InvalidShingles { id: self.taken });
        }
        for &shingle in &*set {
            sorter.push(head.pair(shingle, self.taken), done)?;
        }
        self.taken += 1;
        self.head.pairs += set.len() as u64;
        self.most = self.most.max(set.len() as u32);
        sizes
            .write_all(&(set.len() as u32).to_le_bytes())
            .map_err(|error| spill::failed(&self.temp_dir, error))
    }

    /// Sorts the pairs, and writes the sections.
    pub(super) fn finish(self, file: &mut Sections<'_>, done: &Counter) -> Result<(), BuildError> {
        let Self { mut head, sorter, sizes, most, temp_dir, .. } = self;
        let sorted = sorter.finish(done)?;
        let codec = BlockCodec::from_counts(LAYOUT, &[], None);
        let written = file.blocks(UnitKind::ShinglePairs, 0, LAYOUT.block_bytes, |context, output| {
            let mut writer = TableWriter::new(codec, context.clone());
            sorted.for_each_batch(&mut |batch: &[u128]| {
                done.check()?;
                writer.push(batch.iter().copied(), output).map_err(output.failed())?;
                Ok(())
            })?;
            writer.finish(output).map_err(output.failed())
        })?;
        head.blocks = written.keys.len() as u64;
        head.size_bits = u32::BITS - most.leading_zeros();
        if u32::try_from(head.blocks).is_err() {
            return Err(BuildError::Option {
                option: "the number of blocks of shingles",
                given: head.blocks.to_string(),
                expected: format!("at most {}; take several files", u32::MAX),
            });
        }
        let mut sizes = spill::rewind(sizes).map_err(|error| spill::failed(&temp_dir, error))?;
        file.stream(UnitKind::ShingleKeys, |put| {
            put(&head.to_bytes())?;
            let mut bytes = Vec::with_capacity(GATHER_BYTES);
            for keys in written.keys.chunks(GATHER_BYTES / u128::BYTES) {
                bytes.resize(keys.len() * u128::BYTES, 0);
                LittleEndian::write_u128_into(keys, &mut bytes);
                put(&bytes)?;
            }
            pack(&mut sizes, &head, put)
        })
    }
}

/// Packs the sizes of all documents.
fn pack(sizes: &mut impl Read, head: &Head, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut packer, mut packed) = (Packer::default(), Vec::with_capacity(GATHER_BYTES + HEAD_BYTES));
    for _ in 0..head.documents {
        packer.put(u64::from(sizes.read_u32::<LittleEndian>()?), head.size_bits, &mut packed);
        if packed.len() >= GATHER_BYTES {
            put(&packed)?;
            packed.clear();
        }
    }
    packer.finish(&mut packed);
    put(&packed)
}
