//! Work on files without queries: merges of indexes, and the manifests of sets of shards, for `hamdex.spark`, which builds
//! the shards.

use std::fmt::Display;
use std::path::PathBuf;

use hamdex::{FilterChoice, Index, Merger, OpenOptions, Summary};
use hamdex_any::{AnySet, for_width};
use hamdex_documents::RECIPE_KEY;
use hamdex_shards::inspect::{IdType, Manifest, ShardEntry, read_manifest, replace_manifest};
use hamdex_shards::{Layout, is_set};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::build::{Choices, filter};
use crate::errors::OrRaise;
use crate::index::Handle;
use crate::numbers::{Distance, Memory, Threads};
use crate::results;
use crate::width::Width;
use crate::work;

/// Merge indexes into one, without sorting again.
///
/// ``inputs`` are paths or open indexes of one width; either all have ids or none has. Recipe and metadata
/// must agree, and are kept. The result has the design and the codec of the first unless others are chosen;
/// ``filter`` is as in :func:`build`.
/// Ids with names are renumbered: those of each input follow those of the one before; other ids stay as they
/// are.
#[pyfunction]
#[pyo3(signature = (inputs, path, *, distance = None, design = None, codec = None, filter = None, overwrite = false,
    memory = None, threads = None, temp_dir = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
pub(crate) fn merge<'py>(
    py: Python<'py>,
    inputs: Vec<Bound<'py, PyAny>>,
    path: PathBuf,
    distance: Option<Distance>,
    design: Option<String>,
    codec: Option<String>,
    filter: Option<&Bound<'py, PyAny>>,
    overwrite: bool,
    memory: Option<Memory>,
    threads: Option<Threads>,
    temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs = inputs.iter().map(open).collect::<PyResult<Vec<_>>>()?;
    let threads = work::threads(threads)?;
    let mut choices = Choices {
        distance: distance.map(|distance| distance.0),
        lookups: inputs.first().is_some_and(|first| first.description().has_lookups),
        design,
        codec,
        filter: filter.map_or(Ok(FilterChoice::Auto), self::filter)?,
        overwrite,
        memory: memory.map(|memory| memory.0),
        threads,
        temp_dir,
        metadata: Default::default(),
    };
    if let Some(first) = inputs.first() {
        let metadata = &first.description().metadata;
        if inputs.iter().any(|other| other.description().metadata.get(RECIPE_KEY) != metadata.get(RECIPE_KEY))
        {
            let text = "the indexes were built by different recipes: their fingerprints cannot be compared";
            return Err(PyValueError::new_err(text));
        }
        if inputs.iter().any(|other| other.description().metadata != *metadata) {
            return Err(PyValueError::new_err("the metadata of the indexes differ: they cannot be merged"));
        }
        choices.metadata = metadata.clone();
    }
    let width = inputs.first().map_or(64, |index| index.description().width);
    if inputs.iter().any(|index| index.description().width != width) {
        return Err(PyValueError::new_err(
            "some of the indexes have fingerprints of 64 bits, and others of 128",
        ));
    }
    let summary = for_width!(width, F => write(py, &of_width::<F>(&inputs), path, &choices, progress))?;
    results::summary(py, summary)
}

fn of_width<F: Width>(inputs: &[AnySet]) -> Vec<&Index<F>> {
    inputs.iter().filter_map(|index| index.typed::<F>()?.as_index()).collect()
}

fn open(input: &Bound<'_, PyAny>) -> PyResult<AnySet> {
    match input.cast::<Handle>() {
        Ok(index) => index.as_super().get().set(),
        Err(_) => {
            let path = input.extract::<PathBuf>()?;
            input.py().detach(|| hamdex_any::open_file(path, &OpenOptions::new())).or_raise()
        }
    }
}

fn write<F: Width>(
    py: Python<'_>,
    inputs: &[&Index<F>],
    path: PathBuf,
    choices: &Choices,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Summary> {
    // Checks of all inputs come before any work.
    Merger::new(inputs.iter().copied()).map(drop).or_raise()?;
    let options = choices.apply(inputs[0].build_options())?;
    work::run(py, progress, move |watch| {
        let merger = Merger::new(inputs.iter().copied())?.options(options.report_to(watch.report()));
        merger.renumber(inputs[0].has_names()).seal(&path)?.publish()
    })
}

/// The fields of `hamdex.spark.Shard`, in their order.
type Entry = (String, u64, u64, u64, String);

/// The fields of `hamdex.spark.Shards` except the directory, in their order.
type Fields = (u32, u32, Option<String>, Option<String>, Vec<Entry>, String, Option<String>);

/// Reads the manifest of a set.
#[pyfunction]
#[pyo3(name = "_read_manifest")]
pub(crate) fn read_manifest_of(py: Python<'_>, directory: PathBuf) -> PyResult<Fields> {
    let found = py.detach(|| read_manifest(directory)).or_raise()?;
    let Manifest { layout, width, distance, recipe, id_type, shingles, shards } = found;
    let entry = |one: ShardEntry| (one.file, one.fingerprints, one.ids, one.bytes, one.file_id);
    let shards = shards.into_iter().map(entry).collect();
    let id_type = id_type.map(|kind| kind.to_string());
    Ok((width, distance, recipe, id_type, shards, layout.to_string(), shingles))
}

/// Replaces the manifest of a set, or makes its first one.
#[pyfunction]
#[pyo3(name = "_write_manifest")]
pub(crate) fn write_manifest_of(py: Python<'_>, directory: PathBuf, fields: Fields) -> PyResult<()> {
    let (width, distance, recipe, id_type, shards, layout, shingles) = fields;
    let entry =
        |(file, fingerprints, ids, bytes, file_id)| ShardEntry { file, fingerprints, ids, bytes, file_id };
    let manifest = Manifest {
        layout: named([Layout::Hash, Layout::Families], &layout)?,
        width,
        distance,
        recipe,
        id_type: id_type.map(|kind| named([IdType::Numbers, IdType::Names], &kind)).transpose()?,
        shingles,
        shards: shards.into_iter().map(entry).collect(),
    };
    py.detach(|| replace_manifest(directory, &manifest)).or_raise()
}

/// Returns the one with this name.
fn named<T: Display, const N: usize>(all: [T; N], name: &str) -> PyResult<T> {
    let found = all.into_iter().find(|one| one.to_string() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("{name:?} is no layout and no kind of ids")))
}

/// Whether a directory is a set of shards, not a store.
#[pyfunction]
#[pyo3(name = "_is_shards")]
pub(crate) fn is_shards(directory: PathBuf) -> PyResult<bool> {
    is_set(directory).or_raise()
}
