//! From sorted records to a file, front to back: what comes where is [`crate::format::arrangement`]'s
//! to say.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use hamdex_atomic_file::AtomicFile;
use rayon::prelude::*;

use crate::build::census::Census;
use crate::build::options::BuildOptions;
use crate::build::record::{Record, WithId};
use crate::build::sort::{Sorted, Sorter};
use crate::build::summary::{SealedIndex, Summary};
use crate::build::temporary::{rewind, spool};
use crate::codec::BlockCodec;
use crate::design::Design;
use crate::digest;
use crate::error::BuildError;
use crate::format::arrangement::Arrangement;
use crate::format::checksum::{Context, UnitKind};
use crate::format::footer::{Footer, IdsRecord, TableRecord};
use crate::format::header::{FileId, Header, MINOR};
use crate::format::section::SectionWriter;
use crate::format::trailer::Trailer;
use crate::ids::writer::{IdWriter, block_starts};
use crate::metadata;
use crate::permutation::Permutation;
use crate::progress::{Phase, Progress};
use crate::table::writer::{TableWriter, Written};
use hamdex_fingerprint::Fingerprint;

/// Bytes copied at once from a spool.
const COPY_BYTES: usize = 1 << 16;

/// A file in the making.
pub(super) struct Assembly<F: Fingerprint> {
    options: BuildOptions<F>,
    output: AtomicFile,
    temp_dir: PathBuf,
    arrangement: Arrangement,
    /// That of the table before, whose code the next one may share.
    codec: Option<BlockCodec>,
}

/// The id sections, waiting for their place in the file.
struct SpooledIds {
    record: IdsRecord,
    ids: BufReader<File>,
    starts: BufReader<File>,
}

/// What the tables and their sections have in common.
struct Plan<F> {
    design: Design<F>,
    file_id: FileId,
    fingerprints: u64,
}

/// What is left of a written table.
struct WrittenTable<F> {
    record: TableRecord,
    keys: Vec<F>,
    entries: Vec<u16>,
}

impl<F: Fingerprint> Assembly<F> {
    pub(super) fn new(options: BuildOptions<F>, output: AtomicFile, temp_dir: PathBuf) -> Self {
        Self { options, output, temp_dir, arrangement: Arrangement::new(), codec: None }
    }

    /// Builds an index without ids.
    pub(super) fn plain(mut self, sorter: Sorter<F>) -> Result<SealedIndex, BuildError> {
        let sorted = self.sort(sorter, 0, None)?;
        let census = Census::of(&sorted)?;
        let plan = self.start(&census)?;
        let first = self.write_table(&plan, 0, &sorted, census.counts, |_| Ok(()))?;
        self.rest(plan, first, sorted, None)
    }

    /// Builds an index with ids from the least to the greatest given.
    pub(super) fn with_ids(
        mut self,
        sorter: Sorter<WithId<F>>,
        (least, most): (u64, u64),
    ) -> Result<SealedIndex, BuildError> {
        let sorted = self.sort(sorter, 0, None)?;
        let census = Census::of(&sorted)?;
        let plan = self.start(&census)?;
        let mut ids = IdWriter::new(least, most, spool(&self.temp_dir)?, spool(&self.temp_dir)?);
        let mut previous = None;
        let directory = self.temp_dir.clone();
        let failed =
            |source| BuildError::Io { doing: "write a temporary file to", path: directory.clone(), source };
        let first = self.write_table(&plan, 0, &sorted, census.counts, |batch: &[WithId<F>]| {
            for record in batch {
                ids.push(record.id, previous != Some(record.fingerprint)).map_err(failed)?;
                previous = Some(record.fingerprint);
            }
            Ok(())
        })?;
        let (record, ids, starts) = ids.finish().map_err(failed)?;
        let (ids, starts) = (rewind(ids).map_err(failed)?, rewind(starts).map_err(failed)?);
        let spooled = SpooledIds { record, ids, starts };
        self.write_ids(&plan, &first.entries, spooled)?;
        self.rest(plan, first, sorted, Some(record))
    }

