//! Records of insertions and removals; and `GET /v1/sets/{set}/records/{id}`: the records of an id.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use hamdex::set::Description;
use hamdex::{Fingerprint, MAX_NAME_BYTES, Names};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::answer::Labels;
use crate::api::json::{Id, List, Object, too_many_records};
use crate::api::payload::{Named, PathParts};
use crate::api::query::{fingerprint_from, from_bytes, parse_fingerprint};
use crate::problem::Problem;
use crate::sets::{IdKind, Key, TextReader, Texts};

/// A fingerprint or a text, and its id. A set with shingles takes texts alone.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The fingerprint, as hexadecimal digits.
    #[schema(example = "0123456789abcdef")]
    fingerprint: Option<String>,
    /// A text in place of the fingerprint, in a set that has a recipe.
    pub(crate) text: Option<String>,
    /// The id: a number or a name, as the set has them.
    id: Option<Id>,
}

/// Records whose form has been checked.
pub(crate) struct Checked<F> {
    pub(crate) fingerprints: Vec<F>,
    /// The id of each, if they have ids.
    pub(crate) labels: Option<Labels>,
    /// The shingles of each, if the set has shingles and all records are texts.
    pub(crate) shingles: Option<Vec<Vec<u64>>>,
}

/// Whether records need ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// As the set has them.
    AsTheSet,
    /// As the set has them, or no record has one.
    OrNone,
}

/// The records of a request that are refused.
#[derive(Debug)]
pub(crate) struct Refusals {
    /// Whether the others are dealt with nevertheless.
    skips: bool,
    /// The problem of each, by ascending numbers.
    pub(crate) problems: Vec<(usize, Problem)>,
}

impl Refusals {
    /// Returns a place for the records that are refused; the others are dealt with if it `skips`.
    pub(crate) fn new(skips: bool) -> Self {
        Self { skips, problems: Vec::new() }
    }

    /// Refuses a record.
    ///
    /// # Errors
    /// The problem, if it refuses the whole request.
    fn take(&mut self, number: usize, problem: Problem) -> Result<(), Problem> {
        if !self.skips {
            return Err(problem);
        }
        self.problems.push((number, problem));
        Ok(())
    }

    /// Returns the numbers of the other records, of this many.
    pub(crate) fn others(&self, count: usize) -> Vec<usize> {
        let is_refused =
            |number: &usize| self.problems.binary_search_by_key(number, |refused| refused.0).is_ok();
        (0..count).filter(|number| !is_refused(number)).collect()
    }
}

