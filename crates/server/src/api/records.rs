//! Records of insertions and removals.

use hamdex::Fingerprint;
use hamdex::set::Description;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::id::Id;
use crate::api::list::{List, too_many_records};
use crate::api::query::{fingerprint_from, from_bytes, parse_fingerprint};
use crate::problem::Problem;
use crate::sets::{IdKind, Texts};

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

/// The ids of records, one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Labels {
    None,
    Numbers(Vec<u64>),
    Names(Vec<String>),
}

/// Records whose form has been checked.
pub(crate) struct Checked<F> {
    pub(crate) fingerprints: Vec<F>,
    pub(crate) labels: Labels,
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

impl<F: Fingerprint> Checked<F> {
    /// Checks the records of a JSON body.
    ///
    /// # Errors
    /// When there are too many, or one is wrong.
    pub(crate) fn of_json(
        description: &Description,
        records: List<Record>,
        need: Need,
    ) -> Result<Self, Problem> {
        Self::of_records(description, &records.all()?, need)
    }

    /// As [`Checked::of_json`].
    ///
    /// # Errors
    /// When a record is wrong.
    pub(crate) fn of_records(
        description: &Description,
        records: &[Record],
        need: Need,
    ) -> Result<Self, Problem> {
        let kind = match need {
            Need::OrNone if records.iter().all(|record| record.id.is_none()) => IdKind::None,
            _ => IdKind::of(description),
        };
        let labels = labels_of(kind, records)?;
        let mut fingerprints = vec![F::ZERO; records.len()];
        let (mut texts, mut of_texts) = (Vec::new(), Vec::new());
        for (number, record) in records.iter().enumerate() {
            match (&record.fingerprint, &record.text) {
                (Some(_), None) if description.has_shingles && need == Need::AsTheSet => {
                    let detail =
                        "the set keeps the shingles of texts; give \"text\" instead of \"fingerprint\"";
                    return Err(Problem::bad_record(number, detail));
                }
                (Some(text), None) => fingerprints[number] = parse_fingerprint(number, text)?,
                (None, Some(text)) => {
                    texts.push(text);
                    of_texts.push(number);
                }
                _ => return Err(Problem::bad_record(number, "give either \"fingerprint\" or \"text\"")),
            }
        }
        let mut shingles = description.has_shingles.then(Vec::new);
        if !texts.is_empty() {
            let own = Texts::<F>::of(description)?;
            let numbers = |place: usize| of_texts[place];
            let found = match own.words {
                None => own.fingerprints(&texts, numbers)?,
                Some(words) => {
                    let documents = own.documents(words, &texts, numbers)?;
                    let (found, of_texts) = documents.into_iter().unzip();
                    shingles = Some(of_texts);
                    found
                }
            };
            of_texts.iter().zip(found).for_each(|(&number, fingerprint)| fingerprints[number] = fingerprint);
        }
        shingles = shingles.filter(|shingles| shingles.len() == records.len());
        Ok(Self { fingerprints, labels, shingles })
    }

    /// Checks the records of a binary body: fingerprints, in a set whose ids are numbers each followed by its id, all
    /// little-endian.
    ///
    /// # Errors
    /// As for [`Checked::of_json`]; when the ids of the set are names.
    pub(crate) fn of_bytes(description: &Description, bytes: &[u8], most: usize) -> Result<Self, Problem> {
        let checked = match IdKind::of(description) {
            IdKind::None => Self { fingerprints: from_bytes(bytes)?, labels: Labels::None, shingles: None },
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
                Self { fingerprints, labels: Labels::Numbers(ids), shingles: None }
            }
        };
        if checked.fingerprints.len() > most {
            return Err(too_many_records(checked.fingerprints.len(), most));
        }
        Ok(checked)
    }
}

fn labels_of(kind: IdKind, records: &[Record]) -> Result<Labels, Problem> {
    let all = records.iter().map(|record| record.id.as_ref()).enumerate();
    Ok(match kind {
        IdKind::None => {
            for (number, id) in all {
                if id.is_some() {
                    return Err(Problem::bad_record(
                        number,
                        "the set has no ids, or other records have none; leave \"id\" out",
                    ));
                }
            }
            Labels::None
        }
        IdKind::Numbers => {
            let number_of = |(number, id): (usize, Option<&Id>)| {
                id.and_then(Id::number).ok_or_else(|| {
                    let detail =
                        "\"id\" has to be a whole number of at most 64 bits, beyond 2^53 as a string";
                    Problem::bad_record(number, detail)
                })
            };
            Labels::Numbers(all.map(number_of).collect::<Result<_, _>>()?)
        }
        IdKind::Names => {
            let name_of = |(number, id): (usize, Option<&Id>)| {
                let name = id.and_then(Id::name).map(str::to_owned);
                name.ok_or_else(|| Problem::bad_record(number, "\"id\" has to be a string, the name"))
            };
            Labels::Names(all.map(name_of).collect::<Result<_, _>>()?)
        }
    })
}
