//! An error with what caused it.

use std::error::Error;

/// An error and its sources in one line, each once: some libraries say of an error what its source says again.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}
