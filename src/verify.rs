//! Verification: reads every byte, and checks every order and every count.

use crate::codec::{Scratch, count_differences};
use crate::digest::SetDigest;
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::filter_bits::prefix_of;
use crate::format;
use crate::format::PAGE_BYTES;
use crate::format::checksum::{Context, UnitKind};
use crate::format::section::{Section, check_zeros};
use crate::ids::reader::IdTable;
use crate::index::Index;
use crate::index::read_ahead::Windows;
use crate::lookup::{hash_of_id, hash_of_name};
use crate::memory::QUERY_HEADROOM_BYTES;
use crate::progress::{Counter, Phase, Report};
use crate::shingles::{ShingleTable, table};
use crate::table::{Table, runs_of};
use crate::threads::{Pool, map_in_order};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Blocks that one thread reads between two reports.
const BLOCKS_PER_TASK: usize = 256;

/// The amounts that a verification has read without an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Files: of an index 1; the segments of a store; the shards of a set.
    pub files: usize,
    /// Families of shards, each of which has every fingerprint; 1 unless there are more.
    pub families: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Tables of all files.
    pub tables: usize,
    /// Blocks of all tables.
    pub blocks: u64,
    /// Distinct fingerprints; an upper bound if one may be in several files, and including removed ones in a
    /// store.
    pub fingerprints: u64,
    /// Ids; 0 if there are none.
    pub ids: u64,
    /// Names; 0 if there are none.
    pub names: u64,
    /// Documents without shingles, in files that have shingles: no text is found to be similar to them.
    pub without_shingles: u64,
    /// Batches in the logs of a store.
    pub batches: u64,
    /// Sentences about what else was found, which is not damage: the leftovers of a crash, for example.
    pub notes: Vec<String>,
}

impl Verified {
    /// Adds the amounts of another file of the same set. The number of families stays.
    pub fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.tables += other.tables;
        self.blocks += other.blocks;
        self.fingerprints += other.fingerprints;
        self.ids += other.ids;
        self.names += other.names;
        self.without_shingles += other.without_shingles;
        self.batches += other.batches;
        self.notes.extend_from_slice(&other.notes);
    }
}

/// Options of a verification; the defaults suit most uses.
///
/// ```
/// use hamdex::{Builder, Index, VerifyOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("small.hamdex");
/// let mut builder = Builder::<u64>::new(&path)?;
/// (0..1000).try_for_each(|i| builder.push(i))?;
/// builder.finish()?;
///
/// let index = Index::<u64>::open(&path)?;
/// let options = VerifyOptions::new().threads(2).progress(|progress| {
///     println!("{} of {:?} blocks", progress.done, progress.total);
/// });
/// assert_eq!(index.verify_with(&options)?.fingerprints, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    threads: usize,
    report: Report,
}

impl VerifyOptions {
    /// Returns the defaults: all threads, no report.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of threads; 0, the default, for all: see [the crate](crate#threads-memory-progress).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    crate::progress::report_setters!();
}

/// Facts gathered from the blocks of a table.
struct Gathered {
    entries: Vec<usize>,
    counts: Vec<u64>,
    digest: SetDigest,
}

type Verify<F> = fn(&Index<F>, &Report) -> Result<Verified, ReadError>;

per_width! {
    compiled_verify: Verify = Index::verify_all;
}

impl<F: Fingerprint> Index<F> {
    /// Reads the whole file and checks everything: all checksums and padding, the order of entries
    /// and keys, all counts and codebooks, ids, and that all tables hold the same fingerprints.
    ///
    /// By all threads: see [`VerifyOptions`].
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<Verified, ReadError> {
        self.verify_with(&VerifyOptions::new())
    }

    /// As [`Index::verify`], with options.
    ///
    /// # Errors
    /// The first damage found; when no thread can be started; or when the work is cancelled.
    pub fn verify_with(&self, options: &VerifyOptions) -> Result<Verified, ReadError> {
        let pool = Pool::new(options.threads, QUERY_HEADROOM_BYTES)
            .map_err(|error| self.error(ReadErrorKind::Threads(error).into()))?;
        pool.install(|| compiled_verify()(self, &options.report)).map_err(|error| self.error(error))
    }

