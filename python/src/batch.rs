//! Answers many queries of a set.

use std::sync::Arc;

use hamdex::set::Description;
use hamdex::{BatchOptions, Match, ReadError, ReadErrorKind, SetError, Strategy};
use hamdex_any::AnySet;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::numbers::{Limit, Memory, Threads};
use crate::query::text_of;
use crate::result_rows::{Labels, Rows};
use crate::width::Width;
use crate::work::{self, Watch};

/// The number of matches whose ids are looked up together.
const IDS_AT_ONCE: usize = 4096;

/// The options of a batch.
pub(crate) fn batch_options(
    limit: Option<Limit>,
    strategy: &str,
    memory: Option<Memory>,
    threads: Option<Threads>,
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
        options = options.limit(limit.0);
    }
    if let Some(memory) = memory {
        options = options.memory(memory.0);
    }
    Ok(options)
}

/// Answers many queries of a set; a match has a row for each of its first ids.
pub(crate) fn batch<F: Width>(
    any: &AnySet,
    queries: &[F],
    (distance, ids_limit): (u32, usize),
    options: &BatchOptions,
    watch: &Arc<Watch>,
) -> Result<Rows<F>, SetError> {
    let set = any.typed::<F>().expect("the width was checked");
    let Description { has_ids, has_names, .. } = *any.description();
    let options = options.clone().progress(watch.callback());
    let mut places: Vec<u64> = Vec::new();
    let mut found: Vec<Match<F>> = Vec::new();
    let _ = set.visit_batch(queries, distance, &options, &mut |query, matches| {
        places.extend(std::iter::repeat_n(query as u64, matches.len()));
        found.extend_from_slice(matches);
        watch.go_on()
    })?;
    let mut rows = Rows::new(Labels::new(has_ids, has_names));
    let mut searcher = set.open_searcher();
    for (places, found) in places.chunks(IDS_AT_ONCE).zip(found.chunks(IDS_AT_ONCE)) {
        if watch.go_on().is_break() {
            return Err(ReadError::from(ReadErrorKind::Stopped).into());
        }
        if !has_ids {
            places
                .iter()
                .zip(found)
                .for_each(|(&place, one)| rows.push(place, one.fingerprint, one.distance));
            continue;
        }
        for ((&place, one), ids) in places.iter().zip(found).zip(searcher.ids_of(found, ids_limit)?) {
            let all = ids.all();
            if has_names {
                let names = ids.map(|id| Ok(text_of(&set.name_of(id)?.unwrap_or_default())));
                rows.push_names(place, one, names.collect::<Result<Vec<_>, SetError>>()?, all);
            } else {
                rows.push_numbers(place, one, ids.map(|stored| stored.id), all);
            }
        }
    }
    Ok(rows)
}
