//! `hamdex pairs`: all pairs of stored fingerprints that are near each other.
//!
//! - [`output`]: a line for each pair

mod output;

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use hamdex::{Fingerprint, PairsOptions};
use hamdex_any::for_width;
use hamdex_atomic_file::{AtomicFile, Inputs};

use crate::commands::pairs::output::{Form, Printer};
use crate::failure::Failure;
use crate::ids;
use crate::messages::{self, counted};
use crate::option_values;
use crate::output::{Force, Output};
use crate::progress::Phases;
use crate::set::Set;
use crate::standard_output;
use crate::threads::Threads;

/// Find all pairs of stored fingerprints that are near each other.
///
/// Prints one line per pair: the lower fingerprint, the higher one, their distance and, with --ids, the ids
/// of both. The order depends on the index, the distance and --memory, but not on --threads. A fingerprint is
/// stored once, so documents with equal fingerprints are not a pair: they are ids of the same fingerprint.
///
/// Pairs are printed as they are found. Many similar fingerprints can give very many pairs: --count prints
/// their number before they fill a disk. A fingerprint can have very many ids as well: --ids prints the first 10 of
/// each, and +M if there are M more; --ids-limit says how many.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex pairs news.hamdex
  hamdex pairs news.hamdex --count
  hamdex pairs articles.hamdex --distance 2 --ids --json -o near.jsonl"
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
    /// Print one JSON object per pair; with --count, per distance
    #[arg(long)]
    json: bool,
    /// Print only the number of pairs at each distance
    #[arg(long)]
    count: bool,
    /// Write to this file instead of standard output; it appears only when it is complete
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
    let file =
        args.output.as_deref().map(|path| Output::new(path, args.force, &inputs).create()).transpose()?;
    if args.ids && !set.description.has_ids {
        return Err(Failure::Usage(format!("{}: holds no ids to print", args.index.display())));
    }
    let phases = Arc::new(Phases::default());
    let mut options = PairsOptions::new().progress(phases.reporter()).threads(args.threads.count());
    if let Some(memory) = args.memory {
        options = options.memory(memory.as_u64());
    }
    let work = Work { args, set, distance, options };
    let outcome = match file {
        Some(file) => into_file(file, |output| work.write(output)),
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
    let found = outcome?;
    messages::summary(format_args!(
        "{} among {}{} in {:.1} s",
        counted(found, "pair", "pairs"),
        if set.description.is_counted { "" } else { "at most " },
        counted(set.description.fingerprints, "fingerprint", "fingerprints"),
        started.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Writes a file that gets its name only when it is complete.
fn into_file(
    mut file: AtomicFile,
    write: impl FnOnce(&mut AtomicFile) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let found = write(&mut file).map_err(|failure| match failure {
        // Unlike standard output, it has a name.
        Failure::Output(error) => file.failed()(error).into(),
        other => other,
    })?;
    file.finish()?;
    Ok(found)
}

struct Work<'a, F: Fingerprint> {
    args: &'a Args,
    set: Set<'a, F>,
    distance: u32,
    options: PairsOptions,
}

impl<F: Fingerprint> Work<'_, F> {
    /// Writes the pairs, or their number at each distance; returns how many there are.
    fn write(self, output: &mut impl Write) -> Result<u64, Failure> {
        let distance = self.distance;
        if self.args.count {
            let counts = self.set.set.count_pairs(distance, &self.options)?;
            output::counts(output, self.args.json, &counts)?;
            return Ok(counts.iter().sum());
        }
        let form = if self.args.json { Form::Json } else { Form::Lines };
        let mut printer = Printer::new(output, form);
        let mut ids = self.args.ids.then(|| output::IdSource {
            searcher: self.set.set.open_searcher(),
            set: self.set,
            most: self.args.ids_limit,
        });
        let (mut found, mut failure) = (0, None);
        let outcome = self.set.set.visit_pairs(distance, &self.options, &mut |pairs| {
            let printed = pairs.iter().try_for_each(|pair| {
                printer.print(pair, ids.as_mut())?;
                found += 1;
                Ok(())
            });
            failure = printed.err();
            if failure.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        match failure {
            Some(failure) => Err(failure),
            None => Ok(outcome.map(|_| found)?),
        }
    }
}
