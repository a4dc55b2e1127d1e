//! Maps many texts on several threads.

use std::sync::atomic::{AtomicU64, Ordering};

use hamdex::{ReadError, ReadErrorKind};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::OrRaise;
use crate::work::{Watch, pool};

/// The number of texts between two progress reports.
const AT_ONCE: usize = 32;

/// Maps every text on `threads` threads, each with its own state.
pub(crate) fn map_texts<S, T: Send>(
    texts: &[&str],
    threads: usize,
    watch: &Watch,
    phase: &'static str,
    start: impl Fn() -> S + Send + Sync,
    make: impl Fn(&mut S, &str) -> T + Send + Sync,
) -> PyResult<Vec<T>> {
    let total = Some(texts.len() as u64);
    let done = AtomicU64::new(0);
    let parts: Option<Vec<Vec<T>>> = pool(threads)?.install(|| {
        let parts = texts.par_chunks(AT_ONCE).map_init(start, |state, texts| {
            let made = texts.iter().map(|text| watch.go_on().is_continue().then(|| make(state, text)));
            let made = made.collect::<Option<_>>()?;
            let before = done.fetch_add(texts.len() as u64, Ordering::Relaxed);
            watch.note((phase, before + texts.len() as u64, total)).is_continue().then_some(made)
        });
        parts.collect()
    });
    match parts {
        Some(parts) => Ok(parts.into_iter().flatten().collect()),
        None => Err(ReadError::from(ReadErrorKind::Stopped)).or_raise(),
    }
}
