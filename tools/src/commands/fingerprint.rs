//! `hamdex fingerprint`: a fingerprint for each document.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_any::for_width;
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};
use hamdex_documents::{Document, Input, TooShort};
use hamdex_simhash::{FeatureFingerprinter, Fingerprinter, Lists, Outcome, Recipe};
use serde::Serialize;

use crate::documents;
use crate::documents::inputs::Inputs;
use crate::documents::recipe::{self, usage};
use crate::failure::{Failure, shown};
use crate::input::{LineReader, Notation, Source, announce_terminal_input, has_pipe};
use crate::messages::{self, counted};
use crate::option_values::Threads;
use crate::output::{Force, Output, inputs_or_standard_input, temp_dir};
use crate::standard_output::write_json;
use crate::{names, option_values, standard_output};

/// Print the fingerprints of documents.
///
/// A line for each document: the fingerprint in hexadecimal, a tab, the document's id, as
/// `hamdex build --ids names` reads it. A text with fewer features than the recipe requires has no reliable
/// fingerprint: it is reported on standard error, counted, and left out (with --json it has a line, with null
/// for the fingerprint).
///
/// With --features, the inputs are features with weights that another program has made: a feature, a tab and its
/// weight on each line (without a tab, the weight is 1), and a blank line after each document. The recipe's hash
/// makes the fingerprint, as seomoz and yanyiwu need it. With --features=hashes, the features are the hashes
/// themselves. Ids are the numbers of the documents, from 1. In a pipe, a document is answered when its blank line
/// arrives; with --json, every document has an answer.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex fingerprint articles.jsonl
  zcat pages.csv.gz | hamdex fingerprint --format csv --text-field body --json
  hamdex fingerprint --recipe \"default weight=once\" --width 128 notes/
  terms page.txt | hamdex fingerprint --recipe yanyiwu --features")]
pub(crate) struct Args {
    /// The inputs are features with weights, given by another program
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "texts",
        conflicts_with_all = ["parquet", "idf", "stop_words", "format", "id_field"]
    )]
    features: Option<FeatureKind>,
    /// Print a JSON object for each document
    #[arg(long)]
    json: bool,
    /// Write a Parquet file with the columns id and fingerprint (a number; for 128 bits, hexadecimal) instead
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    parquet: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Bits of a fingerprint [default: the recipe's]
    #[arg(long, value_name = "BITS", value_parser = option_values::width(), help_heading = "Fingerprints")]
    width: Option<u32>,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    inputs: Inputs,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short_features: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let (recipe, lists) = args.recipe.load(args.width)?;
    if let Some(kind) = args.features {
        args.inputs.fields.refuse_for("features")?;
        let paths = args.inputs.paths()?;
        return for_width!(recipe.width.bits(), F => print_features::<F>(paths, kind, &recipe, args.json));
    }
    for_width!(recipe.width.bits(), F => fingerprint::<F>(args, &recipe, lists))
}

fn fingerprint<F: Fingerprint>(args: &Args, recipe: &Recipe, lists: Lists) -> Result<(), Failure> {
    let started = Instant::now();
    let fingerprinter = Fingerprinter::<F>::with_lists(recipe, lists).map_err(usage)?;
    let mut too_short = TooShort::default();
    let kind = if F::BITS == 64 { Kind::Number } else { Kind::Text };
    let columns = [("id", Kind::Text), ("fingerprint", kind)];
    let mut inputs = inputs_or_standard_input(args.inputs.paths()?);
    args.recipe.files().for_each(|list| inputs.add(list));
    let create = |path| -> Result<Rows, Failure> {
        let file = Output::new(path, args.force, &inputs).create()?;
        Ok(Rows::new(file, TableFormat::Parquet, &columns)?)
    };
    let mut rows = args.parquet.as_deref().map(create).transpose()?;
    let mut output = standard_output::buffered();
    let mut sink = |document: Document, outcome: Outcome<F>| {
        too_short.note(&document.id, &outcome);
        match &mut rows {
            Some(rows) => {
                outcome.reliable().map_or(Ok(()), |fingerprint| push(rows, &document.id, fingerprint))
            }
            None => print(&mut output, args.json, &document, &outcome),
        }
    };
    let reading = args.inputs.reading()?.temp_dir(&temp_dir(None, args.parquet.as_deref()));
    let counts = reading.read(|documents| documents.fingerprint(&fingerprinter, &mut sink))?;
    output.flush()?;
    documents::require_some(&counts)?;
    rows.map_or(Ok(()), Rows::finish)?;
    documents::summary(&counts, &too_short, started);
    Ok(())
}

fn push<F: Fingerprint>(rows: &mut Rows, id: &str, fingerprint: F) -> Result<(), Failure> {
    if F::BITS == 64 {
        rows.push(&[Cell::Text(id), Cell::Number(fingerprint.to_u128() as u64)])?;
    } else {
        rows.push(&[Cell::Text(id), Cell::Text(&fingerprint.hex().to_string())])?;
    }
    Ok(())
}

