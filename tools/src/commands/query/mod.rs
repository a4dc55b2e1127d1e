//! `hamdex query`: the stored fingerprints near given ones.
//!
//! - [`answer`]: answers to queries by fingerprint, or by those of texts
//! - [`similar`]: answers to queries by text, from the shingles of documents

mod answer;
mod similar;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use hamdex::{Fingerprint, Match, Names, OpenOptions, RECIPE_KEY, Strategy};
use hamdex_any::for_width;
use hamdex_documents::tables::{Cell, Kind};
use serde::Serialize;

use crate::commands::Set;
use crate::documents::{inputs as documents, recipe};
use crate::failure::Failure;
use crate::ids::{self, Ids, TableOutput, id_kind};
use crate::input::{Format, Source, announce_terminal_input};
use crate::messages::{self, counted};
use crate::option_values::{Named, Threads, named};
use crate::output::{Force, check_not_mixed};
use crate::standard_output::{self, write_json};
use crate::{names, option_values};
use answer::{Answerer, Asked};

const STRATEGIES: &Named<Strategy> = &[
    ("auto", "The faster one", Strategy::Auto),
    ("probe", "Look up each query in the blocks that can hold matches", Strategy::Probe),
    ("scan", "Scan the whole first table once, comparing it with all queries", Strategy::Scan),
];