    /// Everything after table 0 and the ids.
    fn rest<R: Record<Fingerprint = F>>(
        mut self,
        plan: Plan<F>,
        first: WrittenTable<F>,
        sorted: Sorted<R>,
        ids: Option<IdsRecord>,
    ) -> Result<SealedIndex, BuildError> {
        let mut written = vec![first];
        match sorted {
            Sorted::InMemory(records) => self.tables_in_memory(&plan, records, &mut written)?,
            Sorted::Spilled(runs) => {
                for number in 1..plan.design.tables().len() {
                    let permutation = Permutation::new(plan.design.tables()[number].mask);
                    let mut sorter = Sorter::new(self.options.sort_memory(), &self.temp_dir);
                    runs.for_each_unmerged(|batch: &[R]| {
                        batch.iter().try_for_each(|r| sorter.push(permutation.apply(r.fingerprint())))
                    })?;
                    let sorted = self.sort(sorter, number, Some(&plan))?;
                    written.push(self.count_and_write(&plan, number, &sorted)?);
                }
            }
        }
        self.end(plan, written, ids)
    }

    fn tables_in_memory<R: Record<Fingerprint = F>>(
        &mut self,
        plan: &Plan<F>,
        records: Vec<R>,
        written: &mut Vec<WrittenTable<F>>,
    ) -> Result<(), BuildError> {
        let mut values = R::into_fingerprints(records);
        let mut from = Permutation::new(plan.design.tables()[0].mask);
        for number in 1..plan.design.tables().len() {
            let to = Permutation::new(plan.design.tables()[number].mask);
            values.par_iter_mut().for_each(|value| *value = to.apply(from.undo(*value)));
            from = to;
            let sorter = Sorter::from_records(values, &self.temp_dir);
            let sorted = self.sort(sorter, number, Some(plan))?;
            written.push(self.count_and_write(plan, number, &sorted)?);
            values = match sorted {
                Sorted::InMemory(values) => values,
                Sorted::Spilled(_) => unreachable!("what is in memory stays there"),
            };
        }
        Ok(())
    }

    fn count_and_write(
        &mut self,
        plan: &Plan<F>,
        number: usize,
        sorted: &Sorted<F>,
    ) -> Result<WrittenTable<F>, BuildError> {
        let census = Census::of(sorted)?;
        self.write_table(plan, number, sorted, census.counts, |_| Ok(()))
    }

    fn sort<R: Record>(
        &self,
        sorter: Sorter<R>,
        table: usize,
        plan: Option<&Plan<F>>,
    ) -> Result<Sorted<R>, BuildError> {
        let tables = plan.map_or_else(|| self.options.known_tables(), |plan| plan.design.tables().len());
        self.options.report(Progress::new(
            Phase::Sort { table, tables },
            0,
            plan.map(|plan| plan.fingerprints),
        ));
        sorter.finish()
    }

    /// Settles what depends on the contents, and writes the header.
    fn start(&mut self, census: &Census) -> Result<Plan<F>, BuildError> {
        let design = self.options.choose_design(census.fingerprints)?;
        let file_id = self.file_id(&design, census);
        let page = Header { minor: MINOR, file_id }.page();
        self.write(&page)?;
        Ok(Plan { design, file_id, fingerprints: census.fingerprints })
    }

    /// An id that the contents and all options that shape the file determine.
    fn file_id(&self, design: &Design<F>, census: &Census) -> FileId {
        let layout = self.options.layout();
        let mut shape = vec![F::BITS as u8, u8::from(self.options.ids), layout.codec.tag()];
        // Every part has a fixed length or says its own, so that no two shapes read alike.
        let (name, tables) = (design.name(), design.tables());
        let (block_bytes, restart_interval) = (layout.block_bytes, layout.restart_interval);
        for number in [block_bytes, restart_interval, design.distance() as usize, name.len(), tables.len()] {
            shape.extend((number as u64).to_le_bytes());
        }
        shape.extend(name.as_bytes());
        for table in tables {
            shape.extend(table.mask.to_u128().to_le_bytes());
            shape.extend(table.radius.to_le_bytes());
        }
        shape.extend(metadata::to_bytes(&self.options.metadata));
        let seed = census.digest.value() ^ u128::from(census.fingerprints);
        FileId(digest::of_bytes(seed, &shape).to_le_bytes())
    }

