//! The documents of a set that keeps their shingles.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, LargeListArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use hamdex::SetError;
use hamdex::set::ShinglePart;
use hamdex_any::{AnySet, for_width};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::query::text_of;
use crate::result_rows::Labels;
use crate::table::Table;
use crate::width::Width;

/// Returns a column of sets of shingles.
pub(crate) fn column(hashes: Vec<u64>, lengths: impl Iterator<Item = usize>) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(DataType::UInt64, false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Arc::new(LargeListArray::new(field, offsets, Arc::new(UInt64Array::from(hashes)), None))
}

/// The documents of a set, one table after the other.
#[pyclass(frozen, module = "hamdex", name = "_StoredShingles")]
pub(crate) struct StoredShingles {
    set: AnySet,
    parts: Vec<ShinglePart>,
    next: AtomicUsize,
}

impl StoredShingles {
    pub(crate) fn new(set: AnySet) -> PyResult<Self> {
        let parts = for_width!(set.description().width, F => {
            set.typed::<F>().expect("the width was checked").shingle_parts()
        });
        let parts = parts.or_raise()?.ok_or_else(|| {
            PyValueError::new_err("the set keeps no shingles of its documents: make it with shingles=True")
        })?;
        Ok(Self { set, parts, next: AtomicUsize::new(0) })
    }

    fn read<F: Width>(&self, part: &ShinglePart) -> Result<Table, SetError> {
        let set = self.set.typed::<F>().expect("the width was checked");
        let (mut ids, mut lengths, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        let _ = set.visit_shingles(part, &mut |id, shingles| {
            ids.push(id);
            lengths.push(shingles.len());
            hashes.extend_from_slice(shingles);
            ControlFlow::Continue(())
        })?;
        let labels = if set.describe().has_names {
            let name = |id| Ok(text_of(&set.name_of(id)?.unwrap_or_default()));
            Labels::Names(ids.into_iter().map(name).collect::<Result<_, SetError>>()?)
        } else {
            Labels::Numbers(ids.into_iter().map(|id| id.id).collect())
        };
        let ids = labels.column().expect("documents with shingles have ids");
        let columns = vec![("id", ids), ("shingles", column(hashes, lengths.into_iter()))];
        Ok(Table::new(columns).expect("the columns are equally long"))
    }
}

#[pymethods]
impl StoredShingles {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        py.check_signals()?;
        let Some(part) = self.parts.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return Ok(None) };
        let table = for_width!(self.set.description().width, F => py.detach(|| self.read::<F>(part)));
        table.or_raise().map(Some)
    }
}
