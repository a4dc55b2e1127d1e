//! From sets of shingles to a table of pairs.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::BlockCodec;
use crate::digest::SetDigest;
use crate::error::{BuildError, IdColumn};
use crate::format::checksum::UnitKind;
use crate::progress::Counter;
use crate::shingles;
use crate::shingles::table::{Head, KEY_BYTES, LAYOUT};
use crate::table::writer::TableWriter;
use crate::writer::Visit;
use crate::writer::directory::{ColumnSource, DirectorySpool, Places};
use crate::writer::sections::Sections;
use crate::writer::sort::{Sorted, Sorter};
use crate::writer::spill::{Watched, rewind, spool};

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 16;

/// Shingles written to a temporary file at once.
const PIECE: usize = 128;

/// Bytes of a shingle in a temporary file.
const SHINGLE_BYTES: usize = shingles::BITS as usize / 8;

/// The source of the pairs of a file, of merged files.
pub(crate) trait PairSource: Send {
    /// Delivers the pairs, ascending, in batches.
    fn for_each_batch(&self, head: &Head, visit: &mut Visit<'_, u128>) -> Result<(), BuildError>;
}

/// The shingles of the documents of a file.
pub(crate) struct ShingleSpool<'s> {
    directory: DirectorySpool,
    digest: SetDigest,
    pairs: Pairs<'s>,
}

/// The pairs of a file that has not been written yet.
enum Pairs<'s> {
    /// To be sorted: the sets, one after the other, in a temporary file.
    Sets(BufWriter<File>),
    /// Sorted, in other files.
    Lists(Box<dyn PairSource + 's>),
}

impl<'s> ShingleSpool<'s> {
    /// Nothing so far.
    pub(crate) fn new(temp_dir: &Path) -> Result<Self, BuildError> {
        let directory = DirectorySpool::new(IdColumn::Shingles, temp_dir)?;
        Ok(Self { directory, digest: SetDigest::default(), pairs: Pairs::Sets(spool(temp_dir)?) })
    }

    /// Documents whose pairs come from other files. `digest` is that of all ids and their shingles.
    pub(crate) fn of_lists(
        directory: DirectorySpool,
        digest: SetDigest,
        pairs: Box<dyn PairSource + 's>,
    ) -> Self {
        Self { directory, digest, pairs: Pairs::Lists(pairs) }
    }

    /// Takes the shingles of the next id, which ascend.
    pub(crate) fn push(&mut self, id: u64, set: &[u64]) -> Result<(), BuildError> {
        if !shingles::are_set(set) {
            return Err(BuildError::InvalidShingles { id });
        }
        let Self { directory, digest, pairs: Pairs::Sets(sets) } = self else {
            unreachable!("no set is pushed to those of other files")
        };
        let place = directory.count();
        directory.push(id, set.len() as u64)?;
        digest.add_pair(id, set.len() as u64);
        set.iter().for_each(|&shingle| digest.add_pair(place, digested(shingle)));
        // One write per piece: a write to a buffer costs more than a shingle.
        let mut bytes = [0; PIECE * SHINGLE_BYTES];
        for piece in set.chunks(PIECE) {
            for (shingle, bytes) in piece.iter().zip(bytes.chunks_exact_mut(SHINGLE_BYTES)) {
                bytes.copy_from_slice(&shingle.to_le_bytes()[..SHINGLE_BYTES]);
            }
            let written = sets.write_all(&bytes[..piece.len() * SHINGLE_BYTES]);
            written.map_err(|source| directory.failed(source))?;
        }
        Ok(())
    }

    /// Returns a digest of all ids and their shingles: of pairs of id and length, and of pairs of place and shingle.
    pub(super) fn digest(&self) -> u128 {
        self.digest.value()
    }

    /// Returns the directory.
    pub(super) fn directory(&self) -> &DirectorySpool {
        &self.directory
    }

    /// Writes the directory; returns the sections left to write.
    pub(super) fn write_directory<'d>(
        self,
        file: &mut Sections<'_>,
        done: &'d Counter,
    ) -> Result<PairsLeft<'s, 'd>, BuildError> {
        let (documents, pairs) = (self.directory.count(), self.directory.end());
        let place_bits = Head::place_bits_of(documents);
        let head = Head { documents, pairs, blocks: 0, place_bits };
        let places = self.directory.write(UnitKind::ShingleDirectory, file, done)?;
        Ok(PairsLeft { head, places, pairs: self.pairs })
    }
}