/// Find the stored documents or fingerprints similar to given ones.
///
/// Texts: A set that keeps the shingles of its documents (--shingles) answers queries by text exactly, by the
/// definition of `hamdex dedup`. --similar finds documents that share at least a part T of all shingles of the
/// two. --containing finds documents that contain at least a part C of the text, such as longer ones that quote
/// it. --contained finds documents of which the text contains at least a part C. Each is 0.7 if no number is
/// given. Without them, a text is compared as with --similar 0.7, unless an option of fingerprints such as -k or
/// --recipe is given. --nearest M finds the M most similar documents, at any similarity. A blank text is similar
/// to nothing.
///
/// A line has the similarity and the document, the most similar first. With --documents, the id of the query's
/// document comes first.
///
/// Fingerprints: Prints one line per match: query, fingerprint, distance and, if the index has them, ids. Lines
/// are in the order of the queries, then of distance, then of fingerprint. The exit code is 0 also if there is
/// no match. The first 10 ids are printed, then +M for M more; --ids-limit sets another limit. With --json,
/// ids_count is the number of all ids. Commas separate ids. A name with a comma, a control character, or a
/// leading + or " is in double quotes, with the escapes of `hamdex build --ids names`.
///
/// Batches take a fraction of the time per query. The queries of a file are answered together. Those of a pipe
/// are answered as they come, so a program can wait for each answer. --strategy scan waits for all queries, up
/// to a million.
///
/// The first lines of a file, or the first line of a pipe, decide whether numbers are hexadecimal or decimal. A
/// number of exactly 16 (for 128 bits, 32) decimal digits fits both, and is read as hexadecimal unless --format
/// decimal is given. A later line that contradicts is an error.
///
/// An index of documents has the recipe of its fingerprints, which --text, --document and --documents use, and
/// the names of the documents, which are printed as ids. Fingerprints compare whole documents: a text that is a
/// small part of a stored one is not near it.
///
/// With --each, every query has one line, even without a match: the query, the number of matches, and the
/// fingerprint, distance and ids of each, separated by tabs. With --json, the line is an object with an array of
/// matches. Lines are flushed when no more queries wait, so a program in any language can keep one hamdex
/// running, write a query and read a line. With --documents, a document that is too short has - for the number.
/// A document of a pipe that cannot be read, such as one without a text, has its place and - for the number, with --json
/// an error; in a file it has no line. With --strict the command ends there.
///
/// A file can have names next to its fingerprints: lines of a fingerprint, a tab and a name, or the column
/// --id-field (id) of CSV, TSV, Parquet and Arrow. A line of the output then begins with the name in place of
/// the fingerprint; with --json, the field document has the name. Rows without a fingerprint are skipped and
/// counted; with --each, they are errors.
///
/// With --documents, --file (or standard input) has documents, in any format that `hamdex dedup` reads. A line
/// then begins with the id of the document in place of the fingerprint; with --json, the field document has the
/// id. Documents too short for a reliable fingerprint are reported and skipped.
///
/// A store is queried as it is at the start, even while another process writes to it. A set of shards is queried
/// as one index; with families, a query within the distance of the set reads one file per family.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex query news.hamdex 0123456789abcdef
  hamdex query news.hamdex --file queries.txt --distance 5 --json
  hamdex query news.hamdex --file million.u64 --strategy scan > near.tsv
  hamdex query news.hamdex -- -4611686018427387904
  hamdex query photos.hamdex --file new.tsv -k 6 -o known.csv
  hamdex query news.hamdex --each --file - < questions > answers
  hamdex query articles.hamdex --document draft.html
  hamdex query articles.hamdex --containing 0.5 --document quoted.txt
  hamdex query articles.hamdex --documents --file today.jsonl --first"
)]
pub(crate) struct Args {
    /// The index file, or the directory of a store or of shards
    #[arg(value_name = "FILE")]
    index: PathBuf,
    /// Fingerprints to find: 16 (32) hexadecimal digits, 0x and digits, or decimal
    #[arg(value_name = "FINGERPRINT", allow_negative_numbers = true)]
    fingerprints: Vec<String>,
    /// A file of fingerprints to find, or with --documents of documents; - for standard input
    #[arg(long, value_name = "F")]
    file: Option<PathBuf>,
    /// The file has documents, not fingerprints; FORMAT is as for --format
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with_all = ["fingerprints", "text", "document", "fingerprint_field"]
    )]
    documents: Option<Format>,
    #[command(flatten)]
    fields: documents::Fields,
    /// Find documents similar to this text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["fingerprints", "file", "fingerprint_field", "id_field"])]
    text: Option<String>,
    /// Find documents similar to this text or HTML file; - for standard input
    #[arg(long, value_name = "F", conflicts_with_all = ["fingerprints", "file", "text", "fingerprint_field", "id_field"])]
    document: Option<PathBuf>,
    /// Find the documents that share at least this part of all shingles with the text: above 0, at most 1 [without
    /// a number: 0.7]
    #[arg(
        long,
        value_name = "T",
        num_args = 0..=1,
        allow_negative_numbers = true,
        default_missing_value = "0.7",
        value_parser = option_values::share,
        conflicts_with_all = ["distance", "strategy", "no_ids", "ids_limit", "fingerprint_field", "containing", "contained"]
    )]
    similar: Option<f64>,
    /// Find the documents that contain at least this part of the text's shingles [without a number: 0.7]
    #[arg(
        long,
        value_name = "C",
        num_args = 0..=1,
        allow_negative_numbers = true,
        default_missing_value = "0.7",
        value_parser = option_values::share,
        conflicts_with_all = ["distance", "strategy", "no_ids", "ids_limit", "fingerprint_field", "contained"]
    )]
    containing: Option<f64>,
    /// Find the documents of whose shingles the text contains at least this part [without a number: 0.7]
    #[arg(
        long,
        value_name = "C",
        num_args = 0..=1,
        allow_negative_numbers = true,
        default_missing_value = "0.7",
        value_parser = option_values::share,
        conflicts_with_all = ["distance", "strategy", "no_ids", "ids_limit", "fingerprint_field"]
    )]
    contained: Option<f64>,
    #[command(flatten)]
    recipe: recipe::Options,
    /// The format of the file; hex and decimal also apply to fingerprints on the command line
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// The column of fingerprints in Parquet, Arrow, CSV and TSV files
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    fingerprint_field: String,
    /// Find fingerprints within K bits; beyond the index's own distance this takes longer [default: the index's]
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// Print one match per query: the first fingerprint found, or the most similar document
    #[arg(long, conflicts_with = "nearest")]
    first: bool,
    /// Find the M nearest fingerprints or most similar documents: within -k or --similar if given, else at any distance
    #[arg(long, value_name = "M")]
    nearest: Option<usize>,
    /// Print at most N matches per query
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print at most N ids per match, the least first, and +M for M more; all for all
    #[arg(long, value_name = "N", default_value = ids::DEFAULT_LIMIT, value_parser = option_values::ids_limit)]
    ids_limit: usize,
    /// Do not print ids
    #[arg(long, conflicts_with = "ids_limit")]
    no_ids: bool,
    /// The way to answer many queries together
    #[arg(long, value_parser = named(STRATEGIES), default_value = "auto", conflicts_with_all = ["first", "nearest"])]
    strategy: Strategy,
    /// Print one line per query, even without a match: the query, then each match with its distance and ids
    #[arg(long, conflicts_with = "output")]
    each: bool,
    /// Write a table to this file, not to standard output: a row for each id of each match. The ending says the format:
    /// .jsonl, .csv, .tsv (with .zst or .gz after it: compressed), .parquet or .arrow. The file appears when it is
    /// complete
    #[arg(short, long, value_name = "OUT", alias = "out")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object per match; with --each, per query; with -o, one with the numbers of queries and matches
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    // A few queries are answered before keys and filters would have been copied.
    let has_few = args.file.is_none() && args.documents.is_none();
    let set = hamdex_any::open_with(&args.index, &OpenOptions::new().map_keys(has_few))?;
    for_width!(set.description().width, F => query(args, Set::<F>::of(&set)))
}

