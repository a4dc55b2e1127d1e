//! Finding all pairs, whatever they are of.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use hamdex::{AnyIndex, MultiIndex, Pair, Pairs as Join, ReadError};

use crate::table::schema;
use crate::width::Width;
use crate::work::Watch;

/// What the pairs are of.
#[derive(Clone)]
pub(crate) enum Source {
    Index(Arc<AnyIndex>),
    Values64(Arc<Vec<u64>>),
    Values128(Arc<Vec<u128>>),
    Set64(Arc<MultiIndex<u64>>),
    Set128(Arc<MultiIndex<u128>>),
}

impl Source {
    fn is_wide(&self) -> bool {
        match self {
            Self::Index(index) => index.width() == u128::BITS,
            Self::Values64(_) | Self::Set64(_) => false,
            Self::Values128(_) | Self::Set128(_) => true,
        }
    }
}

/// Which pairs, and how to find them.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) source: Source,
    pub(crate) distance: u32,
    pub(crate) memory: Option<u64>,
    pub(crate) threads: usize,
}

/// The columns of a table of pairs, as they are filled.
struct Columns<F> {
    left: Vec<F>,
    right: Vec<F>,
    distance: Vec<u32>,
}

/// What receives the pairs, some at a time; it may end the work.
pub(crate) type Receive<'r> = dyn FnMut(RecordBatch) -> ControlFlow<()> + 'r;

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

impl Job {
    /// The columns of the tables.
    pub(crate) fn schema(&self) -> SchemaRef {
        pair_schema(if self.source.is_wide() { u128::ARROW } else { u64::ARROW })
    }

    /// Calls `receive` with all pairs, tables of at least `rows` rows but for the last.
    pub(crate) fn for_each(
        &self,
        watch: &Arc<Watch>,
        rows: usize,
        receive: &mut Receive<'_>,
    ) -> Result<(), ReadError> {
        let distance = self.distance;
        match &self.source {
            Source::Index(index) => match (u64::of_index(index), u128::of_index(index)) {
                (Some(index), _) => self.deliver(index.pairs(distance), watch, rows, receive),
                (_, Some(index)) => self.deliver(index.pairs(distance), watch, rows, receive),
                (None, None) => Ok(()),
            },
            Source::Values64(values) => self.deliver(hamdex::pairs(values, distance), watch, rows, receive),
            Source::Values128(values) => self.deliver(hamdex::pairs(values, distance), watch, rows, receive),
            Source::Set64(set) => self.deliver(set.pairs(distance), watch, rows, receive),
            Source::Set128(set) => self.deliver(set.pairs(distance), watch, rows, receive),
        }
    }

    fn deliver<F: Width>(
        &self,
        join: Join<'_, F>,
        watch: &Arc<Watch>,
        rows: usize,
        receive: &mut Receive<'_>,
    ) -> Result<(), ReadError> {
        let mut columns = Columns::<F>::new();
        let outcome = self.configured(join, watch).for_each_batch(|pairs| {
            columns.extend(pairs);
            if columns.distance.len() < rows { ControlFlow::Continue(()) } else { receive(columns.take()) }
        })?;
        if outcome.is_continue() && !columns.distance.is_empty() {
            let _ = receive(columns.take());
        }
        Ok(())
    }

    fn configured<'a, F: Width>(&self, join: Join<'a, F>, watch: &Arc<Watch>) -> Join<'a, F> {
        let join = join.threads(self.threads).progress(watch.callback());
        match self.memory {
            Some(memory) => join.memory(memory),
            None => join,
        }
    }

    fn count<F: Width>(&self, join: Join<'_, F>, watch: &Arc<Watch>) -> Result<Vec<u64>, ReadError> {
        self.configured(join, watch).count_by_distance()
    }

    /// How many pairs there are at each distance.
    pub(crate) fn counts(&self, watch: &Arc<Watch>) -> Result<Vec<u64>, ReadError> {
        let distance = self.distance;
        match &self.source {
            Source::Index(index) => match (u64::of_index(index), u128::of_index(index)) {
                (Some(index), _) => self.count(index.pairs(distance), watch),
                (_, Some(index)) => self.count(index.pairs(distance), watch),
                (None, None) => Ok(Vec::new()),
            },
            Source::Values64(values) => self.count(hamdex::pairs(values, distance), watch),
            Source::Values128(values) => self.count(hamdex::pairs(values, distance), watch),
            Source::Set64(set) => self.count(set.pairs(distance), watch),
            Source::Set128(set) => self.count(set.pairs(distance), watch),
        }
    }
}