/// Returns a shingle as the second member of a pair in a digest: no number of shingles is the same.
pub(crate) fn digested(shingle: u64) -> u64 {
    !shingle
}

/// Shingles that have been pushed.
impl<'s> ColumnSource for ShingleSpool<'s> {
    type Spool = Self;

    fn wants_ids(&self) -> bool {
        self.directory.wants_ids()
    }

    fn spool(mut self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<Self, BuildError> {
        ids.map_or(Ok(()), |ids| self.directory.check_all(ids))?;
        Ok(*self)
    }
}

/// The pairs of a file whose directory of shingles has been written.
pub(super) struct PairsLeft<'s, 'd> {
    head: Head,
    places: Places<'d>,
    pairs: Pairs<'s>,
}

impl PairsLeft<'_, '_> {
    /// Writes the pairs and their keys; sorts in `memory` bytes.
    pub(super) fn write(
        self,
        file: &mut Sections<'_>,
        (memory, temp_dir): (usize, &Path),
        done: &Counter,
    ) -> Result<(), BuildError> {
        let Self { mut head, places, pairs } = self;
        let source: Box<dyn PairSource + '_> = match pairs {
            Pairs::Lists(lists) => lists,
            Pairs::Sets(sets) => {
                let sorter = Sorter::new(memory, temp_dir);
                Box::new(SortedPairs(sort(sets, (places, &head), sorter, done)?))
            }
        };
        let codec = BlockCodec::from_counts(LAYOUT, &[], None);
        let written = file.blocks(UnitKind::ShinglePairs, 0, LAYOUT.block_bytes, |context, output| {
            let mut writer = TableWriter::new(codec, context.clone());
            source.for_each_batch(&head, &mut |batch| {
                done.check()?;
                writer.push(batch.iter().copied(), output).map_err(output.failed())?;
                Ok(())
            })?;
            writer.finish(output).map_err(output.failed())
        })?;
        drop(source);
        head.blocks = written.keys.len() as u64;
        if u32::try_from(head.blocks).is_err() {
            return Err(BuildError::Option {
                option: "the number of blocks of shingles",
                given: head.blocks.to_string(),
                expected: format!("at most {}; take several files", u32::MAX),
            });
        }
        file.stream(UnitKind::ShingleKeys, |put| {
            put(&head.to_bytes())?;
            let mut bytes = Vec::with_capacity(GATHER_BYTES);
            for keys in written.keys.chunks(GATHER_BYTES / KEY_BYTES) {
                bytes.resize(keys.len() * KEY_BYTES, 0);
                LittleEndian::write_u128_into(keys, &mut bytes);
                put(&bytes)?;
            }
            Ok(())
        })
    }
}

struct SortedPairs(Sorted<u128>);

impl PairSource for SortedPairs {
    fn for_each_batch(&self, _: &Head, visit: &mut Visit<'_, u128>) -> Result<(), BuildError> {
        self.0.for_each_batch(visit)
    }
}

/// Sorts the pairs of spooled sets.
fn sort(
    sets: BufWriter<File>,
    (mut places, head): (Places<'_>, &Head),
    mut sorter: Sorter<u128>,
    done: &Counter,
) -> Result<Sorted<u128>, BuildError> {
    let spool = rewind(sets).map_err(|source| places.failed(source))?;
    let mut sets = Watched { spool, done };
    let (mut place, mut start, mut bytes) = (0, 0, [0; PIECE * SHINGLE_BYTES]);
    while let Some(end) = places.next_end()? {
        while start < end {
            let count = PIECE.min((end - start) as usize);
            let bytes = &mut bytes[..count * SHINGLE_BYTES];
            sets.read_exact(bytes).map_err(|source| places.failed(source))?;
            for bytes in bytes.chunks_exact(SHINGLE_BYTES) {
                sorter.push(head.pair(LittleEndian::read_u48(bytes), place), done)?;
            }
            start += count as u64;
        }
        place += 1;
    }
    sorter.finish(done)
}
