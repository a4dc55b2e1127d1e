//! The rows of a batch: one for each id of each match, or one per match without ids.

use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, StringArray, UInt32Array, UInt64Array};
use hamdex::Match;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::table::{Table, raise};
use crate::width::Width;

/// The rows, under construction.
pub(crate) struct Rows<F> {
    queries: Vec<u64>,
    fingerprints: Vec<F>,
    distances: Vec<u32>,
    ids: Labels,
    /// The number of all ids of the match of each row.
    ids_counts: Vec<u64>,
}

/// The ids of matches.
pub(crate) enum Labels {
    None,
    Numbers(Vec<u64>),
    Names(Vec<String>),
}

impl Labels {
    /// No ids yet, of an index with or without ids.
    pub(crate) fn new(has_ids: bool, has_names: bool) -> Self {
        match (has_ids, has_names) {
            (_, true) => Self::Names(Vec::new()),
            (true, false) => Self::Numbers(Vec::new()),
            (false, false) => Self::None,
        }
    }

    /// Returns the ids as a list.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::None => Ok(PyList::empty(py).into_any()),
            Self::Numbers(numbers) => numbers.into_bound_py_any(py),
            Self::Names(names) => names.into_bound_py_any(py),
        }
    }

    /// Returns the ids as a column, if there are any.
    pub(crate) fn column(self) -> Option<ArrayRef> {
        match self {
            Self::None => None,
            Self::Numbers(numbers) => Some(Arc::new(UInt64Array::from(numbers))),
            Self::Names(names) => Some(column_of(&names)),
        }
    }
}

/// Returns a column of texts: with offsets of 64 bits if 32 are too few.
fn column_of(names: &[String]) -> ArrayRef {
    let bytes: usize = names.iter().map(String::len).sum();
    if i32::try_from(bytes).is_ok() {
        Arc::new(StringArray::from_iter_values(names))
    } else {
        Arc::new(LargeStringArray::from_iter_values(names))
    }
}

impl<F: Width> Rows<F> {
    pub(crate) fn new(ids: Labels) -> Self {
        Self {
            queries: Vec::new(),
            fingerprints: Vec::new(),
            distances: Vec::new(),
            ids,
            ids_counts: Vec::new(),
        }
    }

    /// Adds a match without ids.
    pub(crate) fn push(&mut self, query: u64, fingerprint: F, distance: u32) {
        self.queries.push(query);
        self.fingerprints.push(fingerprint);
        self.distances.push(distance);
    }

    /// Adds a match with each of these ids, of all that it has.
    pub(crate) fn push_numbers(
        &mut self,
        query: u64,
        one: &Match<F>,
        ids: impl Iterator<Item = u64>,
        all: u64,
    ) {
        for id in ids {
            self.push(query, one.fingerprint, one.distance);
            self.ids_counts.push(all);
            if let Labels::Numbers(numbers) = &mut self.ids {
                numbers.push(id);
            }
        }
    }

    /// Adds a match with each of these names of ids, of all that it has.
    pub(crate) fn push_names(
        &mut self,
        query: u64,
        one: &Match<F>,
        names: impl IntoIterator<Item = String>,
        all: u64,
    ) {
        for name in names {
            self.push(query, one.fingerprint, one.distance);
            self.ids_counts.push(all);
            if let Labels::Names(names) = &mut self.ids {
                names.push(name);
            }
        }
    }

    /// Returns the rows as a table.
    pub(crate) fn into_table(self) -> PyResult<Table> {
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("query", Arc::new(UInt64Array::from(self.queries))),
            ("fingerprint", F::column(self.fingerprints)),
            ("distance", Arc::new(UInt32Array::from(self.distances))),
        ];
        if let Some(ids) = self.ids.column() {
            columns.push(("id", ids));
            columns.push(("ids_count", Arc::new(UInt64Array::from(self.ids_counts))));
        }
        Table::new(columns).map_err(raise)
    }
}
