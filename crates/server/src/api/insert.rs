//! `POST /v1/sets/{set}/insert`: records into a store, unless something is near, or, for texts, unless a similar one is
//! stored, by the rule of `hamdex dedup`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hamdex::Fingerprint;
use hamdex::set::Description;
use hamdex_documents::{Decision, Dedup, Document, Error, Similarity};
use hamdex_store::{Inserted, Put, Store, When, for_any_store};
use rayon::ThreadPoolBuilder;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::App;
use crate::api::answer::Answer;
use crate::api::json::{Id, List};
use crate::api::payload::{Binary, Media, Named, Parameters, Payload};
use crate::api::query::check_distance;
use crate::api::records::{Checked, Labels, Need, Record, Refusals};
use crate::budget::Budget;
use crate::failure::chain;
use crate::lane::{Lane, Stop};
use crate::problem::Problem;
use crate::sets::{Served, Texts, write};

/// Records to insert.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InsertRequest {
    /// The records. One that is wrong refuses all, unless `on_refused` is `skip`.
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

/// The outcome of an insertion beyond what is near.
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
    if !written.has_shingles {
        let run = move |_: &Stop| run(&work, &served, request_of(&parameters, &payload)?, &payload, deadline);
        return written.writes.run(deadline, run).await;
    }
    let parse = move |_: &Stop| Ok((request_of(&parameters, &payload)?, payload));
    let (request, payload) = written.writes.run(deadline, parse).await?;
    if request.unless_similar.is_none() {
        return written.writes.run(deadline, move |_| run(&work, &served, request, &payload, deadline)).await;
    }
    // Alone in the set: of two similar texts from two connections, one wins. Other writes go on while it waits for a
    // place among heavy work of all sets; only one insertion per set has such a place and waits for the writes.
    let turn = written.similar.admit(Some(deadline)).await?;
    let place = app.lanes.heavy.admit(Some(deadline)).await?;
    let alone = written.writes.admit_alone(deadline).await?;
    let run = move |stop: &Stop| {
        let _held = (turn, alone);
        insert_unless_similar(&work, &served, request, stop, deadline)
    };
    Lane::run_admitted(place, deadline, run).await
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
    if unless_similar.is_some() {
        let detail = "the set keeps no shingles of texts, which unless_similar compares; make one with \"shingles\": true";
        return Err(Problem::unprocessable("no_shingles", detail));
    }
    unless_near.map_or(Ok(()), |distance| check_distance(app, &description, distance))?;
    for_any_store!(&written.store, store => {
        let mut refusals = on_refused.refusals();
        let (count, records) = match payload.media {
            Media::Json => {
                let records = records.all()?;
                (records.len(), Checked::of_records(&description, &records, Need::AsTheSet, &mut refusals)?)
            }
            Media::Binary => {
                let records = Checked::of_bytes(&description, &payload.bytes, app.limits.batch)?;
                (records.fingerprints.len(), records)
            }
        };
        let when = unless_near.map_or_else(When::always, When::unless_near);
        let when = if replace { when.replacing() } else { when };
        let put = write(store, deadline, |store| store.put(records.records(), when))?;
        let Put { outcomes, inserted, removed, .. } = put;
        app.metrics.write(&set.name, inserted, removed, started.elapsed());
        let numbers = refusals.others(count);
        let near = answer_of(&description, &records.fingerprints, &numbers, outcomes, &app.budget);
        let mut more = More { replaced: replace.then_some(removed), ..More::default() };
        if on_refused == OnRefused::Skip {
            let left_out: Vec<(usize, Fate)> = near.answered().map(|index| (index, Fate::Near)).collect();
            more.tell(count, refusals, &left_out);
        }
        let answer =
            if payload.wants_arrow { near.arrow("index", Some(inserted)) } else { near.inserted_json(inserted, &more) };
        Ok(app.budget.answer_done(answer))
    })
}

impl OnRefused {
    fn refusals(self) -> Refusals {
        match self {
            Self::Fail => Refusals::default(),
            Self::Skip => Refusals::skip(),
        }
    }
}

/// Refuses replacements in a set without look-ups.
fn check_lookups(description: &Description) -> Result<(), Problem> {
    if description.has_lookups { Ok(()) } else { Err(Problem::no_lookups()) }
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
    let InsertRequest { records, unless_similar, replace, on_refused, .. } = request;
    if replace {
        check_lookups(&description)?;
    }
    let least = unless_similar.unwrap_or(Similarity::DEFAULT_LEAST);
    let comparison = Comparison { least, replace, threads: app.threads.div_ceil(2), stop, deadline };
    let mut refusals = on_refused.refusals();
    let records = records.all()?;
    let count = records.len();
    for_any_store!(&written.store, store => {
        let (Put { inserted, removed, .. }, similar) =
            insert_dissimilar(store, &description, records, &comparison, &mut refusals)?;
        app.metrics.write(&set.name, inserted, removed, started.elapsed());
        let mut more = More { replaced: replace.then_some(removed), ..More::default() };
        if on_refused == OnRefused::Skip {
            let left_out: Vec<(usize, Fate)> = similar.iter().map(|one| (one.index, Fate::Similar)).collect();
            more.tell(count, refusals, &left_out);
        }
        more.similar = Some(similar);
        Ok(app.budget.answer_done(Json(InsertResponse { inserted, near: Vec::new(), more }).into_response()))
    })
}

/// Returns what is near the records with these numbers.
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
fn insert_dissimilar<F: Fingerprint>(
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
