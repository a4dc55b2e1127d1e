//! Makes shingles of texts, which a search for similar texts compares.

use std::num::NonZeroUsize;

use arrow_array::ArrayRef;
use hamdex_simhash::recipe::Shingle;
use hamdex_simhash::{Shingler, Shingles};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::numbers::Threads;
use crate::stored_shingles;
use crate::table::{Table, raise};
use crate::texts::{Texts, map_texts};
use crate::work;

/// Cut texts into shingles, the runs of ``words`` words in them; ``dedup`` compares texts by their shingles.
///
/// ``texts`` is a list of str, or an Arrow column of strings. The result is a table with one column,
/// ``shingles``: for each text its distinct shingles as hashes of 48 bits, in ascending order, a
/// ``large_list<uint64>`` in Arrow. The similarity of two texts is the number of shared hashes divided by the
/// number of distinct hashes of both.
///
/// Words are those of Unicode; case and punctuation do not count; in a script without spaces each character
/// is a word. A text of fewer words has one shingle, all of it, and a blank text has none. ``words`` is at
/// most 64.
///
/// >>> import hamdex
/// >>> one, other, blank = hamdex.shingles(["the cat sat on the mat", "The cat sat on a mat!", " "], words=2)["shingles"]
/// >>> len(one), len(other), len(blank), len(set(one.tolist()) & set(other.tolist()))
/// (5, 5, 0, 3)
#[pyfunction]
#[pyo3(signature = (texts, words = 5, *, threads = None, progress = None))]
pub(crate) fn shingles<'py>(
    texts: &Bound<'py, PyAny>,
    words: usize,
    threads: Option<Threads>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Table> {
    let width =
        NonZeroUsize::new(words).filter(|width| width.get() <= Shingle::MAX_WIDTH).ok_or_else(|| {
            PyValueError::new_err(format!("words must be from 1 to {}, not {words}", Shingle::MAX_WIDTH))
        })?;
    let threads = work::threads(threads)?;
    let py = texts.py();
    let texts = Texts::of(texts)?;
    let texts = texts.as_strs()?;
    let shingler = Shingler::new(width);
    let lists = work::run(py, progress, |watch| {
        let cut = |shingler: &mut Shingler, text: &str| shingler.shingles(text);
        let cut = map_texts(&texts, threads, watch, "cutting", || shingler.clone(), cut);
        cut.map(|sets| column(&sets))
    })?;
    Table::new(vec![("shingles", lists)]).map_err(raise)
}

fn column(sets: &[Shingles]) -> ArrayRef {
    let hashes = sets.iter().flat_map(|set| set.hashes().iter().copied()).collect();
    stored_shingles::column(hashes, sets.iter().map(|set| set.hashes().len()))
}
