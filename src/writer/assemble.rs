//! From tables to a file, front to back.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::design::Design;
use crate::error::BuildError;
use crate::format::FileId;
use crate::format::checksum::UnitKind;
use crate::format::footer::Footer;
use crate::lookup::hash_of_name;
use crate::metadata;
use crate::permutation::Permutation;
use crate::progress::{Counter, Phase};
use crate::writer::directory::{ColumnSource, Each, NameSpool};
use crate::writer::ids::{LookupWriter, SpooledIds};
use crate::writer::options::BuildOptions;
use crate::writer::pairs::ShingleSpool;
use crate::writer::sections::{Output, Sections, file_id};
use crate::writer::sort::Sorter;
use crate::writer::tables_writer::{Census, FilterWriter, TablesWriter};
use crate::writer::{Record, Select, Summary, TableSource, spill};
use hamdex_fingerprint::Fingerprint;

/// Divisor of the memory for sorting: the share of the ids, if all of them are needed; the rest is for the
/// records.
const ID_MEMORY_SHARE: usize = 8;

/// The columns of a file.
#[derive(Default)]
pub(crate) struct Columns<'s> {
    pub(crate) names: Option<Box<dyn ColumnSource<Spool = NameSpool> + 's>>,
    pub(crate) shingles: Option<Box<dyn ColumnSource<Spool = ShingleSpool<'s>> + 's>>,
}

impl Columns<'_> {
    /// Returns whether a column needs all ids of the file.
    fn want_ids(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names.wants_ids())
            || self.shingles.as_ref().is_some_and(|shingles| shingles.wants_ids())
    }
}

