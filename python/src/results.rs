//! Results: tables, which are Arrow columns that convert to numpy arrays, and named tuples, whose classes are in the
//! package's `_results.py`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use hamdex::Summary;
use hamdex_any::{AnyFingerprint, AnyMatch};
use hamdex_store::inspect::StoreStats;
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyList, PySlice, PyString, PyTuple, PyType};

use crate::arrow::{export_array, export_schema, export_stream};
use crate::errors::Error;
use crate::width::wide_array;

/// Named columns of equal length. Anything that takes Arrow data takes a table: ``pyarrow.table(result)``,
/// ``polars.DataFrame(result)``. ``result["distance"]`` is a column as a numpy array (a list for texts, a
/// list of arrays for lists).
#[pyclass(frozen, module = "hamdex", name = "Table")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Makes a table of columns of equal length and without nulls.
    pub(crate) fn new(columns: Vec<(&str, ArrayRef)>) -> Result<Self, ArrowError> {
        let field = |(name, array): &(&str, ArrayRef)| {
            Field::new(*name, array.data_type().clone(), array.is_nullable())
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let batch =
            RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect())?;
        Ok(Self { batch })
    }

    pub(crate) fn of_batch(batch: RecordBatch) -> Self {
        Self { batch }
    }

    /// Returns the names of the columns.
    fn names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.batch.column_by_name(name) {
            Some(column) => to_python(py, column),
            None => Err(PyKeyError::new_err(format!("{name:?}; there are: {}", self.names().join(", ")))),
        }
    }

    /// Returns some of the rows.
    fn rows(&self, slice: &Bound<'_, PySlice>) -> PyResult<Self> {
        let rows = slice.indices(self.batch.num_rows() as isize)?;
        let count = rows.slicelength;
        if rows.step == 1 {
            return Ok(Self { batch: self.batch.slice(rows.start as usize, count) });
        }
        let numbers = (0..count as isize).map(|number| (rows.start + number * rows.step) as u64);
        let numbers = UInt64Array::from_iter_values(numbers);
        Ok(Self { batch: take_record_batch(&self.batch, &numbers).map_err(raise)? })
    }
}

/// Converts an error that the columns of this crate cannot cause.
pub(crate) fn raise(error: ArrowError) -> PyErr {
    Error::new_err(format!("cannot make the table: {error}"))
}

/// Returns the schema of columns without nulls.
pub(crate) fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.names()
    }

    /// A column: a numpy array, or a list of texts; of a slice of rows, a table.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = key.cast::<PySlice>() {
            return self.rows(slice)?.into_bound_py_any(key.py());
        }
        match key.cast::<PyString>() {
            Ok(name) => self.column(key.py(), name.to_str()?),
            Err(_) => Err(PyTypeError::new_err(format!(
                "a table is indexed by the name of a column or a slice of rows, not {}",
                key.get_type().name()?
            ))),
        }
    }

    /// The rows, one after the other, as dicts.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("hamdex._results")?.call_method1("rows", (slf,))
    }

    /// The first rows, for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("hamdex._results")?.call_method1("preview", (slf,))
    }

    fn __contains__(&self, name: &str) -> bool {
        self.batch.column_by_name(name).is_some()
    }

    /// All columns by their names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        let columns = pyo3::types::PyDict::new(py);
        for name in self.names() {
            columns.set_item(&name, self.column(py, &name)?)?;
        }
        Ok(columns)
    }

    fn __repr__(&self) -> String {
        let columns = self.batch.schema_ref().fields().iter();
        let columns: Vec<String> =
            columns.map(|field| format!("{}: {}", field.name(), field.data_type())).collect();
        format!("<hamdex.Table of {} rows: {}>", self.batch.num_rows(), columns.join(", "))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, self.batch.schema_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // Consumers cast the columns if they need another type.
        drop(requested_schema);
        export_array(py, &self.batch)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = std::iter::once(Ok(self.batch.clone()));
        export_stream(py, Box::new(RecordBatchIterator::new(batches, self.batch.schema())))
    }
}

