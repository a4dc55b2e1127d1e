//! Builds an index.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use hamdex::{BuildOptions, Builder, Codec, Design, FilterChoice, ParseOptionError, Summary, shingles};
use hamdex_any::for_width;
use hamdex_documents::RECIPE_KEY;
use hamdex_simhash::{Recipe, Shingler};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};

use crate::arrays::{self, Fingerprints, Words, check_lengths};
use crate::errors::OrRaise;
use crate::numbers::{Distance, Memory, Threads};
use crate::recipe::{self, Purpose, of_texts};
use crate::texts::{self, Maker, Texts};
use crate::width::Width;
use crate::{results, work};

/// Metadata names with this prefix are reserved for hamdex.
const RESERVED: &str = "hamdex.";

/// Texts whose shingles are in memory at a time.
const TEXTS_AT_ONCE: usize = 1 << 14;

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
        check_lengths("fingerprints", fingerprints, count)?;
        Ok(ids)
    }
}

/// The options that a build and a merge share.
#[derive(Default)]
pub(crate) struct Choices {
    pub(crate) distance: Option<u32>,
    pub(crate) lookups: bool,
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
        Ok(options.lookups(self.lookups).overwrite(self.overwrite).threads(self.threads))
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
    text.parse().map_err(|error: ParseOptionError| PyValueError::new_err(format!("{error}, not {text:?}")))
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

/// Build an index file of fingerprints, or of texts.
///
/// ``fingerprints``: an array of uint64 (int64 is taken as bit patterns), of shape (n, 2) for 128 bits, the
/// high word first; an Arrow column; or a list of int. ``ids``: a number or a name for each; without ids,
/// queries return fingerprints alone. ``distance`` is that of most queries; any other is answered exactly,
/// too. ``filter``: prefix filters, which spare queries the blocks without a match: ``"auto"`` where they pay,
/// ``"none"``, or at most so many bits per fingerprint and table, 1 to 64. ``recipe`` says how the
/// fingerprints were made of texts, so that the index can be queried with texts; with it, ``fingerprints`` may be
/// the texts themselves. A null among them, ``None`` or NaN, is a document without text, and is left out.
///
/// ``shingles=True`` keeps the shingles of the texts as well, of five words each or of as many as it says, so that
/// ``dedup(against=...)`` compares with the texts of the index; blank texts, which are similar to nothing, are left
/// out then. Shingles take about 5 bytes per word.
///
/// ``lookups=True`` lets the ids be looked up: ``hamdex dump --id`` and ``--name`` find the fingerprints of one. It
/// takes about 5 bytes per record, and as much per name.
///
/// The file appears only when it is complete; an existing file is replaced with ``overwrite=True`` only.
///
/// >>> import hamdex, numpy, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "small.hamdex")
/// >>> hamdex.build(path, numpy.array([1, 3, 2**63], dtype="uint64"), ids=[10, 11, 12]).fingerprints
/// 3
/// >>> hamdex.Index(path).query(1, k=1)
/// [Match(fingerprint=1, distance=0, ids=[10], ids_count=1), Match(fingerprint=3, distance=1, ids=[11], ids_count=1)]
#[pyfunction]
#[pyo3(signature = (path, fingerprints, ids = None, *, distance = Distance(3), design = None, codec = "huffman", filter = None,
    recipe = None, shingles = None, lookups = false, metadata = None, overwrite = false, memory = None, threads = None, temp_dir = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
pub(crate) fn build<'py>(
    py: Python<'py>,
    path: PathBuf,
    fingerprints: &Bound<'py, PyAny>,
    ids: Option<&Bound<'py, PyAny>>,
    distance: Distance,
    design: Option<String>,
    codec: &str,
    filter: Option<&Bound<'py, PyAny>>,
    recipe: Option<&str>,
    shingles: Option<&Bound<'py, PyAny>>,
    lookups: bool,
    metadata: Option<BTreeMap<String, Bound<'py, PyAny>>>,
    overwrite: bool,
    memory: Option<Memory>,
    threads: Option<Threads>,
    temp_dir: Option<PathBuf>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let words = texts::shingle_words(shingles)?;
    if lookups && ids.is_none_or(PyAnyMethods::is_none) {
        return Err(PyValueError::new_err("look-ups are by id: pass ids="));
    }
    let mut choices = Choices {
        distance: Some(distance.0),
        lookups,
        design,
        codec: Some(codec.to_owned()),
        filter: filter.map_or(Ok(FilterChoice::Auto), self::filter)?,
        overwrite,
        memory: memory.map(|memory| memory.0),
        threads: work::threads(threads)?,
        temp_dir,
        metadata: self::metadata(metadata)?,
    };
    if let Some(words) = words {
        let recipe = recipe.ok_or_else(|| {
            PyValueError::new_err("shingles are kept of texts: pass recipe=, such as \"default\", and texts")
        })?;
        let recipe = recipe::recipe(recipe, None)?;
        choices.metadata.insert(RECIPE_KEY.to_owned(), recipe.to_string().into_bytes());
        let definition = Shingler::new(words).definition().into_bytes();
        choices.metadata.insert(shingles::KEY.to_owned(), definition);
        let texts = Texts::of(fingerprints)?;
        let texts = texts.as_strs()?;
        let ids = Ids::of(ids, texts.len())?;
        let summary = for_width!(recipe.width.bits(), F => {
            let maker = Maker::<F>::new(&recipe, words)?;
            write_documents(py, path, (&texts, &ids), &maker, &choices, progress)?
        });
        return results::summary(py, summary);
    }
    let (fingerprints, nulls) = match recipe {
        Some(text) if Texts::are(fingerprints)? => {
            of_given_texts(py, fingerprints, &recipe::recipe(text, None)?, choices.threads)?
        }
        _ => (Fingerprints::of(fingerprints)?, Vec::new()),
    };
    let ids = Ids::of(ids, fingerprints.len()? + nulls.len())?;
    if let Some(text) = recipe {
        let recipe = recipe::of_width(text, fingerprints.width(), "the given ones have")?;
        choices.metadata.insert(RECIPE_KEY.to_owned(), recipe.to_string().into_bytes());
    }
    let summary = for_width!(fingerprints.width(), F => {
        write::<F>(py, path, &fingerprints, (&ids, &nulls), &choices, progress)?
    });
    results::summary(py, summary)
}

