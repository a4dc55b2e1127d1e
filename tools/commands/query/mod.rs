//! `hamdex query`: the stored fingerprints near given ones.
//!
//! - [`output`]: matches as lines of text or JSON

mod output;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::ValueEnum;
use hamdex::{BatchOptions, Engine, Match};
use hamdex_simhash::{Fingerprinter, Outcome, Scratch};

use crate::bars;
use crate::documents::recipe;
use crate::failure::{Failure, shown};
use crate::ids::Ids;
use crate::input::{Arrivals, Format, Order, Source, say_that_it_waits};
use crate::names;
use crate::stored::{self, Stored, StoredSearcher};
use crate::threads::Threads;

/// Queries answered together, at most.
const MAX_QUERIES: usize = 1 << 20;

/// Matches whose ids are looked up together.
const MATCHES_AT_ONCE: usize = 1 << 10;

/// How many queries are answered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strategy {
    /// The faster one
    Auto,
    /// Look up each query in the blocks that can hold matches
    Probe,
    /// Read the whole first table once, comparing it with all queries
    Scan,
}

impl From<Strategy> for hamdex::Strategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Auto => Self::Auto,
            Strategy::Probe => Self::Probe,
            Strategy::Scan => Self::Scan,
        }
    }
}

/// Find the stored fingerprints near given ones, or near those of texts.
///
/// Prints one line per match: query, fingerprint, distance and, if the index has them, ids; in the order
/// of the queries, then of distance, then of fingerprint. Exits with 0 also when nothing is near.
///
/// Many queries are answered together, in a fraction of the time: those of a file all at once, those of a
/// pipe as they come, so that a program that sends a query and waits for its answer gets it before it sends
/// the next. --strategy scan waits for all of them, up to a million.
///
/// The first lines of a file, or the first line of a pipe, show whether numbers are hexadecimal or decimal. A
/// number of exactly 16 (for 128 bits, 32) decimal digits can be either and is read as hexadecimal: if it is
/// decimal, say --format decimal. A later line that contradicts is an error.
///
/// An index that was built from documents holds the recipe of its fingerprints, which --text and --document
/// use, and its ids are the names of the documents.
///
/// A store is queried as it is at the start, also while another process writes to it.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex query news.hamdex 0123456789abcdef
  hamdex query news.hamdex --file queries.txt --distance 5 --json
  hamdex query news.hamdex --file million.u64 --strategy scan > near.tsv
  hamdex query news.hamdex -- -4611686018427387904
  hamdex query articles.hamdex --document draft.html"
)]
pub(crate) struct Args {
    /// The index file, or the directory of a store
    #[arg(value_name = "FILE")]
    index: PathBuf,
    /// Fingerprints to look for: 16 (32) hexadecimal digits, 0x and digits, or decimal
    #[arg(value_name = "FINGERPRINT", allow_negative_numbers = true)]
    fingerprints: Vec<String>,
    /// A file of fingerprints to look for; - for standard input
    #[arg(long, value_name = "F")]
    file: Option<PathBuf>,
    /// A text to look for
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["fingerprints", "file"])]
    text: Option<String>,
    /// A text or HTML file to look for, as one document; - for standard input
    #[arg(long, value_name = "F", conflicts_with_all = ["fingerprints", "file", "text"])]
    document: Option<PathBuf>,
    #[command(flatten)]
    recipe: recipe::Options,
    /// How the fingerprints are written; hex and decimal also apply to those on the command line
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// The column of fingerprints in Parquet, Arrow, CSV and TSV files
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    fingerprint_field: String,
    /// Find everything within K bits; beyond the index's own distance it takes longer [default: the index's]
    #[arg(short = 'k', long, value_name = "K")]
    distance: Option<u32>,
    /// Only one match per query, whichever is found first
    #[arg(long, conflicts_with = "nearest")]
    first: bool,
    /// Find the M nearest, however far, or with -k no further than that
    #[arg(long, value_name = "M")]
    nearest: Option<usize>,
    /// At most N matches per query, and N ids per match
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Leave the ids out
    #[arg(long)]
    no_ids: bool,
    /// How many queries are answered together
    #[arg(long, value_enum, default_value = "auto", conflicts_with_all = ["first", "nearest"])]
    strategy: Strategy,
    #[command(flatten)]
    threads: Threads,
    /// Print one JSON object per match
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if stored::width(&args.index)? == 128 { query::<u128>(args) } else { query::<u64>(args) }
}

fn query<F: Engine>(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let index = Stored::<F>::open(&args.index)?;
    let mut queries: Vec<F> = of_text(args, &index)?.into_iter().collect();
    let is_of_text = !queries.is_empty();
    for text in &args.fingerprints {
        let parsed = args.format.notation().parse(text);
        queries
            .push(parsed.map_err(|error| Failure::Usage(format!("fingerprint {}: {error}", shown(text))))?);
    }
    let mut answerer = Answerer {
        args,
        index: &index,
        options: match args.limit {
            Some(limit) => BatchOptions::new().limit(limit),
            None => BatchOptions::new(),
        }
        .strategy(args.strategy.into()),
        searcher: index.searcher(),
        id_searcher: index.searcher(),
        names: match index.file() {
            Some(file) if !args.no_ids => names::open(&args.index, file)?,
            _ => None,
        },
        output: BufWriter::with_capacity(1 << 16, io::stdout().lock()),
    };
    answerer.answer_all(&queries)?;
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
        answerer.answer_file(file)?;
    }
    answerer.output.flush()?;
    Ok(())
}

