//! The class `Index`: an open index file.

use std::path::PathBuf;

use hamdex::set::Description;
use hamdex::{Codec, FileId, OpenOptions};
use hamdex_any::AnySet;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::errors::{Error, OrRaise};
use crate::set::{Set, kind_of_ids};

/// An open index, which finds all fingerprints within k bits of one, of many, or of each other; exactly.
///
/// Opening maps the file, at almost no cost. Keys and filters, about a fifth of a file with filters, are copied into
/// memory, unless ``map_keys=True`` leaves them in the mapping, which all processes share: for many processes of one
/// file. Any number of threads may use an index. It can be pickled, as
/// its path and the id of the file, and sent to other processes.
///
/// >>> import hamdex, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "small.hamdex")
/// >>> _ = hamdex.build(path, [0b0000, 0b0111, 0b1111], ids=["a", "b", "c"])
/// >>> with hamdex.Index(path) as index:
/// ...     print(len(index), index.query(0b0001, k=1))
/// 3 [Match(fingerprint=0, distance=1, ids=['a'], ids_count=1)]
#[pyclass(frozen, extends = Set, module = "hamdex", name = "Index")]
pub(crate) struct Handle;

impl Handle {
    fn open(py: Python<'_>, path: PathBuf, options: &OpenOptions) -> PyResult<PyClassInitializer<Self>> {
        let path = std::path::absolute(&path)?;
        let index = py.detach(|| hamdex_any::open_file(&path, options)).or_raise()?;
        Ok(Self::of_set(path, index))
    }

    /// Wraps an index that is open.
    pub(crate) fn of_set(path: PathBuf, index: AnySet) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Set::new("index", path, index)).add_subclass(Self)
    }
}

fn design_of(index: &AnySet) -> &str {
    index.description().design.as_deref().unwrap_or_default()
}

fn codec_of(index: &AnySet) -> &'static str {
    index.description().codec.map_or("", Codec::name)
}

fn file_id_of(index: &AnySet) -> FileId {
    index.description().file_id.expect("an index file has an id")
}

#[pymethods]
impl Handle {
    #[new]
    #[pyo3(signature = (path, *, in_memory = false, larger_than_memory = false, map_keys = false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        in_memory: bool,
        larger_than_memory: bool,
        map_keys: bool,
    ) -> PyResult<PyClassInitializer<Self>> {
        let options = OpenOptions::new().in_memory(in_memory).larger_than_memory(larger_than_memory);
        Self::open(py, path, &options.map_keys(map_keys))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let open = slf.as_super().get();
        let path = open.path.display();
        let Ok(any) = open.set() else { return format!("<hamdex.Index {path}, closed>") };
        let Description { width, distance, fingerprints, .. } = *any.description();
        let ids = kind_of_ids(any.description());
        let (design, codec) = (design_of(&any), codec_of(&any));
        format!(
            "<hamdex.Index {path}: {fingerprints} fingerprints of {width} bits, {ids}, distance {distance}, {design}, {codec}>"
        )
    }

    /// The name of the design, which sets the tables.
    #[getter]
    fn design(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(design_of(&slf.as_super().get().set()?).to_owned())
    }

    /// The name of the codec of blocks.
    #[getter]
    fn codec(slf: &Bound<'_, Self>) -> PyResult<&'static str> {
        Ok(codec_of(&slf.as_super().get().set()?))
    }

    /// The id of the file: files with the same id are equal, byte for byte.
    #[getter]
    fn file_id(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(file_id_of(&slf.as_super().get().set()?).to_string())
    }

    /// Reopen the index when unpickled: the same file, or an error.
    #[classmethod]
    fn _reopen<'py>(
        class: &Bound<'py, PyType>,
        path: PathBuf,
        file_id: [u8; 16],
    ) -> PyResult<Bound<'py, Self>> {
        let handle = Bound::new(class.py(), Self::open(class.py(), path, &OpenOptions::new())?)?;
        let open = handle.as_super().get();
        if file_id_of(&open.set()?) != FileId::from(file_id) {
            let text = "is not the file that was pickled";
            return Err(Error::new_err(format!("{}: {text}", open.path.display())));
        }
        Ok(handle)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, open) = (slf.py(), slf.as_super().get());
        let file_id = file_id_of(&open.set()?);
        let arguments = (&open.path, PyBytes::new(py, &file_id.to_bytes())).into_pyobject(py)?;
        (slf.get_type().getattr("_reopen")?, arguments).into_pyobject(py)
    }
}
