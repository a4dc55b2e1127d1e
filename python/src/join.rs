//! Finds all pairs of a set or of fingerprints in memory.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use hamdex::{FingerprintSet, Pair, PairsOptions, SetError};
use hamdex_any::{AnySet, for_width};

use crate::table::schema;
use crate::width::{Values, Width};
use crate::work::Watch;

/// The fingerprints whose pairs are found.
#[derive(Clone)]
pub(crate) enum Source {
    Set(AnySet),
    Values(Arc<Values>),
}

impl Source {
    fn width(&self) -> u32 {
        match self {
            Self::Set(set) => set.description().width,
            Self::Values(values) => match **values {
                Values::Narrow(_) => 64,
                Values::Wide(_) => 128,
            },
        }
    }
}

/// A search for pairs.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) source: Source,
    pub(crate) distance: u32,
    pub(crate) memory: Option<u64>,
    pub(crate) threads: usize,
}

/// The columns of a table of pairs, under construction.
struct Columns<F> {
    left: Vec<F>,
    right: Vec<F>,
    distance: Vec<u32>,
}

/// Receives pairs in batches; it may end the search.
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
            if columns.distance.len() < rows { ControlFlow::Continue(()) } else { receive(columns.take()) }
        };
        let options = self.options(watch);
        let outcome = match &self.source {
            Source::Set(set) => typed::<F>(set).visit_pairs(self.distance, &options, visit)?,
            Source::Values(values) => {
                hamdex::pairs(F::values(values), self.distance).options(&options).for_each_batch(visit)?
            }
        };
        if outcome.is_continue() && !columns.distance.is_empty() {
            let _ = receive(columns.take());
        }
        Ok(())
    }

    fn options(&self, watch: &Arc<Watch>) -> PairsOptions {
        let options = PairsOptions::new().threads(self.threads).progress(watch.callback());
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
            Source::Values(values) => {
                Ok(hamdex::pairs(F::values(values), self.distance).options(&options).count_by_distance()?)
            }
        }
    }
}

fn typed<F: Width>(set: &AnySet) -> &dyn FingerprintSet<F> {
    &**set.typed::<F>().expect("the width was checked")
}
