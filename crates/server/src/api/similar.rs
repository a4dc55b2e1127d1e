//! Insertion of texts unless a similar one is stored, by the rule of `hamdex dedup`.

use std::time::Instant;

use axum::http::StatusCode;
use hamdex::Fingerprint;
use hamdex::set::Description;
use hamdex_documents::known::{KnownAs, KnownShingles};
use hamdex_documents::{Clusters, Dedup, Document, Error, Similarity};
use hamdex_store::Store;
use rayon::ThreadPoolBuilder;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::list::List;
use crate::api::records::{Checked, Labels, Need, Record};
use crate::failure::chain;
use crate::lane::Stop;
use crate::problem::Problem;
use crate::sets::{Texts, write};

/// A text that was not inserted, and one to which it is similar.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarDocument {
    /// The number of the record, from 0 on.
    index: usize,
    /// The name of the most similar stored text, or of the first similar one of the request.
    id: String,
    /// The share of common shingles, from 0 to 1.
    #[schema(example = 0.83)]
    similarity: f64,
}

/// Inserts texts that share less than `least` of their shingles with any in the store, and with those before them;
/// returns their number, and the others. No other write may run.
///
/// # Errors
/// When a record is wrong or no text, something is damaged, or the work is cancelled. Nothing has changed then.
pub(crate) fn insert<F: Fingerprint>(
    store: &Store<F>,
    description: &Description,
    records: List<Record>,
    least: f64,
    threads: usize,
    stop: &Stop,
    deadline: Instant,
) -> Result<(u64, Vec<SimilarDocument>), Problem> {
    let records = records.all()?;
    let texts: Vec<String> = records.iter().map(|record| record.text.clone().unwrap_or_default()).collect();
    let Checked { fingerprints, labels, shingles } =
        Checked::<F>::of_records(description, &records, Need::AsTheSet)?;
    drop(records);
    let (Labels::Names(names), Some(shingles)) = (labels, shingles) else {
        return Ok((0, Vec::new()));
    };
    let Texts { fingerprinter, words, .. } = Texts::<F>::of(description)?;
    let Some(words) = words else { return Ok((0, Vec::new())) };
    let similarity = Similarity::new(least, words).map_err(|error| {
        Problem::unprocessable("bad_request", format!("unless_similar: {}", chain(&error)))
    })?;
    let snapshot = store.snapshot();
    let known = KnownShingles::new(&snapshot, words).map_err(problem)?;
    let documents: Vec<Document> =
        names.iter().zip(texts).map(|(name, text)| Document::new(name.clone(), text)).collect();
    let stop = stop.clone();
    let dedup = Dedup::new(fingerprinter)
        .similarity(similarity)
        .against_texts(&known)
        .on_progress(move |_| stop.flow());
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Problem::unavailable("unavailable", format!("no threads: {error}")))?;
    let clusters = pool.install(|| dedup.run_on(documents)).map_err(problem)?;
    let new: Vec<(F, &str, &[u64])> = clusters
        .unique()
        .map(|number| number as usize)
        .map(|number| (fingerprints[number], &*names[number], &*shingles[number]))
        .collect();
    if !new.is_empty() {
        write(store, deadline, |store| store.insert_documents(&new))?;
    }
    Ok((new.len() as u64, similar_of(&clusters, &names)))
}

/// Returns the documents that are similar to a known one or to an earlier one, in their order.
fn similar_of(clusters: &Clusters, names: &[String]) -> Vec<SimilarDocument> {
    let mut similar = Vec::new();
    for known in clusters.known().unwrap_or_default() {
        if let KnownAs::Name(id) = &known.known {
            let (index, similarity) = (known.document as usize, known.similarity.unwrap_or_default());
            similar.push(SimilarDocument { index, id: id.clone(), similarity });
        }
    }
    for cluster in clusters.members().chunk_by(|one, other| one.cluster == other.cluster) {
        let Some(kept) = cluster.iter().find(|member| member.is_kept) else { continue };
        similar.extend(cluster.iter().filter(|member| !member.is_kept).map(|member| SimilarDocument {
            index: member.document as usize,
            id: names[kept.document as usize].clone(),
            similarity: member.similarity.unwrap_or_default(),
        }));
    }
    similar.sort_by_key(|one| one.index);
    similar
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
