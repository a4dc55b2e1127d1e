//! `hamdex query`: what is near.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use hamdex::{Fingerprint, Index, Match, Searcher};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::failure::Failure;
use crate::input::{self, Format};

/// Find the stored fingerprints near given ones.
///
/// Prints a line for each match: query, fingerprint, distance and, if the index has them, ids; in the
/// order of the queries, then of distance, then of fingerprint. Exits with 0 also when nothing is near.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex query news.hamdex 0123456789abcdef
  hamdex query news.hamdex --file queries.txt --distance 5 --json")]
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
    let mut queries = Vec::new();
    for text in &args.fingerprints {
        let parsed = F::parse(text);
        queries.push(parsed.map_err(|error| Failure::Usage(format!("fingerprint {text:?}: {error}")))?);
    }
    let mut asker = Asker {
        args,
        index: &index,
        searcher: index.searcher(),
        id_searcher: index.searcher(),
        // A terminal or a pipe sees whole lines; a file, large pieces.
        output: BufWriter::with_capacity(1 << 16, io::stdout().lock()),
    };
    queries.into_iter().try_for_each(|query| asker.ask(query))?;
    let file = match &args.file {
        Some(file) => Some(file.clone()),
        None if args.fingerprints.is_empty() && io::stdin().is_terminal() => {
            return Err(Failure::Usage("name a fingerprint to look for, or --file".to_owned()));
        }
        None if args.fingerprints.is_empty() => Some(PathBuf::from("-")),
        None => None,
    };
    if let Some(file) = file {
        input::read::<F>(&[file], args.format, false, &mut |query, _| asker.ask(query))?;
    }
    asker.output.flush()?;
    Ok(())
}

struct Asker<'a, F: Fingerprint, W> {
    args: &'a Args,
    index: &'a Index<F>,
    searcher: Searcher<'a, F>,
    /// Looks up ids while the other one's matches are still in use.
    id_searcher: Searcher<'a, F>,
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

/// Ids on their way out, never all in memory.
struct Sequence<'a>(hamdex::Ids<'a>);

impl Serialize for Sequence<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.clone().try_for_each(|id| sequence.serialize_element(&id))?;
        sequence.end()
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
                Some(self.id_searcher.ids(found.fingerprint).map_err(damaged())?)
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
    ids: Option<hamdex::Ids<'_>>,
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
        for (number, id) in ids.into_iter().flatten().enumerate() {
            write!(output, "{}{id}", if number == 0 { "\t" } else { "," })?;
        }
    }
    writeln!(output)?;
    Ok(())
}
