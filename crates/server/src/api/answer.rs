//! Matches in columns, and their forms: JSON and Arrow.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, LargeListArray, LargeStringArray, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hamdex::set::{Description, MatchIds};
use hamdex::{Cancellation, Fingerprint, FingerprintSet, Match, Names, SetSearcher};
use hamdex_store::Near;

use serde::Serialize;

use crate::admission::{Budget, Held};
use crate::api::json::MAX_NUMBER;
use crate::api::payload::{ARROW, JSON};
use crate::problem::Problem;
use crate::sets::IdKind;

/// The most matches, or ids of matches, of a response.
pub(crate) const MAX_MATCHES: usize = 1_000_000;

/// The most bytes of a response, as JSON.
const MAX_BYTES: usize = 128 << 20;

/// The bytes of a match without its ids, and of an id beside its name or number.
pub(crate) const MATCH_BYTES: usize = 96;
pub(crate) const ID_BYTES: usize = 3;

/// The ids of a match that a response has, unless another number is asked for.
pub(crate) const DEFAULT_IDS: usize = 10;

/// Ids that are in memory at once before they are added to an answer.
const IDS_AT_ONCE: usize = 1 << 14;

/// Ids, of one kind.
pub(crate) enum Labels {
    Numbers(Vec<u64>),
    Names(Vec<String>),
}

impl Labels {
    /// Returns a place for ids; `None` if the set has none.
    pub(crate) fn of(kind: IdKind) -> Option<Self> {
        match kind {
            IdKind::None => None,
            IdKind::Numbers => Some(Self::Numbers(Vec::new())),
            IdKind::Names => Some(Self::Names(Vec::new())),
        }
    }
}

/// The first ids of matches: those of a match end where the next one's begin.
pub(crate) struct Ids {
    ends: Vec<usize>,
    /// The number of all ids of each match.
    counts: Vec<u64>,
    labels: Labels,
}

/// The room for the rest of an answer: what has been added is held by the budget.
pub(crate) struct Room {
    left: usize,
    held: Held,
}

impl Room {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self { left: MAX_BYTES, held: budget.hold() }
    }

    /// Takes room for some bytes.
    ///
    /// # Errors
    /// When the answer is too long, or all answers together are.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        let left = self.left.checked_sub(bytes).ok_or_else(too_long)?;
        self.held.add(bytes)?;
        self.left = left;
        Ok(())
    }
}

/// Returns the bytes that a text takes as JSON, with its quotes.
pub(crate) fn json_length(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + ID_BYTES
}

impl Ids {
    /// Returns a place for ids; `None` if the set has none.
    pub(crate) fn of(kind: IdKind) -> Option<Self> {
        Some(Self { ends: Vec::new(), counts: Vec::new(), labels: Labels::of(kind)? })
    }

    fn len(&self) -> usize {
        match &self.labels {
            Labels::Numbers(numbers) => numbers.len(),
            Labels::Names(names) => names.len(),
        }
    }

    /// Ends the ids of a match, which are the first of so many.
    fn end(&mut self, count: u64) {
        self.ends.push(self.len());
        self.counts.push(count);
    }

    /// Adds the first `most` ids of each match.
    ///
    /// # Errors
    /// When there are too many for a response, something is damaged, or the work is cancelled.
    pub(crate) fn look_up<F: Fingerprint>(
        &mut self,
        (set, searcher): (&dyn FingerprintSet<F>, &mut dyn SetSearcher<F>),
        matches: &[Match<F>],
        most: usize,
        room: &mut Room,
        cancellation: &Cancellation,
    ) -> Result<(), Problem> {
        // Queries that crowd find the same fingerprints again and again.
        let mut known: HashMap<F, usize> = HashMap::new();
        let most = most.min(MAX_MATCHES + 1);
        let at_once = (IDS_AT_ONCE / most.max(1)).clamp(1, 1 << 10);
        for chunk in matches.chunks(at_once) {
            if cancellation.is_cancelled() {
                return Err(Problem::timeout());
            }
            let before = self.ends.len();
            let mut new = Vec::new();
            for (number, one) in (before..).zip(chunk) {
                if *known.entry(one.fingerprint).or_insert(number) == number {
                    new.push(*one);
                }
            }
            let mut lists = searcher.ids_of(&new, most)?.into_iter();
            for (number, one) in (before..).zip(chunk) {
                match known[&one.fingerprint] {
                    first if first == number => {
                        self.add(set, lists.next().expect("a list for each"), room)?;
                    }
                    first => self.repeat(first, room)?,
                }
            }
        }
        Ok(())
    }

