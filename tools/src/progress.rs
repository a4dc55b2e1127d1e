//! Progress bars on a terminal: position, rate and time left. Hidden elsewhere.

use std::borrow::Cow;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hamdex::{Phase, Progress, Report};
use hamdex_documents::Stage;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::messages;

const COUNTED: &str = "{msg:24} {wide_bar} {human_pos}/{human_len} {rate} {eta} left";
const COUNTED_WITHOUT_END: &str = "{msg:24} {spinner} {human_pos} {rate}";
const UNCOUNTED: &str = "{msg:24} {spinner}";
const BYTES: &str = "{msg:24} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
const BYTES_WITHOUT_END: &str = "{msg:24} {spinner} {bytes} {bytes_per_sec}";

/// The time between two lines of a log.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Rates are not shown before this time: they would be noise.
const MIN_RATED: Duration = Duration::from_millis(500);

/// A bar with a known or unknown total; hidden if standard error is not a terminal.
fn bar(
    message: impl Into<Cow<'static, str>>,
    total: Option<u64>,
    with_end: &str,
    without_end: &str,
) -> ProgressBar {
    if messages::is_quiet() || !is_terminal() {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden()).with_message(message);
        if !messages::is_quiet() && is_log_file() {
            log(&bar);
        }
        return bar;
    }
    let style = |template| {
        let style = ProgressStyle::with_template(template).expect("the templates are right");
        style.with_key("rate", rate)
    };
    let bar = match total {
        Some(total) => ProgressBar::new(total).with_style(style(with_end)),
        None => ProgressBar::new_spinner().with_style(style(without_end)),
    };
    // Set before the first tick, which draws the bar.
    let bar = bar.with_message(message);
    // The ticker is a thread, and panics if the system refuses one; without it the bar only moves on
    // progress.
    if thread::Builder::new().spawn(|| {}).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// Whether standard error is a regular file, as that of a job in the background is. In a pipe, a program reads it.
fn is_log_file() -> bool {
    #[cfg(unix)]
    {
        use std::fs::File;
        use std::os::fd::AsFd;
        let owned = io::stderr().as_fd().try_clone_to_owned().map(File::from);
        owned.and_then(|file| file.metadata()).is_ok_and(|metadata| metadata.is_file())
    }
    #[cfg(not(unix))]
    false
}

/// Prints a line per minute, as long as the bar is there.
fn log(bar: &ProgressBar) {
    let bar = bar.downgrade();
    let lines = move || loop {
        thread::sleep(LOG_INTERVAL);
        match bar.upgrade() {
            Some(bar) if !bar.is_finished() => messages::notice(logged(&bar)),
            _ => break,
        }
    };
    // Without another thread, there are no lines.
    drop(thread::Builder::new().spawn(lines));
}

/// Returns the line of a log: `Reading: 1,234 of 56,789 (2 %)`.
fn logged(bar: &ProgressBar) -> String {
    let (message, position) = (bar.message(), HumanCount(bar.position()));
    match bar.length() {
        Some(length) if length > 0 => {
            format!(
                "{message}: {position} of {} ({} %)",
                HumanCount(length),
                bar.position().saturating_mul(100) / length
            )
        }
        _ => format!("{message}: {position}"),
    }
}

/// Whether standard error is a terminal: indicatif draws there.
fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Writes items per second since the start, without decimals; nothing at first.
fn rate(state: &ProgressState, output: &mut dyn Write) {
    if state.elapsed() >= MIN_RATED {
        let per_second = state.pos() as f64 / state.elapsed().as_secs_f64();
        // If it cannot be written, no rate is shown.
        let _ = write!(output, "{}/s", HumanCount(per_second as u64));
    }
}

/// Returns a bar that counts bytes read.
pub(crate) fn of_bytes(message: &'static str, total: Option<u64>) -> ProgressBar {
    bar(message, total, BYTES, BYTES_WITHOUT_END)
}