/// The fingerprint of the text that is looked for, if it is a text.
fn of_text<F: Engine>(args: &Args, index: &Stored<F>) -> Result<Option<F>, Failure> {
    let (source, text) = match (&args.text, &args.document) {
        (Some(text), _) => ("--text".to_owned(), text.clone()),
        (None, Some(path)) => {
            say_that_it_waits([path]);
            (path.display().to_string(), hamdex_documents::read_text(path)?)
        }
        (None, None) => return Ok(None),
    };
    let (recipe, lists) = args.recipe.of_index(&args.index, &index.metadata())?;
    let fingerprinter = Fingerprinter::<F>::with_lists(&recipe, lists).map_err(recipe::usage)?;
    match fingerprinter.fingerprint(&text, &mut Scratch::default()) {
        Outcome::Fingerprint(fingerprint) => Ok(Some(fingerprint)),
        Outcome::TooShort { features, .. } => Err(Source { name: source }.complaint(format_args!(
            "too short for a reliable fingerprint: {features} features, {} are needed",
            recipe.min_features
        ))),
    }
}

struct Answerer<'a, F: Engine, W> {
    args: &'a Args,
    index: &'a Stored<F>,
    options: BatchOptions,
    searcher: StoredSearcher<'a, F>,
    /// Looks up ids while the other one's matches are still in use.
    id_searcher: StoredSearcher<'a, F>,
    names: Option<hamdex_documents::Names>,
    output: W,
}

impl<F: Engine, W: Write> Answerer<'_, F, W> {
    /// Answers what a file holds, chunk by chunk; what comes down a pipe, as it comes.
    fn answer_file(&mut self, file: PathBuf) -> Result<(), Failure> {
        let is_pipe = file.as_os_str() == "-";
        // A scan costs the same for one query as for a million.
        let is_prompt = is_pipe && self.args.strategy != Strategy::Scan;
        // Beside answers on a terminal, a bar would be in their way.
        let bar = (!io::stdout().is_terminal()).then(|| bars::of_endless_items("Answering"));
        let order = Order {
            paths: vec![file],
            format: self.args.format,
            fingerprint_field: self.args.fingerprint_field.clone(),
            id_field: None,
            is_prompt,
        };
        let mut arrivals = Arrivals::of_fingerprints(order, |query: F, _| query)?;
        let mut queries = Vec::new();
        while arrivals.next(&mut queries, MAX_QUERIES) {
            self.answer_all(&queries)?;
            if is_pipe {
                // Who sends queries down a pipe may wait for the answer to each.
                self.output.flush()?;
            }
            if let Some(bar) = &bar {
                bar.inc(queries.len() as u64);
            }
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        arrivals.end()
    }

    /// Prints the answers of all queries, in their order.
    fn answer_all(&mut self, queries: &[F]) -> Result<(), Failure> {
        if self.args.first || self.args.nearest.is_some() {
            return queries.iter().try_for_each(|&query| self.answer(query));
        }
        let (index, options) = (self.index, self.options.clone());
        let mut failure = None;
        index.batch_with(queries, self.distance(), &options, &mut |place, matches| match self
            .print(queries[place], matches)
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failure.map_or(Ok(()), Err)
    }

    /// Prints the first match of a query, or the nearest ones.
    fn answer(&mut self, query: F) -> Result<(), Failure> {
        let limit = self.args.limit.unwrap_or(usize::MAX);
        let distance = self.distance();
        let matches = match self.args.nearest {
            Some(count) => {
                let most = self.args.distance.unwrap_or(F::BITS);
                self.searcher.nearest_within(query, count.min(limit), most)?
            }
            None => self.searcher.first(query, distance)?.into_iter().collect(),
        };
        self.print(query, &matches)
    }

    fn distance(&self) -> u32 {
        self.args.distance.unwrap_or(self.index.distance())
    }

    fn print(&mut self, query: F, matches: &[Match<F>]) -> Result<(), Failure> {
        let limit = self.args.limit.unwrap_or(usize::MAX);
        let with_ids = self.index.has_ids() && !self.args.no_ids;
        let matches = &matches[..matches.len().min(limit)];
        for matches in matches.chunks(MATCHES_AT_ONCE) {
            let lists = if with_ids { self.id_searcher.ids_of(matches)? } else { Vec::new() };
            let mut lists = lists.into_iter();
            for found in matches {
                let ids = lists.next().map(|ids| Ids::new(ids, self.names.as_mut(), limit)).transpose()?;
                output::print(&mut self.output, self.args.json, query, found, ids)?;
            }
        }
        Ok(())
    }
}
