//! All pairs of a set or of fingerprints in memory: a stream of tables, found while it is read.

use std::any::Any;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader, UInt32Array};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use hamdex::{FingerprintSet, Pair, PairsOptions, SetError, Stopped, chain};
use hamdex_any::{AnySet, for_width};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrays::Fingerprints;
use crate::arrow::{export_schema, export_stream};
use crate::errors::{Error, IntoException, of_io};
use crate::numbers::{K, Memory, Threads};
use crate::results::{Table, schema};
use crate::width::Width;
use crate::work::{self, Watch, check_signals};

/// The pairs of fingerprints within a distance of each other: a stream of tables of ``left``, ``right`` and
/// ``distance``, each pair once, the lower fingerprint on the left. Equal fingerprints count as one, not as a
/// pair.
///
/// Iterate over its tables; pass it to consumers of Arrow streams, such as
/// ``pyarrow.RecordBatchReader.from_stream``; read it as one table; or count it. Each of these finds the
/// pairs anew. They are found while the stream is read, so only a few tables are in memory at a time.
#[pyclass(frozen, module = "hamdex", name = "Pairs")]
#[derive(Clone)]
pub(crate) struct Pairs {
    source: Source,
    distance: u32,
    memory: Option<u64>,
    threads: usize,
}

impl Pairs {
    pub(crate) fn new(
        source: Source,
        distance: u32,
        memory: Option<Memory>,
        threads: Option<Threads>,
    ) -> PyResult<Self> {
        let memory = memory.map(|memory| memory.0);
        Ok(Self { source, distance, memory, threads: work::threads(threads)? })
    }
}

#[pymethods]
impl Pairs {
    /// The distance, in bits.
    #[getter]
    fn distance(&self) -> u32 {
        self.distance
    }

    fn __repr__(&self) -> String {
        format!("<hamdex.Pairs within {} bits>", self.distance)
    }

    fn __iter__(&self) -> PyResult<Tables> {
        Ok(Tables { stream: Mutex::new(Some(self.start()?)) })
    }

    /// Read all pairs into one table, in memory.
    #[pyo3(signature = (*, progress = None))]
    fn read_all(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Table> {
        let mut all = None;
        work::run(py, progress, |watch| {
            self.for_each(watch, usize::MAX, &mut |batch| {
                all = Some(batch);
                Ok(())
            })
        })?;
        Ok(Table::of_batch(all.unwrap_or_else(|| RecordBatch::new_empty(self.schema()))))
    }

    /// Count the pairs at each distance from 0 on (0 has none).
    #[pyo3(signature = (*, progress = None))]
    fn count_by_distance<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let counts = work::run(py, progress, |watch| self.counts(watch))?;
        Ok(PyArray1::from_vec(py, counts))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        export_stream(py, Box::new(self.start()?))
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
    let given = Fingerprints::of(fingerprints)?;
    let width = given.width();
    // A copy, since the array may change while pairs are found.
    let values: Arc<dyn Any + Send + Sync> = match given {
        Fingerprints::Bits64(words) => Arc::new(words.as_slice()?.to_vec()),
        Fingerprints::Bits128(wide) => Arc::new(wide),
    };
    Pairs::new(Source::Values { width, values }, k.within(width)?, memory, threads)
}

/// The approximate number of rows of a table.
const TABLE_ROWS: usize = 1 << 16;

/// The most tables that wait to be read.
const MAX_WAITING_TABLES: usize = 2;

/// The interval of signal checks while waiting for the next table.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// A running search for pairs. Dropping it cancels the search.
pub(crate) struct Stream {
    receiver: Receiver<Result<RecordBatch, SetError>>,
    watch: Arc<Watch>,
    schema: SchemaRef,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.watch.cancellation().cancel();
    }
}

