//! `GET /v1/sets/{set}/records/{id}`: the records of an id.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use hamdex::Names;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::id::Id;
use crate::api::payload::{Named, RecordId};
use crate::app::App;
use crate::problem::Problem;
use crate::sets::{IdKind, Key};

/// The records of an id.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordsDocument {
    /// The id.
    id: Id,
    /// The fingerprints of its records, as hexadecimal digits, ascending.
    #[schema(example = json!(["0123456789abcdef"]))]
    fingerprints: Vec<String>,
}

/// Get the records of an id
///
/// In a set with look-ups, without a pass over the set.
#[utoipa::path(
    get, path = "/v1/sets/{set}/records/{id}", tag = "queries", operation_id = "get_records",
    params(
        ("set" = String, Path, description = "The name of the set."),
        ("id" = String, Path, description = "The id: a number, or a name as answers have it, with percent signs for what a path cannot have."),
    ),
    responses(
        (status = 200, description = "The records.", body = RecordsDocument),
        (status = 404, description = "There is no such set, or no record of that id.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be answered now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn records(
    State(app): State<Arc<App>>,
    Named(set): Named,
    RecordId(id): RecordId,
) -> Result<Response, Problem> {
    let budget = Arc::clone(&app.budget);
    let find = move |_: &_| {
        let description = set.description()?;
        if !description.has_lookups {
            return Err(Problem::no_lookups());
        }
        let id = Id::Text(id);
        let (key, id) = match (IdKind::of(&description), id.number()) {
            (IdKind::Names, _) => {
                (Key::Names(id.name().into_iter().flat_map(Names::with_text).collect()), id)
            }
            (_, Some(number)) => (Key::Number(number), Id::Number(number)),
            (_, None) => return Err(Problem::unprocessable("ids", "the ids of this set are numbers")),
        };
        let fingerprints = set.find(&key)?;
        if fingerprints.is_empty() {
            return Err(Problem::not_found("no_record", "there is no record of this id"));
        }
        budget.answer(Json(RecordsDocument { id, fingerprints }).into_response())
    };
    app.lanes.queries.run(app.deadline(), find).await
}