impl<F: Fingerprint> Checked<F> {
    /// Returns the records as a store takes them.
    pub(crate) fn records(&self) -> Vec<hamdex_store::Record<'_, F>> {
        let record = |(at, &fingerprint): (usize, &F)| match (&self.labels, &self.shingles) {
            (None, _) => hamdex_store::Record::new(fingerprint),
            (Some(Labels::Numbers(ids)), _) => hamdex_store::Record::with_id(fingerprint, ids[at]),
            (Some(Labels::Names(names)), None) => hamdex_store::Record::named(fingerprint, &names[at]),
            (Some(Labels::Names(names)), Some(sets)) => {
                hamdex_store::Record::document(fingerprint, &names[at], &sets[at])
            }
        };
        self.fingerprints.iter().enumerate().map(record).collect()
    }

    /// Checks the records of a JSON body.
    ///
    /// # Errors
    /// When there are too many, or one is wrong.
    pub(crate) fn of_json(
        description: &Description,
        records: List<Object<Record>>,
        need: Need,
    ) -> Result<Self, Problem> {
        Self::of_records(description, &records.all_objects()?, need, &mut Refusals::new(false))
    }

    /// Returns the records that are right; `refusals` takes the others.
    ///
    /// # Errors
    /// When a record is wrong, unless such are skipped; when the set takes no texts.
    pub(crate) fn of_records(
        description: &Description,
        records: &[Record],
        need: Need,
        refusals: &mut Refusals,
    ) -> Result<Self, Problem> {
        let kind = match need {
            Need::OrNone if records.iter().all(|record| record.id.is_none()) => IdKind::None,
            _ => IdKind::of(description),
        };
        let has_texts = records.iter().any(|record| record.fingerprint.is_none() && record.text.is_some());
        let mut checker = Checker {
            takes_texts_alone: description.has_shingles && need == Need::AsTheSet,
            reader: has_texts.then(|| Texts::of(description)).transpose()?.map(Texts::reader),
        };
        let mut checked = Self {
            fingerprints: Vec::with_capacity(records.len()),
            labels: Labels::of(kind),
            shingles: description.has_shingles.then(Vec::new),
        };
        for (number, record) in records.iter().enumerate() {
            let one =
                check_id(kind, number, record.id.as_ref()).and_then(|()| checker.value_of(number, record));
            match one {
                Ok((fingerprint, shingles)) => {
                    match (&mut checked.labels, &record.id) {
                        (Some(Labels::Numbers(numbers)), Some(id)) => numbers.extend(id.number()),
                        (Some(Labels::Names(names)), Some(id)) => names.extend(id.name().map(str::to_owned)),
                        _ => {}
                    }
                    checked.fingerprints.push(fingerprint);
                    if let (Some(all), Some(one)) = (&mut checked.shingles, shingles) {
                        all.push(one);
                    }
                }
                Err(problem) => refusals.take(number, problem)?,
            }
        }
        checked.shingles = checked.shingles.filter(|shingles| shingles.len() == checked.fingerprints.len());
        Ok(checked)
    }

    /// Checks the records of a binary body: fingerprints, in a set whose ids are numbers each followed by its id, all
    /// little-endian.
    ///
    /// # Errors
    /// As for [`Checked::of_json`]; when the ids of the set are names.
    pub(crate) fn of_bytes(description: &Description, bytes: &[u8], most: usize) -> Result<Self, Problem> {
        let checked = match IdKind::of(description) {
            IdKind::None => Self { fingerprints: from_bytes(bytes)?, labels: None, shingles: None },
            IdKind::Names => {
                let detail = "the ids of this set are names, which binary records do not have; send JSON";
                return Err(Problem::unprocessable("ids", detail));
            }
            IdKind::Numbers => {
                let length = F::BYTES + size_of::<u64>();
                if !bytes.len().is_multiple_of(length) {
                    let detail = format!(
                        "{} bytes are no whole number of records of {length} bytes: a fingerprint and its id",
                        bytes.len()
                    );
                    return Err(Problem::unprocessable("bad_length", detail));
                }
                let records = bytes.chunks_exact(length).map(|record| record.split_at(F::BYTES));
                let pairs = records.map(|(fingerprint, id)| {
                    (fingerprint_from::<F>(fingerprint), fingerprint_from::<u64>(id))
                });
                let (fingerprints, ids) = pairs.unzip();
                Self { fingerprints, labels: Some(Labels::Numbers(ids)), shingles: None }
            }
        };
        if checked.fingerprints.len() > most {
            return Err(too_many_records(checked.fingerprints.len(), most));
        }
        Ok(checked)
    }
}

/// Checks records one after the other.
struct Checker<F> {
    takes_texts_alone: bool,
    /// If there is a text.
    reader: Option<TextReader<F>>,
}

impl<F: Fingerprint> Checker<F> {
    /// Returns the fingerprint of a record, and the shingles of a text in a set with shingles.
    fn value_of(&mut self, number: usize, record: &Record) -> Result<(F, Option<Vec<u64>>), Problem> {
        match (&record.fingerprint, &record.text, &mut self.reader) {
            (Some(_), None, _) if self.takes_texts_alone => {
                let detail = "the set keeps the shingles of texts; give \"text\" instead of \"fingerprint\"";
                Err(Problem::bad_record(number, detail))
            }
            (Some(text), None, _) => Ok((parse_fingerprint(number, text)?, None)),
            (None, Some(text), Some(reader)) => reader.read(text, number),
            _ => Err(Problem::bad_record(number, "give either \"fingerprint\" or \"text\"")),
        }
    }
}

/// Refuses an id that is not as the set has them.
fn check_id(kind: IdKind, number: usize, id: Option<&Id>) -> Result<(), Problem> {
    let wrong = |detail| Err(Problem::bad_record(number, detail));
    match (kind, id) {
        (IdKind::None, None) => Ok(()),
        (IdKind::None, Some(_)) => wrong("the set has no ids, or other records have none; leave \"id\" out"),
        (IdKind::Numbers, Some(id)) if id.number().is_some() => Ok(()),
        (IdKind::Numbers, Some(id)) if id.name().is_some() => wrong(
            "\"id\" has to be a whole number of at most 64 bits, beyond 2^53 as a string; for ids that are names, such as \
             URLs, make a set with \"ids\": \"names\"",
        ),
        (IdKind::Numbers, _) => {
            wrong("\"id\" has to be a whole number of at most 64 bits, beyond 2^53 as a string")
        }
        (IdKind::Names, id) => match id.and_then(Id::name) {
            Some(name) if name.len() > MAX_NAME_BYTES => {
                let bytes = name.len();
                let detail = format!("the name has {bytes} bytes; at most {MAX_NAME_BYTES} are taken");
                Err(Problem::bad_record(number, detail))
            }
            Some(_) => Ok(()),
            None => wrong("\"id\" has to be a string, the name"),
        },
    }
}

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
    PathParts((_, id)): PathParts<(String, String)>,
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
