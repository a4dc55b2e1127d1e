//! Queries by text: the stored texts that are similar to given ones, or contain them, or that they contain.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hamdex::similar::{Condition, Measure};
use hamdex::{Cancellation, Fingerprint, FingerprintSet, Names, Report};
use hamdex_any::{AnySet, for_width};
use hamdex_documents::SimilarTexts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::admission::Budget;
use crate::api::App;
use crate::api::answer::{ID_BYTES, MATCH_BYTES, MAX_MATCHES, Room, json_length, too_many};
use crate::api::json::{Id, too_many_records};
use crate::api::payload::{JSON, SMALL_BODY};
use crate::problem::Problem;
use crate::sets::{IdKind, Served};

/// The least share for which few lists of shingles are read, and short ones.
const SELECTIVE: f64 = 0.5;

/// The stored texts that are similar to those of queries, a list for each: a form of
/// [`QueryResponse`](crate::api::query::QueryResponse).
#[derive(Serialize)]
struct SimilarResponse {
    results: Vec<Vec<SimilarMatch>>,
}

/// A stored text that is similar to one of a query.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimilarMatch {
    /// Its id.
    id: Id,
    /// The share of shingles by which the query compares, above 0 and at most 1.
    #[schema(example = 0.93)]
    similarity: f64,
}

/// Texts to look for.
pub(crate) struct SimilarQueries {
    texts: Vec<String>,
    condition: Condition,
    /// The most documents per text.
    limit: usize,
}

/// Returns the condition that a request has; `None` if it has none.
///
/// # Errors
/// When it has several, or one that is not a share.
pub(crate) fn condition_of(
    similar: Option<f64>,
    containing: Option<f64>,
    contained: Option<f64>,
) -> Result<Option<Condition>, Problem> {
    let given = [
        ("similar", Measure::Resemblance, similar),
        ("containing", Measure::Containing, containing),
        ("contained", Measure::Contained, contained),
    ];
    let mut given = given.into_iter().filter_map(|(field, measure, least)| Some((field, measure, least?)));
    let Some((field, measure, least)) = given.next() else { return Ok(None) };
    if let Some((other, ..)) = given.next() {
        let detail = format!("give either {field:?} or {other:?}");
        return Err(Problem::unprocessable("bad_request", detail));
    }
    condition(field, measure, least).map(Some)
}

/// Returns the condition of a field of a request.
///
/// # Errors
/// When the least share is not above 0 and at most 1.
pub(crate) fn condition(field: &str, measure: Measure, least: f64) -> Result<Condition, Problem> {
    Condition::new(measure, least).ok_or_else(|| {
        let detail = format!("{field}: {least} is no share: above 0 and at most 1");
        Problem::unprocessable("bad_request", detail)
    })
}

impl SimilarQueries {
    /// # Errors
    /// When the answer is to be a stream of Arrow.
    pub(crate) fn new(
        texts: Vec<String>,
        condition: Condition,
        limit: Option<usize>,
        wants_arrow: bool,
    ) -> Result<Self, Problem> {
        if wants_arrow {
            let detail =
                "the answer to similar, containing and contained is JSON; leave the header Accept out";
            return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail));
        }
        // One more than an answer may have tells that there are too many.
        Ok(Self { texts, condition, limit: limit.unwrap_or(usize::MAX).min(MAX_MATCHES + 1) })
    }

    /// Whether they take so little time that they do not delay others.
    pub(crate) fn are_small(&self) -> bool {
        let is_selective =
            self.condition.measure() != Measure::Contained && self.condition.least() >= SELECTIVE;
        is_selective && self.texts.iter().map(String::len).sum::<usize>() <= SMALL_BODY
    }

    /// Answers the queries.
    ///
    /// # Errors
    /// When the set has no shingles that this version makes, there are too many documents or queries, something is
    /// damaged, or the work is cancelled.
    pub(crate) fn answer(
        &self,
        app: &App,
        served: &Served,
        cancellation: &Cancellation,
    ) -> Result<Response, Problem> {
        served.read(|any| self.answer_of(any, app, served, cancellation))
    }

    /// Answers the queries, from a set that is open.
    ///
    /// # Errors
    /// As for [`Self::answer`].
    pub(crate) fn answer_of(
        &self,
        any: &AnySet,
        app: &App,
        served: &Served,
        cancellation: &Cancellation,
    ) -> Result<Response, Problem> {
        if self.texts.len() > app.limits.batch {
            return Err(too_many_records(self.texts.len(), app.limits.batch));
        }
        let description = any.description();
        let kind = IdKind::of(description);
        for_width!(description.width, F => {
            let set = any.typed::<F>().expect("the width was asked for");
            let (results, _room) = self.search::<F>(&**set, kind, &app.budget, cancellation)?;
            app.metrics.queries(&served.name, results.len(), results.iter().map(Vec::len).sum());
            let json = serde_json::to_vec(&SimilarResponse { results }).expect("a vector takes everything");
            app.budget.answer(([(header::CONTENT_TYPE, JSON)], json).into_response())
        })
    }

    fn search<F: Fingerprint>(
        &self,
        set: &dyn FingerprintSet<F>,
        kind: IdKind,
        budget: &Arc<Budget>,
        cancellation: &Cancellation,
    ) -> Result<(Vec<Vec<SimilarMatch>>, Room), Problem> {
        let mut searcher = SimilarTexts::of(set)?.searcher();
        searcher.report_to(Report::new().cancellation(cancellation.clone()));
        let (mut results, mut room, mut count) = (Vec::with_capacity(self.texts.len()), Room::new(budget), 0);
        for text in &self.texts {
            if cancellation.is_cancelled() {
                return Err(Problem::timeout());
            }
            // Nothing is similar to a blank text.
            let found = searcher.find(text, &self.condition, self.limit)?.unwrap_or_default();
            count += found.len();
            if count > MAX_MATCHES {
                return Err(too_many());
            }
            room.take(ID_BYTES + found.len() * MATCH_BYTES)?;
            let mut matches = Vec::with_capacity(found.len());
            for one in found {
                let id = if kind == IdKind::Names {
                    let name = set.name_of(one.id)?.unwrap_or_default();
                    let name = Names::text_of(&name);
                    room.take(json_length(&name))?;
                    Id::Text(name.into_owned())
                } else {
                    Id::Number(one.id.id)
                };
                matches.push(SimilarMatch { id, similarity: one.similarity });
            }
            results.push(matches);
        }
        Ok((results, room))
    }
}
