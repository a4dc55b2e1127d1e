//! `POST /v1/sets/{set}/insert`: records into a store, unless something is near.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hamdex::set::Description;
use hamdex::{Fingerprint, Match, Names};
use hamdex_documents::Similarity;
use hamdex_store::{Inserted, Operation, Store, Written, for_any_store};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::answer::{Answer, Labels as Found};
use crate::api::id::Id;
use crate::api::list::List;
use crate::api::payload::{Binary, Media, Named, Parameters, Payload};
use crate::api::query::distance_too_great;
use crate::api::records::{Checked, Labels, Need, Record};
use crate::api::similar::{self, SimilarDocument};
use crate::app::App;
use crate::lane::Stop;
use crate::problem::Problem;
use crate::sets::{Served, write};

/// Records to insert.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InsertRequest {
    /// The records. One that is wrong refuses all.
    #[serde(default)]
    #[schema(value_type = Vec<Record>)]
    records: List<Record>,
    /// Leaves a record out if a fingerprint within this distance, in bits, is stored or was inserted before it.
    unless_near: Option<u32>,
    /// In a set with shingles: leaves a text out if it shares this part of its shingles, above 0 and at most 1, with
    /// one that is stored or was inserted before it. The shingles of the whole set are read: send many records at once.
    #[schema(example = 0.7)]
    unless_similar: Option<f64>,
    /// In a set with look-ups: each record replaces the stored records of its id. Of several with one id, the last
    /// counts.
    #[serde(default)]
    replace: bool,
}

/// Parameters of binary insertions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InsertParameters {
    /// Of binary records: leaves a record out if a fingerprint within this distance is stored or was inserted before
    /// it.
    unless_near: Option<u32>,
}

/// The outcome of an insertion.
#[derive(Serialize, ToSchema)]
pub(crate) struct InsertResponse {
    /// The number of records that were inserted.
    inserted: u64,
    /// The records that were not inserted, and what is near each.
    near: Vec<NearDocument>,
    /// With `unless_similar`: the records that were not inserted, and what each is similar to.
    #[serde(skip_serializing_if = "Option::is_none")]
    similar: Option<Vec<SimilarDocument>>,
    /// With `replace`: the number of stored records that were replaced. A pair of fingerprint and number that is stored as it
    /// is stays, and does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<u64>,
}

/// A record that was not inserted, and the nearest stored fingerprint.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NearDocument {
    /// The number of the record, from 0 on.
    index: usize,
    /// The stored fingerprint, as hexadecimal digits.
    fingerprint: String,
    /// The number of bits in which it differs.
    distance: u32,
    /// Its ids, ascending; not in a set without ids.
    ids: Option<Vec<Id>>,
}

/// Insert records, each unless something is near, or in place of others
///
/// All are inserted, or with `unless_near` those near which nothing is stored, with `unless_similar` the texts to which
/// nothing stored is similar, with `replace` in place of the records of the same ids; atomically, also between
/// connections. The answer comes when the records are as durable as the store promises; requests that arrive together
/// share a sync. The body can also be little-endian fingerprints, in a set with numbers as ids each followed by its id
/// of 8 bytes; the answer is a stream of Arrow then.
#[utoipa::path(
    post, path = "/v1/sets/{set}/insert", tag = "changes", operation_id = "insert",
    params(("set" = String, Path, description = "The name of the set."), InsertParameters),
    request_body(content((InsertRequest = "application/json"), (Binary = "application/octet-stream"))),
    responses(
        (status = 200, description = "The outcome.", content((InsertResponse = "application/json"), (Binary = "application/vnd.apache.arrow.stream"))),
        (status = "4XX", description = "The request is wrong; nothing has changed.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn insert(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Parameters(parameters): Parameters<InsertParameters>,
    payload: Payload,
) -> Result<Response, Problem> {
    let deadline = app.deadline();
    let written = set.writable()?;
    let (work, served) = (Arc::clone(&app), Arc::clone(&set));
    if !written.has_shingles {
        let run = move |_: &Stop| run(&work, &served, request_of(&parameters, &payload)?, &payload, deadline);
        return written.writes.run(deadline, run).await;
    }
    let parse = move |_: &Stop| Ok((request_of(&parameters, &payload)?, payload));
    let (request, payload) = written.writes.run(deadline, parse).await?;
    if request.unless_similar.is_none() {
        return written.writes.run(deadline, move |_| run(&work, &served, request, &payload, deadline)).await;
    }
    // Alone in the set: of two similar texts from two connections, one wins.
    let alone = written.writes.admit_alone(deadline).await?;
    let run = move |stop: &Stop| {
        let _alone = alone;
        insert_unless_similar(&work, &served, request, stop, deadline)
    };
    app.lanes.heavy.run(deadline, run).await
}

/// Returns a request whose options fit each other.
fn request_of(parameters: &InsertParameters, payload: &Payload) -> Result<InsertRequest, Problem> {
    let request = match payload.media {
        Media::Json if parameters.unless_near.is_some() => {
            let detail = "unless_near behind the question mark is for binary records; write it into the JSON";
            return Err(Problem::bad_request("bad_parameter", detail));
        }
        Media::Json => payload.json::<InsertRequest>()?,
        Media::Binary => InsertRequest { unless_near: parameters.unless_near, ..InsertRequest::default() },
    };
    let conditions = [request.unless_near.is_some(), request.unless_similar.is_some(), request.replace];
    if conditions.into_iter().filter(|&is_given| is_given).count() > 1 {
        let detail = "give one of \"unless_near\", \"unless_similar\" and \"replace\"";
        return Err(Problem::unprocessable("bad_request", detail));
    }
    if payload.wants_arrow && (request.unless_similar.is_some() || request.replace) {
        let detail = "the answer to unless_similar and replace is JSON; leave the header Accept out";
        return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail));
    }
    Ok(request)
}

