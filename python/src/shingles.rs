//! Shingles of texts, which a search for similar texts compares: made here, or those of the documents of a set that
//! keeps them.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, LargeListArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use hamdex::set::{ShinglePart, StoredId};
use hamdex::{SetError, default_memory};
use hamdex_any::{AnySet, for_width};
use hamdex_simhash::recipe::Shingle;
use hamdex_simhash::{Shingler, Shingles};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::numbers::Threads;
use crate::query::Labels;
use crate::results::{Table, raise};
use crate::texts::{Texts, map_texts};
use crate::width::Width;
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
        cut.map(|sets| column_of(&sets))
    })?;
    Table::new(vec![("shingles", lists)]).map_err(raise)
}

fn column_of(sets: &[Shingles]) -> ArrayRef {
    let hashes = sets.iter().flat_map(|set| set.hashes().iter().copied()).collect();
    column(hashes, sets.iter().map(|set| set.hashes().len()))
}

/// Returns a column of sets of shingles.
fn column(hashes: Vec<u64>, lengths: impl Iterator<Item = usize>) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(DataType::UInt64, false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Arc::new(LargeListArray::new(field, offsets, Arc::new(UInt64Array::from(hashes)), None))
}

/// Shingles of one table.
const TABLE_SHINGLES: usize = 1 << 20;

/// Divisor of the memory: the share of the sets that are read at once.
const MEMORY_SHARE: u64 = 16;

/// The documents of a set, one table after the other.
#[pyclass(frozen, module = "hamdex", name = "_StoredShingles")]
pub(crate) struct StoredShingles {
    set: AnySet,
    left: Mutex<Left>,
}

/// Documents that have not been returned.
struct Left {
    parts: std::vec::IntoIter<ShinglePart>,
    /// Those of the latest part.
    tables: std::vec::IntoIter<Documents>,
}

/// Some documents: their ids, the number of shingles of each, and all of their shingles.
#[derive(Default)]
struct Documents {
    ids: Vec<StoredId>,
    lengths: Vec<usize>,
    hashes: Vec<u64>,
}

impl StoredShingles {
    pub(crate) fn new(set: AnySet) -> PyResult<Self> {
        let parts = for_width!(set.description().width, F => {
            set.typed::<F>().expect("the width was checked").shingle_parts(default_memory() / MEMORY_SHARE)
        });
        let parts = parts.or_raise()?.ok_or_else(|| {
            PyValueError::new_err("the set keeps no shingles of its documents: make it with shingles=True")
        })?;
        let left = Mutex::new(Left { parts: parts.into_iter(), tables: Vec::new().into_iter() });
        Ok(Self { set, left })
    }

    /// Returns the next documents.
    fn next<F: Width>(&self) -> Result<Option<Table>, SetError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.next_of::<F>(&mut left);
        if next.is_err() {
            // Documents behind an error are not all that is left.
            *left = Left { parts: Vec::new().into_iter(), tables: Vec::new().into_iter() };
        }
        next
    }

    fn next_of<F: Width>(&self, left: &mut Left) -> Result<Option<Table>, SetError> {
        let set = self.set.typed::<F>().expect("the width was checked");
        loop {
            if let Some(documents) = left.tables.next() {
                return documents.table(&self.set).map(Some);
            }
            let Some(part) = left.parts.next() else { return Ok(None) };
            let mut tables = vec![Documents::default()];
            set.visit_shingles(&part, &|| Ok(()), &mut |id, shingles| {
                if tables.last().is_none_or(|last| last.hashes.len() >= TABLE_SHINGLES) {
                    tables.push(Documents::default());
                }
                if let Some(last) = tables.last_mut() {
                    last.ids.push(id);
                    last.lengths.push(shingles.len());
                    last.hashes.extend_from_slice(shingles);
                }
                Ok(())
            })?;
            tables.retain(|table| !table.ids.is_empty());
            left.tables = tables.into_iter();
        }
    }
}

impl Documents {
    fn table(self, set: &AnySet) -> Result<Table, SetError> {
        let Self { ids, lengths, hashes } = self;
        let mut labels = Labels::of(set.description());
        ids.into_iter().try_for_each(|id| labels.push(set, id))?;
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
        for_width!(self.set.description().width, F => py.detach(|| self.next::<F>())).or_raise()
    }
}
