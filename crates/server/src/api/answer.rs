//! Matches in columns, and their forms: JSON and Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, LargeListArray, LargeStringArray, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hamdex::set::Description;
use hamdex::{Fingerprint, FingerprintSet, Match, Names, SetSearcher};

use serde::Serialize;

use crate::api::id::MAX_NUMBER;
use crate::api::payload::{ARROW, JSON};
use crate::problem::Problem;
use crate::sets::IdKind;

/// The most matches, or ids of matches, of a response.
pub(crate) const MAX_MATCHES: usize = 1_000_000;

/// Matches whose ids are looked up together.
const MATCHES_AT_ONCE: usize = 1 << 10;

/// Ids, of one kind.
pub(crate) enum Labels {
    Numbers(Vec<u64>),
    Names(Vec<String>),
}

/// The ids of matches: those of a match end where the next one's begin.
pub(crate) struct Ids {
    pub(crate) ends: Vec<usize>,
    pub(crate) labels: Labels,
}

impl Ids {
    /// Returns a place for ids; `None` if the set has none.
    pub(crate) fn of(kind: IdKind) -> Option<Self> {
        let labels = match kind {
            IdKind::None => return None,
            IdKind::Numbers => Labels::Numbers(Vec::new()),
            IdKind::Names => Labels::Names(Vec::new()),
        };
        Some(Self { ends: Vec::new(), labels })
    }

    fn len(&self) -> usize {
        match &self.labels {
            Labels::Numbers(numbers) => numbers.len(),
            Labels::Names(names) => names.len(),
        }
    }

    /// Ends the ids of a match.
    pub(crate) fn end(&mut self) {
        self.ends.push(self.len());
    }

    /// Looks up the ids of matches.
    ///
    /// # Errors
    /// When there are too many for a response, or something is damaged.
    pub(crate) fn look_up<F: Fingerprint>(
        &mut self,
        set: &dyn FingerprintSet<F>,
        searcher: &mut dyn SetSearcher<F>,
        matches: &[Match<F>],
    ) -> Result<(), Problem> {
        for chunk in matches.chunks(MATCHES_AT_ONCE) {
            for mut ids in searcher.ids_of(chunk)? {
                if self.len() + ids.len() > MAX_MATCHES {
                    return Err(too_many());
                }
                match &mut self.labels {
                    Labels::Numbers(numbers) => numbers.extend(ids.map(|stored| stored.id)),
                    Labels::Names(names) => ids.try_for_each(|stored| {
                        let name = set.name_of(stored)?.unwrap_or_default();
                        names.push(Names::text_of(&name).into_owned());
                        Ok::<(), Problem>(())
                    })?,
                }
                self.end();
            }
        }
        Ok(())
    }

    /// Appends the ids of a match as a JSON array.
    pub(crate) fn write_json(&self, number: usize, json: &mut Vec<u8>) {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        json.push(b'[');
        for (place, id) in (start..self.ends[number]).enumerate() {
            if place > 0 {
                json.push(b',');
            }
            match &self.labels {
                Labels::Numbers(numbers) => write_number(numbers[id], json),
                Labels::Names(names) => write_text(&names[id], json),
            }
        }
        json.push(b']');
    }

    fn to_arrow(&self) -> Result<ArrayRef, ArrowError> {
        let mut lengths = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for &end in &self.ends {
            lengths.push(end - start);
            start = end;
        }
        let (items, data_type): (ArrayRef, _) = match &self.labels {
            Labels::Numbers(numbers) => (Arc::new(UInt64Array::from(numbers.clone())), DataType::UInt64),
            Labels::Names(names) => {
                (Arc::new(LargeStringArray::from_iter_values(names)), DataType::LargeUtf8)
            }
        };
        let field = Arc::new(Field::new_list_field(data_type, false));
        Ok(Arc::new(LargeListArray::try_new(field, OffsetBuffer::from_lengths(lengths), items, None)?))
    }
}

/// The problem of a response that would be too long.
pub(crate) fn too_many() -> Problem {
    let detail =
        format!("more than {MAX_MATCHES} matches or ids; set a limit, ask fewer queries or a lower distance");
    Problem::unprocessable("too_many_matches", detail)
}

/// Appends a number as the JSON of an id.
pub(crate) fn write_number(number: u64, json: &mut Vec<u8>) {
    let quote: &[u8] = if number > MAX_NUMBER { b"\"" } else { b"" };
    json.extend_from_slice(quote);
    json.extend_from_slice(number.to_string().as_bytes());
    json.extend_from_slice(quote);
}

/// Appends a text as JSON.
pub(crate) fn write_text(text: &str, json: &mut Vec<u8>) {
    serde_json::to_writer(json, text).expect("a vector takes everything");
}

/// Appends the digits of a fingerprint, in quotes.
pub(crate) fn write_fingerprint<F: Fingerprint>(fingerprint: F, json: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    json.push(b'"');
    let number = fingerprint.to_u128();
    for digit in (0..F::BYTES * 2).rev() {
        json.push(DIGITS[(number >> (4 * digit)) as usize & 15]);
    }
    json.push(b'"');
}

