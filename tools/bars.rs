//! Progress on a terminal: what is done, how fast, and what is left. Silent elsewhere.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use hamdex::{Phase, Progress};
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use crate::say;

const COUNTED: &str = "{msg:24} {wide_bar} {human_pos}/{human_len} {rate} {eta} left";
const COUNTED_WITHOUT_END: &str = "{msg:24} {spinner} {human_pos} {rate}";
const BYTES: &str = "{msg:24} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
const BYTES_WITHOUT_END: &str = "{msg:24} {spinner} {bytes} {bytes_per_sec}";

/// A bar of this many steps, or of an unknown number of them; hidden where there is no terminal.
fn bar(total: Option<u64>, with_end: &str, without_end: &str) -> ProgressBar {
    if say::is_quiet() || !is_terminal() {
        return ProgressBar::hidden();
    }
    let style = |template| {
        let style = ProgressStyle::with_template(template).expect("the templates are right");
        style.with_key("rate", rate)
    };
    let bar = match total {
        Some(total) => ProgressBar::new(total).with_style(style(with_end)),
        None => ProgressBar::new_spinner().with_style(style(without_end)),
    };
    // The ticker is a thread and panics where the system refuses one; without it the bar only moves
    // when there is progress.
    if thread::Builder::new().spawn(|| {}).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// indicatif draws on standard error.
fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Items per second, without decimals.
fn rate(state: &ProgressState, output: &mut dyn Write) {
    // Where it cannot be written, nothing is shown.
    let _ = write!(output, "{}/s", HumanCount(state.per_sec() as u64));
}

/// A bar that counts bytes read.
pub(crate) fn of_bytes(message: &'static str, total: Option<u64>) -> ProgressBar {
    bar(total, BYTES, BYTES_WITHOUT_END).with_message(message)
}

/// A bar that counts items of work.
pub(crate) fn of_items(message: &'static str, total: u64) -> ProgressBar {
    bar(Some(total), COUNTED, COUNTED_WITHOUT_END).with_message(message)
}

/// A bar that counts items of work whose number is not known.
pub(crate) fn of_endless_items(message: &'static str) -> ProgressBar {
    bar(None, COUNTED, COUNTED_WITHOUT_END).with_message(message)
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
            let bar = bar(progress.total, COUNTED, COUNTED_WITHOUT_END);
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
