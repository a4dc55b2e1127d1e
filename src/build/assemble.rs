//! From tables to a file, front to back.

use std::path::Path;

use crate::build::census::Census;
use crate::build::file_id::file_id;
use crate::build::ids::SpooledIds;
use crate::build::options::BuildOptions;
use crate::build::output::Output;
use crate::build::sections::Sections;
use crate::build::summary::Summary;
use crate::build::table::TablesWriter;
use crate::build::tables::{Tables, Turn};
use crate::design::Design;
use crate::error::BuildError;
use crate::format::checksum::UnitKind;
use crate::format::footer::Footer;
use crate::format::header::FileId;
use crate::metadata;
use crate::permutation::Permutation;
use crate::progress::Phase;
use hamdex_fingerprint::Fingerprint;

/// Writes a whole file.
pub(super) fn assemble<F: Fingerprint, T: Tables<F>>(
    options: &BuildOptions<F>,
    temp_dir: &Path,
    output: Output<'_>,
    mut tables: T,
) -> Result<(Summary, FileId), BuildError> {
    let census = take_census(options, &mut tables)?;
    let fingerprints = census.fingerprints;
    let design = options.choose_design(fingerprints)?;
    let file_id = file_id(options, &design, (census.digest, fingerprints));
    let mut file = Sections::start(output, file_id)?;
    let mut writer = TablesWriter::new(options, &design, fingerprints);

    let ids = if options.ids {
        let mut ids = SpooledIds::new(census.ids.unwrap_or((0, 0)), temp_dir)?;
        let entries = writer.first(&mut file, census.counts, &mut tables, &mut |batch| ids.push(batch))?;
        Some(ids.write(&mut file, fingerprints, &entries, options)?)
    } else {
        writer.first(&mut file, census.counts, &mut tables, &mut |_| Ok(()))?;
        None
    };
    turn_to_others(&design, fingerprints, &mut tables, |tables| writer.next(&mut file, tables))?;

    for (number, keys) in writer.keys.iter().enumerate() {
        file.keys(number, keys)?;
    }
    file.copy(UnitKind::Metadata, &mut metadata::to_bytes(&options.metadata).as_slice())?;
    let footer = Footer {
        width: F::BITS,
        layout: options.layout(),
        distance: design.distance(),
        design: design.name().to_owned(),
        fingerprints,
        ids,
        tables: writer.records,
        sections: file.records().to_vec(),
    };
    let bytes = file.end(&footer)?;
    let ids = ids.map_or(0, |ids| ids.count);
    let summary = Summary { pushed: tables.read(), fingerprints, ids, design: footer.design, bytes };
    Ok((summary, file_id))
}

/// Counts what there is.
fn take_census<F: Fingerprint, T: Tables<F>>(
    options: &BuildOptions<F>,
    tables: &mut T,
) -> Result<Census<T::Record>, BuildError> {
    let phase = Phase::Sort { table: 0, tables: options.known_tables() };
    let done = options.counter(phase, None)?;
    let mut census = Census::new();
    tables.records(&mut |batch| {
        let before = census.fingerprints;
        census.add(batch);
        Ok(done.add(census.fingerprints - before)?)
    })?;
    Ok(census)
}

/// Does something with each table but the first.
fn turn_to_others<F: Fingerprint, T: Tables<F>>(
    design: &Design<F>,
    fingerprints: u64,
    tables: &mut T,
    mut with: impl FnMut(&mut T) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    for (number, table) in design.tables().iter().enumerate().skip(1) {
        let permutation = Permutation::new(table.mask);
        tables.turn_to(Turn {
            number,
            tables: design.tables().len(),
            permutation: &permutation,
            fingerprints,
        })?;
        with(tables)?;
    }
    Ok(())
}
