//! `POST /v1/sets/{set}/insert`: records into a store, unless something is near.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::response::Response;
use hamdex::{Description, Fingerprint, Match};
use hamdex_store::{Inserted, Operation, Store};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::answer::{Answer, Labels as Found};
use crate::api::id::Id;
use crate::api::payload::{Media, Named, Parameters, Payload, parse};
use crate::api::records::{Checked, Labels, Need, Record};
use crate::app::App;
use crate::problem::Problem;
use crate::sets::{Served, for_store, write};

/// Records to insert.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InsertRequest {
    /// The records. One that is wrong refuses all.
    #[serde(default)]
    records: Vec<Record>,
    /// Leaves a record out if a fingerprint within this distance, in bits, is stored or was inserted before it.
    unless_near: Option<u32>,
    /// Not offered yet.
    #[schema(value_type = Option<f64>)]
    unless_similar: Option<serde_json::Value>,
}

/// Parameters of binary insertions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InsertParameters {
    /// Of binary records: leaves a record out if a fingerprint within this distance is stored or was inserted before it.
    unless_near: Option<u32>,
}

/// The outcome of an insertion.
#[derive(Serialize, ToSchema)]
pub(crate) struct InsertResponse {
    /// The number of records that were inserted.
    inserted: u64,
    /// The records that were not inserted, and what is near each.
    near: Vec<NearDocument>,
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

/// Insert records, each unless something is near
///
/// All are inserted, or with `unless_near` those near which nothing is stored; atomically, also between connections. The
/// answer comes when the records are as durable as the store promises; requests that arrive together share a sync. The body
/// can also be little-endian fingerprints, in a set with numbers as ids each followed by its id of 8 bytes; the answer is a
/// stream of Arrow then.
#[utoipa::path(
    post, path = "/v1/sets/{set}/insert", tag = "changes", operation_id = "insert",
    params(("set" = String, Path, description = "The name of the set."), InsertParameters),
    request_body(content((InsertRequest = "application/json"), (Vec<u8> = "application/octet-stream"))),
    responses(
        (status = 200, description = "The outcome.", content((InsertResponse = "application/json"), (Vec<u8> = "application/vnd.apache.arrow.stream"))),
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
    let served = Arc::clone(&set);
    let work = Arc::clone(&app);
    let lane = &set.writable()?.writes;
    lane.run(deadline, move |_| run(&work, &served, &parameters, &payload, deadline)).await
}

fn run(
    app: &App,
    set: &Served,
    parameters: &InsertParameters,
    payload: &Payload,
    deadline: Instant,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let written = set.writable()?;
    let description = set.description()?;
    let request = match payload.media {
        Media::Json if parameters.unless_near.is_some() => {
            let detail = "unless_near behind the question mark is for binary records; write it into the JSON";
            return Err(Problem::bad_request("bad_parameter", detail));
        }
        Media::Json => Some(parse::<InsertRequest>(&payload.bytes)?),
        Media::Binary => None,
    };
    if request.as_ref().is_some_and(|request| request.unless_similar.is_some()) {
        let detail =
            "unless_similar needs the shingles of texts, which stores do not keep yet; use unless_near";
        return Err(Problem::unprocessable("not_offered", detail));
    }
    let unless_near = request.as_ref().map_or(parameters.unless_near, |request| request.unless_near);
    if let Some(distance) = unless_near.filter(|&distance| distance > app.limits.distance) {
        let detail = format!(
            "distance {distance}: this service answers up to {} (--max-distance)",
            app.limits.distance
        );
        return Err(Problem::unprocessable("distance_too_great", detail));
    }
    for_store!(&written.store, store => {
        let most = app.limits.batch;
        let records = match request {
            Some(request) => Checked::of_json(&description, request.records, Need::AsTheSet, most)?,
            None => Checked::of_bytes(&description, &payload.bytes, most)?,
        };
        let (inserted, near) = store_records(store, &description, records, unless_near, deadline)?;
        app.metrics.write(&set.name, inserted, 0, started.elapsed());
        Ok(if payload.wants_arrow { near.arrow("index", Some(inserted)) } else { near.inserted_json(inserted) })
    })
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
    let Checked { fingerprints, labels } = records;
    let count = fingerprints.len() as u64;
    if fingerprints.is_empty() {
        return Ok((0, answer));
    }
    let pairs: Vec<(F, u64)> = match &labels {
        Labels::Numbers(ids) => fingerprints.iter().copied().zip(ids.iter().copied()).collect(),
        _ => fingerprints.iter().map(|&fingerprint| (fingerprint, 0)).collect(),
    };
    let outcomes = match (&labels, unless_near) {
        (Labels::Names(names), None) => {
            let named: Vec<_> = fingerprints.iter().copied().zip(names).collect();
            write(store, deadline, |store| store.insert_named(&named))?;
            return Ok((count, answer));
        }
        (Labels::Names(names), Some(distance)) => {
            let named: Vec<_> = fingerprints.iter().copied().zip(names).collect();
            write(store, deadline, |store| store.insert_named_unless_near(&named, distance.min(F::BITS)))?
        }
        (_, None) => {
            let operations: Vec<_> = pairs.into_iter().map(|(f, id)| Operation::Insert(f, id)).collect();
            write(store, deadline, |store| store.write(operations.clone()))?;
            return Ok((count, answer));
        }
        (_, Some(distance)) => {
            write(store, deadline, |store| store.insert_all_unless_near(&pairs, distance.min(F::BITS)))?
        }
    };
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
                            names.extend(
                                near.names.iter().map(|name| String::from_utf8_lossy(name).into_owned()),
                            );
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