/// Matches of queries, or records near which something was stored.
pub(crate) struct Answer<F> {
    /// The end of the matches of each query.
    pub(crate) ends: Vec<usize>,
    pub(crate) matches: Vec<Match<F>>,
    pub(crate) ids: Option<Ids>,
}

impl<F: Fingerprint> Answer<F> {
    /// Returns an empty answer of a set.
    pub(crate) fn new(description: &Description, with_ids: bool) -> Self {
        let ids = if with_ids { Ids::of(IdKind::of(description)) } else { None };
        Self { ends: Vec::new(), matches: Vec::new(), ids }
    }

    fn write_match(&self, number: usize, json: &mut Vec<u8>) {
        let found = &self.matches[number];
        json.extend_from_slice(b"\"fingerprint\":");
        write_fingerprint(found.fingerprint, json);
        json.extend_from_slice(b",\"distance\":");
        json.extend_from_slice(found.distance.to_string().as_bytes());
        if let Some(ids) = &self.ids {
            json.extend_from_slice(b",\"ids\":");
            ids.write_json(number, json);
        }
        json.push(b'}');
    }

    /// Returns one list per query.
    pub(crate) fn results_json(&self) -> Response {
        let mut json = Vec::with_capacity(16 + 4 * self.ends.len() + 64 * self.matches.len());
        json.extend_from_slice(b"{\"results\":[");
        let mut start = 0;
        for (query, &end) in self.ends.iter().enumerate() {
            json.extend_from_slice(if query == 0 { b"[" } else { b",[" });
            for number in start..end {
                json.extend_from_slice(if number == start { b"{" } else { b",{" });
                self.write_match(number, &mut json);
            }
            json.push(b']');
            start = end;
        }
        json.extend_from_slice(b"]}");
        ([(header::CONTENT_TYPE, JSON)], json).into_response()
    }

    /// Returns the numbers of the queries of all matches.
    fn queries(&self) -> Vec<u32> {
        let mut queries = Vec::with_capacity(self.matches.len());
        for (query, &end) in (0u32..).zip(&self.ends) {
            queries.resize(end, query);
        }
        queries
    }

    /// Returns the numbers of the queries that have matches.
    pub(crate) fn answered(&self) -> impl Iterator<Item = usize> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).enumerate().filter(|(_, (start, end))| start < end).map(|(query, _)| query)
    }

    /// Returns the matches near records that were not inserted, and the fields of `more`.
    pub(crate) fn inserted_json(&self, inserted: u64, more: &impl Serialize) -> Response {
        let mut json = format!("{{\"inserted\":{inserted},\"near\":[").into_bytes();
        for (number, query) in self.queries().into_iter().enumerate() {
            json.extend_from_slice(if number == 0 { b"{" } else { b",{" });
            json.extend_from_slice(format!("\"index\":{query},").as_bytes());
            self.write_match(number, &mut json);
        }
        json.push(b']');
        let more = serde_json::to_vec(more).expect("a vector takes everything");
        // Without its braces.
        if let Some(fields) = more.get(1..more.len() - 1).filter(|fields| !fields.is_empty()) {
            json.push(b',');
            json.extend_from_slice(fields);
        }
        json.push(b'}');
        ([(header::CONTENT_TYPE, JSON)], json).into_response()
    }

    /// Returns a stream of Arrow with a row per match: its query (or record), fingerprint, distance and ids.
    pub(crate) fn arrow(&self, query: &str, inserted: Option<u64>) -> Response {
        let bytes = self
            .arrow_bytes(query, inserted)
            .expect("the columns have the same length, and a vector takes everything");
        ([(header::CONTENT_TYPE, ARROW)], bytes).into_response()
    }

    fn arrow_bytes(&self, query: &str, inserted: Option<u64>) -> Result<Vec<u8>, ArrowError> {
        let fingerprints = self.matches.iter().map(|found| found.fingerprint.to_u128());
        let fingerprints: ArrayRef = if F::BITS == 64 {
            Arc::new(fingerprints.map(|number| number as u64).collect::<UInt64Array>())
        } else if self.matches.is_empty() {
            Arc::new(FixedSizeBinaryArray::try_new(16, Vec::<u8>::new().into(), None)?)
        } else {
            Arc::new(FixedSizeBinaryArray::try_from_iter(fingerprints.map(u128::to_be_bytes))?)
        };
        let distances: ArrayRef =
            Arc::new(self.matches.iter().map(|found| found.distance).collect::<UInt32Array>());
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            (query, Arc::new(UInt32Array::from(self.queries()))),
            ("fingerprint", fingerprints),
            ("distance", distances),
        ];
        if let Some(ids) = &self.ids {
            columns.push(("ids", ids.to_arrow()?));
        }
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), false))
            .collect();
        let metadata: HashMap<String, String> =
            inserted.map(|inserted| ("inserted".to_owned(), inserted.to_string())).into_iter().collect();
        let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
        let rows = RecordBatch::try_new(
            Arc::clone(&schema),
            columns.into_iter().map(|(_, column)| column).collect(),
        )?;
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        writer.write(&rows)?;
        writer.finish()?;
        writer.into_inner()
    }
}
