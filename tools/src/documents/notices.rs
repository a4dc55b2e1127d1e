//! Problems with single documents, printed while others are read.

use std::sync::atomic::{AtomicU64, Ordering};

use hamdex_documents::problems::{Action, Notice};
use indicatif::ProgressBar;

use crate::documents::message;
use crate::messages;

/// The most problems printed; others are only counted, so that a file with a problem on every line does not
/// hide other messages.
const MAX_PRINTED: u64 = 20;

/// Prints the first problems on standard error, above the progress bar.
pub(crate) struct Notices {
    bar: ProgressBar,
    count: AtomicU64,
}

impl Notices {
    pub(crate) fn new(bar: ProgressBar) -> Self {
        Self { bar, count: AtomicU64::new(0) }
    }

    pub(crate) fn print(&self, notice: &Notice) {
        if notice.action == Action::Read {
            self.bar.suspend(|| {
                messages::notice(format_args!("{}: {}", notice.place, message::of_problem(&notice.problem)));
            });
            return;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if number > MAX_PRINTED {
            return;
        }
        let more = if number == MAX_PRINTED { "; further ones are only counted" } else { "" };
        let problem = message::of_problem(&notice.problem);
        let done = match notice.action {
            Action::Replaced => "replaced",
            _ => "skipped",
        };
        self.bar.suspend(|| messages::warning(format_args!("{}: {problem}; {done}{more}", notice.place)));
    }
}