fn run(
    app: &App,
    set: &Served,
    request: InsertRequest,
    payload: &Payload,
    deadline: Instant,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let written = set.writable()?;
    let description = set.description()?;
    let InsertRequest { records, unless_near, unless_similar, replace } = request;
    if replace && !description.has_lookups {
        return Err(Problem::no_lookups());
    }
    if unless_similar.is_some() {
        let detail = "the set keeps no shingles of texts, which unless_similar compares; make one with \"shingles\": true";
        return Err(Problem::unprocessable("no_shingles", detail));
    }
    let most = app.limits.distance_of(&description);
    if let Some(distance) = unless_near.filter(|&distance| distance > most) {
        return Err(distance_too_great(distance, most));
    }
    for_any_store!(&written.store, store => {
        let records = match payload.media {
            Media::Json => Checked::of_json(&description, records, Need::AsTheSet)?,
            Media::Binary => Checked::of_bytes(&description, &payload.bytes, app.limits.batch)?,
        };
        if replace {
            let Written { inserted, removed, .. } = replace_records(store, records, deadline)?;
            app.metrics.write(&set.name, inserted, removed, started.elapsed());
            let response = InsertResponse { inserted, near: Vec::new(), similar: None, replaced: Some(removed) };
            return Ok(Json(response).into_response());
        }
        let (inserted, near) = store_records(store, &description, records, unless_near, deadline)?;
        app.metrics.write(&set.name, inserted, 0, started.elapsed());
        Ok(if payload.wants_arrow { near.arrow("index", Some(inserted)) } else { near.inserted_json(inserted) })
    })
}

/// Inserts texts unless similar ones are stored.
fn insert_unless_similar(
    app: &App,
    set: &Served,
    request: InsertRequest,
    stop: &Stop,
    deadline: Instant,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let written = set.writable()?;
    let description = set.description()?;
    let least = request.unless_similar.unwrap_or(Similarity::DEFAULT_LEAST);
    for_any_store!(&written.store, store => {
        let (inserted, similar) =
            similar::insert(store, &description, request.records, least, app.threads.div_ceil(2), stop, deadline)?;
        app.metrics.write(&set.name, inserted, 0, started.elapsed());
        Ok(Json(InsertResponse { inserted, near: Vec::new(), similar: Some(similar), replaced: None }).into_response())
    })
}

/// Returns documents as a store with shingles takes them.
fn documents_of<'r, F: Fingerprint>(
    fingerprints: &[F],
    names: &'r [String],
    sets: &'r [Vec<u64>],
) -> Vec<(F, &'r String, &'r [u64])> {
    fingerprints.iter().zip(names).zip(sets).map(|((&f, name), set)| (f, name, &**set)).collect()
}

