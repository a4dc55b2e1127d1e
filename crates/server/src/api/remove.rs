//! `POST /v1/sets/{set}/remove`: records or ids out of a store.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use hamdex::set::Description;
use hamdex::{Fingerprint, Names};
use hamdex_store::{Operation, Snapshot, Store, for_any_store};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::answer::Labels;
use crate::api::json::{Id, List, Object};
use crate::api::payload::{Named, Payload};
use crate::api::records::{Checked, Need, Record};
use crate::problem::Problem;
use crate::sets::{IdKind, Served, write};

/// Records to remove, or ids of which all records are removed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveRequest {
    /// Records. Without `id`, in all of them, every record of these fingerprints is removed.
    #[schema(value_type = Option<Vec<Record>>)]
    records: Option<List<Object<Record>>>,
    /// Ids of which every record is removed: numbers, or names as answers have them. In a set without look-ups the whole set is read for it.
    #[schema(value_type = Option<Vec<Id>>)]
    ids: Option<List<Id>>,
}

/// The outcome of a removal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RemoveResponse {
    /// The number of records that were stored, and are no longer.
    removed: u64,
}

/// Remove records
///
/// The answer comes when the removal is as durable as the store promises.
#[utoipa::path(
    post, path = "/v1/sets/{set}/remove", tag = "changes", operation_id = "remove",
    params(("set" = String, Path, description = "The name of the set.")),
    request_body = RemoveRequest,
    responses(
        (status = 200, description = "The outcome.", body = RemoveResponse),
        (status = "4XX", description = "The request is wrong; nothing has changed.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    Named(set): Named,
    payload: Payload,
) -> Result<Json<RemoveResponse>, Problem> {
    let deadline = app.deadline();
    let served = Arc::clone(&set);
    let written = set.opened_for_writing()?;
    let work = Arc::clone(&app);
    let request: RemoveRequest = written.writes.run(deadline, move |_| payload.json()).await?;
    // To find ids without look-ups, the whole set is read.
    let is_heavy = request.ids.is_some() && !written.has_lookups;
    let lane = if is_heavy { &app.lanes.heavy } else { &written.writes };
    let removed = lane.run(deadline, move |_| run(&work, &served, request, deadline)).await?;
    Ok(Json(RemoveResponse { removed }))
}

fn run(app: &App, set: &Served, request: RemoveRequest, deadline: Instant) -> Result<u64, Problem> {
    let started = Instant::now();
    let (written, description) = (set.writable()?, set.description()?);
    let before = set.current()?;
    let removed = for_any_store!(&written.store, store => match (request.records, request.ids) {
        (Some(records), None) => {
            let records = Checked::of_json(&description, records, Need::OrNone)?;
            remove_records(store, records, deadline)
        }
        (None, Some(ids)) => remove_ids(store, &description, &ids.all()?, deadline),
        _ => Err(Problem::unprocessable("bad_request", "give either \"records\" or \"ids\"")),
    })?;
    app.metrics.write(&set.name, 0, removed, started.elapsed());
    // Nothing may have been found in a file that is lost.
    set.check(&before)?;
    Ok(removed)
}

fn remove_records<F: Fingerprint>(
    store: &Store<F>,
    records: Checked<F>,
    deadline: Instant,
) -> Result<u64, Problem> {
    let Checked { fingerprints, labels, .. } = records;
    if fingerprints.is_empty() {
        return Ok(0);
    }
    let operations: Vec<Operation<F>> = match labels {
        None => {
            let removed = write(store, deadline, |store| store.remove_fingerprints(fingerprints.clone()))?;
            return Ok(removed.removed);
        }
        Some(Labels::Numbers(ids)) => fingerprints
            .into_iter()
            .zip(ids)
            .map(|(fingerprint, id)| Operation::Remove(fingerprint, id))
            .collect(),
        Some(Labels::Names(names)) => {
            let mut of_fingerprints: HashMap<F, HashSet<String>> = HashMap::new();
            for (fingerprint, name) in fingerprints.into_iter().zip(names) {
                of_fingerprints.entry(fingerprint).or_default().insert(name);
            }
            let snapshot = store.snapshot();
            let mut operations = Vec::new();
            for (fingerprint, names) in of_fingerprints {
                // Very many records may have it.
                for id in snapshot.ids(fingerprint)? {
                    if Instant::now() >= deadline {
                        return Err(Problem::timeout());
                    }
                    let name = snapshot.name(id)?;
                    if name.is_some_and(|name| names.contains(&*Names::text_of(name))) {
                        operations.push(Operation::Remove(fingerprint, id));
                    }
                }
            }
            operations
        }
    };
    if operations.is_empty() {
        return Ok(0);
    }
    Ok(write(store, deadline, |store| store.write(operations.clone()))?.removed)
}

fn remove_ids<F: Fingerprint>(
    store: &Store<F>,
    description: &Description,
    ids: &[Id],
    deadline: Instant,
) -> Result<u64, Problem> {
    let wrong =
        |number: usize, kind: &str| Problem::bad_record(number, format!("the ids of this set are {kind}"));
    match IdKind::of(description) {
        IdKind::None => Err(Problem::unprocessable("ids", "the set has no ids; send records")),
        IdKind::Numbers => {
            let numbers = ids
                .iter()
                .enumerate()
                .map(|(number, id)| id.number().ok_or_else(|| wrong(number, "numbers")));
            let numbers: HashSet<u64> = numbers.collect::<Result<_, _>>()?;
            write(store, deadline, |store| store.remove_ids(&numbers))
        }
        IdKind::Names => {
            let texts = ids
                .iter()
                .enumerate()
                .map(|(number, id)| id.name().ok_or_else(|| wrong(number, "names")))
                .collect::<Result<Vec<_>, _>>()?;
            let names = names_of(&store.snapshot(), &texts)?;
            write(store, deadline, |store| store.remove_names(&names))
        }
    }
}

/// Returns the name that each text stands for: the text itself if a record has this name, otherwise the name with bytes
/// that are not UTF-8 that answers show as this text.
fn names_of<F: Fingerprint>(snapshot: &Snapshot<F>, texts: &[&str]) -> Result<HashSet<Vec<u8>>, Problem> {
    let (mut names, mut doubtful) = (HashSet::new(), Vec::new());
    for text in texts {
        let mut candidates = Names::with_text(text);
        match (candidates.next(), candidates.next()) {
            (Some(literal), Some(shown)) => doubtful.push((literal, shown)),
            (literal, _) => names.extend(literal),
        }
    }
    if doubtful.is_empty() {
        return Ok(names);
    }
    let literals: Vec<&[u8]> = doubtful.iter().map(|(literal, _)| &**literal).collect();
    let stored = snapshot.fingerprints_of_names(&literals)?;
    let is_stored: Vec<bool> = stored.iter().map(|found| !found.is_empty()).collect();
    names.extend(
        doubtful.into_iter().zip(is_stored).map(|((literal, shown), is)| if is { literal } else { shown }),
    );
    Ok(names)
}