fn to_python<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    if column.null_count() > 0 {
        return Err(PyTypeError::new_err("the column has nulls: use pyarrow.table(result)"));
    }
    Ok(match column.data_type() {
        DataType::UInt64 => PyArray1::from_slice(py, column.as_primitive::<UInt64Type>().values()).into_any(),
        DataType::Int64 => PyArray1::from_slice(py, column.as_primitive::<Int64Type>().values()).into_any(),
        DataType::UInt32 => PyArray1::from_slice(py, column.as_primitive::<UInt32Type>().values()).into_any(),
        DataType::Float64 => {
            PyArray1::from_slice(py, column.as_primitive::<Float64Type>().values()).into_any()
        }
        DataType::Boolean => {
            let flags: Vec<bool> = column.as_boolean().values().iter().collect();
            PyArray1::from_vec(py, flags).into_any()
        }
        DataType::FixedSizeBinary(16) => wide_array(py, column.as_fixed_size_binary())?,
        DataType::LargeList(item) if *item.data_type() == DataType::UInt64 => {
            let lists = column.as_list::<i64>().iter().flatten();
            let arrays =
                lists.map(|list| PyArray1::from_slice(py, list.as_primitive::<UInt64Type>().values()));
            PyList::new(py, arrays.collect::<Vec<_>>())?.into_any()
        }
        DataType::Utf8 => PyList::new(py, column.as_string::<i32>().iter().flatten())?.into_any(),
        DataType::LargeUtf8 => PyList::new(py, column.as_string::<i64>().iter().flatten())?.into_any(),
        DataType::Utf8View => PyList::new(py, column.as_string_view().iter().flatten())?.into_any(),
        other => {
            let text =
                format!("a column of type {other} cannot become a numpy array: use pyarrow.table(result)");
            return Err(PyTypeError::new_err(text));
        }
    })
}

/// Returns a class of `hamdex._results`.
fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    cell.import(py, "hamdex._results", name)
}

/// Makes the summary of a build.
pub(crate) fn summary(py: Python<'_>, summary: Summary) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let Summary { pushed, fingerprints, ids, design, bytes, .. } = summary;
    class(py, &CLASS, "Summary")?.call1((pushed, fingerprints, ids, design, bytes))
}

/// Returns a fingerprint as a Python int.
fn number_of(fingerprint: AnyFingerprint) -> u128 {
    fingerprint.narrow().expect("fingerprints have at most 128 bits")
}

/// Makes a match, with its first ids or names, and the number of all.
pub(crate) fn one_match<'py>(
    py: Python<'py>,
    found: AnyMatch,
    ids: Bound<'py, PyAny>,
    ids_count: u64,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    class(py, &CLASS, "Match")?.call1((number_of(found.fingerprint), found.distance, ids, ids_count))
}

/// Makes a similar text.
pub(crate) fn similar<'py>(
    py: Python<'py>,
    id: impl IntoPyObject<'py>,
    similarity: f64,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    class(py, &CLASS, "Similar")?.call1((id, similarity))
}

/// Makes the report of a verification.
pub(crate) fn verified(py: Python<'_>, counts: (u64, usize, u64, u64, u64)) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    class(py, &CLASS, "Verified")?.call1(counts)
}

/// Makes the statistics of a store, by name.
pub(crate) fn stats<'py>(py: Python<'py>, stats: &StoreStats) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    named.set_item("fingerprints", stats.fingerprints)?;
    named.set_item("ids", stats.ids)?;
    named.set_item("is_exact", stats.is_exact)?;
    named.set_item("files", stats.segments.len())?;
    named.set_item("bytes", stats.bytes)?;
    named.set_item("recent", stats.recent)?;
    named.set_item("recent_bytes", stats.recent_bytes)?;
    named.set_item("removed", stats.removed)?;
    named.set_item("write_amplification", stats.write_amplification)?;
    Ok(named.into_any())
}
