//! Clusters of precomputed fingerprints.

use std::io::{self, BufWriter, Write};

use clap::ValueEnum;
use hamdex::{Fingerprint, Names};
use hamdex_atomic_file::{AtomicDirectory, AtomicFile};
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};
use hamdex_documents::{Clusters, Copied, Dedup, Document, Documents};

use crate::commands::dedup::{Args, output};
use crate::documents;
use crate::failure::Failure;
use crate::input::{self, Beside, Columns, Form, Format, Found, InputKinds};
use crate::names;
use crate::progress;

/// Options for inputs that are fingerprints.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The inputs are fingerprints, not texts: near-duplicates are within -k bits (default 3); FORMAT is as
    /// for --format
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with_all = ["recipe", "idf", "stop_words"]
    )]
    fingerprints: Option<Format>,
    /// With --fingerprints: their column in Parquet, Arrow, CSV and TSV files
    #[arg(long, value_name = "NAME", default_value = "fingerprint", requires = "fingerprints")]
    fingerprint_field: String,
    /// With --fingerprints: the source of ids
    #[arg(long, value_enum, default_value = "names", requires = "fingerprints")]
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

/// Returns the inputs as documents whose rows are to be copied; their text is the fingerprint.
pub(super) fn reading_of(args: &Args) -> Result<documents::inputs::Reading, Failure> {
    args.inputs.fields.refuse_for("fingerprints")?;
    let mut fields = args.inputs.fields.clone();
    fields.text_fields = vec![args.fingerprints.fingerprint_field.clone()];
    documents::inputs::Reading::new(args.inputs.paths_once()?, Format::Auto, &fields)
}

/// Reads the inputs as fingerprints and finds their clusters. If rows are to be copied, returns what the inputs are, too.
pub(super) fn clusters<F: Fingerprint>(
    args: &Args,
    dedup: &Dedup<'_, F>,
    copied: Option<&documents::inputs::Reading>,
) -> Result<(Clusters, InputKinds), Failure> {
    args.inputs.fields.refuse_for("fingerprints")?;
    let reading = reading(args)?;
    let mut inputs = InputKinds::default();
    let clusters = dedup.run_on_fingerprints(|sink| {
        let mut rows = |fingerprint: Option<F>, found: Found, value: Option<String>| {
            let Some(fingerprint) = fingerprint else { return Ok(()) };
            Ok::<(), Failure>(sink(&id_of(found), fingerprint, value.as_deref())?)
        };
        match copied {
            Some(copied) => {
                inputs = copied.read(|documents| input::read_to_copy(&reading, documents, &mut rows))?;
                check_forms(args, &inputs)
            }
            None => {
                let bar = progress::of_bytes("Reading", input::total_bytes(&reading.paths));
                let outcome = input::read_rows(&reading, &bar, &mut rows);
                bar.finish_and_clear();
                outcome
            }
        }
    })?;
    Ok((clusters, inputs))
}

fn id_of(found: Found) -> Vec<u8> {
    match found {
        Found::Name(name) => name,
        Found::Row(row) => row.to_string().into_bytes(),
        Found::Id(_) | Found::Nothing => unreachable!("names or rows are read"),
    }
}

fn reading(args: &Args) -> Result<input::Reading, Failure> {
    let options = &args.fingerprints;
    // Copied rows have the column of ids.
    if options.ids == Ids::Row && !args.unique {
        args.inputs.fields.refuse_id_field()?;
    }
    Ok(input::Reading {
        paths: args.inputs.paths_once()?.to_vec(),
        format: args.inputs.format.either(options.fingerprints.unwrap_or(Format::Auto))?,
        columns: Columns {
            fingerprint: options.fingerprint_field.clone(),
            id: args.inputs.fields.id_name().to_owned(),
            preferred: args.method.kept_field().map(str::to_owned),
            ..Columns::default()
        },
        beside: if options.ids == Ids::Names { Beside::NameIfAny } else { Beside::Nothing },
        temp_dir: args.temp_dir.clone(),
        ..input::Reading::default()
    })
}

