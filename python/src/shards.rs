//! Manifests of sets of shards, for `hamdex.spark`, which builds the files.

use std::fmt::Display;
use std::path::PathBuf;

use hamdex_shards::inspect::{IdType, Manifest, ShardEntry, read_manifest, replace_manifest};
use hamdex_shards::{Layout, is_set};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// The fields of `hamdex.spark.Shard`, in their order.
type Entry = (String, u64, u64, u64, String);

/// The fields of `hamdex.spark.Shards` except the directory, in their order.
type Fields = (u32, u32, Option<String>, Option<String>, Vec<Entry>, String, Option<String>);

/// Reads the manifest of a set.
#[pyfunction]
#[pyo3(name = "_read_manifest")]
pub(crate) fn read(py: Python<'_>, directory: PathBuf) -> PyResult<Fields> {
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
pub(crate) fn write(py: Python<'_>, directory: PathBuf, fields: Fields) -> PyResult<()> {
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
