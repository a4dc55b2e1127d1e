//! Messages on standard error: errors, warnings and summaries, a line each that begins with `hamdex: `.
//! Standard output is for results.
//!
//! Failures to write to standard error are ignored, as they cannot be reported; the exit code tells the
//! outcome of the command.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;
use indicatif::HumanCount;

/// Set once per run, before the command starts.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Applies `--quiet`.
pub(crate) fn configure(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Whether only errors are printed.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Applies `--color` to everything printed from now on.
pub(crate) fn use_color(choice: ColorChoice) {
    match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Prints why the command ends.
pub(crate) fn error(reason: impl Display) {
    line(&reason);
}

/// Prints a warning: the command goes on, but perhaps not as the user expects.
pub(crate) fn warning(what: impl Display) {
    if !is_quiet() {
        line(&what);
    }
}

/// Prints a warning without which results would be misread: `--quiet` does not hide it.
pub(crate) fn caution(what: impl Display) {
    line(&what);
}

/// Prints information that needs no action.
pub(crate) fn notice(what: impl Display) {
    warning(what);
}

/// Prints the outcome of the command.
pub(crate) fn summary(what: impl Display) {
    if !is_quiet() {
        line(&what);
    }
}

/// Prints text that is not a message, such as help.
pub(crate) fn text(text: &str) {
    let _ = write!(anstream::stderr().lock(), "{text}");
}

fn line(what: &impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "hamdex: {what}");
}

/// Returns the number, with commas between thousands, and the matching form of the noun.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", HumanCount(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_takes_the_singular_and_all_else_the_plural() {
        let said = [0, 1, 2000].map(|number| counted(number, "id", "ids"));
        assert_eq!(said, ["0 ids", "1 id", "2,000 ids"]);
    }
}