/// Inserts records, each in place of all records of its id.
fn replace_records<F: Fingerprint>(
    store: &Store<F>,
    records: Checked<F>,
    deadline: Instant,
) -> Result<Written, Problem> {
    let Checked { fingerprints, labels, shingles } = records;
    match (&labels, shingles) {
        (Labels::Names(names), Some(sets)) => {
            let documents = documents_of(&fingerprints, names, &sets);
            write(store, deadline, |store| store.upsert_documents(&documents))
        }
        (Labels::Names(names), None) => {
            let named = named_of(&fingerprints, names);
            write(store, deadline, |store| store.upsert_named(&named))
        }
        (Labels::Numbers(_), _) => {
            let pairs = pairs_of(&fingerprints, &labels);
            write(store, deadline, |store| store.upsert(&pairs))
        }
        // Look-ups imply ids.
        (Labels::None, _) => Ok(Written::default()),
    }
}

/// Returns fingerprints with their names.
fn named_of<'r, F: Fingerprint>(fingerprints: &[F], names: &'r [String]) -> Vec<(F, &'r String)> {
    fingerprints.iter().copied().zip(names).collect()
}

/// Returns fingerprints with their ids: zeros in a store without ids.
fn pairs_of<F: Fingerprint>(fingerprints: &[F], labels: &Labels) -> Vec<(F, u64)> {
    match labels {
        Labels::Numbers(ids) => fingerprints.iter().copied().zip(ids.iter().copied()).collect(),
        _ => fingerprints.iter().map(|&fingerprint| (fingerprint, 0)).collect(),
    }
}

/// Inserts all records; returns their number.
fn insert_all<F: Fingerprint>(
    store: &Store<F>,
    records: &Checked<F>,
    deadline: Instant,
) -> Result<u64, Problem> {
    let Checked { fingerprints, labels, shingles } = records;
    match (labels, shingles) {
        (Labels::Names(names), Some(sets)) => {
            let documents = documents_of(fingerprints, names, sets);
            write(store, deadline, |store| store.insert_documents(&documents))?;
        }
        (Labels::Names(names), None) => {
            let named = named_of(fingerprints, names);
            write(store, deadline, |store| store.insert_named(&named))?;
        }
        _ => {
            let pairs = pairs_of(fingerprints, labels);
            let operations: Vec<_> = pairs.into_iter().map(|(f, id)| Operation::Insert(f, id)).collect();
            write(store, deadline, |store| store.write(operations.clone()))?;
        }
    }
    Ok(fingerprints.len() as u64)
}

/// Inserts records near which nothing is stored; returns the outcome of each.
fn insert_unless_near<F: Fingerprint>(
    store: &Store<F>,
    records: &Checked<F>,
    distance: u32,
    deadline: Instant,
) -> Result<Vec<Inserted<F>>, Problem> {
    let Checked { fingerprints, labels, shingles } = records;
    match (labels, shingles) {
        (Labels::Names(names), Some(sets)) => {
            let documents = documents_of(fingerprints, names, sets);
            write(store, deadline, |store| store.insert_documents_unless_near(&documents, distance))
        }
        (Labels::Names(names), None) => {
            let named = named_of(fingerprints, names);
            write(store, deadline, |store| store.insert_named_unless_near(&named, distance))
        }
        _ => {
            let pairs = pairs_of(fingerprints, labels);
            write(store, deadline, |store| store.insert_all_unless_near(&pairs, distance))
        }
    }
}

/// Inserts records; returns their number, and what is near the others.
fn store_records<F: Fingerprint>(
    store: &Store<F>,
    description: &Description,
    records: Checked<F>,
    unless_near: Option<u32>,
    deadline: Instant,
) -> Result<(u64, Answer<F>), Problem> {
    let mut answer = Answer::new(description, true);
    if records.fingerprints.is_empty() {
        return Ok((0, answer));
    }
    let Some(distance) = unless_near else {
        return Ok((insert_all(store, &records, deadline)?, answer));
    };
    let outcomes = insert_unless_near(store, &records, distance.min(F::BITS), deadline)?;
    let fingerprints = records.fingerprints;
    let mut inserted = 0;
    for (outcome, &fingerprint) in outcomes.into_iter().zip(&fingerprints) {
        match outcome {
            Inserted::New { .. } => inserted += 1,
            Inserted::Near(near) => {
                answer.matches.push(Match::new(fingerprint, near.fingerprint));
                if let Some(ids) = &mut answer.ids {
                    match &mut ids.labels {
                        Found::Numbers(numbers) => numbers.extend(near.ids),
                        Found::Names(names) => {
                            names.extend(near.names.iter().map(|name| Names::text_of(name).into_owned()));
                        }
                    }
                    ids.end();
                }
            }
        }
        answer.ends.push(answer.matches.len());
    }
    Ok((inserted, answer))
}