impl Stream {
    /// Returns the next table. `check` is called periodically; its error ends the waiting.
    pub(crate) fn next<E>(
        &self,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<Option<Result<RecordBatch, SetError>>, E> {
        loop {
            match self.receiver.recv_timeout(SIGNAL_INTERVAL) {
                Ok(next) => return Ok(Some(next)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => check()?,
            }
        }
    }
}

/// The stream as an Arrow reader.
impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let stopped = |exception: PyErr| ArrowError::ExternalError(exception.into());
        match Stream::next(self, check_signals) {
            Ok(next) => {
                next.map(|next| next.map_err(|error| ArrowError::ExternalError(chain(&error).into())))
            }
            Err(exception) => Some(Err(stopped(exception))),
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Pairs {
    /// Starts to find the pairs.
    pub(crate) fn start(&self) -> PyResult<Stream> {
        let (sender, receiver) = sync_channel(MAX_WAITING_TABLES);
        let watch = Arc::new(Watch::default());
        let (pairs, own) = (self.clone(), Arc::clone(&watch));
        let thread =
            thread::Builder::new().name("hamdex-pairs".to_owned()).spawn(move || pairs.send(&own, &sender));
        match thread {
            Ok(_) => Ok(Stream { receiver, watch, schema: self.schema() }),
            Err(error) => Err(of_io(&error, None, format!("cannot start a thread: {error}"))),
        }
    }

    fn send(&self, watch: &Arc<Watch>, sender: &SyncSender<Result<RecordBatch, SetError>>) {
        let outcome =
            self.for_each(watch, TABLE_ROWS, &mut |batch| sender.send(Ok(batch)).map_err(|_| Stopped));
        if let Err(error) = outcome {
            // The reader has ended and wants no error.
            let _ = sender.send(Err(error));
        }
    }
}

/// The fingerprints whose pairs are found.
#[derive(Clone)]
pub(crate) enum Source {
    Set(AnySet),
    /// A vector of fingerprints of this width.
    Values {
        width: u32,
        values: Arc<dyn Any + Send + Sync>,
    },
}

impl Source {
    fn width(&self) -> u32 {
        match self {
            Self::Set(set) => set.description().width,
            Self::Values { width, .. } => *width,
        }
    }
}

/// The columns of a table of pairs, under construction.
struct Columns<F> {
    left: Vec<F>,
    right: Vec<F>,
    distance: Vec<u32>,
}

/// Receives pairs in batches; it may end the search.
pub(crate) type Receive<'r> = dyn FnMut(RecordBatch) -> Result<(), Stopped> + 'r;

impl<F: Width> Columns<F> {
    fn new() -> Self {
        Self { left: Vec::new(), right: Vec::new(), distance: Vec::new() }
    }

    fn extend(&mut self, pairs: &[Pair<F>]) {
        self.left.extend(pairs.iter().map(|pair| pair.a));
        self.right.extend(pairs.iter().map(|pair| pair.b));
        self.distance.extend(pairs.iter().map(|pair| pair.distance));
    }

    fn take(&mut self) -> RecordBatch {
        let Self { left, right, distance } = std::mem::replace(self, Self::new());
        let columns = vec![F::column(left), F::column(right), Arc::new(UInt32Array::from(distance)) as _];
        RecordBatch::try_new(pair_schema(F::ARROW), columns)
            .expect("columns of one length, as the schema says")
    }
}

fn pair_schema(fingerprint: DataType) -> SchemaRef {
    schema(&[("left", fingerprint.clone()), ("right", fingerprint), ("distance", DataType::UInt32)])
}

impl Pairs {
    /// Returns the schema of the tables.
    pub(crate) fn schema(&self) -> SchemaRef {
        for_width!(self.source.width(), F => pair_schema(F::ARROW))
    }

    /// Calls `receive` with all pairs, in tables of at least `rows` rows except the last.
    pub(crate) fn for_each(
        &self,
        watch: &Arc<Watch>,
        rows: usize,
        receive: &mut Receive<'_>,
    ) -> Result<(), SetError> {
        for_width!(self.source.width(), F => self.deliver::<F>(watch, rows, receive))
    }

    fn deliver<F: Width>(
        &self,
        watch: &Arc<Watch>,
        rows: usize,
        receive: &mut Receive<'_>,
    ) -> Result<(), SetError> {
        let mut columns = Columns::<F>::new();
        let visit = &mut |pairs: &[Pair<F>]| {
            columns.extend(pairs);
            if columns.distance.len() < rows { Ok(()) } else { Ok(receive(columns.take())?) }
        };
        let options = self.options(watch);
        match &self.source {
            Source::Set(set) => typed::<F>(set).visit_pairs(self.distance, &options, visit)?,
            Source::Values { values, .. } => {
                hamdex::pairs(fingerprints::<F>(values), self.distance)
                    .options(&options)
                    .for_each_batch(visit)?;
            }
        }
        if !columns.distance.is_empty() {
            receive(columns.take())?;
        }
        Ok(())
    }

    fn options(&self, watch: &Arc<Watch>) -> PairsOptions {
        let options = PairsOptions::new().threads(self.threads).report_to(watch.report());
        match self.memory {
            Some(memory) => options.memory(memory),
            None => options,
        }
    }

    /// Returns the number of pairs at each distance.
    pub(crate) fn counts(&self, watch: &Arc<Watch>) -> Result<Vec<u64>, SetError> {
        for_width!(self.source.width(), F => self.count::<F>(watch))
    }

    fn count<F: Width>(&self, watch: &Arc<Watch>) -> Result<Vec<u64>, SetError> {
        let options = self.options(watch);
        match &self.source {
            Source::Set(set) => typed::<F>(set).count_pairs(self.distance, &options),
            Source::Values { values, .. } => Ok(hamdex::pairs(fingerprints::<F>(values), self.distance)
                .options(&options)
                .count_by_distance()?),
        }
    }
}

fn fingerprints<F: Width>(values: &Arc<dyn Any + Send + Sync>) -> &[F] {
    values.downcast_ref::<Vec<F>>().expect("the width was checked")
}

fn typed<F: Width>(set: &AnySet) -> &dyn FingerprintSet<F> {
    &**set.typed::<F>().expect("the width was checked")
}
