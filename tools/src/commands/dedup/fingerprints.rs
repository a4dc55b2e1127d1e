//! Clusters of precomputed fingerprints.

use std::io::{self, BufWriter, Write};

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};
use hamdex_documents::{Clusters, Dedup};

use crate::commands::dedup::Args;
use crate::failure::Failure;
use crate::input::{self, Beside, Columns, Format, Found};
use crate::names;

/// Options for inputs that are fingerprints.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The inputs are fingerprints, not texts: near-duplicates are within -k bits (default 3); FORMAT is as
    /// for --format
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with_all = ["recipe", "idf", "stop_words"]
    )]
    fingerprints: Option<Format>,
    /// With --fingerprints: their column in Parquet, Arrow, CSV and TSV files
    #[arg(
        long,
        value_name = "NAME",
        default_value = "fingerprint",
        requires = "fingerprints",
        hide_short_help = true
    )]
    fingerprint_field: String,
    /// With --fingerprints: the source of ids
    #[arg(long, value_enum, default_value = "names", requires = "fingerprints", hide_short_help = true)]
    ids: Ids,
}

/// The source of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ids {
    /// The rest of each line, as in `FINGERPRINT<TAB>NAME`, or the column --id-field (id); the row number if
    /// the rest is empty
    Names,
    /// The 0-based number of the fingerprint over all inputs
    Row,
}

impl Options {
    pub(super) fn are_given(&self) -> bool {
        self.fingerprints.is_some()
    }
}

/// Reads the inputs as fingerprints and finds their clusters.
pub(super) fn clusters<F: Fingerprint>(args: &Args, dedup: &Dedup<'_, F>) -> Result<Clusters, Failure> {
    args.inputs.fields.refuse_for_fingerprints()?;
    if args.unique {
        check_files(args)?;
        check_columns::<F>(args)?;
    }
    dedup.run_on_fingerprints(|sink| {
        read(args, &mut |fingerprint, found| {
            match found {
                Found::Name(name) => sink(&name, fingerprint)?,
                Found::Row(row) => sink(row.to_string().as_bytes(), fingerprint)?,
                Found::Id(_) | Found::Nothing => unreachable!("names or rows are read"),
            }
            Ok(())
        })
    })
}

fn read<F: Fingerprint>(args: &Args, sink: &mut input::Sink<'_, F>) -> Result<(), Failure> {
    input::read::<F>(&reading(args)?, sink)
}

fn reading(args: &Args) -> Result<input::Reading<'_>, Failure> {
    let options = &args.fingerprints;
    Ok(input::Reading {
        paths: args.inputs.paths()?,
        format: args.inputs.format.either(options.fingerprints.unwrap_or(Format::Auto))?,
        columns: Columns {
            fingerprint: &options.fingerprint_field,
            id: args.inputs.fields.id_name(),
            is_id_optional: false,
        },
        beside: if options.ids == Ids::Names { Beside::NameIfAny } else { Beside::Nothing },
        temp_dir: args.temp_dir.as_deref(),
        is_prompt: false,
        needs_each: false,
    })
}

/// Refuses to lose the other columns of tables without permission.
fn check_columns<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    if args.drop_columns {
        return Ok(());
    }
    input::with_other_columns::<F>(&reading(args)?)?.map_or(Ok(()), |name| {
        Err(Failure::Wrong(format!(
            "{name}: fingerprints and ids alone are written, and all other columns are lost (--drop-columns does that)"
        )))
    })
}

/// Refuses inputs that cannot be read twice.
fn check_files(args: &Args) -> Result<(), Failure> {
    let paths = args.inputs.paths()?;
    match paths.iter().find(|path| !path.is_file()) {
        None if !paths.is_empty() => Ok(()),
        path => Err(Failure::Usage(format!(
            "{}: --fingerprints with --unique reads its inputs twice; name files",
            path.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
        ))),
    }
}

/// Writes the fingerprints that remain, which are read again.
pub(super) fn unique<F: Fingerprint>(
    args: &Args,
    clusters: &Clusters,
    format: Option<TableFormat>,
    file: AtomicFile,
) -> Result<(), Failure> {
    let mut wanted = clusters.unique().peekable();
    let is_binary = matches!(format, Some(TableFormat::Parquet | TableFormat::Arrow));
    let as_number = is_binary && F::BITS == 64;
    let columns = [("id", Kind::Text), ("fingerprint", if as_number { Kind::Number } else { Kind::Text })];
    let mut output = match format {
        Some(format) => Written::Rows(Rows::new(file, format, &columns)?),
        None => Written::Lines(BufWriter::new(file)),
    };
    let mut row = 0u64;
    read::<F>(args, &mut |fingerprint, _| {
        let number = row;
        row += 1;
        let Some(document) = wanted.next_if(|&document| u64::from(document) == number) else { return Ok(()) };
        let id = clusters.id(document)?;
        let hex = fingerprint.hex().to_string();
        match &mut output {
            Written::Rows(rows) if as_number => {
                rows.push(&[Cell::Text(&id), Cell::Number(fingerprint.to_u128() as u64)])?;
            }
            Written::Rows(rows) => rows.push(&[Cell::Text(&id), Cell::Text(&hex)])?,
            Written::Lines(lines) => {
                write!(lines, "{hex}\t")?;
                lines.write_all(&names::written(&clusters.id_bytes(document)?))?;
                lines.write_all(b"\n")?;
            }
        }
        Ok(())
    })?;
    if row != clusters.counts().documents {
        return Err(hamdex_documents::Error::Changed.into());
    }
    match output {
        Written::Rows(rows) => Ok(rows.finish()?),
        Written::Lines(lines) => Ok(lines.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?),
    }
}

/// The output of [`unique`].
enum Written {
    Rows(Rows),
    Lines(BufWriter<AtomicFile>),
}
