//! Builds an index from documents: their fingerprints, the recipe and the names.

use std::num::NonZeroUsize;

use hamdex::{BuildOptions, Fingerprint, shingles};
use hamdex_documents::{Counts, Document, RECIPE_KEY, TooShort};
use hamdex_simhash::{Fingerprinter, Lists, Outcome, Recipe, Shingler, Shingles};

use crate::build_report::Finished;
use crate::commands::build::sink::{Record, Sink};
use crate::documents::inputs::Reading;
use crate::documents::recipe::usage;
use crate::documents::report;
use crate::failure::{Failure, shown};
use crate::input::IdSource;
use crate::progress::Phases;

/// An index built from documents.
pub(super) struct Built {
    pub(super) finished: Finished,
    pub(super) counts: Counts,
    pub(super) too_short: TooShort,
}

/// Adds all documents to the output that `start` creates, and finishes it. Ids are numbers of documents, or
/// their names if all of these are numbers. With shingles no text is too short.
pub(super) fn build<F: Fingerprint>(
    reading: &Reading,
    ids: IdSource,
    words: Option<NonZeroUsize>,
    (recipe, lists): (&Recipe, Lists),
    options: BuildOptions<F>,
    start: impl FnOnce(BuildOptions<F>) -> Result<Sink<F>, Failure>,
    phases: &Phases,
) -> Result<Built, Failure> {
    let fingerprinter = Fingerprinter::<F>::with_lists(recipe, lists).map_err(usage)?;
    let options = options
        .ids(ids != IdSource::None)
        .names(ids == IdSource::Names)
        .metadata(RECIPE_KEY, recipe.to_string());
    let options = match words {
        Some(words) => options.shingles(true).metadata(shingles::KEY, Shingler::new(words).definition()),
        None => options,
    };
    let mut built = start(options)?;
    let mut too_short = TooShort::default();
    let mut row = 0u64;
    let mut sink = |document: Document, outcome: Outcome<F>, shingles: Option<&Shingles>| {
        let number = row;
        row += 1;
        let fingerprint = match shingles {
            Some(shingles) => outcome.value_of_text(shingles),
            None => {
                too_short.note(&document.id, &outcome);
                outcome.reliable()
            }
        };
        let Some(fingerprint) = fingerprint else { return Ok(()) };
        let (id, name) = match ids {
            IdSource::None => return built.push(fingerprint),
            IdSource::Numbers => (numeric(&document.id)?, None),
            IdSource::Names => (number, Some(document.id_bytes())),
            _ => (number, None),
        };
        built.push_record(fingerprint, Record { id, name, shingles: shingles.map(Shingles::hashes) })
    };
    let counts = reading.read(|documents| match words {
        Some(words) => {
            documents.fingerprint_and_shingles(&fingerprinter, words, |document, outcome, shingles| {
                sink(document, outcome, Some(shingles))
            })
        }
        None => documents.fingerprint(&fingerprinter, |document, outcome| sink(document, outcome, None)),
    })?;
    report::require_some(&counts)?;
    Ok(Built { finished: built.finish(phases)?, counts, too_short })
}

fn numeric(id: &str) -> Result<u64, Failure> {
    u64::parse_decimal(id).map_err(|_| {
        Failure::Wrong(format!("the id {} is not a number of at most 64 bits; use --ids names", shown(id)))
    })
}
