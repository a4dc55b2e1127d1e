//! Errors of the engine as Python exceptions.
//!
//! Errors with a built-in Python exception become that one; all others are a `hamdex.Error`. The message is
//! the error and its causes, on one line.

use std::error::Error as StdError;
use std::io;
use std::path::Path;

use hamdex::{Category, DesignError, OutputError, ReadError, SetError, chain};
use hamdex_simhash::RecipeError;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyException, PyFileExistsError, PyFileNotFoundError, PyIsADirectoryError, PyMemoryError, PyOSError,
    PyPermissionError, PyValueError,
};
use pyo3::prelude::*;

create_exception!(hamdex, Error, PyException, "An error of hamdex without a built-in exception.");
create_exception!(
    hamdex,
    DamagedError,
    Error,
    "A file is damaged: its bytes have changed since they were written."
);
create_exception!(hamdex, FormatError, Error, "A file is not a hamdex file, or of an unsupported version.");
create_exception!(hamdex, BuildError, Error, "An index cannot be built.");
create_exception!(
    hamdex,
    StoreError,
    Error,
    "A store cannot be used now: another process has it open, or had it before a fork."
);

/// An error that becomes an exception.
pub(crate) trait IntoException {
    /// Converts the error to an exception.
    fn into_exception(self) -> PyErr;
}

/// Does for results what [`IntoException`] does for errors.
pub(crate) trait OrRaise<T> {
    /// Returns the value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: IntoException> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(IntoException::into_exception)
    }
}

/// Returns the error of the operating system behind an error, if there is one.
fn refusal<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e io::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref() {
            return Some(refusal);
        }
        cause = error.source();
    }
    None
}

/// Converts an error of the operating system: Python finds the class by the number.
pub(crate) fn of_io(error: &io::Error, path: Option<&Path>, text: String) -> PyErr {
    match (error.raw_os_error(), path) {
        (Some(number), Some(path)) => PyOSError::new_err((number, strerror(error), path.to_path_buf())),
        (Some(number), None) => PyOSError::new_err((number, text)),
        _ => match error.kind() {
            io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            io::ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
            _ => PyOSError::new_err(text),
        },
    }
}

/// Returns the message of the operating system, without the number that Rust adds.
fn strerror(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn value_error(error: &dyn StdError) -> PyErr {
    PyValueError::new_err(chain(error))
}

impl IntoException for PyErr {
    fn into_exception(self) -> PyErr {
        self
    }
}

/// Returns the exception of a category.
fn of_category(category: Category, error: &(dyn StdError + 'static), path: Option<&Path>) -> PyErr {
    let text = chain(error);
    match category {
        Category::Usage | Category::Input => PyValueError::new_err(text),
        Category::Exists => PyFileExistsError::new_err(text),
        Category::Format => FormatError::new_err(text),
        Category::Damaged => DamagedError::new_err(text),
        Category::Memory => PyMemoryError::new_err(text),
        Category::System => match refusal(error) {
            Some(refusal) => of_io(refusal, path, text),
            None => Error::new_err(text),
        },
        Category::Unavailable => match refusal(error) {
            Some(refusal) => of_io(refusal, None, text),
            None => StoreError::new_err(text),
        },
        _ => Error::new_err(text),
    }
}

impl IntoException for ReadError {
    fn into_exception(self) -> PyErr {
        of_category(self.category(), &self, self.path())
    }
}

impl IntoException for SetError {
    fn into_exception(self) -> PyErr {
        let error = self.downcast::<ReadError>().map(IntoException::into_exception);
        let error =
            error.or_else(|error| error.downcast::<hamdex_store::Error>().map(IntoException::into_exception));
        let error = error
            .or_else(|error| error.downcast::<hamdex_shards::Error>().map(IntoException::into_exception));
        error.unwrap_or_else(|error| of_category(error.category(), &error, None))
    }
}

impl IntoException for OutputError {
    fn into_exception(self) -> PyErr {
        let text = chain(&self);
        match &self {
            Self::Exists { .. } => PyFileExistsError::new_err(format!("{text}; overwrite=True replaces it")),
            Self::IsInput { .. } => PyValueError::new_err(text),
            Self::NotAFile { path, .. } if path.is_dir() => PyIsADirectoryError::new_err(text),
            Self::NotAFile { .. } => PyValueError::new_err(text),
            Self::Io { path, source, .. } => of_io(source, Some(path), text),
            _ => Error::new_err(text),
        }
    }
}

impl IntoException for hamdex::BuildError {
    fn into_exception(self) -> PyErr {
        let text = chain(&self);
        let is_refused = matches!(self.category(), Category::Usage | Category::Input)
            && !matches!(self, Self::Changed { .. });
        match self {
            Self::Io { source, path, .. } => of_io(&source, Some(&path), text),
            Self::Output(error) => error.into_exception(),
            Self::Input(error) => error.into_exception(),
            Self::Design(error) => error.into_exception(),
            _ if is_refused => PyValueError::new_err(text),
            Self::OutOfMemory { .. } => PyMemoryError::new_err(text),
            Self::Threads { source } => of_io(&source, None, text),
            _ => BuildError::new_err(text),
        }
    }
}

impl IntoException for DesignError {
    fn into_exception(self) -> PyErr {
        value_error(&self)
    }
}

impl IntoException for RecipeError {
    fn into_exception(self) -> PyErr {
        value_error(&self)
    }
}

impl IntoException for hamdex_store::Error {
    fn into_exception(self) -> PyErr {
        match self {
            Self::Read(error) => error.into_exception(),
            Self::Build(error) => error.into_exception(),
            Self::Io { ref path, .. } => of_category(self.category(), &self, Some(path)),
            error => of_category(error.category(), &error, None),
        }
    }
}

impl IntoException for hamdex_shards::Error {
    fn into_exception(self) -> PyErr {
        match self {
            Self::Read(error) => error.into_exception(),
            Self::Missing { .. } => PyFileNotFoundError::new_err(chain(&self)),
            Self::Io { ref path, .. } => of_category(self.category(), &self, Some(path)),
            error => of_category(error.category(), &error, None),
        }
    }
}

impl IntoException for hamdex_documents::Error {
    fn into_exception(self) -> PyErr {
        let text = chain(&self);
        match self {
            Self::Index(error) => error.into_exception(),
            Self::Build(error) => error.into_exception(),
            Self::Design(error) => error.into_exception(),
            Self::Reference { source } => match source.downcast::<SetError>() {
                Ok(error) => error.into_exception(),
                Err(_) => Error::new_err(text),
            },
            Self::Option { .. } | Self::NoShingles | Self::OtherShingles { .. } => {
                PyValueError::new_err(text)
            }
            Self::Unread { .. } => Error::new_err(format!("{text}; skip_unreadable=True leaves them out")),
            Self::Memory { .. } => PyMemoryError::new_err(format!("{text}; memory= allows more")),
            Self::Temporary { source, directory, .. } => of_io(&source, Some(&directory), text),
            Self::Thread { source } => of_io(&source, None, text),
            _ => Error::new_err(text),
        }
    }
}