    fn verify_all(&self, report: &Report) -> Result<Verified, ReadError> {
        let file = self.data.as_ref();
        self.verify_padding(file)?;
        self.metadata_section.verify(file)?;
        let blocks = self.tables.iter().map(|table| table.keys.len() as u64).sum();
        let done = report.counter(Phase::Verify, Some(blocks))?;
        let check_cancelled = || done.check().map_err(ReadError::from);
        self.verify_unread_sections(file, &check_cancelled)?;
        let (mut first_digest, mut names, mut without_shingles) = (None, 0, 0);
        for table in &self.tables {
            let gathered = self.verify_table(file, table, &done)?;
            if *first_digest.get_or_insert(gathered.digest) != gathered.digest {
                let place = Place::Table { table: table.number };
                return Err(ReadError::damaged(place, "it holds other fingerprints than table 0"));
            }
            if let (0, Some(ids)) = (table.number, &self.ids) {
                ids.verify(file, &gathered.entries, &check_cancelled)?;
                if let Some(table) = &self.names {
                    names = table.verify(file, ids, &check_cancelled)?;
                }
                if let Some(ShingleTable::Listed { directory, pairs }) = &self.shingles {
                    let documents = pairs.documents(file, directory, None)?;
                    documents.verify(ids, &check_cancelled)?;
                    without_shingles = pairs.verify(file, &documents, &check_cancelled)?;
                }
                self.verify_lookups(ids, &check_cancelled)?;
            }
        }
        Ok(Verified {
            files: 1,
            families: 1,
            bytes: file.len() as u64,
            tables: self.tables.len(),
            blocks,
            fingerprints: self.len(),
            ids: self.ids.as_ref().map_or(0, |ids| ids.record.count),
            names,
            without_shingles,
            ..Verified::default()
        })
    }

    /// Look-ups lead to all ids and names.
    fn verify_lookups(
        &self,
        ids: &IdTable,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let file = self.data.as_ref();
        if let Some(lookup) = &self.id_lookup {
            let hash_at = |place| Ok(hash_of_id(ids.id_at(file, place)?));
            lookup.open(file, ids.record.count)?.verify(hash_at, check_cancelled)?;
        }
        if let (Some(lookup), Some(names)) = (&self.name_lookup, &self.names) {
            let names = names.open(file, None)?;
            let hash_at = |number| Ok(hash_of_name(names.name(number)?));
            lookup.open(file, names.len())?.verify(hash_at, check_cancelled)?;
        }
        Ok(())
    }

    /// Everything between the sections is zero; so is the rest of the header page.
    fn verify_padding(&self, file: &[u8]) -> Result<(), ReadError> {
        check_zeros(file, format::HEADER_BYTES..PAGE_BYTES as usize)?;
        let mut end = PAGE_BYTES;
        for section in &self.footer.sections {
            check_zeros(file, end as usize..section.offset as usize)?;
            end = section.end().expect("it lies inside the file");
        }
        Ok(())
    }

    /// Checks the checksums of optional sections that this version does not read: unknown kinds, and the shingles of an
    /// earlier version.
    fn verify_unread_sections(
        &self,
        file: &[u8],
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let is_old = matches!(self.shingles, Some(ShingleTable::Old));
        for record in self.footer.optional_sections() {
            let context = Context::new(self.header.file_id, record.kind, record.table as usize);
            let (offset, length) = (record.offset as usize, record.length as usize);
            let place = match record.kind {
                UnitKind::Other(kind) => Place::Section { kind },
                UnitKind::ShingleDirectory | UnitKind::ShingleKeys if is_old => Place::Shingles,
                UnitKind::ShinglePairs if is_old => {
                    table::verify_checksums(&file[offset..offset + length], context, check_cancelled)?;
                    continue;
                }
                _ => continue,
            };
            Section::new(place, context, offset, length).verify_while(file, check_cancelled)?;
        }
        Ok(())
    }