/// Writes a whole file.
pub(super) fn assemble<F: Fingerprint, T: TableSource<F>>(
    options: &BuildOptions<F>,
    temp_dir: &Path,
    output: Output<'_>,
    mut tables: T,
    columns: Columns<'_>,
) -> Result<(Summary, FileId), BuildError> {
    let mut all_ids =
        columns.want_ids().then(|| Sorter::new(options.sort_memory() / ID_MEMORY_SHARE, temp_dir));
    let census = take_census(options, &mut tables, all_ids.as_mut())?;
    let done = options.silent_counter(Phase::Ids);
    let all_ids = all_ids.map(|ids| ids.finish(&done)).transpose()?;
    let names = columns.names.map(|names| names.spool(all_ids.as_ref())).transpose()?;
    names.as_ref().map_or(Ok(()), |names| names.directory().check_bounds(census.ids))?;
    let shingles = columns.shingles.map(|shingles| shingles.spool(all_ids.as_ref())).transpose()?;
    shingles.as_ref().map_or(Ok(()), |shingles| shingles.directory().check_bounds(census.ids))?;
    drop(all_ids);
    let fingerprints = census.fingerprints;
    let design = options.choose_design(fingerprints)?;
    let filters = options.filter.filters(&design, fingerprints, options.layout());
    let digests = [names.as_ref().map(NameSpool::digest), shingles.as_ref().map(ShingleSpool::digest)];
    let file_id = file_id(options, &design, (census.digest, fingerprints), digests, &filters);
    let mut file = Sections::start(output, file_id)?;
    let mut writer = TablesWriter::new(options, &design, fingerprints, filters, temp_dir);

    let lookup = |count| LookupWriter::new(count, options.sort_memory() / ID_MEMORY_SHARE, temp_dir);
    let mut id_lookup = None;
    let ids = if options.ids {
        let by_id = options.lookups.then(|| (lookup(census.records), options.silent_counter(Phase::Ids)));
        let mut ids = SpooledIds::new(census.ids.unwrap_or((0, 0)), by_id, temp_dir)?;
        let entries = writer.first(&mut file, census.counts, &mut tables, &mut |batch| ids.push(batch))?;
        id_lookup = ids.take_lookup().map(|lookup| lookup.finish(&done)).transpose()?;
        Some(ids.write(&mut file, fingerprints, &entries, options)?)
    } else {
        writer.first(&mut file, census.counts, &mut tables, &mut |_| Ok(()))?;
        None
    };
    let mut name_lookup = None;
    if let Some(names) = names {
        let mut by_name = options.lookups.then(|| lookup(names.directory().count()));
        let mut each = by_name.as_mut().map(|by_name| {
            move |number, name: &[u8], done: &Counter| by_name.push(hash_of_name(name), number, done)
        });
        names.write(&mut file, options, each.as_mut().map(|each| each as &mut Each<'_>))?;
        name_lookup = by_name.map(|lookup| lookup.finish(&done)).transpose()?;
    }
    turn_to_others(&design, fingerprints, &mut tables, |tables| writer.next(&mut file, tables))?;

    for (number, keys) in writer.keys.iter().enumerate() {
        file.keys(number, keys)?;
    }
    file.copy(UnitKind::Metadata, &mut metadata::to_bytes(&options.metadata).as_slice())?;
    let pushed = tables.read();
    // Its memory is that of sorting shingles.
    drop(tables);
    let behind = Optional { filters: std::mem::take(&mut writer.filters), shingles, id_lookup, name_lookup };
    behind.write(&mut file, options, temp_dir)?;
    let footer = Footer {
        width: F::BITS,
        layout: options.layout(),
        distance: design.distance(),
        design: design.name().to_owned(),
        fingerprints,
        ids,
        names: options.names,
        tables: writer.records,
        sections: file.records().to_vec(),
    };
    let bytes = file.end(&footer)?;
    let ids = ids.map_or(0, |ids| ids.count);
    let summary = Summary { pushed, fingerprints, ids, design: footer.design, bytes };
    Ok((summary, file_id))
}

/// The optional sections, in the order of the file.
struct Optional<'s> {
    filters: Vec<Option<FilterWriter>>,
    shingles: Option<ShingleSpool<'s>>,
    id_lookup: Option<BufReader<File>>,
    name_lookup: Option<BufReader<File>>,
}

impl Optional<'_> {
    fn write<F: Fingerprint>(
        self,
        file: &mut Sections<'_>,
        options: &BuildOptions<F>,
        temp_dir: &Path,
    ) -> Result<(), BuildError> {
        for (number, filter) in self.filters.into_iter().enumerate() {
            if let Some(filter) = filter {
                let mut contents = filter.finish().map_err(|source| spill::failed(temp_dir, source))?;
                file.copy_of(UnitKind::Filter, number, &mut contents)?;
            }
        }
        let done = options.silent_counter(Phase::Ids);
        let pairs = self.shingles.map(|shingles| shingles.write_directory(file, &done)).transpose()?;
        for (kind, lookup) in [(UnitKind::IdLookup, self.id_lookup), (UnitKind::NameLookup, self.name_lookup)]
        {
            if let Some(mut contents) = lookup {
                file.copy(kind, &mut contents)?;
            }
        }
        pairs.map_or(Ok(()), |pairs| pairs.write(file, (options.sort_memory(), temp_dir), &done))
    }
}

/// Counts the records. Gathers all ids if they are needed.
fn take_census<F: Fingerprint, T: TableSource<F>>(
    options: &BuildOptions<F>,
    tables: &mut T,
    mut ids: Option<&mut Sorter<u64>>,
) -> Result<Census<T::Record>, BuildError> {
    let phase = Phase::Sort { table: 0, tables: options.known_tables() };
    let done = options.counter(phase, None)?;
    let mut census = Census::new();
    tables.records(&mut |batch| {
        let before = census.fingerprints;
        census.add(batch);
        if let Some(ids) = &mut ids {
            batch.iter().filter_map(Record::id).try_for_each(|id| ids.push(id, &done))?;
        }
        Ok(done.add(census.fingerprints - before)?)
    })?;
    Ok(census)
}

/// Selects each table after the first, and calls `with`.
fn turn_to_others<F: Fingerprint, T: TableSource<F>>(
    design: &Design<F>,
    fingerprints: u64,
    tables: &mut T,
    mut with: impl FnMut(&mut T) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    for (number, table) in design.tables().iter().enumerate().skip(1) {
        let permutation = Permutation::new(table.mask);
        tables.select(Select {
            number,
            tables: design.tables().len(),
            permutation: &permutation,
            fingerprints,
        })?;
        with(tables)?;
    }
    Ok(())
}
