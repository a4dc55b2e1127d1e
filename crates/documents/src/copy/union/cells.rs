//! The cells of a row, each with its column in the table of all inputs, and values of JSON as they are written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use crate::document::Document;
use crate::parsers::json::fields::{self, to_standard_json};
use crate::rows::Row;

/// A cell of an input that is text.
pub(crate) enum Raw<'a> {
    Text(Cow<'a, [u8]>),
    Json(&'a RawValue),
}

/// Finds the columns of cells.
pub(crate) struct Places {
    by_name: HashMap<String, usize>,
    /// The columns of the id and the text of inputs without columns.
    fields: [Option<usize>; 2],
    /// The columns of the records of the current input.
    of_record: Vec<Option<usize>>,
}

impl Places {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, fields: [&str; 2]) -> Self {
        let by_name: HashMap<String, usize> =
            names.enumerate().map(|(at, name)| (name.to_owned(), at)).collect();
        let fields = fields.map(|name| by_name.get(name).copied());
        Self { by_name, fields, of_record: Vec::new() }
    }

    /// Starts an input with these columns.
    pub(crate) fn enter(&mut self, names: &[String]) {
        self.of_record = names.iter().map(|name| self.by_name.get(name).copied()).collect();
    }

    /// Returns the columns of the current input's columns.
    #[cfg(feature = "parquet")]
    pub(crate) fn of_record(&self) -> &[Option<usize>] {
        &self.of_record
    }

    /// Calls `take` with each cell of a row and the number of its column. A later one stands for an earlier one. Returns
    /// whether the row has a place in the table.
    pub(crate) fn each(
        &self,
        row: Row<'_>,
        document: Option<&Document>,
        mut take: impl FnMut(usize, Raw<'_>),
    ) -> bool {
        match (row, document) {
            (Row::Object(text), _) => {
                let text = standard_json(text);
                for (key, value) in json_fields(&text).unwrap_or_default() {
                    if let Some(&at) = self.by_name.get(&key) {
                        take(at, Raw::Json(value));
                    }
                }
            }
            (Row::Record(records), _) => {
                for (at, field) in self.of_record.iter().zip(records.fields()) {
                    if let Some(at) = at {
                        take(*at, Raw::Text(Cow::Borrowed(field)));
                    }
                }
            }
            (_, Some(document)) => {
                for (at, text) in self.fields.iter().zip([&document.id, &document.text]) {
                    if let Some(at) = at {
                        take(*at, Raw::Text(Cow::Borrowed(text.as_bytes())));
                    }
                }
            }
            _ => return false,
        }
        true
    }
}

/// Numbers names that occur before, since a table has each name once: `text`, `text_2`.
pub(crate) fn distinct(names: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    let all: HashSet<String> = names.iter().cloned().collect();
    let numbered = |name: String| {
        if known.insert(name.clone()) {
            return name;
        }
        let mut names = (2u64..).map(|number| format!("{name}_{number}"));
        names.find(|name| !all.contains(name) && known.insert(name.clone())).expect("numbers do not end")
    };
    names.into_iter().map(numbered).collect()
}

/// Returns standard JSON, as which other readers take it.
pub(crate) fn standard_json(text: &str) -> Cow<'_, str> {
    if fields::each(text, |_| None::<()>).is_ok() {
        return Cow::Borrowed(text);
    }
    to_standard_json(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the fields of an object; `None` if it is none.
pub(crate) fn json_fields(text: &str) -> Option<Vec<(String, &RawValue)>> {
    fields::each(text, |key| Some(key.to_owned())).ok()
}

/// Returns a value as text: a string as it is, any other value as JSON on one line; `None` for null.
pub(crate) fn json_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'n') => None,
        Some(b'"') => Some(Cow::Owned(json_string(text))),
        _ => Some(on_one_line(text)),
    }
}

/// Returns the value of a string. Halves of surrogate pairs are replaced.
pub(crate) fn json_string(text: &str) -> String {
    let standard = |_| to_standard_json(text).and_then(|text| serde_json::from_str(&text).ok()).ok_or(());
    serde_json::from_str(text).or_else(standard).unwrap_or_else(|()| text.to_owned())
}

/// Returns JSON without line ends.
pub(crate) fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return Cow::Borrowed(text);
    }
    // Line ends occur between values only, where white space has no meaning.
    let (mut is_in_string, mut is_escaped) = (false, false);
    let mut is_kept = |next: char| {
        let is_kept = is_in_string || !next.is_ascii_whitespace();
        is_in_string ^= next == '"' && !is_escaped;
        is_escaped = is_in_string && next == '\\' && !is_escaped;
        is_kept
    };
    Cow::Owned(text.chars().filter(|&next| is_kept(next)).collect())
}