    /// Writes the blocks of a table; hands each batch on as well.
    fn write_table<R: Record<Fingerprint = F>>(
        &mut self,
        plan: &Plan<F>,
        number: usize,
        sorted: &Sorted<R>,
        counts: Vec<u64>,
        mut also: impl FnMut(&[R]) -> Result<(), BuildError>,
    ) -> Result<WrittenTable<F>, BuildError> {
        self.pad_to(UnitKind::Block)?;
        let layout = self.options.layout();
        let codec = BlockCodec::from_counts(layout, &counts, self.codec.as_ref());
        self.codec = Some(codec.clone());
        let mut code_lengths = codec.code_lengths().to_vec();
        code_lengths.resize(F::BITS as usize, 0);
        let context = Context::new(plan.file_id, UnitKind::Block, number);
        let mut writer = TableWriter::new(codec, context);
        let phase = Phase::Write { table: number, tables: plan.design.tables().len() };
        let mut done = 0;
        sorted.for_each_batch(|batch| {
            // A fingerprint with several ids comes several times.
            let values = batch.iter().map(Record::fingerprint);
            done += writer.push(values, &mut self.output).map_err(self.output.failed())?;
            self.options.report(Progress::new(phase, done, Some(plan.fingerprints)));
            also(batch)
        })?;
        let Written { keys, entries } = writer.finish(&mut self.output).map_err(self.output.failed())?;
        if u32::try_from(keys.len()).is_err() {
            return Err(BuildError::Option {
                option: "the number of blocks in a table",
                given: keys.len().to_string(),
                expected: format!("at most {}; take larger blocks or several files", u32::MAX),
            });
        }
        self.record_section(UnitKind::Block, number, (keys.len() * layout.block_bytes) as u64);
        let table = plan.design.tables()[number];
        let record = TableRecord {
            mask: table.mask.to_u128(),
            radius: table.radius,
            blocks: keys.len() as u64,
            code_lengths,
            counts,
        };
        Ok(WrittenTable { record, keys, entries })
    }

    fn write_ids(&mut self, plan: &Plan<F>, entries: &[u16], spooled: SpooledIds) -> Result<(), BuildError> {
        let SpooledIds { record, mut ids, mut starts } = spooled;
        self.copy_section(plan, UnitKind::Ids, &mut ids)?;
        let all_single = record.count == plan.fingerprints;
        let directory = if all_single {
            self.copy_section(plan, UnitKind::IdStarts, &mut io::empty())?;
            let places = entries.iter().scan(0u64, |place, &entries| {
                let start = *place;
                *place += u64::from(entries);
                Some(start)
            });
            places.collect()
        } else {
            let directory = io::Seek::rewind(&mut starts)
                .and_then(|()| block_starts(&mut starts, entries))
                .map_err(self.output.failed())?;
            io::Seek::rewind(&mut starts).map_err(self.output.failed())?;
            self.copy_section(plan, UnitKind::IdStarts, &mut starts)?;
            directory
        };
        let bytes: Vec<u8> = directory.iter().flat_map(|place: &u64| place.to_le_bytes()).collect();
        self.copy_section(plan, UnitKind::IdDirectory, &mut bytes.as_slice())
    }

