//! Errors and their causes in one line.

use std::error::Error;

/// Returns an error and its sources in one line, each once: the message of some errors ends with that of
/// their source.
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