fn query<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        check_not_mixed(path, args.json)?;
    }
    if let Some(condition) = similar::condition(args, set)? {
        return similar::answer(args, set, &condition);
    }
    let mut answerer = Answerer::new(args, set)?;
    if args.documents.is_none() {
        args.fields.refuse_for("fingerprints")?;
    }
    if let Some(format) = args.documents {
        answer::answer_documents(args, set, args.format.either(format)?, &mut answerer)?;
        return answerer.finish();
    }
    let mut queries: Vec<F> = answer::fingerprint(args, set)?.into_iter().collect();
    let is_of_text = !queries.is_empty();
    if !is_of_text {
        args.recipe.refuse_without("--text, --document and --documents")?;
    }
    for text in &args.fingerprints {
        queries.push(args.format.notation().parse_argument(text)?);
    }
    answerer.answer_all(&queries, Asked::Fingerprints)?;
    let file = match &args.file {
        Some(file) => Some(file.clone()),
        None if is_of_text => None,
        None if args.fingerprints.is_empty() && io::stdin().is_terminal() => {
            return Err(Failure::Usage("name a fingerprint to look for, or --file".to_owned()));
        }
        None if args.fingerprints.is_empty() => Some(PathBuf::from("-")),
        None => None,
    };
    if let Some(file) = file {
        answerer.answer_file(file).map_err(|failure| {
            if set.description.metadata.contains_key(RECIPE_KEY) { failure.or_documents() } else { failure }
        })?;
    }
    answerer.finish()
}

/// Returns the text of `--text` or `--document`, and its source.
fn given_text(args: &Args) -> Result<Option<(Source, String)>, Failure> {
    Ok(match (&args.text, &args.document) {
        (Some(text), _) => Some((Source { name: "--text".to_owned() }, text.clone())),
        (None, Some(path)) => {
            announce_terminal_input([path]);
            let source = Source { name: path.display().to_string() };
            Some((source, hamdex_documents::read_text(path)?))
        }
        (None, None) => None,
    })
}

/// The object that `--json` prints if the matches go to a file.
#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Counts {
    queries: u64,
    matches: u64,
}

impl Counts {
    /// Completes the file of the matches, and says how many it has.
    fn finish(self, table: TableOutput, json: bool) -> Result<(), Failure> {
        table.finish()?;
        messages::summary(format_args!(
            "{} of {}",
            counted(self.matches, "match", "matches"),
            counted(self.queries, "query", "queries")
        ));
        if json { standard_output::print_json(&self) } else { Ok(()) }
    }
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    query: String,
    #[serde(flatten)]
    near: Near<'a>,
}

/// A match in a line of `--json`.
#[derive(Serialize)]
struct Near<'a> {
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids_count: Option<u64>,
}

impl<'a> Near<'a> {
    fn of<F: Fingerprint>(found: &Match<F>, ids: Option<Ids<'a>>) -> Self {
        let fingerprint = found.fingerprint.hex().to_string();
        Self { fingerprint, distance: found.distance, ids_count: ids.as_ref().and_then(Ids::count), ids }
    }
}

/// A line of `--each --json`.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short_features: Option<usize>,
    matches: Vec<Near<'a>>,
}

