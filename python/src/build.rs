//! Builds an index.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hamdex::{BuildOptions, Builder, Codec, Design, FilterChoice, Summary, UnknownFilter};
use hamdex_documents::RECIPE_KEY;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};

use crate::arrays::{self, Fingerprints, Words, check_lengths};
use crate::errors::OrRaise;
use crate::numbers::Threads;
use crate::recipe;
use crate::results;
use crate::texts::Texts;
use crate::width::Width;
use crate::work;

/// Metadata names with this prefix are reserved for hamdex.
const RESERVED: &str = "hamdex.";

/// The ids of fingerprints.
enum Ids<'py> {
    None,
    Numbers(Words<'py>),
    Names(Texts),
}

impl<'py> Ids<'py> {
    fn of(object: Option<&Bound<'py, PyAny>>, fingerprints: usize) -> PyResult<Self> {
        let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(Self::None) };
        if object.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("ids must be a list with one for each fingerprint, not a str"));
        }
        let ids = if Texts::are(object)? {
            Self::Names(Texts::copies_of(object)?)
        } else {
            Self::Numbers(arrays::ids(object)?)
        };
        let count = match &ids {
            Self::None => fingerprints,
            Self::Numbers(numbers) => numbers.as_slice()?.len(),
            Self::Names(names) => names.as_strs()?.len(),
        };
        check_lengths(fingerprints, count)?;
        Ok(ids)
    }
}

/// The options that a build and a merge share.
#[derive(Default)]
pub(crate) struct Choices {
    pub(crate) distance: Option<u32>,
    pub(crate) design: Option<String>,
    pub(crate) codec: Option<String>,
    pub(crate) filter: FilterChoice,
    pub(crate) overwrite: bool,
    pub(crate) memory: Option<u64>,
    pub(crate) threads: usize,
    pub(crate) temp_dir: Option<PathBuf>,
    pub(crate) metadata: BTreeMap<String, Vec<u8>>,
}

impl Choices {
    /// Applies the options.
    pub(crate) fn apply<F: Width>(&self, mut options: BuildOptions<F>) -> PyResult<BuildOptions<F>> {
        match (&self.design, self.distance) {
            (Some(name), distance) => {
                options = options.design(Design::named(name, distance.unwrap_or(3)).or_raise()?);
            }
            (None, Some(distance)) => options = options.distance(distance),
            (None, None) => {}
        }
        if let Some(name) = &self.codec {
            options = options.codec(codec(name)?);
        }
        options = options.filter(self.filter);
        if let Some(memory) = self.memory {
            options = options.memory(memory);
        }
        if let Some(directory) = &self.temp_dir {
            options = options.temp_dir(directory);
        }
        for (name, value) in &self.metadata {
            options = options.metadata(name, value.clone());
        }
        Ok(options.overwrite(self.overwrite).threads(self.threads))
    }
}

/// Returns a codec by its name.
pub(crate) fn codec(name: &str) -> PyResult<Codec> {
    name.parse().map_err(|_| {
        let names: Vec<&str> = Codec::ALL.iter().map(|codec| codec.name()).collect();
        PyValueError::new_err(format!("there is no codec {name:?}; there are: {}", names.join(", ")))
    })
}

/// Returns the filters that ``"auto"``, ``"none"`` or a number of bits per fingerprint means.
pub(crate) fn filter(given: &Bound<'_, PyAny>) -> PyResult<FilterChoice> {
    let text = if given.is_instance_of::<PyBool>() {
        None
    } else if given.is_instance_of::<PyInt>() || given.is_instance_of::<PyString>() {
        Some(given.str()?.to_string())
    } else {
        // A number of another type, such as numpy's.
        given.extract::<i64>().ok().map(|bits| bits.to_string())
    };
    let expected = "filter: expected \"auto\", \"none\" or an int";
    let text = text.ok_or_else(|| PyTypeError::new_err(expected))?;
    text.parse().map_err(|error: UnknownFilter| PyValueError::new_err(format!("{error}, not {text:?}")))
}

/// Metadata of the user: names, and texts or bytes.
fn metadata(given: Option<BTreeMap<String, Bound<'_, PyAny>>>) -> PyResult<BTreeMap<String, Vec<u8>>> {
    let mut metadata = BTreeMap::new();
    for (name, value) in given.unwrap_or_default() {
        if name.starts_with(RESERVED) {
            let text =
                format!("metadata {name:?}: names that begin with {RESERVED:?} are reserved for hamdex");
            return Err(PyValueError::new_err(text));
        }
        let bytes = if let Ok(text) = value.cast::<PyString>() {
            text.to_str()?.as_bytes().to_vec()
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            bytes.as_bytes().to_vec()
        } else {
            return Err(PyTypeError::new_err(format!(
                "metadata {name:?}: the value is neither str nor bytes"
            )));
        };
        metadata.insert(name, bytes);
    }
    Ok(metadata)
}

