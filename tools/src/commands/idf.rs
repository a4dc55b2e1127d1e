//! `hamdex idf`: inverse document frequencies of the words of a corpus.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use hamdex_documents::TooShort;
use hamdex_simhash::word_lists::{IdfBuilder, IdfDictionary};

use crate::documents;
use crate::documents::inputs::Inputs;
use crate::documents::recipe::{self, usage};
use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::output::{Force, Output, check_not_mixed, inputs_or_standard_input, temp_dir};
use crate::standard_output::{Object, print_json};

/// Build a dictionary of inverse document frequencies from a corpus.
///
/// Each line has a word (a feature of the recipe) and its weight, ln((1 + documents) / (1 + documents with
/// the word)), in the form of jieba's dictionaries. Other commands weight words by it with --idf FILE.
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
    /// Print a summary as a JSON object
    #[arg(long)]
    json: bool,
    /// The most words counted at a time (about 70 bytes each); beyond that, the rarer half is dropped,
    /// with all words that are as rare
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_words: usize,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    inputs: Inputs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let started = Instant::now();
    check_not_mixed(&args.output, args.json)?;
    if args.recipe.idf.is_some() {
        return Err(Failure::Usage("words are counted, not weighted: leave --idf out".to_owned()));
    }
    let (recipe, lists) = args.recipe.load(None)?;
    let mut builder = IdfBuilder::new(&recipe, lists.stop, args.max_words).map_err(usage)?;
    let mut inputs = inputs_or_standard_input(args.inputs.paths()?);
    args.recipe.files().for_each(|list| inputs.add(list));
    let mut output = Output::new(&args.output, args.force, &inputs).create()?;
    let reading = args.inputs.reading()?.temp_dir(&temp_dir(None, Some(&args.output)));
    let counts = reading.read(|documents| {
        documents.read(|document| {
            builder.add(&document.text);
            Ok(())
        })
    })?;
    documents::require_some(&counts)?;
    let error_documents = builder.error_documents();
    let dictionary = builder.finish().map_err(|error| {
        let advice = if error_documents > 0 { ": all were dropped; raise --max-words" } else { "" };
        Failure::Wrong(format!("{error}{advice}"))
    })?;
    write!(output, "{dictionary}").map_err(output.failed())?;
    output.finish()?;
    documents::summary(&counts, &TooShort::default(), started);
    print_summary(args, counts.documents, &dictionary, error_documents)
        .map_err(|failure| failure.in_place(&args.output))
}

/// Reports on the dictionary. `error_documents` is the most documents by which a count may be too low.
fn print_summary(
    args: &Args,
    documents: u64,
    dictionary: &IdfDictionary,
    error_documents: u64,
) -> Result<(), Failure> {
    let (words, digest) = (dictionary.words() as u64, dictionary.digest().to_string());
    if args.json {
        let report = Object::default()
            .field("output", args.output.to_string_lossy())
            .field("documents", documents)
            .field("words", words)
            .field("error_documents", error_documents)
            .field("digest", digest);
        return print_json(&report);
    }
    let inexact = match error_documents {
        0 => String::new(),
        some => {
            format!(
                "; counts are too low by at most {} (--max-words)",
                counted(some, "document", "documents")
            )
        }
    };
    let words = counted(words, "word", "words");
    messages::summary(format_args!("{}: {words}, digest {digest}{inexact}", args.output.display()));
    Ok(())
}