    fn verify_table(&self, file: &[u8], table: &Table<F>, done: &Counter) -> Result<Gathered, ReadError> {
        let keys = self
            .footer
            .sections
            .iter()
            .find(|section| section.kind == UnitKind::Keys && section.table as usize == table.number);
        let keys = keys.expect("every table has keys");
        let context = Context::new(self.header.file_id, UnitKind::Keys, table.number);
        let place = Place::Keys { table: table.number };
        let keys = Section::new(place, context, keys.offset as usize, keys.length as usize);
        let check_cancelled = || done.check().map_err(ReadError::from);
        keys.verify_while(file, &check_cancelled)?;
        if let Some(filter) = &table.filter {
            filter.section().verify_while(file, &check_cancelled)?;
        }

        let tasks: Vec<usize> = (0..table.keys.len()).step_by(BLOCKS_PER_TASK).collect();
        let parts = map_in_order(
            tasks,
            || (Scratch::default(), Vec::new(), self.read_ahead.windows(&self.data)),
            |(scratch, values, windows), start| {
                let end = table.keys.len().min(start + BLOCKS_PER_TASK);
                let part = verify_blocks(file, table, start..end, windows, scratch, values)?;
                done.add((end - start) as u64)?;
                Ok::<_, ReadError>(part)
            },
        )?;

        let mut whole =
            Gathered { entries: Vec::new(), counts: vec![0; F::BITS as usize], digest: SetDigest::default() };
        for part in parts {
            whole.entries.extend(part.entries);
            whole.counts.iter_mut().zip(&part.counts).for_each(|(sum, count)| *sum += count);
            whole.digest.join(part.digest);
        }
        let entries: u64 = whole.entries.iter().map(|&entries| entries as u64).sum();
        let place = Place::Table { table: table.number };
        if entries != self.len() {
            return Err(ReadError::damaged(
                place,
                format_args!("it holds {entries} entries; the footer says {}", self.len()),
            ));
        }
        if whole.counts != self.footer.tables[table.number].counts {
            return Err(ReadError::damaged(
                place,
                "the counts of first differing positions are not those in the footer",
            ));
        }
        Ok(whole)
    }
}

fn verify_blocks<F: Fingerprint>(
    file: &[u8],
    table: &Table<F>,
    blocks: std::ops::Range<usize>,
    windows: &mut Windows<'_>,
    scratch: &mut Scratch<F>,
    values: &mut Vec<F>,
) -> Result<Gathered, ReadError> {
    let mut part =
        Gathered { entries: Vec::new(), counts: vec![0; F::BITS as usize], digest: SetDigest::default() };
    let keys = table.keys.in_file(file);
    for run in runs_of(blocks) {
        for block in run.clone() {
            windows.reach(table, block);
            // A verification ignores earlier checks.
            table.check(file, block)?;
        }
        values.clear();
        table.decode_run(file, run.clone(), scratch, values)?;
        let before = run.start.checked_sub(1).map(|before| keys.get(before));
        count_differences(before, values, &mut part.counts);
        let mut rest = values.as_slice();
        for block in run {
            // Its key is its last entry.
            let entries = rest.partition_point(|&value| value <= keys.get(block));
            part.entries.push(entries);
            rest = &rest[entries..];
        }
        for &value in values.iter() {
            part.digest.add(table.permutation.undo(value));
        }
        if let Some(filter) = &table.filter {
            let bits = filter.geometry().prefix_bits;
            let filter = filter.in_file(file);
            for &value in values.iter() {
                if !filter.may_have(prefix_of(value, bits))? {
                    let place = Place::Filter { table: table.number };
                    return Err(ReadError::damaged(place, "it lacks a prefix that the table has"));
                }
            }
        }
    }
    Ok(part)
}