    /// Writes keys, metadata, footer and trailer, and gives the file its name.
    fn end(
        mut self,
        plan: Plan<F>,
        written: Vec<WrittenTable<F>>,
        ids: Option<IdsRecord>,
    ) -> Result<SealedIndex, BuildError> {
        let mut tables = Vec::new();
        for (number, table) in written.into_iter().enumerate() {
            self.write_keys(&plan, number, &table.keys)?;
            tables.push(table.record);
        }
        let metadata = metadata::to_bytes(&self.options.metadata);
        self.copy_section(&plan, UnitKind::Metadata, &mut metadata.as_slice())?;

        let footer_offset = self.arrangement.end();
        let footer = Footer {
            width: F::BITS,
            layout: self.options.layout(),
            distance: plan.design.distance(),
            design: plan.design.name().to_owned(),
            fingerprints: plan.fingerprints,
            ids,
            tables,
            sections: self.arrangement.sections().to_vec(),
        };
        let contents = footer.to_bytes();
        let mut section = SectionWriter::new(Context::new(plan.file_id, UnitKind::Footer, 0));
        let footer_length = section
            .write(&mut self.output, &contents)
            .and_then(|()| section.finish(&mut self.output))
            .map_err(self.output.failed())?;
        self.write(&Trailer { footer_offset, footer_length }.bytes(plan.file_id))?;

        let bytes = self.output.written_bytes();
        self.options.report(Progress::new(Phase::Sync, 0, None));
        let file = self.output.seal()?;
        let summary = Summary {
            pushed: 0,
            fingerprints: plan.fingerprints,
            ids: ids.map_or(0, |ids| ids.count),
            design: plan.design.name().to_owned(),
            bytes,
        };
        Ok(SealedIndex { summary, file_id: plan.file_id, file })
    }

    fn write_keys(&mut self, plan: &Plan<F>, table: usize, keys: &[F]) -> Result<(), BuildError> {
        let mut bytes = Vec::new();
        let mut section = SectionWriter::new(Context::new(plan.file_id, UnitKind::Keys, table));
        self.pad_to(UnitKind::Keys)?;
        for keys in keys.chunks(COPY_BYTES / F::BYTES) {
            bytes.resize(keys.len() * F::BYTES, 0);
            for (key, bytes) in keys.iter().zip(bytes.chunks_exact_mut(F::BYTES)) {
                key.write_le(bytes);
            }
            section.write(&mut self.output, &bytes).map_err(self.output.failed())?;
        }
        let length = section.finish(&mut self.output).map_err(self.output.failed())?;
        self.record_section(UnitKind::Keys, table, length);
        Ok(())
    }

    /// Writes a section with these contents.
    fn copy_section(
        &mut self,
        plan: &Plan<F>,
        kind: UnitKind,
        contents: &mut dyn Read,
    ) -> Result<(), BuildError> {
        self.pad_to(kind)?;
        let mut section = SectionWriter::new(Context::new(plan.file_id, kind, 0));
        let mut buffer = vec![0; COPY_BYTES];
        let mut copy = || loop {
            match contents.read(&mut buffer)? {
                0 => return io::Result::Ok(()),
                count => section.write(&mut self.output, &buffer[..count])?,
            }
        };
        copy().map_err(self.output.failed())?;
        let length = section.finish(&mut self.output).map_err(self.output.failed())?;
        self.record_section(kind, 0, length);
        Ok(())
    }

    /// Writes zeros up to where a section of that kind may start.
    fn pad_to(&mut self, kind: UnitKind) -> Result<(), BuildError> {
        let start = self.arrangement.next_offset(kind).expect(FITS);
        let zeros = vec![0; (start - self.arrangement.end()) as usize];
        self.write(&zeros)
    }

    fn record_section(&mut self, kind: UnitKind, table: usize, length: u64) {
        self.arrangement.push(kind, table, length).expect(FITS);
        debug_assert_eq!(self.arrangement.end(), self.output.written_bytes(), "{kind:?}");
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BuildError> {
        self.output.write_all(bytes).map_err(self.output.failed())?;
        Ok(())
    }
}

/// No disk holds a file whose offsets exceed 64 bits.
const FITS: &str = "offsets fit into 64 bits";