fn print<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    document: &Document,
    outcome: &Outcome<F>,
) -> Result<(), Failure> {
    let fingerprint = outcome.reliable();
    if json {
        let features = match outcome {
            Outcome::TooShort { features, .. } => Some(*features),
            Outcome::Fingerprint(_) => None,
        };
        let fingerprint = fingerprint.map(|fingerprint| fingerprint.hex().to_string());
        let line = Line { id: &document.id, fingerprint, too_short_features: features };
        write_json(output, &line)?;
    } else if let Some(fingerprint) = fingerprint {
        write!(output, "{}\t", fingerprint.hex())?;
        output.write_all(&names::written(document.id_bytes()))?;
        writeln!(output)?;
    }
    Ok(())
}

/// The longest line of a feature and its weight.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The kind of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FeatureKind {
    /// Words or other texts, which the recipe hashes
    Texts,
    /// Hashes: as many hexadecimal digits as a fingerprint has, 0x and digits, or decimal
    Hashes,
}

/// Prints the fingerprint of each document of the inputs.
fn print_features<F: Fingerprint>(
    paths: &[PathBuf],
    kind: FeatureKind,
    recipe: &Recipe,
    json: bool,
) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let is_prompt = has_pipe(paths);
    let paths = if paths.is_empty() { &standard_input } else { paths };
    announce_terminal_input(paths);
    let fingerprinter = FeatureFingerprinter::<F>::new(recipe).map_err(usage)?;
    let mut output = standard_output::buffered();
    let (mut documents, mut too_short) = (0u64, 0);
    for path in paths {
        let mut features = Features::open(path, kind)?;
        while let Some(outcome) = features.next_document(&fingerprinter, recipe)? {
            documents += 1;
            too_short += u64::from(outcome.is_too_short());
            print(&mut output, json, &Document::new(documents.to_string(), ""), &outcome)?;
            if is_prompt {
                output.flush()?;
            }
        }
    }
    output.flush()?;
    let short = if too_short == 0 { String::new() } else { format!(", {too_short} too short") };
    messages::summary(format_args!("{}{short}", counted(documents, "document", "documents")));
    Ok(())
}

/// The features of an input, document by document.
struct Features {
    lines: LineReader<Input>,
    kind: FeatureKind,
    has_ended: bool,
}

impl Features {
    fn open(path: &Path, kind: FeatureKind) -> Result<Self, Failure> {
        let input = Input::open(path)?;
        let source = Source { name: input.name().to_owned() };
        let lines = LineReader::new(source, input, b'\n', MAX_LINE_BYTES);
        Ok(Self { lines, kind, has_ended: false })
    }

    /// Returns the fingerprint of the next document; `None` at the end. A blank line ends a document.
    fn next_document<F: Fingerprint>(
        &mut self,
        fingerprinter: &FeatureFingerprinter<F>,
        recipe: &Recipe,
    ) -> Result<Option<Outcome<F>>, Failure> {
        let (mut failure, mut has_features) = (None, false);
        let votes = std::iter::from_fn(|| {
            let vote = self.next_vote(recipe).unwrap_or_else(|error| {
                failure = Some(error);
                None
            });
            has_features |= vote.is_some();
            vote
        });
        let outcome = fingerprinter.weighted_hashes(votes);
        match failure {
            Some(failure) => Err(failure),
            None if self.has_ended && !has_features => Ok(None),
            None => Ok(Some(outcome)),
        }
    }

    /// Returns the hash of the next feature, and its weight; `None` at the end of the document.
    fn next_vote<F: Fingerprint>(&mut self, recipe: &Recipe) -> Result<Option<(F, f64)>, Failure> {
        let Some(read) = self.lines.next_line()? else {
            self.has_ended = true;
            return Ok(None);
        };
        let line = read.bytes.strip_suffix(b"\n").unwrap_or(read.bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Ok(None);
        }
        let (feature, weight) = match line.iter().rposition(|&byte| byte == b'\t') {
            Some(tab) => (&line[..tab], Some(String::from_utf8_lossy(&line[tab + 1..]))),
            None => (line, None),
        };
        let weight = weight.map_or(Ok(1.0), |text| match text.trim().parse::<f64>() {
            Ok(weight) if weight.is_finite() => Ok(weight),
            _ => Err(read.complaint(format_args!(
                "expected a feature, a tab and its weight, a number; found {}",
                shown(&text)
            ))),
        })?;
        let hash = match self.kind {
            FeatureKind::Texts => recipe.hash.of(feature),
            FeatureKind::Hashes => {
                let text = String::from_utf8_lossy(feature);
                let parsed = Notation::Either.parse(text.trim());
                parsed.map_err(|error| read.complaint(format_args!("hash {}: {error}", shown(&text))))?
            }
        };
        Ok(Some((hash, weight)))
    }
}
