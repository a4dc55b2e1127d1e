//! Everything that goes to standard error: errors, warnings and summaries, a line each that begins with
//! `hamdex: `. Standard output is for results.
//!
//! Where standard error cannot be written there is nothing left to report to: that is ignored, and the
//! exit code says what became of the command.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;

use crate::failure::Failure;

/// Set once per run, before the command starts.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Applies `--quiet`.
pub(crate) fn configure(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Whether only errors are wanted.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Applies `--color` to all that is printed from now on.
pub(crate) fn use_color(choice: ColorChoice) {
    match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Why the command ends.
pub(crate) fn error(failure: &Failure) {
    line(&failure.line());
}

/// What went otherwise than the user may think, though the command goes on.
pub(crate) fn warning(what: impl Display) {
    if !is_quiet() {
        line(&what);
    }
}

/// What would make results misread if it went unnoticed: `--quiet` does not hide it.
pub(crate) fn caution(what: impl Display) {
    line(&what);
}

/// What the user may not expect and need not act on.
pub(crate) fn notice(what: impl Display) {
    warning(what);
}

/// What was done.
pub(crate) fn summary(what: impl Display) {
    if !is_quiet() {
        line(&what);
    }
}

/// A text that is no message, such as help.
pub(crate) fn text(text: &str) {
    let _ = write!(anstream::stderr().lock(), "{text}");
}

fn line(what: &impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "hamdex: {what}");
}
