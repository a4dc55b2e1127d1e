//! Progress on a terminal: what is done, how fast, and what is left. Silent elsewhere.

use std::sync::Mutex;
use std::time::Duration;

use hamdex::{Phase, Progress};
use indicatif::{ProgressBar, ProgressStyle};

const COUNTED: &str = "{msg:24} {wide_bar} {human_pos}/{human_len} {per_sec} {eta} left";
const COUNTED_WITHOUT_END: &str = "{msg:24} {spinner} {human_pos} {per_sec}";
const BYTES: &str = "{msg:24} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
const BYTES_WITHOUT_END: &str = "{msg:24} {spinner} {bytes} {bytes_per_sec}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are right")
}

/// A bar that counts bytes read.
pub(crate) fn of_bytes(message: &'static str, total: Option<u64>) -> ProgressBar {
    // indicatif draws on standard error, and only if that is a terminal.
    let bar = match total {
        Some(total) => ProgressBar::new(total).with_style(style(BYTES)),
        None => ProgressBar::new_spinner().with_style(style(BYTES_WITHOUT_END)),
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_message(message)
}

/// A bar that counts items of work.
pub(crate) fn of_items(message: &'static str, total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total).with_style(style(COUNTED));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_message(message)
}

/// A bar that counts items of work of which nobody knows how many there will be.
pub(crate) fn of_endless_items(message: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_style(style(COUNTED_WITHOUT_END));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_message(message)
}

/// The bars of the phases of long work, one after the other.
#[derive(Default)]
pub(crate) struct Phases {
    current: Mutex<Option<(Phase, ProgressBar)>>,
}

impl Phases {
    /// Shows what the library reports. Reading is shown by the reader of the input, in bytes.
    pub(crate) fn show(&self, progress: Progress) {
        if progress.phase == Phase::Read {
            return;
        }
        let mut current = self.current.lock().expect("no thread panics while it draws");
        if current.as_ref().is_none_or(|(phase, _)| *phase != progress.phase) {
            if let Some((_, bar)) = current.take() {
                bar.finish_and_clear();
            }
            let bar = match progress.total {
                Some(total) => ProgressBar::new(total).with_style(style(COUNTED)),
                None => ProgressBar::new_spinner().with_style(style(COUNTED_WITHOUT_END)),
            };
            bar.enable_steady_tick(Duration::from_millis(200));
            *current = Some((progress.phase, bar.with_message(describe(progress.phase))));
        }
        if let Some((_, bar)) = &*current {
            bar.set_position(progress.done);
        }
    }

    pub(crate) fn finish(&self) {
        if let Some((_, bar)) = self.current.lock().expect("no thread panics while it draws").take() {
            bar.finish_and_clear();
        }
    }
}

fn describe(phase: Phase) -> String {
    match phase {
        Phase::Sort { table, tables } => format!("Sorting table {} of {tables}", table + 1),
        Phase::Write { table, tables } => format!("Writing table {} of {tables}", table + 1),
        Phase::Sync => "Making it durable".to_owned(),
        Phase::Verify => "Verifying blocks".to_owned(),
        Phase::Pairs => "Comparing".to_owned(),
        _ => "Reading".to_owned(),
    }
}
