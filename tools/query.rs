//! `hamdex query`: what is near.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use hamdex::{Fingerprint, Index, Match, Searcher};
use hamdex_simhash::{Fingerprinter, Outcome, Scratch};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::documents::{self, recipe, report};
use crate::failure::Failure;
use crate::input::{self, Format, Source};
use crate::names::Names;

/// Find the stored fingerprints near given ones, or near those of texts.
///
/// Prints a line for each match: query, fingerprint, distance and, if the index has them, ids; in the
/// order of the queries, then of distance, then of fingerprint. Exits with 0 also when nothing is near.
///
/// An index that was built from documents holds the recipe of its fingerprints, by which --text and
/// --document are understood, and its ids are the documents' names.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex query news.hamdex 0123456789abcdef
  hamdex query news.hamdex --file queries.txt --distance 5 --json
  hamdex query articles.hamdex --document draft.html")]
pub(crate) struct Args {
    /// The index file
    #[arg(value_name = "FILE")]
    index: PathBuf,
    /// Fingerprints to look for: hexadecimal digits, 0x…, or decimal
    #[arg(value_name = "FINGERPRINT")]
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
    /// How the fingerprints in --file are written down
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// Within how many bits; any number is exact, beyond the index's own it takes longer [default: the index's]
    #[arg(short = 'k', long, value_name = "K", conflicts_with = "nearest")]
    distance: Option<u32>,
    /// Only one match for each query, whichever comes up first
    #[arg(long, conflicts_with = "nearest")]
    first: bool,
    /// The M nearest, however far
    #[arg(long, value_name = "M")]
    nearest: Option<usize>,
    /// At most N matches for each query
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// A JSON object for each match
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let width = hamdex::width(&args.index).map_err(Failure::index(&args.index))?;
    if width == 128 { query::<u128>(args) } else { query::<u64>(args) }
}

fn query<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let index = Index::<F>::open(&args.index).map_err(Failure::index(&args.index))?;
    let mut queries: Vec<F> = of_text(args, &index)?.into_iter().collect();
    let is_of_text = !queries.is_empty();
    for text in &args.fingerprints {
        let parsed = F::parse(text);
        queries.push(parsed.map_err(|error| Failure::Usage(format!("fingerprint {text:?}: {error}")))?);
    }
    let mut asker = Asker {
        args,
        index: &index,
        searcher: index.searcher(),
        id_searcher: index.searcher(),
        names: Names::of(&args.index, &index)?,
        output: BufWriter::with_capacity(1 << 16, io::stdout().lock()),
    };
    queries.into_iter().try_for_each(|query| asker.ask(query))?;
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
        // Who sends queries down a pipe may wait for the answer to each.
        let is_pipe = file.as_os_str() == "-";
        input::read::<F>(&[file], args.format, false, &mut |query, _| {
            asker.ask(query)?;
            if is_pipe {
                asker.output.flush()?;
            }
            Ok(())
        })?;
    }
    asker.output.flush()?;
    Ok(())
}

/// The fingerprint of the text that is looked for, if it is a text.
fn of_text<F: Fingerprint>(args: &Args, index: &Index<F>) -> Result<Option<F>, Failure> {
    let (source, text) = match (&args.text, &args.document) {
        (Some(text), _) => ("--text".to_owned(), text.clone()),
        (None, Some(path)) => (path.display().to_string(), documents::one_text(path)?),
        (None, None) => return Ok(None),
    };
    let (recipe, lists) = args.recipe.of_index(&args.index, index.metadata())?;
    let fingerprinter = Fingerprinter::<F>::with_lists(&recipe, lists).map_err(recipe::usage)?;
    match fingerprinter.fingerprint(&text, &mut Scratch::default()) {
        Outcome::Fingerprint(fingerprint) => Ok(Some(fingerprint)),
        Outcome::TooShort { features, .. } => Err(Source { name: source }.complaint(format_args!(
            "too short for a reliable fingerprint: {features} features, {} are needed",
            recipe.min_features
        ))),
    }
}

struct Asker<'a, F: Fingerprint, W> {
    args: &'a Args,
    index: &'a Index<F>,
    searcher: Searcher<'a, F>,
    /// Looks up ids while the other one's matches are still in use.
    id_searcher: Searcher<'a, F>,
    names: Option<Names>,
    output: W,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    query: String,
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Sequence<'a>>,
}

/// Ids on their way out: numbers, never all in memory, or names.
enum Ids<'a> {
    Numbers(hamdex::Ids<'a>),
    Names(Vec<String>),
}

/// The same for JSON.
struct Sequence<'a>(Ids<'a>);

impl Serialize for Sequence<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ids::Names(names) => names.serialize(serializer),
            Ids::Numbers(numbers) => {
                let mut sequence = serializer.serialize_seq(Some(numbers.len()))?;
                numbers.clone().try_for_each(|id| sequence.serialize_element(&id))?;
                sequence.end()
            }
        }
    }
}

impl<F: Fingerprint, W: Write> Asker<'_, F, W> {
    fn ask(&mut self, query: F) -> Result<(), Failure> {
        let limit = self.args.limit.unwrap_or(usize::MAX);
        let distance = self.args.distance.unwrap_or(self.index.design().distance());
        let damaged = || Failure::index(&self.args.index);
        let first;
        let matches: &[Match<F>] = if let Some(count) = self.args.nearest {
            self.searcher.nearest(query, count.min(limit)).map_err(damaged())?
        } else if self.args.first {
            first = self.searcher.first(query, distance).map_err(damaged())?;
            first.as_slice()
        } else {
            self.searcher.within(query, distance).map_err(damaged())?
        };
        for found in matches.iter().take(limit) {
            let ids = if self.index.has_ids() {
                let ids = self.id_searcher.ids(found.fingerprint).map_err(damaged())?;
                Some(match &mut self.names {
                    Some(names) => Ids::Names(ids.map(|id| names.get(id)).collect::<Result<_, _>>()?),
                    None => Ids::Numbers(ids),
                })
            } else {
                None
            };
            print(&mut self.output, self.args.json, query, found, ids)?;
        }
        Ok(())
    }
}

fn print<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    query: F,
    found: &Match<F>,
    ids: Option<Ids<'_>>,
) -> Result<(), Failure> {
    if json {
        let line = Line {
            query: query.hex().to_string(),
            fingerprint: found.fingerprint.hex().to_string(),
            distance: found.distance,
            ids: ids.map(Sequence),
        };
        serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
    } else {
        write!(output, "{}\t{}\t{}", query.hex(), found.fingerprint.hex(), found.distance)?;
        match ids {
            Some(Ids::Numbers(ids)) => print_ids(output, ids)?,
            Some(Ids::Names(ids)) => print_ids(output, ids.iter().map(|id| report::plain(id)))?,
            None => {}
        }
    }
    writeln!(output)?;
    Ok(())
}

fn print_ids(output: &mut impl Write, ids: impl Iterator<Item = impl Display>) -> io::Result<()> {
    for (number, id) in ids.enumerate() {
        write!(output, "{}{id}", if number == 0 { "\t" } else { "," })?;
    }
    Ok(())
}
