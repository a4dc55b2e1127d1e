//! The Arrow PyCapsule interface: a capsule holds a structure of the Arrow C data interface.

#![expect(unsafe_code, reason = "a capsule is a pointer, and what it points to is known by its name only")]

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, StructArray, make_array};
use arrow_schema::{ArrowError, Schema};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict, PyString, PyTuple};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

fn refuse(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("cannot read the Arrow data: {error}"))
}

/// Whether an object has Arrow data.
pub(crate) fn speaks_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__arrow_c_stream__")? || object.hasattr("__arrow_c_array__")?)
}

/// Returns the arrays of an object: one or several of the same type. Tables are arrays of structures.
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let object = &without_null_type(object)?;
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        return import_stream(capsule.cast::<PyCapsule>()?);
    }
    let pair = object.call_method0("__arrow_c_array__")?;
    let pair = pair.cast::<PyTuple>()?;
    let (schema, array) = (pair.get_item(0)?, pair.get_item(1)?);
    import_array(schema.cast::<PyCapsule>()?, array.cast::<PyCapsule>()?).map(|array| vec![array])
}

/// Makes columns of polars' type Null columns of text: polars exports a buffer for them, where the interface has none.
fn without_null_type<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !object.get_type().module()?.to_string().starts_with("polars") {
        return Ok(object.clone());
    }
    let text = PyString::type_object(object.py());
    let is_null = |kind: &Bound<'_, PyAny>| Ok::<_, PyErr>(kind.str()? == "Null");
    if let Ok(schema) = object.getattr("schema") {
        let columns = PyDict::new(object.py());
        for column in schema.call_method0("items")?.try_iter()? {
            let (name, kind): (Bound<'_, PyAny>, Bound<'_, PyAny>) = column?.extract()?;
            if is_null(&kind)? {
                columns.set_item(name, &text)?;
            }
        }
        return if columns.is_empty() { Ok(object.clone()) } else { object.call_method1("cast", (columns,)) };
    }
    match object.getattr("dtype") {
        Ok(kind) if is_null(&kind)? => object.call_method1("cast", (text,)),
        _ => Ok(object.clone()),
    }
}

fn import_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Vec<ArrayRef>> {
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by its name, the capsule holds an initialised stream of the C interface; it is moved out here, and the
    // remainder is marked as released.
    let reader = unsafe { ArrayStreamReader::from_raw(pointer.as_ptr()) };
    reader.and_then(Iterator::collect).map_err(|error: ArrowError| refuse(&error))
}

fn import_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: by their names, the capsules hold an initialised array and its schema of the C interface. The array is
    // moved out, the schema is read while the capsule is held.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(|error| refuse(&error))
}

/// Returns a capsule with a schema.
pub(crate) fn export_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| refuse(&error))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Returns capsules with the schema and the columns of a batch.
pub(crate) fn export_array<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyTuple>> {
    let columns = StructArray::from(batch.clone());
    let (array, schema) = to_ffi(&columns.to_data()).map_err(|error| refuse(&error))?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    PyTuple::new(py, [schema, PyCapsule::new_with_value(py, array, ARRAY)?])
}

/// Returns a capsule with a stream of batches.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    batches: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), STREAM)
}