/// Refuses a file in which fingerprints would stand in several forms, or as bytes in a text: they would be read as
/// others.
fn check_forms(args: &Args, inputs: &InputKinds) -> Result<(), Failure> {
    let mut forms = inputs.forms();
    let Some((first, form)) = forms.next().filter(|_| args.output_dir.is_none()) else { return Ok(()) };
    if let Some((name, other)) = forms.find(|(_, other)| *other != form) {
        return Err(Failure::Wrong(format!(
            "{name}: its fingerprints are {}, and those of {first} {}: one file takes fingerprints of one form \
             (--output-dir gives each file its own)",
            other.name(),
            form.name()
        )));
    }
    let has_bytes = match output::format_of(args.out.as_deref())? {
        Some(TableFormat::Parquet | TableFormat::Arrow) => !inputs.have_list(),
        Some(TableFormat::Csv | TableFormat::Tsv) => args.drop_columns,
        _ => false,
    };
    if form == Form::Bytes && !has_bytes {
        return Err(Failure::Wrong(format!(
            "{first}: its fingerprints are binary, which no text has: name a .parquet or .arrow file with --out, and take \
             no lists with it (--output-dir gives each file its own)"
        )));
    }
    Ok(())
}

/// The place of the rows that remain.
pub(super) enum Target {
    File(AtomicFile),
    Directory(AtomicDirectory),
}

/// Writes the rows that remain, which are read again: those of tables with all columns. Rows without a fingerprint
/// remain.
pub(super) fn unique<F: Fingerprint>(
    args: &Args,
    (clusters, inputs): (&Clusters, &InputKinds),
    copied: &documents::inputs::Reading,
    target: Target,
) -> Result<Copied, Failure> {
    let (reading, format) = (reading(args)?, output::format_of(args.out.as_deref())?);
    let target = match target {
        Target::File(file) if !inputs.have_table() => {
            return copied.read(|documents| {
                lists::<F>(&reading, documents, clusters, (format, inputs.missing > 0), file)
            });
        }
        target => target,
    };
    let is_decimal = inputs.forms().next().is_some_and(|(_, form)| form == Form::Decimal);
    let mut number = 0;
    let mut document = |fingerprint: F, is_list: bool| {
        let this = number;
        number += 1;
        if !is_list && !args.drop_columns {
            return Ok(Document::default());
        }
        let text = if is_decimal { fingerprint.to_u128().to_string() } else { fingerprint.hex().to_string() };
        Ok(Document::new(clusters.id(this)?, text))
    };
    let each = input::copy(&reading, inputs, &mut document);
    copied.read(|documents| match target {
        Target::File(file) => documents.copy_inputs(clusters.unique(), file, each),
        Target::Directory(directory) => documents.copy_input_files(clusters.unique(), directory, each),
    })
}

/// Writes what remains of lists: as lines, or as a table of ids and fingerprints.
fn lists<F: Fingerprint>(
    reading: &input::Reading,
    documents: &Documents,
    clusters: &Clusters,
    (format, has_missing): (Option<TableFormat>, bool),
    file: AtomicFile,
) -> Result<Copied, Failure> {
    let mut wanted = clusters.unique().peekable();
    let mut copied = Copied::default();
    let is_binary = matches!(format, Some(TableFormat::Parquet | TableFormat::Arrow));
    // Numbers have no room for a missing one.
    let as_number = is_binary && F::BITS == 64 && !has_missing;
    let columns = [("id", Kind::Text), ("fingerprint", if as_number { Kind::Number } else { Kind::Text })];
    let mut output = match format {
        Some(format) => Written::Rows(Rows::new(file, format, &columns)?),
        None => Written::Lines(BufWriter::new(file)),
    };
    let mut row = 0u64;
    input::read_to_copy::<F>(reading, &documents.quiet(), &mut |fingerprint, found, _| {
        let id = match fingerprint {
            Some(_) => {
                let number = row;
                row += 1;
                match wanted.next_if(|&document| u64::from(document) == number) {
                    Some(document) => clusters.id_bytes(document)?,
                    None => return Ok(()),
                }
            }
            None => id_of(found),
        };
        let hex = fingerprint.map(|fingerprint| fingerprint.hex().to_string()).unwrap_or_default();
        match (&mut output, fingerprint) {
            (Written::Rows(rows), Some(fingerprint)) if as_number => {
                rows.push(&[Cell::Text(&Names::text_of(&id)), Cell::Number(fingerprint.to_u128() as u64)])?;
            }
            (Written::Rows(rows), _) => rows.push(&[Cell::Text(&Names::text_of(&id)), Cell::Text(&hex)])?,
            (Written::Lines(lines), _) => {
                write!(lines, "{hex}\t")?;
                lines.write_all(&names::written(&id))?;
                lines.write_all(b"\n")?;
            }
        }
        copied.rows += 1;
        copied.unread += u64::from(fingerprint.is_none());
        Ok(())
    })?;
    match output {
        Written::Rows(rows) => rows.finish()?,
        Written::Lines(lines) => lines.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?,
    }
    Ok(copied)
}

/// The output of [`lists`].
enum Written {
    Rows(Rows),
    Lines(BufWriter<AtomicFile>),
}