/// Build an index file of fingerprints.
///
/// ``fingerprints``: an array of uint64 (int64 is taken as bit patterns), of shape (n, 2) for 128 bits, the
/// high word first; an Arrow column; or a list of int. ``ids``: a number or a name for each; without ids,
/// queries return fingerprints alone. ``distance`` is that of most queries; any other is answered exactly,
/// too. ``filter``: prefix filters, which spare queries the blocks without a match: ``"auto"`` where they pay,
/// ``"none"``, or at most so many bits per fingerprint and table, 1 to 64. ``recipe`` says how the
/// fingerprints were made of texts, so that the index can be queried with
/// texts.
///
/// The file appears only when it is complete; an existing file is replaced with ``overwrite=True`` only.
///
/// >>> import hamdex, numpy, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "small.hamdex")
/// >>> hamdex.build(path, numpy.array([1, 3, 2**63], dtype="uint64"), ids=[10, 11, 12]).fingerprints
/// 3
/// >>> hamdex.Index(path).query(1, k=1)
/// [Match(fingerprint=1, distance=0, ids=[10]), Match(fingerprint=3, distance=1, ids=[11])]
#[pyfunction]
#[pyo3(signature = (path, fingerprints, ids = None, *, distance = 3, design = None, codec = "huffman", filter = None,
    recipe = None, metadata = None, overwrite = false, memory = None, threads = None, temp_dir = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
pub(crate) fn build<'py>(
    py: Python<'py>,
    path: PathBuf,
    fingerprints: &Bound<'py, PyAny>,
    ids: Option<&Bound<'py, PyAny>>,
    distance: u32,
    design: Option<String>,
    codec: &str,
    filter: Option<&Bound<'py, PyAny>>,
    recipe: Option<&str>,
    metadata: Option<BTreeMap<String, Bound<'py, PyAny>>>,
    overwrite: bool,
    memory: Option<u64>,
    threads: Option<Threads>,
    temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let fingerprints = Fingerprints::of(fingerprints)?;
    let ids = Ids::of(ids, fingerprints.len()?)?;
    let mut choices = Choices {
        distance: Some(distance),
        design,
        codec: Some(codec.to_owned()),
        filter: filter.map_or(Ok(FilterChoice::Auto), self::filter)?,
        overwrite,
        memory,
        threads: work::threads(threads)?,
        temp_dir,
        metadata: self::metadata(metadata)?,
    };
    if let Some(text) = recipe {
        let recipe = recipe::of_width(text, fingerprints.width(), "the given ones have")?;
        choices.metadata.insert(RECIPE_KEY.to_owned(), recipe.to_string().into_bytes());
    }
    let summary = match fingerprints.width() {
        64 => write::<u64>(py, path, &fingerprints, &ids, &choices, progress)?,
        _ => write::<u128>(py, path, &fingerprints, &ids, &choices, progress)?,
    };
    results::summary(py, summary)
}

fn write<F: Width>(
    py: Python<'_>,
    path: PathBuf,
    fingerprints: &Fingerprints<'_>,
    ids: &Ids<'_>,
    choices: &Choices,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Summary> {
    let options = choices.apply(BuildOptions::<F>::new())?;
    let fingerprints = F::slice(fingerprints)?;
    let (numbers, names) = match ids {
        Ids::None => (None, None),
        Ids::Numbers(numbers) => (Some(numbers.as_slice()?), None),
        Ids::Names(names) => (None, Some(names.as_strs()?)),
    };
    let options = options.ids(numbers.is_some()).names(names.is_some());
    work::run(py, progress, move |watch| {
        let mut builder = Builder::with_options(path, options.progress(watch.callback()))?;
        match (numbers, names) {
            (Some(ids), _) => fingerprints
                .iter()
                .zip(ids)
                .try_for_each(|(&fingerprint, &id)| builder.push_with_id(fingerprint, id))?,
            (None, Some(names)) => {
                for (id, (&fingerprint, name)) in (0..).zip(fingerprints.iter().zip(names)) {
                    builder.push_with_id(fingerprint, id)?;
                    builder.push_name(id, name)?;
                }
            }
            (None, None) => {
                fingerprints.iter().try_for_each(|&fingerprint| builder.push(fingerprint))?;
            }
        }
        builder.seal()?.publish()
    })
}
