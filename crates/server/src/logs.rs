//! The log of the service, on standard error.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;

use crate::options::LogForm;

/// Starts the log of this process, unless it has one.
pub(crate) fn start(form: LogForm, level: LevelFilter) {
    let log = fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    // One that a program has started before stays.
    drop(match form {
        LogForm::Text => log.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogForm::Json => log.json().flatten_event(true).try_init(),
    });
}
