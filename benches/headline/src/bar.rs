//! Progress on a terminal; nothing elsewhere.

use std::sync::Mutex;

use hamdex::{Phase, Progress};
use indicatif::{ProgressBar, ProgressStyle};

/// A callback for long work of the engine: a bar for each of its phases.
pub(crate) fn report() -> impl Fn(Progress) + Send + Sync + 'static {
    let shown = Mutex::new((None, ProgressBar::hidden()));
    move |progress: Progress| {
        // A thread that finds another one drawing has nothing to add.
        if let Ok(mut shown) = shown.try_lock() {
            if shown.0 != Some(progress.phase) {
                shown.1.finish_and_clear();
                *shown = (Some(progress.phase), bar(progress.phase, progress.total));
            }
            shown.1.set_position(progress.done);
        }
    }
}

fn bar(phase: Phase, total: Option<u64>) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg:18} {wide_bar} {human_pos}/{human_len} {per_sec} {eta} left");
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.with_style(style.expect("the template is right")).with_message(name(phase))
}

fn name(phase: Phase) -> String {
    match phase {
        Phase::Read => "reading".into(),
        Phase::Sort { table, tables } => format!("sorting {} of {tables}", table + 1),
        Phase::Write { table, tables } => format!("writing {} of {tables}", table + 1),
        Phase::Batch => "queries".into(),
        Phase::Pairs => "comparing".into(),
        _ => "working".into(),
    }
}
