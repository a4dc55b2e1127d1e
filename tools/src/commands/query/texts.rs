//! Queries by text, and by whole files of documents.

use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_documents::{Document, TooShort};
use hamdex_simhash::{Fingerprinter, Outcome, Scratch};

use crate::commands::query::Args;
use crate::commands::query::answer::{Answerer, Asked};
use crate::documents::inputs::Reading;
use crate::documents::{prompt, recipe, report};
use crate::failure::Failure;
use crate::input::{Format, Source, announce_terminal_input, has_pipe};
use crate::messages;
use crate::set::Set;

/// The most documents answered together.
const MAX_DOCUMENTS: usize = 1 << 16;

/// A text of fewer characters is taken for a sentence or two, not for a document.
const SHORT_CHARS: usize = 300;

/// Returns the fingerprint of the text to look for, if the query is a text.
pub(super) fn fingerprint<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> Result<Option<F>, Failure> {
    let (source, text) = match (&args.text, &args.document) {
        (Some(text), _) => ("--text".to_owned(), text.clone()),
        (None, Some(path)) => {
            announce_terminal_input([path]);
            (path.display().to_string(), hamdex_documents::read_text(path)?)
        }
        (None, None) => return Ok(None),
    };
    let fingerprinter = fingerprinter(args, set)?;
    match fingerprinter.fingerprint(&text, &mut Scratch::default()) {
        Outcome::Fingerprint(fingerprint) => {
            if text.chars().nth(SHORT_CHARS).is_none() {
                messages::notice(format_args!(
                    "{source}: whole documents match: a passage does not find the documents that contain it"
                ));
            }
            Ok(Some(fingerprint))
        }
        Outcome::TooShort { features, .. } => Err(Source { name: source }.complaint(format_args!(
            "too short for a reliable fingerprint: {features} features, {} are needed; whole documents match, not \
             passages of them",
            fingerprinter.recipe().min_features.max(1)
        ))),
    }
}

/// Looks up all documents of the file.
pub(super) fn answer_documents<F: Fingerprint>(
    args: &Args,
    set: Set<'_, F>,
    format: Format,
    answerer: &mut Answerer<'_, F>,
) -> Result<(), Failure> {
    let started = Instant::now();
    let fingerprinter = fingerprinter(args, set)?;
    let (mut ids, mut queries, mut too_short) = (Vec::new(), Vec::new(), TooShort::default());
    let reading = Reading::new(args.file.as_slice(), format, &args.fields)?;
    if answerer.prints_each() && has_pipe(args.file.as_slice()) {
        let mut scratch = Scratch::default();
        let make = move |text: &str| fingerprinter.fingerprint(text, &mut scratch);
        let counts = prompt::each(reading, make, MAX_DOCUMENTS, |documents| {
            for (document, outcome) in documents {
                too_short.note(&document.id, &outcome);
                match outcome {
                    Outcome::Fingerprint(fingerprint) => {
                        ids.push(document.id_bytes().to_vec());
                        queries.push(fingerprint);
                    }
                    Outcome::TooShort { features, .. } => {
                        answer_gathered(answerer, &mut ids, &mut queries)?;
                        answerer.pass_over(document.id_bytes(), features)?;
                    }
                }
            }
            answer_gathered(answerer, &mut ids, &mut queries)?;
            answerer.flush()
        })?;
        report::require_some(&counts)?;
        report::summary(&counts, &too_short, started);
        return Ok(());
    }
    let mut sink = |document: Document, outcome: Outcome<F>| {
        too_short.note(&document.id, &outcome);
        if let Outcome::TooShort { features, .. } = outcome {
            if answerer.prints_each() {
                answer_gathered(answerer, &mut ids, &mut queries)?;
            }
            return answerer.pass_over(document.id_bytes(), features);
        }
        let Some(fingerprint) = outcome.reliable() else { return Ok(()) };
        ids.push(document.id_bytes().to_vec());
        queries.push(fingerprint);
        if queries.len() == MAX_DOCUMENTS {
            answer_gathered(answerer, &mut ids, &mut queries)?;
        }
        Ok(())
    };
    let counts = reading.read(|documents| documents.fingerprint(&fingerprinter, &mut sink))?;
    answer_gathered(answerer, &mut ids, &mut queries)?;
    report::require_some(&counts)?;
    report::summary(&counts, &too_short, started);
    Ok(())
}

/// Answers the queries gathered, and forgets them.
fn answer_gathered<F: Fingerprint>(
    answerer: &mut Answerer<'_, F>,
    ids: &mut Vec<Vec<u8>>,
    queries: &mut Vec<F>,
) -> Result<(), Failure> {
    answerer.answer_all(queries, Asked::Documents(ids))?;
    ids.clear();
    queries.clear();
    Ok(())
}

fn fingerprinter<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> Result<Fingerprinter<F>, Failure> {
    let (recipe, lists) = args.recipe.of_index(&args.index, &set.description.metadata)?;
    Fingerprinter::with_lists(&recipe, lists).map_err(recipe::usage)
}
