//! `POST /v1/sets/{set}/insert`: records into a store, unless something is near, or, for texts, unless a similar one is
//! stored, by the rule of `hamdex dedup`.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use hamdex::set::Description;
use hamdex::similar::Measure;
use hamdex::{Cancellation, Fingerprint, Names};
use hamdex_store::{Inserted, Put, When, for_any_store};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admission::Budget;
use crate::api::App;
use crate::api::answer::Answer;
use crate::api::json::{Id, List, Object};
use crate::api::payload::{Binary, Media, Named, Parameters, Payload};
use crate::api::query::check_distance;
use crate::api::records::{Checked, Need, Record, Refusals};
use crate::api::similar::condition;
use crate::problem::Problem;
use crate::sets::{Served, write};

/// Records to insert.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InsertRequest {
    /// The records. One that is wrong refuses all, unless `on_refused` is `skip`.
    #[serde(default)]
    #[schema(value_type = Vec<Record>)]
    records: List<Object<Record>>,
    /// Leaves a record out if a fingerprint within this distance, in bits, is stored or was inserted before it.
    unless_near: Option<u32>,
    /// In a set with shingles: leaves a text out if it shares this part of its shingles, above 0 and at most 1, with
    /// one that is stored or was inserted before it.
    #[schema(example = 0.7)]
    unless_similar: Option<f64>,
    /// In a set with look-ups: each record replaces the stored records of its id. Of several with one id, the last
    /// counts. With `unless_near` or `unless_similar`, a record is compared with everything but the records of its own
    /// id, in order; one that is left out replaces nothing.
    #[serde(default)]
    replace: bool,
    /// Treatment of invalid records, such as a text too short for a reliable fingerprint.
    #[serde(default)]
    on_refused: OnRefused,
}

/// Treatment of invalid records.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OnRefused {
    /// It refuses the request, and nothing has changed.
    #[default]
    Fail,
    /// It is left out, and the answer says why.
    Skip,
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
    #[serde(flatten)]
    more: More,
}

/// The outcome of an insertion, without the near records.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct More {
    /// With `unless_similar`: the records that were not inserted, and what each is similar to.
    #[serde(skip_serializing_if = "Option::is_none")]
    similar: Option<Vec<SimilarDocument>>,
    /// With `replace`: the number of stored records that were replaced. A pair of fingerprint and number that is stored as it
    /// is stays, and does not count, nor among the inserted ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<u64>,
    /// With `on_refused` `skip`: the records that are wrong, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Vec<RefusedDocument>>,
    /// With `on_refused` `skip`: the outcome of each record.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcomes: Option<Vec<Fate>>,
}

/// The outcome of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Fate {
    /// It is stored.
    Inserted,
    /// Something is near, as `near` says.
    Near,
    /// Something is similar, as `similar` says.
    Similar,
    /// It is wrong, as `refused` says.
    Refused,
}

/// A record that is wrong.
#[derive(Debug, Serialize, ToSchema)]
struct RefusedDocument {
    /// The number of the record, from 0 on.
    index: usize,
    /// The reason in a sentence for people, which may change.
    #[schema(example = "the text is too short for a reliable fingerprint: 2 features, 5 are needed")]
    reason: String,
}

impl More {
    /// Says what became of each of this many records; `left_out` are the records that were not inserted.
    fn tell(&mut self, count: usize, refusals: Refusals, left_out: &[(usize, Fate)]) {
        let mut outcomes = vec![Fate::Inserted; count];
        left_out.iter().for_each(|&(index, fate)| outcomes[index] = fate);
        refusals.problems.iter().for_each(|&(index, _)| outcomes[index] = Fate::Refused);
        self.outcomes = Some(outcomes);
        let reason =
            |(index, problem): (usize, Problem)| RefusedDocument { index, reason: problem.of_record() };
        self.refused = Some(refusals.problems.into_iter().map(reason).collect());
    }
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
    /// Its first ids, ascending, at most 10; not in a set without ids.
    ids: Option<Vec<Id>>,
    /// The number of all its ids, if it has more than those.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids_count: Option<u64>,
}

