//! `POST /v1/sets/{set}/query`: the stored fingerprints near given ones. Texts by their similarity: [`similar`].

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use hamdex::set::Description;
use hamdex::similar::{Condition, Measure};
use hamdex::{BatchOptions, Cancellation, Fingerprint, FingerprintSet, Report};
use hamdex_any::for_width;
use hamdex_documents::Similarity;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admission::Budget;
use crate::api::App;
use crate::api::answer::{Answer, DEFAULT_IDS, MAX_MATCHES};
use crate::api::json::{Id, List, too_many_records};
use crate::api::payload::{Binary, Media, Named, Parameters, Payload, SMALL_BODY};
use crate::api::similar::{self, SimilarMatch, SimilarQueries};
use crate::problem::Problem;
use crate::sets::{Extent, Served, Texts};

/// The most queries that count as few.
const FEW_QUERIES: usize = 4096;

/// Queries from which on a batch is faster than one search after the other.
const BATCH: usize = 8;

/// Memory of a batch, in bytes: several run at once.
const BATCH_MEMORY: u64 = 64 << 20;

/// Queries, by fingerprints or by texts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryRequest {
    /// Fingerprints to look for, as hexadecimal digits.
    #[schema(value_type = Option<Vec<String>>, example = json!(["0123456789abcdef"]))]
    fingerprints: Option<List<String>>,
    /// Texts to look for, in a set that has a recipe. In a set with shingles they are compared as texts, by `similar` with
    /// 0.7 unless a share is given; with `distance`, `ids` or `ids_limit`, by their fingerprints.
    #[schema(value_type = Option<Vec<String>>)]
    texts: Option<List<String>>,
    /// In a set with shingles: asks for the stored texts that share this part of all shingles of the two, above 0 and
    /// at most 1, with one of `texts`. Neither distances nor ids belong to such a query.
    #[schema(example = 0.7)]
    similar: Option<f64>,
    /// As `similar`, by the part of the shingles of a text in `texts` that the stored one contains.
    containing: Option<f64>,
    /// As `similar`, by the part of the shingles of a stored text that one of `texts` contains.
    contained: Option<f64>,
    /// The greatest distance, in bits. Without it, that of the set; with `nearest`, that of the service.
    distance: Option<u32>,
    /// The most matches per query, the nearest or most similar first.
    limit: Option<usize>,
    /// The number of the nearest that are wanted, within `distance` if that is given; of texts that are compared as texts,
    /// as `limit`.
    nearest: Option<usize>,
    /// Whether matches have their ids; true if it is not given.
    ids: Option<bool>,
    /// The most ids of each match, the least first; 10 if it is not given.
    ids_limit: Option<usize>,
}

/// The matches that binary queries want.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wanted {
    /// Of binary queries: the greatest distance, in bits. Without it, that of the set; with `nearest`, that of the
    /// service.
    distance: Option<u32>,
    /// Of binary queries: the most matches per query, the nearest first.
    limit: Option<usize>,
    /// Of binary queries: the number of the nearest that are wanted, within `distance` if that is given.
    nearest: Option<usize>,
    /// Of binary queries: whether matches have their ids; true if it is not given.
    ids: Option<bool>,
    /// Of binary queries: the most ids of each match, the least first; 10 if it is not given.
    ids_limit: Option<usize>,
}

/// The matches of all queries.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueryResponse {
    /// A list for each query, the nearest or most similar first.
    results: Vec<Vec<AnyMatch>>,
}

/// A match, by the form of the query.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is described, and never made")]
pub(crate) enum AnyMatch {
    Near(MatchDocument),
    Similar(SimilarMatch),
}

/// A stored fingerprint near a query.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MatchDocument {
    /// The fingerprint, as hexadecimal digits.
    #[schema(example = "0123456789abcdef")]
    fingerprint: String,
    /// The number of bits in which it differs from the query.
    distance: u32,
    /// Its first ids, ascending, as many as `ids_limit` allows; not in a set without ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<Id>>,
    /// The number of all its ids, if it has more than those.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids_count: Option<u64>,
}

/// The queries of a request.
enum Request {
    Near(Asked, Wanted),
    Similar(SimilarQueries),
}