/// That of a document that cannot be read.
#[derive(Serialize)]
struct SkippedAnswer<'a> {
    error: &'a str,
    matches: [(); 0],
}

/// Writes one line with all matches of a query, also if there are none. `ids` has those of each match, or nothing.
fn print_each<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    (query, document): (F, Option<&[u8]>),
    matches: &[Match<F>],
    ids: Vec<Ids<'_>>,
) -> Result<(), Failure> {
    let mut ids = ids.into_iter();
    if json {
        let matches = matches.iter().map(|found| Near::of(found, ids.next())).collect();
        let query = Some(query.hex().to_string());
        let document = document.map(Names::text_of);
        return line_of_json(output, &Answer { document, query, too_short_features: None, matches });
    }
    print_query(output, query, document)?;
    write!(output, "\t{}", matches.len())?;
    for found in matches {
        write!(output, "\t{}\t{}", found.fingerprint.hex(), found.distance)?;
        if let Some(ids) = ids.next() {
            ids.print(output)?;
        }
    }
    Ok(writeln!(output)?)
}

/// Writes the line of a document that is too short for a query.
fn print_too_short(
    output: &mut impl Write,
    json: bool,
    document: &[u8],
    features: usize,
) -> Result<(), Failure> {
    if json {
        let (document, too_short_features) = (Some(Names::text_of(document)), Some(features));
        return line_of_json(output, &Answer { document, query: None, too_short_features, matches: vec![] });
    }
    output.write_all(&names::written(document))?;
    Ok(writeln!(output, "\t-")?)
}

/// Writes the line of a document of a pipe that cannot be read.
fn print_skipped(output: &mut impl Write, json: bool, skipped: &documents::Skipped) -> Result<(), Failure> {
    if json {
        return line_of_json(output, &SkippedAnswer { error: &skipped.error, matches: [] });
    }
    output.write_all(&names::written(skipped.place.as_bytes()))?;
    Ok(writeln!(output, "\t-")?)
}

fn line_of_json(output: &mut impl Write, line: &impl Serialize) -> Result<(), Failure> {
    Ok(write_json(output, line)?)
}

fn print_query<F: Fingerprint>(output: &mut impl Write, query: F, document: Option<&[u8]>) -> io::Result<()> {
    match document {
        Some(document) => output.write_all(&names::written(document)),
        None => write!(output, "{}", query.hex()),
    }
}

/// Returns the columns of a table of matches; with ids, which are names or numbers.
fn columns(ids: Option<bool>) -> Vec<(&'static str, Kind)> {
    let texts = ["document", "query", "fingerprint"].map(|name| (name, Kind::Text));
    let mut columns = [&texts[..], &[("distance", Kind::Number)]].concat();
    if let Some(has_names) = ids {
        columns.extend([("id", id_kind(has_names)), ("ids_count", Kind::Number)]);
    }
    columns
}

/// Writes a match of a query to a table.
fn push<F: Fingerprint>(
    table: &mut TableOutput,
    (query, document): (F, Option<&[u8]>),
    found: &Match<F>,
    ids: Option<Ids<'_>>,
) -> Result<(), Failure> {
    let document = document.map(Names::text_of).unwrap_or_default();
    let (query, fingerprint) = (query.hex().to_string(), found.fingerprint.hex().to_string());
    let texts = [&document[..], &query, &fingerprint].map(Cell::Text);
    let cells = [&texts[..], &[Cell::Number(found.distance.into())]].concat();
    match ids {
        Some(ids) => table.push_with_ids(&cells, &ids),
        None => table.push(&cells),
    }
}

/// Writes a match of a query, or of the document behind it.
fn print<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    (query, document): (F, Option<&[u8]>),
    found: &Match<F>,
    ids: Option<Ids<'_>>,
) -> Result<(), Failure> {
    if json {
        let (document, query) = (document.map(Names::text_of), query.hex().to_string());
        return line_of_json(output, &Line { document, query, near: Near::of(found, ids) });
    }
    print_query(output, query, document)?;
    write!(output, "\t{}\t{}", found.fingerprint.hex(), found.distance)?;
    if let Some(ids) = ids {
        ids.print(output)?;
    }
    Ok(writeln!(output)?)
}
