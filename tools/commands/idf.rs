//! `hamdex idf`: how rare each word is in a corpus.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use hamdex_documents::TooShort;
use hamdex_simhash::IdfBuilder;
use indicatif::HumanCount;

use crate::documents::inputs::Inputs;
use crate::documents::recipe::{self, usage};
use crate::documents::report;
use crate::failure::Failure;
use crate::output::{Force, Output, inputs_or_standard_input};
use crate::say;

/// Build a dictionary of inverse document frequencies from a corpus.
///
/// Lines of a word (a feature of the recipe) and ln((1 + documents) / (1 + documents with the word)), as
/// jieba's dictionaries have them. With --idf FILE other commands weigh words by it.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex idf news/*.jsonl -o news.idf
  hamdex dedup news/*.jsonl --idf news.idf"
)]
pub(crate) struct Args {
    /// The dictionary to write; - for standard output
    #[arg(short, long, value_name = "OUT", alias = "out")]
    output: PathBuf,
    #[command(flatten)]
    force: Force,
    /// Count at most so many different words at a time (about 70 bytes each); beyond, the rarer half is forgotten
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_words: usize,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    inputs: Inputs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let started = Instant::now();
    let (recipe, lists) = args.recipe.load(None)?;
    let mut builder = IdfBuilder::new(&recipe, lists.stop, args.max_words).map_err(usage)?;
    let mut inputs = inputs_or_standard_input(&args.inputs.paths);
    args.recipe.files().for_each(|list| inputs.add(list));
    let mut output = Output::new(&args.output, args.force, &inputs).create()?;
    let counts = args.inputs.reading().read(|documents| {
        documents.read(|document| {
            builder.add(&document.text);
            Ok(())
        })
    })?;
    report::require_some(&counts)?;
    let error_documents = builder.error_documents();
    let dictionary = builder.finish().map_err(|error| Failure::Wrong(error.to_string()))?;
    write!(output, "{dictionary}").map_err(output.failed())?;
    output.finish()?;
    report::summary(&counts, &TooShort::default(), started);
    let inexact = match error_documents {
        0 => String::new(),
        some => format!("; counts are too low by up to {some} documents (--max-words)"),
    };
    say::summary(format_args!(
        "{}: {} words, digest {}{inexact}",
        args.output.display(),
        HumanCount(dictionary.words() as u64),
        dictionary.digest()
    ));
    Ok(())
}
