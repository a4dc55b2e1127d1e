//! `hamdex pairs`: all pairs of stored fingerprints that are near each other.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use hamdex::{Fingerprint, Match, Pair, PairsOptions, SetSearcher};
use hamdex_any::for_width;
use hamdex_atomic_file::Inputs;
use hamdex_documents::tables::{Cell, Kind};
use serde::Serialize;

use crate::commands::Set;
use crate::failure::Failure;
use crate::ids::{self, Ids, TableOutput, id_kind};
use crate::messages::{self, counted};
use crate::option_values::Threads;
use crate::output::{Force, check_not_mixed};
use crate::progress::Phases;
use crate::standard_output::{Object, write_json};
use crate::{option_values, standard_output};

/// Find all pairs of stored fingerprints that are near each other.
///
/// Prints one line per pair: the lower fingerprint, the higher one, their distance and, with --ids, the ids
/// of both. The order depends on the index, the distance and --memory, but not on --threads. A fingerprint is
/// stored once, so documents with equal fingerprints are not a pair: they are ids of the same fingerprint.
///
/// Pairs are printed as they are found. Many similar fingerprints can give very many pairs: --count prints only
/// their number. A fingerprint can also have very many ids: --ids prints the first 10 of each, and +M for M more;
/// --ids-limit sets another limit.
///
/// A file (-o) is a table with named columns, in the format of its ending. With --ids it has a row for each id of
/// one fingerprint with each id of the other, and the numbers of all ids of both.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex pairs news.hamdex
  hamdex pairs news.hamdex --count
  hamdex pairs articles.hamdex --distance 2 --ids -o near.parquet"
)]
pub(crate) struct Args {
    /// The index file, or the directory of a store or of shards
    #[arg(value_name = "FILE")]
    index: PathBuf,
    /// Find pairs within K bits; more than the index's own distance takes longer [default: the index's]
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// Print the ids of both as well; for documents, their names
    #[arg(long, conflicts_with = "count")]
    ids: bool,
    /// Print at most N ids of each, the least first, and +M for M more; all for all
    #[arg(
        long,
        value_name = "N",
        default_value = ids::DEFAULT_LIMIT,
        value_parser = option_values::ids_limit,
        requires = "ids"
    )]
    ids_limit: usize,
    /// Print one JSON object per pair; with --count, per distance; with -o, one with the number of pairs
    #[arg(long)]
    json: bool,
    /// Print only the number of pairs at each distance
    #[arg(long)]
    count: bool,
    /// Write to this file, by its ending .jsonl, .csv, .tsv (compressed with .zst or .gz behind it), .parquet or .arrow,
    /// instead of standard output; it appears only when it is complete
    #[arg(short, long, value_name = "OUT", alias = "out")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    threads: Threads,
    /// Memory for sorting; beyond that, temporary files are used [default: a quarter of the usable memory]
    #[arg(long, value_name = "SIZE", value_parser = option_values::size)]
    memory: Option<ByteSize>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let set = hamdex_any::open(&args.index)?;
    for_width!(set.description().width, F => pairs(args, Set::<F>::of(&set)))
}

fn pairs<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> Result<(), Failure> {
    let started = Instant::now();
    let distance = set.distance(args.distance)?;
    let inputs = Inputs::of([&args.index]);
    if let Some(path) = &args.output {
        check_not_mixed(path, args.json)?;
    }
    // Without an id, a pair would have no row.
    let with_ids = args.ids && args.ids_limit > 0;
    let columns = match args.count {
        true => COUNT_COLUMNS.to_vec(),
        false => columns(with_ids.then_some(set.description.has_names)),
    };
    let table = TableOutput::create(args.output.as_deref(), args.force, &inputs, &columns)?;
    if args.ids && !set.description.has_ids {
        return Err(Failure::usage_of(&args.index, "holds no ids to print"));
    }
    let phases = Arc::new(Phases::default());
    let mut options = PairsOptions::new().progress(phases.reporter()).threads(args.threads.count());
    if let Some(memory) = args.memory {
        options = options.memory(memory.as_u64());
    }
    let is_file = table.is_some();
    let work = Work { args, set, distance, options };
    let outcome = match table {
        Some(table) => work.write_table(table, with_ids),
        None => {
            // Few bytes: if memory is short, more would end the process.
            let mut output = BufWriter::new(standard_output::unbuffered());
            work.write(&mut output).and_then(|found| {
                output.flush()?;
                Ok(found)
            })
        }
    };
    phases.finish();
    let (found, seconds) = (outcome?, started.elapsed().as_secs_f64());
    if is_file && args.json {
        let summary = Object::default()
            .field("pairs", found)
            .field("fingerprints", set.description.fingerprints)
            .field("seconds", seconds);
        standard_output::print_json(&summary)?;
    }
    messages::summary(format_args!(
        "{} among {}{} in {:.1} s",
        counted(found, "pair", "pairs"),
        if set.description.is_counted { "" } else { "at most " },
        counted(set.description.fingerprints, "fingerprint", "fingerprints"),
        seconds
    ));
    Ok(())
}

/// Receives a pair, and where to look up its ids.
type Print<'p, F> = dyn FnMut(&Pair<F>, Option<&mut IdSource<'_, F>>) -> Result<(), Failure> + 'p;

struct Work<'a, F: Fingerprint> {
    args: &'a Args,
    set: Set<'a, F>,
    distance: u32,
    options: PairsOptions,
}