fn write<F: Width>(
    py: Python<'_>,
    path: PathBuf,
    fingerprints: &Fingerprints<'_>,
    (ids, nulls): (&Ids<'_>, &[usize]),
    choices: &Choices,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Summary> {
    let options = choices.apply(BuildOptions::<F>::new())?;
    let fingerprints = F::slice(fingerprints)?;
    let (numbers, names) = match ids {
        Ids::None => (None, None),
        Ids::Numbers(numbers) => (Some(without(nulls, numbers.as_slice()?)), None),
        Ids::Names(names) => (None, Some(without(nulls, &names.as_strs()?).into_owned())),
    };
    let options = options.ids(numbers.is_some()).names(names.is_some());
    work::run(py, progress, move |watch| {
        let mut builder = Builder::with_options(path, options.report_to(watch.report()))?;
        match (numbers, names) {
            (Some(ids), _) => fingerprints
                .iter()
                .zip(ids.iter())
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

/// Returns all but the items at these places, which ascend.
fn without<'a, T: Copy>(nulls: &[usize], all: &'a [T]) -> Cow<'a, [T]> {
    if nulls.is_empty() {
        return Cow::Borrowed(all);
    }
    let others = (0..all.len()).filter(|place| nulls.binary_search(place).is_err());
    others.map(|place| all[place]).collect()
}

/// Returns the fingerprints of texts, and the places of nulls, which have none.
fn of_given_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    recipe: &Recipe,
    threads: usize,
) -> PyResult<(Fingerprints<'py>, Vec<usize>)> {
    fn split<F>(made: Vec<Option<F>>) -> (Vec<F>, Vec<usize>) {
        let nulls = (0..made.len()).filter(|&place| made[place].is_none()).collect();
        (made.into_iter().flatten().collect(), nulls)
    }

    let texts = Texts::of(texts)?;
    for_width!(recipe.width.bits(), F => {
        let (made, nulls) = split(of_texts(py, recipe, &texts, threads, Purpose::Insert)?);
        Ok((F::fingerprints(made), nulls))
    })
}

/// Writes texts with their shingles.
fn write_documents<F: Width>(
    py: Python<'_>,
    path: PathBuf,
    (texts, ids): (&[&str], &Ids<'_>),
    maker: &Maker<F>,
    choices: &Choices,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Summary> {
    let names = match ids {
        Ids::Names(names) => Some(names.as_strs()?),
        _ => None,
    };
    // By id, and by row: the engine takes documents in the order of their ids.
    let mut rows: Vec<(u64, usize)> = match ids {
        Ids::None => return Err(PyValueError::new_err("shingles are kept with ids: pass ids=")),
        Ids::Numbers(numbers) => numbers.as_slice()?.iter().copied().zip(0..).collect(),
        Ids::Names(_) => (0..).zip(0..texts.len()).collect(),
    };
    rows.sort_unstable();
    if let Some(twice) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let text = format!("the id {} occurs twice: with shingles, ids must be unique", twice[0].0);
        return Err(PyValueError::new_err(text));
    }
    let options = choices.apply(BuildOptions::<F>::new())?.ids(true).names(names.is_some()).shingles(true);
    work::run(py, progress, move |watch| {
        let mut builder = Builder::with_options(path, options.report_to(watch.report())).or_raise()?;
        for some in rows.chunks(TEXTS_AT_ONCE) {
            let texts: Vec<&str> = some.iter().map(|&(_, row)| texts[row]).collect();
            let made = maker.documents(&texts, choices.threads, watch)?;
            for (&(id, row), document) in some.iter().zip(made) {
                let Some((fingerprint, shingles)) = document else { continue };
                builder.push_with_id(fingerprint, id).or_raise()?;
                if let Some(names) = &names {
                    builder.push_name(id, names[row]).or_raise()?;
                }
                builder.push_shingles(id, &shingles).or_raise()?;
            }
        }
        builder.seal().or_raise()?.publish().or_raise()
    })
}
