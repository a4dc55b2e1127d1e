//! From documents to an index: fingerprints by a recipe that the index keeps, and what the documents
//! are called.

use hamdex::{BuildOptions, Builder, Engine, Fingerprint, Summary};
use hamdex_documents::{Counts, Document, RECIPE_KEY, TooShort};
use hamdex_simhash::{Fingerprinter, Lists, Outcome, Recipe};

use crate::bars::Phases;
use crate::documents::inputs::Reading;
use crate::documents::recipe::usage;
use crate::documents::report;
use crate::failure::{Failure, shown};
use crate::input::IdSource;
use crate::output::Output;

/// What has been built of documents.
pub(super) struct Built {
    pub(super) summary: Summary,
    pub(super) counts: Counts,
    pub(super) too_short: TooShort,
}

/// Builds the index; ids are the numbers of the documents, unless these are called by numbers.
pub(super) fn build<F: Engine>(
    reading: &Reading,
    ids: IdSource,
    (recipe, lists): (&Recipe, Lists),
    options: BuildOptions<F>,
    output: &Output<'_>,
    phases: &Phases,
) -> Result<Built, Failure> {
    let fingerprinter = Fingerprinter::<F>::with_lists(recipe, lists).map_err(usage)?;
    let options = options
        .ids(ids != IdSource::None)
        .names(ids == IdSource::Names)
        .metadata(RECIPE_KEY, recipe.to_string());
    let mut builder = Builder::with_options(output.path(), options)?;
    let mut too_short = TooShort::default();
    let mut row = 0u64;
    let mut sink = |document: Document, outcome: Outcome<F>| {
        too_short.note(&document.id, &outcome);
        let number = row;
        row += 1;
        let Some(fingerprint) = outcome.reliable() else { return Ok(()) };
        match ids {
            IdSource::None => F::push(&mut builder, fingerprint)?,
            IdSource::Numbers => F::push_with_id(&mut builder, fingerprint, numeric(&document.id)?)?,
            _ => F::push_with_id(&mut builder, fingerprint, number)?,
        }
        if ids == IdSource::Names {
            builder.push_name(number, &document.id)?;
        }
        Ok(())
    };
    let counts = reading.read(|documents| documents.fingerprint(&fingerprinter, &mut sink))?;
    report::require_some(&counts)?;
    let sealed = F::seal(builder);
    phases.finish();
    let summary = sealed?.publish()?;
    Ok(Built { summary, counts, too_short })
}

fn numeric(id: &str) -> Result<u64, Failure> {
    u64::parse_decimal(id).map_err(|_| {
        Failure::Wrong(format!(
            "the id {} is no number of at most 64 bits; take --ids names for such ids",
            shown(id)
        ))
    })
}
