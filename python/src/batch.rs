//! Many queries of an index.

use std::sync::Arc;

use hamdex::{BatchOptions, Index, Match, ReadError, ReadErrorKind, Strategy};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::query::text_of;
use crate::rows::{Labels, Rows};
use crate::width::Width;
use crate::work::{self, Watch};

/// Matches whose ids are looked up together.
const IDS_AT_ONCE: usize = 4096;

/// What can be chosen for a batch.
pub(crate) fn batch_options(
    limit: Option<usize>,
    strategy: &str,
    memory: Option<u64>,
    threads: Option<usize>,
) -> PyResult<BatchOptions> {
    let strategy = match strategy {
        "auto" => Strategy::Auto,
        "probe" => Strategy::Probe,
        "scan" => Strategy::Scan,
        other => {
            let text = format!("there is no strategy {other:?}; there are: auto, probe, scan");
            return Err(PyValueError::new_err(text));
        }
    };
    let mut options = BatchOptions::new().strategy(strategy).threads(work::threads(threads)?);
    if let Some(limit) = limit {
        options = options.limit(limit);
    }
    if let Some(memory) = memory {
        options = options.memory(memory);
    }
    Ok(options)
}

/// Answers many queries of an index.
pub(crate) fn batch<F: Width>(
    index: &Index<F>,
    queries: &[F],
    distance: u32,
    options: &BatchOptions,
    watch: &Arc<Watch>,
) -> Result<Rows<F>, ReadError> {
    let options = options.clone().progress(watch.callback());
    let mut places: Vec<u64> = Vec::new();
    let mut found: Vec<Match<F>> = Vec::new();
    let _ = index.batch_with(queries, distance, &options, |query, matches| {
        places.extend(std::iter::repeat_n(query as u64, matches.len()));
        found.extend_from_slice(matches);
        watch.go_on()
    })?;
    let mut rows = Rows::new(Labels::new(index.has_ids(), index.has_names()));
    let names = index.names()?;
    let mut searcher = index.searcher();
    for (places, found) in places.chunks(IDS_AT_ONCE).zip(found.chunks(IDS_AT_ONCE)) {
        if watch.go_on().is_break() {
            return Err(ReadErrorKind::Stopped.into());
        }
        for ((&place, one), ids) in places.iter().zip(found).zip(searcher.ids_of(found)?) {
            match &names {
                Some(names) => {
                    let names = ids.map(|id| names.name_of(id).map(text_of));
                    rows.push_names(place, one, names.collect::<Result<Vec<_>, _>>()?);
                }
                None if index.has_ids() => rows.push_numbers(place, one, ids),
                None => rows.push(place, one.fingerprint, one.distance),
            }
        }
    }
    Ok(rows)
}
