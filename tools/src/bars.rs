//! Progress on a terminal: what is done, how fast, and what is left. Silent elsewhere.

use std::borrow::Cow;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hamdex::{Phase, Progress};
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use crate::say;

const COUNTED: &str = "{msg:24} {wide_bar} {human_pos}/{human_len} {rate} {eta} left";
const COUNTED_WITHOUT_END: &str = "{msg:24} {spinner} {human_pos} {rate}";
const UNCOUNTED: &str = "{msg:24} {spinner}";
const BYTES: &str = "{msg:24} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
const BYTES_WITHOUT_END: &str = "{msg:24} {spinner} {bytes} {bytes_per_sec}";

/// Before this time has passed, a rate says nothing.
const MIN_RATED: Duration = Duration::from_millis(500);

/// A bar of this many steps, or of an unknown number of them; hidden where there is no terminal.
fn bar(
    message: impl Into<Cow<'static, str>>,
    total: Option<u64>,
    with_end: &str,
    without_end: &str,
) -> ProgressBar {
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
    // Before the first tick, which draws it.
    let bar = bar.with_message(message);
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

/// Items per second since the start, without decimals; nothing at first.
fn rate(state: &ProgressState, output: &mut dyn Write) {
    if state.elapsed() >= MIN_RATED {
        let per_second = state.pos() as f64 / state.elapsed().as_secs_f64();
        // Where it cannot be written, nothing is shown.
        let _ = write!(output, "{}/s", HumanCount(per_second as u64));
    }
}

/// A bar that counts bytes read.
pub(crate) fn of_bytes(message: &'static str, total: Option<u64>) -> ProgressBar {
    bar(message, total, BYTES, BYTES_WITHOUT_END)
}

/// A bar that counts items of work.
pub(crate) fn of_items(message: &'static str, total: u64) -> ProgressBar {
    bar(message, Some(total), COUNTED, COUNTED_WITHOUT_END)
}

/// A bar that counts items of work whose number is not known.
pub(crate) fn of_endless_items(message: &'static str) -> ProgressBar {
    bar(message, None, COUNTED, COUNTED_WITHOUT_END)
}

/// A sign that something is going on whose steps are not known.
pub(crate) fn of_work(message: &'static str) -> ProgressBar {
    bar(message, None, UNCOUNTED, UNCOUNTED)
}

/// The bars of the phases of long work, one after the other.
#[derive(Default)]
pub(crate) struct Phases {
    current: Mutex<Option<(Phase, ProgressBar)>>,
}

impl Phases {
    /// A function that shows what the library reports.
    pub(crate) fn reporter(self: &Arc<Self>) -> impl Fn(Progress) -> ControlFlow<()> + Send + Sync + use<> {
        let phases = Arc::clone(self);
        move |progress| {
            phases.show(progress);
            ControlFlow::Continue(())
        }
    }

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
            let is_uncounted = matches!(progress.phase, Phase::Ids | Phase::Sync);
            let without_end = if is_uncounted { UNCOUNTED } else { COUNTED_WITHOUT_END };
            let bar = bar(describe(progress.phase), progress.total, COUNTED, without_end);
            *current = Some((progress.phase, bar));
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
        Phase::Ids => "Writing ids".to_owned(),
        Phase::Sync => "Syncing to disk".to_owned(),
        Phase::Verify => "Verifying blocks".to_owned(),
        Phase::Pairs => "Comparing".to_owned(),
        _ => "Reading".to_owned(),
    }
}
