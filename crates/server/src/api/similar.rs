//! Insertion of texts unless a similar one is stored, by the rule of `hamdex dedup`.

use std::time::Instant;

use axum::http::StatusCode;
use hamdex::Fingerprint;
use hamdex::set::Description;
use hamdex_documents::{Decision, Dedup, Document, Error, Similarity};
use hamdex_store::{Put, Store, When};
use rayon::ThreadPoolBuilder;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::records::{Checked, Labels, Need, Record, Refusals};
use crate::failure::chain;
use crate::lane::Stop;
use crate::problem::Problem;
use crate::sets::{Texts, write};

/// A text that was not inserted, and one to which it is similar.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarDocument {
    /// The number of the record, from 0 on.
    pub(crate) index: usize,
    /// The name of the most similar stored text, or of the first similar one of the request.
    id: String,
    /// The share of common shingles, from 0 to 1.
    #[schema(example = 0.83)]
    similarity: f64,
}

/// How texts are compared, and what new ones do.
pub(crate) struct Comparison<'r> {
    /// The share of its shingles by which a text is similar.
    pub(crate) least: f64,
    /// Whether a text replaces those of its name, to which it is not compared.
    pub(crate) replace: bool,
    pub(crate) threads: usize,
    pub(crate) stop: &'r Stop,
    pub(crate) deadline: Instant,
}

/// Inserts texts that share less of their shingles with any in the store, and with those before them; returns what
/// has changed, and the others. No other write may run.
///
/// # Errors
/// When a record is wrong or no text, something is damaged, or the work is cancelled. Nothing has changed then.
pub(crate) fn insert<F: Fingerprint>(
    store: &Store<F>,
    description: &Description,
    records: Vec<Record>,
    comparison: &Comparison<'_>,
    refusals: &mut Refusals,
) -> Result<(Put<F>, Vec<SimilarDocument>), Problem> {
    let count = records.len();
    let checked = Checked::<F>::of_records(description, &records, Need::AsTheSet, refusals)?;
    let Labels::Names(names) = checked.labels else {
        return Ok(<_>::default());
    };
    let numbers = refusals.others(count);
    let texts: Vec<String> = {
        let mut texts: Vec<Option<String>> = records.into_iter().map(|record| record.text).collect();
        numbers.iter().map(|&number| texts[number].take().unwrap_or_default()).collect()
    };
    let Texts { fingerprinter, words, .. } = Texts::<F>::of(description)?;
    let Some(words) = words else { return Ok(<_>::default()) };
    let similarity = Similarity::new(comparison.least, words).map_err(|error| {
        Problem::unprocessable("bad_request", format!("unless_similar: {}", chain(&error)))
    })?;
    let documents: Vec<Document> =
        names.iter().zip(texts).map(|(name, text)| Document::new(name.clone(), text)).collect();
    let stop = comparison.stop.clone();
    let dedup = Dedup::new(fingerprinter).similarity(similarity).on_progress(move |_| stop.flow());
    let pool = ThreadPoolBuilder::new().num_threads(comparison.threads).build();
    let pool = pool.map_err(|error| Problem::unavailable("unavailable", format!("no threads: {error}")))?;
    let snapshot = store.snapshot();
    let decide = || match comparison.replace {
        true => {
            let names = names.iter().map(|name| name.clone().into_bytes()).collect();
            let earlier = snapshot.ids_of_names(&names)?;
            dedup.decide_replacements(&snapshot, &earlier, &documents).map_err(problem)
        }
        false => dedup.decide(&snapshot, &documents).map_err(problem),
    };
    let decisions = pool.install(decide)?;
    let (mut new, mut similar) = (Vec::new(), Vec::new());
    for ((decision, name), number) in decisions.iter().zip(&names).zip(numbers) {
        match decision {
            Decision::New { fingerprint, shingles } => {
                new.push(hamdex_store::Record::document(*fingerprint, name, shingles));
            }
            Decision::Similar { name: id, similarity } => {
                similar.push(SimilarDocument { index: number, id: id.clone(), similarity: *similarity });
            }
            // Blank texts have been refused.
            _ => {}
        }
    }
    let when = if comparison.replace { When::always().replacing() } else { When::always() };
    let put = write(store, comparison.deadline, |store| store.put(new.iter().copied(), when))?;
    Ok((put, similar))
}

/// The problem of a comparison that failed.
fn problem(error: Error) -> Problem {
    match error {
        Error::Index(error) => error.into(),
        Error::Stopped => Problem::timeout(),
        Error::NoShingles | Error::OtherShingles { .. } => {
            Problem::unprocessable("no_shingles", chain(&error))
        }
        Error::Reference { source } => match source.downcast::<hamdex_store::Error>() {
            Ok(error) => (*error).into(),
            Err(source) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "system", chain(&*source)),
        },
        Error::Memory { .. } => Problem::unavailable("out_of_memory", chain(&error)),
        error => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "system", chain(&error)),
    }
}
