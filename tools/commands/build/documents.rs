//! From documents to an index: fingerprints by a recipe that the index keeps, and what the documents
//! are called.

use std::path::Path;

use hamdex::{BuildOptions, Builder, Fingerprint, Index, Summary};
use hamdex_simhash::{Fingerprinter, Lists, Recipe};

use crate::bars::Phases;
use crate::documents::recipe::{RECIPE_KEY, usage};
use crate::documents::report::TooShort;
use crate::documents::{Counts, Reading, parallel};
use crate::failure::Failure;
use crate::input::{IdSource, Source};
use crate::names::{Collected, NAMES_KEY, NAMES_VERSION, path_beside};

/// What has been built of documents.
pub(super) struct Built {
    pub(super) summary: Summary,
    pub(super) counts: Counts,
    pub(super) too_short: TooShort,
}

/// Builds the index, and then the file of names beside it: until both are there, a query says what is
/// missing.
pub(super) fn build<F: Fingerprint>(
    reading: &Reading<'_>,
    ids: IdSource,
    (recipe, lists): (&Recipe, Lists),
    options: BuildOptions<F>,
    (output, overwrite): (&Path, bool),
    temp_dir: &Path,
    phases: &Phases,
) -> Result<Built, Failure> {
    let fingerprinter = Fingerprinter::<F>::with_lists(recipe, lists).map_err(usage)?;
    let mut options = options.ids(ids != IdSource::None).metadata(RECIPE_KEY, recipe.to_string());
    let mut names = None;
    let beside = path_beside(output);
    if ids == IdSource::Names && !overwrite && beside.exists() {
        let source = Source { name: beside.display().to_string() };
        return Err(source.complaint("exists already; --force replaces it"));
    }
    if ids == IdSource::Names {
        options = options.metadata(NAMES_KEY, NAMES_VERSION);
        names = Some(Collected::new(temp_dir)?);
    }
    let mut builder = Builder::with_options(output, options)?;
    let mut too_short = TooShort::default();
    let mut row = 0u64;
    let counts = parallel::fingerprint(reading, &fingerprinter, &mut |document, outcome| {
        too_short.note(&document.id, &outcome);
        let number = row;
        row += 1;
        let Some(fingerprint) = outcome.reliable() else { return Ok(()) };
        match (ids, &mut names) {
            (IdSource::None, _) => builder.push(fingerprint)?,
            (IdSource::Numbers, _) => builder.push_with_id(fingerprint, numeric(&document.id)?)?,
            (_, Some(names)) => builder.push_with_id(fingerprint, names.push(&document.id)?)?,
            (_, None) => builder.push_with_id(fingerprint, number)?,
        }
        Ok(())
    })?;
    let summary = builder.finish();
    phases.finish();
    let summary = summary?;
    if let Some(names) = names {
        let index = Index::<F>::open(output).map_err(Failure::index(output))?;
        names.finish(output, &index.stats().file_id)?;
    }
    Ok(Built { summary, counts, too_short })
}

fn numeric(id: &str) -> Result<u64, Failure> {
    id.parse().map_err(|_| {
        Failure::Wrong(format!(
            "the id {id:?} is no number of at most 64 bits; take --ids names for such ids"
        ))
    })
}
