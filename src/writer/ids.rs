//! The ids of a file, gathered with table 0 and written after it; and the look-ups, written once all places are known.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek};
use std::path::{Path, PathBuf};

use crate::error::BuildError;
use crate::format::checksum::UnitKind;
use crate::format::footer::IdsRecord;
use crate::ids::{IdWriter, Packed, Stream, block_starts};
use crate::lookup::{Geometry, hash_of_id};
use crate::progress::{Counter, Phase};
use crate::writer::Record;
use crate::writer::options::BuildOptions;
use crate::writer::sections::Sections;
use crate::writer::sort::{Sorted, Sorter};
use crate::writer::spill::{Watched, failed, rewind, spool};
use hamdex_fingerprint::Fingerprint;

/// Ids, spooled to a temporary file.
pub(super) struct SpooledIds<F> {
    writer: IdWriter<BufWriter<File>>,
    before: Option<F>,
    places: u64,
    /// The look-up by id, if there is to be one.
    lookup: Option<(LookupWriter, Counter)>,
    temp_dir: PathBuf,
}

impl<F: Fingerprint> SpooledIds<F> {
    /// For ids from the least to the greatest.
    pub(super) fn new(
        (least, greatest): (u64, u64),
        lookup: Option<(LookupWriter, Counter)>,
        temp_dir: &Path,
    ) -> Result<Self, BuildError> {
        let writer = IdWriter::new(least, greatest, spool(temp_dir)?, spool(temp_dir)?);
        Ok(Self { writer, before: None, places: 0, lookup, temp_dir: temp_dir.to_owned() })
    }

    /// Takes the ids of ascending records, not below the previous ones.
    pub(super) fn push<R: Record<Fingerprint = F>>(&mut self, records: &[R]) -> Result<(), BuildError> {
        for record in records {
            let is_first = self.before.replace(record.fingerprint()) != Some(record.fingerprint());
            if let Some(id) = record.id() {
                self.writer.push(id, is_first).map_err(|source| failed(&self.temp_dir, source))?;
                if let Some((lookup, done)) = &mut self.lookup {
                    lookup.push(hash_of_id(id), self.places, done)?;
                }
                self.places += 1;
            }
        }
        Ok(())
    }

    /// Returns the look-up by id, if there is to be one.
    pub(super) fn take_lookup(&mut self) -> Option<LookupWriter> {
        self.lookup.take().map(|(lookup, _)| lookup)
    }

    /// Writes the sections of the ids of that many fingerprints; `entries` is how many of them each block of
    /// table 0 has.
    pub(super) fn write(
        self,
        file: &mut Sections<'_>,
        fingerprints: u64,
        entries: &[u16],
        options: &BuildOptions<F>,
    ) -> Result<IdsRecord, BuildError> {
        let done = options.counter(Phase::Ids, None)?;
        let outcome = self.write_sections(file, fingerprints, entries, &done);
        // If the build was cancelled, that is why reading failed.
        done.check()?;
        outcome
    }

    fn write_sections(
        self,
        file: &mut Sections<'_>,
        fingerprints: u64,
        entries: &[u16],
        done: &Counter,
    ) -> Result<IdsRecord, BuildError> {
        let Self { writer, temp_dir, .. } = self;
        let failed = |source| failed(&temp_dir, source);
        let Packed { record, ids, starts, ranks } = writer.finish().map_err(failed)?;
        let watched = |spool| Watched { spool, done };
        file.copy(UnitKind::Ids, &mut watched(rewind(ids).map_err(failed)?))?;
        let directory = if record.count == fingerprints {
            // One each: there is nothing to mark.
            file.copy(UnitKind::IdStarts, &mut io::empty())?;
            let starts = entries
                .iter()
                .scan(0, |place, &entries| Some(std::mem::replace(place, *place + u64::from(entries))));
            starts.collect()
        } else {
            let mut starts = watched(rewind(starts).map_err(failed)?);
            let mut directory = block_starts(&mut starts, entries).map_err(failed)?;
            starts.spool.rewind().map_err(failed)?;
            file.copy(UnitKind::IdStarts, &mut starts)?;
            directory.extend(ranks);
            directory
        };
        let bytes: Vec<u8> = directory.iter().flat_map(|place: &u64| place.to_le_bytes()).collect();
        file.copy(UnitKind::IdDirectory, &mut bytes.as_slice())?;
        Ok(record)
    }
}

/// Takes places in any order.
pub(super) struct LookupWriter {
    geometry: Geometry,
    sorter: Sorter<u64>,
    temp_dir: PathBuf,
}

impl LookupWriter {
    /// Creates a writer of `count` places. Keeps to `memory` bytes; spills to `temp_dir` beyond.
    pub(super) fn new(count: u64, memory: usize, temp_dir: &Path) -> Self {
        let sorter = Sorter::new(memory, temp_dir);
        Self { geometry: Geometry::of(count), sorter, temp_dir: temp_dir.to_owned() }
    }

    /// Takes a place and the hash of its key.
    pub(super) fn push(&mut self, hash: u64, place: u64, done: &Counter) -> Result<(), BuildError> {
        self.sorter.push(self.geometry.key(hash, place), done)
    }

    /// Returns the contents of the section, in a temporary file.
    pub(super) fn finish(self, done: &Counter) -> Result<BufReader<File>, BuildError> {
        let Self { geometry, sorter, temp_dir } = self;
        let failed = |source| failed(&temp_dir, source);
        let sorted = sorter.finish(done)?;
        let mut output = Stream::new(spool(&temp_dir)?);
        put_starts(&sorted, geometry, |start| output.put(start, geometry.start_bits).map_err(failed))?;
        output.end_list().map_err(failed)?;
        let mut entries = sorted.one_by_one()?;
        while let Some(key) = entries.next()? {
            let entry = key & ((1u64.checked_shl(geometry.entry_bits()).unwrap_or(0)).wrapping_sub(1));
            output.put(entry, geometry.entry_bits()).map_err(failed)?;
        }
        rewind(output.finish().map_err(failed)?).map_err(failed)
    }
}

/// Puts the number of places before each bucket, and of all.
fn put_starts(
    sorted: &Sorted<u64>,
    geometry: Geometry,
    mut put: impl FnMut(u64) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let mut keys = sorted.one_by_one()?;
    let (mut next, mut before) = (0, 0);
    while let Some(key) = keys.next()? {
        let bucket = key.checked_shr(geometry.entry_bits()).unwrap_or(0);
        while next <= bucket {
            put(before)?;
            next += 1;
        }
        before += 1;
    }
    (next..=geometry.buckets()).try_for_each(|_| put(before))
}