/// Returns a bar that counts items.
pub(crate) fn of_items(message: &'static str, total: u64) -> ProgressBar {
    bar(message, Some(total), COUNTED, COUNTED_WITHOUT_END)
}

/// Returns a bar that counts items without a known total.
pub(crate) fn of_endless_items(message: &'static str) -> ProgressBar {
    bar(message, None, COUNTED, COUNTED_WITHOUT_END)
}

/// Returns a spinner for work without countable steps.
pub(crate) fn of_work(message: &'static str) -> ProgressBar {
    bar(message, None, UNCOUNTED, UNCOUNTED)
}

/// The bars of the phases of long work, one after the other.
#[derive(Default)]
pub(crate) struct Phases {
    /// The number of the current item and of all items, if there are several.
    item: Option<(usize, usize)>,
    current: Mutex<Option<(Phase, ProgressBar)>>,
}

impl Phases {
    /// The phases of one of several items, whose number each bar shows.
    pub(crate) fn of_item(number: usize, all: usize) -> Self {
        Self { item: (all > 1).then_some((number, all)), ..Self::default() }
    }

    /// Returns a callback that shows the engine's progress.
    pub(crate) fn reporter(self: &Arc<Self>) -> impl Fn(Progress) + Send + Sync + use<> {
        let phases = Arc::clone(self);
        move |progress| phases.show(progress)
    }

    /// Returns a report that shows the engine's progress.
    pub(crate) fn report(self: &Arc<Self>) -> Report {
        Report::new().progress(self.reporter())
    }

    /// Shows the engine's progress. The reader of the input shows reading, in bytes.
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
            let with_end = if progress.phase == Phase::Copy { BYTES } else { COUNTED };
            let bar = bar(self.describe(progress.phase), progress.total, with_end, without_end);
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

    fn describe(&self, phase: Phase) -> String {
        match self.item {
            Some((number, all)) => format!("{} ({number}/{all})", describe(phase)),
            None => describe(phase),
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
        Phase::Copy => "Copying".to_owned(),
        _ => "Reading".to_owned(),
    }
}

/// The bars of reading and of each stage of the search, one after the other.
#[derive(Clone)]
pub(crate) struct SearchBars {
    reading: ProgressBar,
    current: Arc<Mutex<Option<(Stage, ProgressBar)>>>,
}

impl SearchBars {
    pub(crate) fn new(reading: ProgressBar) -> Self {
        Self { reading, current: Arc::default() }
    }

    /// Returns a callback that shows progress.
    pub(crate) fn reporter(&self) -> impl Fn(hamdex_documents::Progress) + Send + Sync + use<> {
        let bars = self.clone();
        move |progress| bars.show(progress)
    }

    fn show(&self, progress: hamdex_documents::Progress) {
        if progress.stage == Stage::Read {
            // Its own bar counts bytes.
            return;
        }
        self.reading.finish_and_clear();
        let mut current = self.current.lock().expect("no thread panics while it draws");
        if current.as_ref().is_none_or(|(stage, _)| *stage != progress.stage) {
            if let Some((_, bar)) = current.take() {
                bar.finish_and_clear();
            }
            let message = of_stage(progress.stage);
            let bar = match progress.total {
                Some(total) => of_items(message, total),
                None => of_endless_items(message),
            };
            *current = Some((progress.stage, bar));
        }
        if let Some((_, bar)) = &*current {
            progress.total.into_iter().for_each(|total| bar.set_length(total));
            bar.set_position(progress.done);
        }
    }

    pub(crate) fn finish(&self) {
        if let Some((_, bar)) = self.current.lock().expect("no thread panics while it draws").take() {
            bar.finish_and_clear();
        }
    }
}

fn of_stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Known => "Comparing with known documents",
        Stage::Count => "Counting shingles",
        Stage::Cluster => "Clustering",
        Stage::Measure => "Measuring clusters",
        _ => "Comparing",
    }
}