impl<F: Fingerprint> Work<'_, F> {
    /// Writes the pairs, or their number at each distance; returns how many there are.
    fn write(self, output: &mut impl Write) -> Result<u64, Failure> {
        if self.args.count {
            let counts = self.set.set.count_pairs(self.distance, &self.options)?;
            print_counts(output, self.args.json, &counts)?;
            return Ok(counts.iter().sum());
        }
        let form = if self.args.json { Form::Json } else { Form::Lines };
        let mut printer = Printer::new(output, form);
        self.visit(&mut |pair, ids| printer.print(pair, ids))
    }

    /// Writes the same as a table.
    fn write_table(self, mut table: TableOutput, with_ids: bool) -> Result<u64, Failure> {
        if self.args.count {
            let counts = self.set.set.count_pairs(self.distance, &self.options)?;
            for (distance, &pairs) in counts.iter().enumerate().skip(1) {
                table.push(&[Cell::Number(distance as u64), Cell::Number(pairs)])?;
            }
            table.finish()?;
            return Ok(counts.iter().sum());
        }
        let found = self.visit(&mut |pair, ids| push(&mut table, pair, ids.filter(|_| with_ids)))?;
        table.finish()?;
        Ok(found)
    }

    /// Calls `print` with every pair; returns how many there are.
    fn visit(&self, print: &mut Print<'_, F>) -> Result<u64, Failure> {
        let mut ids = self.args.ids.then(|| IdSource {
            searcher: self.set.set.open_searcher(),
            set: self.set,
            most: self.args.ids_limit,
        });
        let mut found = 0;
        self.set.set.pairs_with(self.distance, &self.options, |pairs| {
            pairs.iter().try_for_each(|pair| {
                print(pair, ids.as_mut())?;
                found += 1;
                Ok::<_, Failure>(())
            })
        })?;
        Ok(found)
    }
}

/// The form of a printed pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Lines,
    Json,
}

/// Looks up the ids of both fingerprints of a pair.
struct IdSource<'a, F: Fingerprint> {
    searcher: Box<dyn SetSearcher<F> + Send + 'a>,
    set: Set<'a, F>,
    /// The most ids of each.
    most: usize,
}

impl<'a, F: Fingerprint> IdSource<'a, F> {
    fn of(&mut self, pair: &Pair<F>) -> Result<(Ids<'_>, Ids<'_>), Failure> {
        let both = [pair.a, pair.b].map(|fingerprint| Match::new(fingerprint, fingerprint));
        let (names, most) = (self.set.names(), self.most);
        let lists = self.searcher.ids_of(&both, most)?;
        let mut ids = lists.into_iter().map(|ids| Ids::new(ids, names, most));
        let mut next = || ids.next().expect("a list for each");
        Ok((next()?, next()?))
    }
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    a: String,
    b: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    a_ids: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    a_ids_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_ids: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_ids_count: Option<u64>,
}

struct Printer<'a, W> {
    output: &'a mut W,
    form: Form,
}

impl<'a, W: Write> Printer<'a, W> {
    fn new(output: &'a mut W, form: Form) -> Self {
        Self { output, form }
    }

    fn print<F: Fingerprint>(
        &mut self,
        pair: &Pair<F>,
        source: Option<&mut IdSource<'_, F>>,
    ) -> Result<(), Failure> {
        let (a_ids, b_ids) = source.map(|source| source.of(pair)).transpose()?.unzip();
        let output = &mut *self.output;
        match self.form {
            Form::Json => {
                let (a, b) = (pair.a.hex().to_string(), pair.b.hex().to_string());
                let (a_ids_count, b_ids_count) =
                    (a_ids.as_ref().and_then(Ids::count), b_ids.as_ref().and_then(Ids::count));
                let line = Line { a, b, distance: pair.distance, a_ids, a_ids_count, b_ids, b_ids_count };
                serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
            }
            Form::Lines => {
                write!(output, "{}\t{}\t{}", pair.a.hex(), pair.b.hex(), pair.distance)?;
                for ids in [a_ids, b_ids].into_iter().flatten() {
                    ids.print(output)?;
                }
            }
        }
        writeln!(output)?;
        Ok(())
    }
}

/// Returns the columns of a table of pairs; with ids, which are names or numbers.
fn columns(ids: Option<bool>) -> Vec<(&'static str, Kind)> {
    let mut columns = vec![("a", Kind::Text), ("b", Kind::Text), ("distance", Kind::Number)];
    if let Some(has_names) = ids {
        let (id, count) = (id_kind(has_names), Kind::Number);
        columns.extend([("a_id", id), ("a_ids_count", count), ("b_id", id), ("b_ids_count", count)]);
    }
    columns
}

/// Writes a pair to a table.
fn push<F: Fingerprint>(
    table: &mut TableOutput,
    pair: &Pair<F>,
    source: Option<&mut IdSource<'_, F>>,
) -> Result<(), Failure> {
    let (a, b) = (pair.a.hex().to_string(), pair.b.hex().to_string());
    let cells = [Cell::Text(&a), Cell::Text(&b), Cell::Number(pair.distance.into())];
    let Some(source) = source else { return table.push(&cells) };
    let (a_ids, b_ids) = source.of(pair)?;
    a_ids.for_each_cell(&mut |a_id| {
        table.push_with_ids(&[&cells[..], &[a_id, Cell::Number(a_ids.all())]].concat(), &b_ids)
    })
}

/// The columns of `--count`.
const COUNT_COLUMNS: [(&str, Kind); 2] = [("distance", Kind::Number), ("pairs", Kind::Number)];

/// The number of pairs at each distance from 1 on.
fn print_counts(output: &mut impl Write, json: bool, counts: &[u64]) -> Result<(), Failure> {
    for (distance, &pairs) in counts.iter().enumerate().skip(1) {
        if json {
            write_json(output, &Object::default().field("distance", distance).field("pairs", pairs))?;
        } else {
            writeln!(output, "{distance}\t{pairs}")?;
        }
    }
    Ok(())
}