/// A checked request.
struct Queries {
    body: Asked,
    distance: u32,
    count: usize,
    with_ids: bool,
    ids_limit: usize,
}

enum Asked {
    Fingerprints(Vec<String>),
    Texts(Vec<String>),
    Bytes(bytes::Bytes),
}

impl Asked {
    fn len(&self, width: u32) -> usize {
        match self {
            Self::Fingerprints(texts) | Self::Texts(texts) => texts.len(),
            Self::Bytes(bytes) => bytes.len() / (width as usize / 8),
        }
    }
}

impl Queries {
    fn new(app: &App, description: &Description, body: Asked, wanted: Wanted) -> Result<Self, Problem> {
        let distance = match (wanted.distance, wanted.nearest) {
            (Some(distance), _) => distance,
            (None, Some(_)) => app.limits.distance_of(description),
            (None, None) => description.distance,
        };
        check_distance(app, description, distance)?;
        let queries = body.len(description.width);
        if queries > app.limits.batch {
            return Err(too_many_records(queries, app.limits.batch));
        }
        // One more than an answer may have tells that there are too many.
        let count =
            wanted.limit.unwrap_or(usize::MAX).min(wanted.nearest.unwrap_or(usize::MAX)).min(MAX_MATCHES + 1);
        let (with_ids, ids_limit) = (wanted.ids.unwrap_or(true), wanted.ids_limit.unwrap_or(DEFAULT_IDS));
        Ok(Self { body, distance, count, with_ids, ids_limit })
    }

    fn fingerprints<F: Fingerprint>(&self, description: &Description) -> Result<Vec<F>, Problem> {
        match &self.body {
            Asked::Texts(texts) => Texts::of(description)?.fingerprints(texts),
            Asked::Bytes(bytes) => from_bytes(bytes),
            Asked::Fingerprints(texts) => {
                let parsed = texts.iter().enumerate().map(|(number, text)| parse_fingerprint(number, text));
                parsed.collect()
            }
        }
    }
}

/// Refuses a distance beyond `--max-distance`, or beyond the width of the set.
pub(crate) fn check_distance(app: &App, set: &Description, distance: u32) -> Result<(), Problem> {
    let most = app.limits.distance_of(set);
    if distance <= most {
        return Ok(());
    }
    let detail = if most == set.width {
        format!("distance {distance}: fingerprints of {most} bits are at most {most} apart")
    } else {
        format!("distance {distance}: this service answers up to {most} (--max-distance)")
    };
    Err(Problem::unprocessable("distance_too_great", detail))
}

/// Parses a fingerprint of a request.
pub(crate) fn parse_fingerprint<F: Fingerprint>(number: usize, text: &str) -> Result<F, Problem> {
    F::parse_hex(text).map_err(|error| {
        let shown: String = text.chars().take(40).collect();
        Problem::bad_record(number, format!("fingerprint {shown:?}: {error}"))
    })
}

/// Returns little-endian fingerprints.
pub(crate) fn from_bytes<F: Fingerprint>(bytes: &[u8]) -> Result<Vec<F>, Problem> {
    if !bytes.len().is_multiple_of(F::BYTES) {
        let detail =
            format!("{} bytes are no whole number of fingerprints of {} bytes", bytes.len(), F::BYTES);
        return Err(Problem::unprocessable("bad_length", detail));
    }
    Ok(bytes.chunks_exact(F::BYTES).map(fingerprint_from).collect())
}

