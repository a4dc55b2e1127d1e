//! Writing tables: the code, the blocks, the keys and the filter of each.

use std::convert::Infallible;
use std::io::{self, Seek, Write};
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};
use tempfile::{SpooledTempFile, spooled_tempfile_in};

use crate::codec::{BlockCodec, Codec, count_differences};
use crate::design::Design;
use crate::digest::SetDigest;
use crate::error::BuildError;
use crate::filter_bits::{Geometry, LINE_BYTES, prefix_of};
use crate::format::checksum::UnitKind;
use crate::format::footer::TableRecord;
use crate::progress::Phase;
use crate::table::writer::{BlockCounter, TableWriter, Written, min_entries};
use crate::threads::{join, map_in_order, map_numbers};
use crate::writer::options::BuildOptions;
use crate::writer::sections::Sections;
use crate::writer::{Record, TableSource, Visit, spill};
use hamdex_fingerprint::Fingerprint;

/// Calls a visitor with all batches of a table.
type Pass<'p, R> = dyn FnMut(&mut Visit<'_, R>) -> Result<(), BuildError> + Send + 'p;

/// Writes the tables of a file in turn.
pub(super) struct TablesWriter<'a, F> {
    options: &'a BuildOptions<F>,
    design: &'a Design<F>,
    fingerprints: u64,
    /// The codec of the table before, whose code the next one may share.
    codec: Option<BlockCodec>,
    /// The footer's records of the written tables.
    pub(super) records: Vec<TableRecord>,
    /// Their keys.
    pub(super) keys: Vec<Vec<F>>,
    /// The filter that each table will have.
    geometries: Vec<Option<Geometry>>,
    /// The filters of the written tables.
    pub(super) filters: Vec<Option<FilterWriter>>,
    temp_dir: &'a Path,
}

impl<'a, F: Fingerprint> TablesWriter<'a, F> {
    pub(super) fn new(
        options: &'a BuildOptions<F>,
        design: &'a Design<F>,
        fingerprints: u64,
        geometries: Vec<Option<Geometry>>,
        temp_dir: &'a Path,
    ) -> Self {
        let (records, keys, filters) = (Vec::new(), Vec::new(), Vec::new());
        Self { options, design, fingerprints, codec: None, records, keys, geometries, filters, temp_dir }
    }

    /// Writes table 0, in which the occurrences of each h are `counts`. Meanwhile `also` receives each batch.
    /// Returns the number of entries in each block.
    pub(super) fn first<T: TableSource<F>>(
        &mut self,
        file: &mut Sections<'_>,
        counts: Vec<u64>,
        tables: &mut T,
        also: &mut Visit<'_, T::Record>,
    ) -> Result<Vec<u16>, BuildError> {
        let codec = self.choose_codec(&counts);
        let written = self.blocks(file, &codec, &mut |visit| tables.records(visit), also)?;
        Ok(self.close(&codec, counts, written))
    }

    /// Writes another table, which `tables` has selected.
    pub(super) fn next(
        &mut self,
        file: &mut Sections<'_>,
        tables: &mut impl TableSource<F>,
    ) -> Result<(), BuildError> {
        let mut counter = Counter::new();
        // If no code depends on the counts, they are taken while the values are written.
        let is_counted_first = self.options.layout().codec == Codec::Huffman;
        if is_counted_first {
            let (table, tables_in_all) = (self.records.len(), self.design.tables().len());
            let phase = Phase::Sort { table, tables: tables_in_all };
            let done = self.options.counter(phase, Some(self.fingerprints))?;
            tables.values(&mut |batch| {
                counter.add(batch);
                Ok(done.add(batch.len() as u64)?)
            })?;
        }
        let codec = self.choose_codec(&counter.counts);
        let written = self.blocks(file, &codec, &mut |visit| tables.values(visit), &mut |batch| {
            if !is_counted_first {
                counter.add(batch);
            }
            Ok(())
        })?;
        self.close(&codec, counter.counts, written);
        Ok(())
    }

    fn choose_codec(&mut self, counts: &[u64]) -> BlockCodec {
        let codec = BlockCodec::from_counts(self.options.layout(), counts, self.codec.as_ref());
        self.codec.insert(codec).clone()
    }

