//! The command-line program, for the script that the package installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Run the command line, whose first item is the name of the program. Returns its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| hamdex_tools::run(arguments))
}