/// Returns a little-endian fingerprint.
pub(crate) fn fingerprint_from<F: Fingerprint>(bytes: &[u8]) -> F {
    F::truncate(bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

/// Find the stored fingerprints near given ones
///
/// One list per query, in their order; the nearest first, then by fingerprint. Every match is found. The body can also
/// be little-endian fingerprints, with the other fields as parameters; the answer is a stream of Arrow then. With
/// `similar`, `containing` or `contained`, and for texts in a set with shingles unless a field is for fingerprints, the
/// lists have the stored texts that are similar, the most similar first, then
/// by the number of their id; a blank text is similar to none.
#[utoipa::path(
    post, path = "/v1/sets/{set}/query", tag = "queries", operation_id = "query",
    params(("set" = String, Path, description = "The name of the set."), Wanted),
    request_body(content((QueryRequest = "application/json"), (Binary = "application/octet-stream"))),
    responses(
        (status = 200, description = "The matches.", content((QueryResponse = "application/json"), (Binary = "application/vnd.apache.arrow.stream"))),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be answered now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn query(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Parameters(parameters): Parameters<Wanted>,
    payload: Payload,
) -> Result<Response, Problem> {
    let deadline = app.deadline();
    let work = Arc::clone(&app);
    if payload.media == Media::Json && payload.bytes.len() > SMALL_BODY {
        let run = move |cancellation: &Cancellation| {
            answer(&work, &set, asked(parameters, &payload)?, payload.wants_arrow, cancellation)
        };
        return app.lanes.heavy.run(deadline, run).await;
    }
    let request = asked(parameters, &payload)?;
    // One that cannot be opened may have been replaced by one that can.
    let is_small = set.extent().is_ok_and(|extent| request.is_small(extent));
    let lane = if is_small { &app.lanes.queries } else { &app.lanes.heavy };
    lane.run(deadline, move |cancellation| answer(&work, &set, request, payload.wants_arrow, cancellation))
        .await
}

/// Texts to make fingerprints of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FingerprintsRequest {
    /// The texts.
    #[schema(value_type = Vec<String>)]
    texts: List<String>,
}

/// The fingerprints of texts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FingerprintsResponse {
    /// A fingerprint for each text, as hexadecimal digits.
    fingerprints: Vec<String>,
}

/// Make fingerprints of texts by the recipe of a set
#[utoipa::path(
    post, path = "/v1/sets/{set}/fingerprints", tag = "queries", operation_id = "fingerprints",
    params(("set" = String, Path, description = "The name of the set.")),
    request_body = FingerprintsRequest,
    responses(
        (status = 200, description = "The fingerprints.", body = FingerprintsResponse),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be answered now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn fingerprints(
    State(app): State<Arc<App>>,
    Named(set): Named,
    payload: Payload,
) -> Result<Json<FingerprintsResponse>, Problem> {
    let lane = if payload.bytes.len() > SMALL_BODY { &app.lanes.heavy } else { &app.lanes.queries };
    let work = move |_: &Cancellation| {
        let FingerprintsRequest { texts } = payload.json()?;
        let texts = texts.all()?;
        let description = set.description()?;
        for_width!(description.width, F => {
            let found = Texts::<F>::of(&description)?.fingerprints(&texts)?;
            let fingerprints = found.into_iter().map(|fingerprint| fingerprint.hex().to_string()).collect();
            Ok(Json(FingerprintsResponse { fingerprints }))
        })
    };
    lane.run(app.deadline(), work).await
}

/// Returns the queries of a request, and which matches they want.
fn asked(parameters: Wanted, payload: &Payload) -> Result<Request, Problem> {
    match payload.media {
        Media::Binary => Ok(Request::Near(Asked::Bytes(payload.bytes.clone()), parameters)),
        Media::Json if parameters != Wanted::default() => {
            let detail =
                "parameters behind the question mark are for binary queries; write them into the JSON";
            Err(Problem::bad_request("bad_parameter", detail))
        }
        Media::Json => {
            let QueryRequest {
                fingerprints,
                texts,
                similar,
                containing,
                contained,
                distance,
                limit,
                nearest,
                ids,
                ids_limit,
            } = payload.json()?;
            let is_by_fingerprint =
                fingerprints.is_some() || distance.is_some() || ids.is_some() || ids_limit.is_some();
            let condition = similar::condition_of(similar, containing, contained)?;
            if let Some(condition) = condition {
                let Some(texts) = texts.filter(|_| !is_by_fingerprint) else {
                    let detail = "\"similar\", \"containing\" and \"contained\" need \"texts\"; only \"limit\" and \
                                  \"nearest\" go with them";
                    return Err(Problem::unprocessable("bad_request", detail));
                };
                let limit = limit.into_iter().chain(nearest).min();
                let queries = SimilarQueries::new(texts.all()?, condition, limit, payload.wants_arrow)?;
                return Ok(Request::Similar(queries));
            }
            let body = match (fingerprints, texts) {
                (Some(fingerprints), None) => Asked::Fingerprints(fingerprints.all()?),
                (None, Some(texts)) => Asked::Texts(texts.all()?),
                _ => {
                    let detail = "give either \"fingerprints\" or \"texts\"";
                    return Err(Problem::unprocessable("bad_request", detail));
                }
            };
            Ok(Request::Near(body, Wanted { distance, limit, nearest, ids, ids_limit }))
        }
    }
}

impl Wanted {
    /// Whether all that it wants can be had of texts that are compared as texts.
    fn is_of_texts(&self) -> bool {
        self.distance.is_none() && self.ids.is_none() && self.ids_limit.is_none()
    }
}

impl Request {
    /// Whether the queries take so little time that they do not delay others.
    fn is_small(&self, of_set: Extent) -> bool {
        let (body, wanted) = match self {
            Self::Near(body, wanted) => (body, wanted),
            Self::Similar(queries) => return queries.are_small(),
        };
        let few = match body {
            Asked::Texts(texts) => texts.iter().map(String::len).sum::<usize>() <= SMALL_BODY,
            body => body.len(of_set.width) <= FEW_QUERIES,
        };
        let is_near = match (wanted.distance, wanted.nearest) {
            (Some(distance), _) => distance <= of_set.distance,
            (None, nearest) => nearest.is_none(),
        };
        few && is_near
    }
}

fn answer(
    app: &App,
    served: &Served,
    request: Request,
    wants_arrow: bool,
    cancellation: &Cancellation,
) -> Result<Response, Problem> {
    let (body, wanted) = match request {
        Request::Near(body, wanted) => (body, wanted),
        Request::Similar(queries) => return queries.answer(app, served, cancellation),
    };
    served.read(|any| {
        let description = any.description();
        let body = match body {
            // Decided by the set that answers, which may have replaced another since the request came.
            Asked::Texts(texts) if wanted.is_of_texts() && description.has_shingles => {
                let condition = Condition::new(Measure::Resemblance, Similarity::DEFAULT_LEAST);
                let condition = condition.expect("it is a share");
                if wants_arrow {
                    let detail = "in a set with shingles, texts are compared as texts, and the answer is JSON; leave the header \
                                  Accept out, or give \"distance\"";
                    return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail));
                }
                let limit = wanted.limit.into_iter().chain(wanted.nearest).min();
                let queries = SimilarQueries::new(texts, condition, limit, false)?;
                return queries.answer_of(any, app, served, cancellation);
            }
            body => body,
        };
        let queries = Queries::new(app, description, body, wanted)?;
        for_width!(description.width, F => {
            let set = any.typed::<F>().expect("the width was asked for");
            let answer = search::<F>(&**set, description, &queries, &app.budget, cancellation)?;
            app.metrics.queries(&served.name, answer.ends.len(), answer.matches.len());
            app.budget.answer(if wants_arrow { answer.arrow("query", None) } else { answer.results_json() })
        })
    })
}

