//! All pairs: a stream of tables, found while it is read.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrays::Fingerprints;
use crate::arrow::{export_schema, export_stream};
use crate::errors::{Error, IntoException};
use crate::join::{Job, Source};
use crate::numbers::{K, Memory, Threads};
use crate::stream::Stream;
use crate::table::Table;
use crate::width::Values;
use crate::work;

/// The pairs of fingerprints within a distance of each other: a stream of tables of ``left``, ``right`` and
/// ``distance``, each pair once, the lower fingerprint on the left. Equal fingerprints count as one, not as a
/// pair.
///
/// Iterate over its tables; pass it to consumers of Arrow streams, such as
/// ``pyarrow.RecordBatchReader.from_stream``; read it as one table; or count it. Each of these finds the
/// pairs anew. They are found while the stream is read, so only a few tables are in memory at a time.
#[pyclass(frozen, module = "hamdex", name = "Pairs")]
pub(crate) struct Pairs {
    job: Job,
}

impl Pairs {
    pub(crate) fn new(
        source: Source,
        distance: u32,
        memory: Option<Memory>,
        threads: Option<Threads>,
    ) -> PyResult<Self> {
        let memory = memory.map(|memory| memory.0);
        Ok(Self { job: Job { source, distance, memory, threads: work::threads(threads)? } })
    }
}

#[pymethods]
impl Pairs {
    /// The distance, in bits.
    #[getter]
    fn distance(&self) -> u32 {
        self.job.distance
    }

    fn __repr__(&self) -> String {
        format!("<hamdex.Pairs within {} bits>", self.job.distance)
    }

    fn __iter__(&self) -> PyResult<Tables> {
        Ok(Tables { stream: Mutex::new(Some(self.job.start()?)) })
    }

    /// Read all pairs into one table, in memory.
    #[pyo3(signature = (*, progress = None))]
    fn read_all(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Table> {
        let mut all = None;
        work::run(py, progress, |watch| {
            self.job.for_each(watch, usize::MAX, &mut |batch| {
                all = Some(batch);
                ControlFlow::Continue(())
            })
        })?;
        Ok(Table::of_batch(all.unwrap_or_else(|| RecordBatch::new_empty(self.job.schema()))))
    }

    /// Count the pairs at each distance from 0 on (0 has none).
    #[pyo3(signature = (*, progress = None))]
    fn count_by_distance<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let counts = work::run(py, progress, |watch| self.job.counts(watch))?;
        Ok(PyArray1::from_vec(py, counts))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.job.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        export_stream(py, Box::new(self.job.start()?))
    }
}

/// The tables of a stream of pairs, one after the other.
#[pyclass(frozen, module = "hamdex", name = "_Tables")]
pub(crate) struct Tables {
    stream: Mutex<Option<Stream>>,
}

#[pymethods]
impl Tables {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let next = py.detach(|| {
            let mut stream =
                self.stream.lock().map_err(|_| Error::new_err("the stream is in an unknown state"))?;
            let Some(open) = stream.as_ref() else { return Ok(None) };
            let next = Stream::next(open, work::check_signals);
            if !matches!(next, Ok(Some(Ok(_)))) {
                // The stream ends after the last table, or after an error.
                *stream = None;
            }
            next
        })?;
        next.transpose().map_err(IntoException::into_exception).map(|batch| batch.map(Table::of_batch))
    }
}

/// All pairs of an array of fingerprints within ``k`` bits, without an index: see ``Pairs``.
///
/// >>> import hamdex
/// >>> hamdex.pairs([0b0000, 0b0001, 0b1111], k=1).read_all().to_dict()
/// {'left': array([0], dtype=uint64), 'right': array([1], dtype=uint64), 'distance': array([1], dtype=uint32)}
#[pyfunction]
#[pyo3(signature = (fingerprints, k = K(3), *, memory = None, threads = None))]
pub(crate) fn pairs(
    fingerprints: &Bound<'_, PyAny>,
    k: K,
    memory: Option<Memory>,
    threads: Option<Threads>,
) -> PyResult<Pairs> {
    // A copy, since the array may change while pairs are found.
    let values = match Fingerprints::of(fingerprints)? {
        Fingerprints::Bits64(words) => Values::Narrow(words.as_slice()?.to_vec()),
        Fingerprints::Bits128(wide) => Values::Wide(wide),
    };
    let width = if matches!(values, Values::Narrow(_)) { 64 } else { 128 };
    Pairs::new(Source::Values(Arc::new(values)), k.within(width)?, memory, threads)
}