/// Insert records, each unless something is near, or in place of others
///
/// All are inserted, or with `unless_near` those near which nothing is stored, with `unless_similar` the texts to which
/// nothing stored is similar, with `replace` in place of the records of the same ids, to which they are then neither
/// near nor similar; atomically, also between connections. The answer comes when the records are as durable as the store promises; requests that arrive together
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
    let written = set.opened_for_writing()?;
    let (work, served) = (Arc::clone(&app), Arc::clone(&set));
    let run =
        move |_: &Cancellation| run(&work, &served, request_of(&parameters, &payload)?, &payload, deadline);
    written.writes.run(deadline, run).await
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
    if request.unless_near.is_some() && request.unless_similar.is_some() {
        let detail = "give either \"unless_near\" or \"unless_similar\"";
        return Err(Problem::unprocessable("bad_request", detail));
    }
    let needs_json =
        request.unless_similar.is_some() || request.replace || request.on_refused == OnRefused::Skip;
    if payload.wants_arrow && needs_json {
        let detail =
            "the answer to unless_similar, replace and on_refused is JSON; leave the header Accept out";
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
    let InsertRequest { records, unless_near, unless_similar, replace, on_refused } = request;
    if replace {
        check_lookups(&description)?;
    }
    if unless_similar.is_some() && !description.has_shingles {
        let detail = "the set keeps no shingles of texts, which unless_similar compares; make one with \"shingles\": true";
        return Err(Problem::unprocessable("no_shingles", detail));
    }
    let when = match (unless_near, unless_similar) {
        (Some(distance), _) => {
            check_distance(app, &description, distance)?;
            When::unless_near(distance)
        }
        (None, Some(least)) => {
            When::unless_similar(condition("unless_similar", Measure::Resemblance, least)?)
        }
        (None, None) => When::always(),
    };
    let when = if replace { when.replacing() } else { when };
    for_any_store!(&written.store, store => {
        let mut refusals = Refusals::new(on_refused == OnRefused::Skip);
        let (count, records) = match payload.media {
            Media::Json => {
                let records = records.all_objects()?;
                (records.len(), Checked::of_records(&description, &records, Need::AsTheSet, &mut refusals)?)
            }
            Media::Binary => {
                let records = Checked::of_bytes(&description, &payload.bytes, app.limits.batch)?;
                (records.fingerprints.len(), records)
            }
        };
        let put = write(store, deadline, |store| store.put(records.records(), when))?;
        let Put { outcomes, inserted, removed, .. } = put;
        app.metrics.write(&set.name, inserted, removed, started.elapsed());
        let numbers = refusals.others(count);
        let similar: Vec<SimilarDocument> =
            numbers.iter().zip(&outcomes).filter_map(|(&index, outcome)| SimilarDocument::of(index, outcome)).collect();
        let near = answer_of(&description, &records.fingerprints, &numbers, outcomes, &app.budget);
        let mut more = More { replaced: replace.then_some(removed), ..More::default() };
        if on_refused == OnRefused::Skip {
            let mut left_out: Vec<(usize, Fate)> = near.answered().map(|index| (index, Fate::Near)).collect();
            left_out.extend(similar.iter().map(|one| (one.index, Fate::Similar)));
            more.tell(count, refusals, &left_out);
        }
        more.similar = unless_similar.map(|_| similar);
        let answer =
            if payload.wants_arrow { near.arrow("index", Some(inserted)) } else { near.inserted_json(inserted, &more) };
        Ok(app.budget.answer_done(answer))
    })
}

/// Refuses replacements in a set without look-ups.
fn check_lookups(description: &Description) -> Result<(), Problem> {
    if description.has_lookups { Ok(()) } else { Err(Problem::no_lookups()) }
}

/// Returns the matches near the records with these numbers.
fn answer_of<F: Fingerprint>(
    description: &Description,
    fingerprints: &[F],
    numbers: &[usize],
    outcomes: Vec<Inserted<F>>,
    budget: &Arc<Budget>,
) -> Answer<F> {
    let mut answer = Answer::new(description, true, budget);
    for ((outcome, &fingerprint), &number) in outcomes.into_iter().zip(fingerprints).zip(numbers) {
        // Those before it that were refused.
        answer.ends.resize(number, answer.matches.len());
        if let Inserted::Near(near) = outcome {
            answer.add_near(fingerprint, &near);
        }
        answer.ends.push(answer.matches.len());
    }
    answer
}

/// A text that was not inserted, and one to which it is similar.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarDocument {
    /// The number of the record, from 0 on.
    pub(crate) index: usize,
    /// The name of the most similar text that is stored, or was inserted before it; of equally similar ones the oldest.
    id: String,
    /// The share of common shingles, from 0 to 1.
    #[schema(example = 0.83)]
    similarity: f64,
}

impl SimilarDocument {
    /// Returns what a record is similar to, if that kept it out.
    fn of<F>(index: usize, outcome: &Inserted<F>) -> Option<Self> {
        let similar = outcome.similar()?;
        let id = Names::text_of(&similar.name).into_owned();
        Some(Self { index, id, similarity: similar.similarity })
    }
}