fn search<F: Fingerprint>(
    set: &dyn FingerprintSet<F>,
    description: &Description,
    queries: &Queries,
    budget: &Arc<Budget>,
    cancellation: &Cancellation,
) -> Result<Answer<F>, Problem> {
    let fingerprints = queries.fingerprints::<F>(description)?;
    let mut answer = Answer::new(description, queries.with_ids, budget);
    let mut searcher = set.open_searcher();
    searcher.report_to(Report::new().cancellation(cancellation.clone()));
    if queries.count == 0 {
        fingerprints.iter().try_for_each(|_| answer.add(&[]))?;
    } else if fingerprints.len() < BATCH {
        for &fingerprint in &fingerprints {
            answer.add(searcher.nearest_within(fingerprint, queries.count, queries.distance)?)?;
            if cancellation.is_cancelled() {
                return Err(Problem::timeout());
            }
        }
    } else {
        let options = BatchOptions::new().threads(1).memory(BATCH_MEMORY).limit(queries.count);
        let options = options.cancellation(cancellation.clone());
        set.batch_with(&fingerprints, queries.distance, &options, |_, found| answer.add(found))?;
    }
    if let Some(ids) = &mut answer.ids {
        let (found, most) = (&answer.matches, queries.ids_limit);
        ids.look_up((set, &mut *searcher), found, most, &mut answer.room, cancellation)?;
    }
    Ok(answer)
}