    fn blocks<R: Record<Fingerprint = F>>(
        &mut self,
        file: &mut Sections<'_>,
        codec: &BlockCodec,
        pass: &mut Pass<'_, R>,
        also: &mut Visit<'_, R>,
    ) -> Result<Written<F>, BuildError> {
        self.check_number_of_blocks(codec, pass)?;
        let number = self.records.len();
        let phase = Phase::Write { table: number, tables: self.design.tables().len() };
        let block_bytes = self.options.layout().block_bytes;
        let in_temp_dir = |source| spill::failed(self.temp_dir, source);
        let filter = self.geometries[number].map(|geometry| FilterWriter::new(geometry, self.temp_dir));
        let mut filter = filter.transpose().map_err(in_temp_dir)?;
        let written = file.blocks(UnitKind::Block, number, block_bytes, |context, output| {
            let mut writer = TableWriter::new(codec.clone(), context.clone());
            let done = self.options.counter(phase, Some(self.fingerprints))?;
            pass(&mut |batch| {
                // A fingerprint with several ids comes several times.
                let values = batch.iter().map(Record::fingerprint);
                let prefixes = || match &mut filter {
                    Some(filter) => filter.push(batch, Record::fingerprint).map_err(in_temp_dir),
                    None => Ok(()),
                };
                let (taken, (also, filtered)) =
                    join(|| writer.push(values, output), || join(|| also(batch), prefixes));
                let taken = taken.map_err(output.failed())?;
                also?;
                filtered?;
                Ok(done.add(taken)?)
            })?;
            writer.finish(output).map_err(output.failed())
        })?;
        if written.entries.iter().map(|&entries| u64::from(entries)).sum::<u64>() != self.fingerprints {
            return Err(BuildError::Changed { what: "the source of the index" });
        }
        self.filters.push(filter);
        Ok(written)
    }

    /// Refuses a table of more blocks than a file may have, before any of it is written. Only where that is
    /// possible at all, which takes hundreds of billions of fingerprints, are the blocks counted.
    fn check_number_of_blocks<R: Record<Fingerprint = F>>(
        &self,
        codec: &BlockCodec,
        pass: &mut Pass<'_, R>,
    ) -> Result<(), BuildError> {
        let max_blocks = self.options.max_blocks;
        let min_entries = min_entries::<F>(self.options.layout().block_bytes);
        if self.fingerprints / min_entries < max_blocks {
            return Ok(());
        }
        let (table, tables) = (self.records.len(), self.design.tables().len());
        let done = self.options.counter(Phase::Sort { table, tables }, Some(self.fingerprints))?;
        let mut counter = BlockCounter::new(codec.clone());
        pass(&mut |batch| {
            counter.push(batch.iter().map(Record::fingerprint));
            Ok(done.check()?)
        })?;
        match counter.finish() {
            blocks if blocks <= max_blocks => Ok(()),
            blocks => Err(BuildError::Option {
                option: "the number of blocks in a table",
                given: blocks.to_string(),
                expected: format!("at most {max_blocks}; take larger blocks or several files"),
            }),
        }
    }

    /// Records the footer's entry of a written table; returns the number of entries in each of
    /// its blocks.
    fn close(&mut self, codec: &BlockCodec, counts: Vec<u64>, written: Written<F>) -> Vec<u16> {
        let table = self.design.tables()[self.records.len()];
        let mut code_lengths = codec.code_lengths().to_vec();
        code_lengths.resize(F::BITS as usize, 0);
        self.records.push(TableRecord {
            mask: table.mask.to_u128(),
            radius: table.radius,
            blocks: written.keys.len() as u64,
            code_lengths,
            counts,
        });
        self.keys.push(written.keys);
        written.entries
    }
}

/// Records that one thread counts at a time.
const COUNT_CHUNK: usize = 1 << 16;

/// Counts the occurrences of each h between neighbours, batch by batch.
pub(super) struct Counter<F> {
    pub(super) counts: Vec<u64>,
    before: Option<F>,
}