    /// Adds the ids of a match.
    fn add<F: Fingerprint>(
        &mut self,
        set: &dyn FingerprintSet<F>,
        ids: MatchIds<'_>,
        room: &mut Room,
    ) -> Result<(), Problem> {
        if self.len() + ids.len() > MAX_MATCHES {
            return Err(too_many());
        }
        let all = ids.all();
        for stored in ids {
            match &mut self.labels {
                Labels::Numbers(numbers) => {
                    room.take(size_of::<u64>() + ID_BYTES)?;
                    numbers.push(stored.id);
                }
                Labels::Names(names) => {
                    let name = set.name_of(stored)?.unwrap_or_default();
                    let name = Names::text_of(&name);
                    room.take(json_length(&name))?;
                    names.push(name.into_owned());
                }
            }
        }
        self.end(all);
        Ok(())
    }

    /// Adds the ids of an earlier match once more.
    fn repeat(&mut self, number: usize, room: &mut Room) -> Result<(), Problem> {
        let own = self.range(number);
        if self.len() + own.len() > MAX_MATCHES {
            return Err(too_many());
        }
        match &mut self.labels {
            Labels::Numbers(numbers) => {
                room.take(own.len() * (size_of::<u64>() + ID_BYTES))?;
                numbers.extend_from_within(own);
            }
            Labels::Names(names) => {
                room.take(names[own.clone()].iter().map(|name| json_length(name)).sum())?;
                names.extend_from_within(own);
            }
        }
        self.end(self.counts[number]);
        Ok(())
    }

    /// Adds those of the ids of a near fingerprint that there is room for: the insertion has taken place.
    fn add_near<F>(&mut self, near: &Near<F>, room: &mut Room) {
        match &mut self.labels {
            Labels::Numbers(numbers) => {
                let fits = |_: &&u64| room.take(size_of::<u64>() + ID_BYTES).is_ok();
                numbers.extend(near.ids.iter().take_while(fits));
            }
            Labels::Names(names) => {
                let shown = near.names.iter().map(|name| Names::text_of(name).into_owned());
                names.extend(shown.take_while(|name| room.take(json_length(name)).is_ok()));
            }
        }
        self.end(near.all_ids);
    }

    /// Returns where the ids of a match are.
    fn range(&self, number: usize) -> Range<usize> {
        number.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[number]
    }

    /// Appends the ids of a match as a JSON array, and the number of all if there are more.
    fn write_json(&self, number: usize, json: &mut Vec<u8>) {
        json.extend_from_slice(b",\"ids\":[");
        for (place, id) in self.range(number).enumerate() {
            if place > 0 {
                json.push(b',');
            }
            match &self.labels {
                Labels::Numbers(numbers) => write_number(numbers[id], json),
                Labels::Names(names) => write_text(&names[id], json),
            }
        }
        json.push(b']');
        if self.counts[number] > self.range(number).len() as u64 {
            json.extend_from_slice(format!(",\"ids_count\":{}", self.counts[number]).as_bytes());
        }
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

/// The problem of a response that would have too many matches or ids.
pub(crate) fn too_many() -> Problem {
    let detail = format!(
        "more than {MAX_MATCHES} matches or ids; set a lower limit or ids_limit, ask fewer queries or a lower distance"
    );
    Problem::unprocessable("too_many_matches", detail)
}

/// The problem of a response that would have too many bytes.
fn too_long() -> Problem {
    let detail = format!(
        "an answer of more than {} MiB; set a lower limit or ids_limit, ask fewer queries or a lower distance",
        MAX_BYTES >> 20
    );
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
    pub(crate) room: Room,
}

impl<F: Fingerprint> Answer<F> {
    /// Returns an empty answer of a set.
    pub(crate) fn new(description: &Description, with_ids: bool, budget: &Arc<Budget>) -> Self {
        let ids = if with_ids { Ids::of(IdKind::of(description)) } else { None };
        Self { ends: Vec::new(), matches: Vec::new(), ids, room: Room::new(budget) }
    }

    /// Adds the match near a record that was not inserted.
    pub(crate) fn add_near(&mut self, fingerprint: F, near: &Near<F>) {
        self.room.held.add_done(MATCH_BYTES);
        self.matches.push(Match::new(fingerprint, near.fingerprint));
        if let Some(ids) = &mut self.ids {
            ids.add_near(near, &mut self.room);
        }
    }

    /// Adds the matches of the next query.
    ///
    /// # Errors
    /// When there are too many for a response.
    pub(crate) fn add(&mut self, found: &[Match<F>]) -> Result<(), Problem> {
        if self.matches.len() + found.len() > MAX_MATCHES {
            return Err(too_many());
        }
        self.room.take(ID_BYTES + found.len() * MATCH_BYTES)?;
        self.matches.extend_from_slice(found);
        self.ends.push(self.matches.len());
        Ok(())
    }

    fn write_match(&self, number: usize, json: &mut Vec<u8>) {
        let found = &self.matches[number];
        json.extend_from_slice(b"\"fingerprint\":");
        write_fingerprint(found.fingerprint, json);
        json.extend_from_slice(b",\"distance\":");
        json.extend_from_slice(found.distance.to_string().as_bytes());
        if let Some(ids) = &self.ids {
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
            columns.push(("ids_count", Arc::new(UInt64Array::from(ids.counts.clone()))));
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