impl<F: Fingerprint> Counter<F> {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; F::BITS as usize], before: None }
    }

    /// Counts a strictly ascending batch above the previous ones, on all threads.
    pub(super) fn add(&mut self, batch: &[F]) {
        let parts = of_chunks(
            self.before,
            batch,
            |&value| value,
            |before, values| {
                let mut counts = vec![0; F::BITS as usize];
                count_differences(before, values, &mut counts);
                counts
            },
        );
        parts.iter().for_each(|part| add_to(&mut self.counts, part));
        self.before = batch.last().copied().or(self.before);
    }
}

/// Counts over a set of records.
pub(super) struct Census<R> {
    pub(super) counts: Vec<u64>,
    pub(super) records: u64,
    pub(super) fingerprints: u64,
    pub(super) digest: SetDigest,
    /// The least and the greatest id.
    pub(super) ids: Option<(u64, u64)>,
    before: Option<R>,
}

impl<R: Record> Census<R> {
    pub(super) fn new() -> Self {
        let counts = vec![0; R::Fingerprint::BITS as usize];
        Self { counts, records: 0, fingerprints: 0, digest: SetDigest::default(), ids: None, before: None }
    }

    /// Takes an ascending batch, not below the previous ones, on all threads.
    pub(super) fn add(&mut self, batch: &[R]) {
        let before = self.before.map(|record| record.fingerprint());
        for part in of_chunks(before, batch, Record::fingerprint, Self::of) {
            add_to(&mut self.counts, &part.counts);
            self.records += part.records;
            self.fingerprints += part.fingerprints;
            self.digest.join(part.digest);
            self.add_ids(part.ids);
        }
        self.before = batch.last().copied().or(self.before);
    }

    fn of(before: Option<R::Fingerprint>, records: &[R]) -> Self {
        let mut census = Self::new();
        // A fingerprint with several ids counts once, at its first record.
        let fingerprints = records.iter().map(Record::fingerprint);
        let mut distinct: Vec<R::Fingerprint> = fingerprints.skip_while(|&x| before == Some(x)).collect();
        distinct.dedup();
        count_differences(before, &distinct, &mut census.counts);
        census.records = records.len() as u64;
        census.fingerprints = distinct.len() as u64;
        for record in records {
            record.digest(&mut census.digest);
            census.add_ids(record.id().map(|id| (id, id)));
        }
        census
    }

    fn add_ids(&mut self, ids: Option<(u64, u64)>) {
        if let Some((least, greatest)) = ids {
            let so_far = self.ids.unwrap_or((least, greatest));
            self.ids = Some((so_far.0.min(least), so_far.1.max(greatest)));
        }
    }
}

/// Returns the result of `work` for each chunk of a batch and the fingerprint before it.
fn of_chunks<R: Sync, F: Fingerprint, T: Send>(
    before: Option<F>,
    batch: &[R],
    fingerprint: impl Fn(&R) -> F + Sync,
    work: impl Fn(Option<F>, &[R]) -> T + Sync,
) -> Vec<T> {
    let of_chunk = |(): &mut (), number| {
        let start: usize = number * COUNT_CHUNK;
        let before = start.checked_sub(1).map_or(before, |last| Some(fingerprint(&batch[last])));
        Ok::<T, Infallible>(work(before, &batch[start..batch.len().min(start + COUNT_CHUNK)]))
    };
    let Ok(results) = map_numbers(batch.len().div_ceil(COUNT_CHUNK), || (), of_chunk);
    results
}

fn add_to(sums: &mut [u64], parts: &[u64]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}

/// Values that one thread takes at a time.
const CHUNK: usize = 1 << 16;

/// Bytes of a filter that are kept in memory; longer ones wait for the end of the file in a temporary file.
const KEPT_BYTES: usize = 8 << 20;

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 18;

/// The words of a line, and its number.
type Line = (u64, [u64; 8]);

/// Takes the values of a table in order.
pub(super) struct FilterWriter {
    geometry: Geometry,
    output: io::BufWriter<SpooledTempFile>,
    /// The line that later values may still change.
    current: Line,
}

impl FilterWriter {
    pub(super) fn new(geometry: Geometry, temp_dir: &Path) -> io::Result<Self> {
        let spool = spooled_tempfile_in(KEPT_BYTES, temp_dir);
        let mut output = io::BufWriter::with_capacity(GATHER_BYTES, spool);
        output.write_all(&geometry.head())?;
        Ok(Self { geometry, output, current: (0, [0; 8]) })
    }

    /// Takes ascending values, not below the previous ones, by all threads. `value` returns that of an entry in the
    /// order of the table's bits.
    pub(super) fn push<R: Sync, F: Fingerprint>(
        &mut self,
        entries: &[R],
        value: impl Fn(&R) -> F + Sync,
    ) -> io::Result<()> {
        let geometry = self.geometry;
        let prefix = |entry: &R| prefix_of(value(entry), geometry.prefix_bits);
        let chunks = entries.chunks(CHUNK).collect();
        let lines =
            |(): &mut (), chunk: &[R]| Ok::<_, Infallible>(lines_of(&geometry, chunk.iter().map(prefix)));
        let Ok(chunks) = map_in_order(chunks, || (), lines);
        chunks.into_iter().flatten().try_for_each(|line| self.put(line))
    }

    fn put(&mut self, (number, words): Line) -> io::Result<()> {
        if number == self.current.0 {
            self.current.1.iter_mut().zip(words).for_each(|(word, bits)| *word |= bits);
            return Ok(());
        }
        self.write_up_to(number)?;
        self.current = (number, words);
        Ok(())
    }

    /// Writes the current line, and empty ones up to another.
    fn write_up_to(&mut self, number: u64) -> io::Result<()> {
        let mut bytes = [0; LINE_BYTES];
        LittleEndian::write_u64_into(&self.current.1, &mut bytes);
        self.output.write_all(&bytes)?;
        (self.current.0 + 1..number).try_for_each(|_| self.output.write_all(&[0; LINE_BYTES]))
    }

    /// Returns the contents of the section, to be read.
    pub(super) fn finish(mut self) -> io::Result<io::BufReader<SpooledTempFile>> {
        self.write_up_to(self.geometry.lines)?;
        let mut spool = self.output.into_inner().map_err(io::IntoInnerError::into_error)?;
        spool.rewind()?;
        Ok(io::BufReader::with_capacity(GATHER_BYTES, spool))
    }
}

/// Returns the lines of ascending prefixes that have a bit.
fn lines_of(geometry: &Geometry, prefixes: impl Iterator<Item = u64>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for prefix in prefixes {
        let number = geometry.line(prefix);
        if lines.last().is_none_or(|line| line.0 != number) {
            lines.push((number, [0; 8]));
        }
        let (_, words) = lines.last_mut().expect("one has been added");
        geometry.marks(prefix).into_iter().for_each(|(word, bits)| words[word as usize] |= bits);
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::digest::scramble;
    use crate::writer::{BuildOptions, Builder};
    use crate::{BuildError, Codec, Design};

    /// Builds with at most `max_blocks` blocks per table; returns the outcome, and how many bytes have been written.
    fn build(codec: Codec, max_blocks: u64) -> (Result<(), BuildError>, usize) {
        let mut options = BuildOptions::new().codec(codec).block_bytes(512).ids(true);
        options = options.design(Design::named("single", 3).unwrap());
        options.max_blocks = max_blocks;
        let mut bytes = Vec::new();
        let mut builder = Builder::<u64, _>::to_writer(&mut bytes, options).unwrap();
        (0..40_000).try_for_each(|id| builder.push_with_id(scramble(id / 2), id)).unwrap();
        let outcome = builder.into_inner().map(drop);
        (outcome, bytes.len())
    }

    #[test]
    fn too_many_blocks_are_known_before_the_table_is_written() {
        for codec in Codec::ALL {
            let max_blocks = (1..).step_by(8).find(|&max_blocks| build(codec, max_blocks).0.is_ok()).unwrap();
            let least = (max_blocks - 8..).find(|&max_blocks| build(codec, max_blocks).0.is_ok()).unwrap();
            assert!(least > 100, "{codec}: {least}");
            let (refused, written) = build(codec, least - 1);
            let Err(BuildError::Option { given, expected, .. }) = refused else { panic!("{refused:?}") };
            assert_eq!(given, least.to_string());
            assert!(expected.contains("larger blocks"), "{expected}");
            assert_eq!(written, 4096, "nothing but the header");
        }
    }
}
