//! Progress bars of the search.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use hamdex_documents::{Progress, Stage};
use indicatif::ProgressBar;

use crate::progress;

/// The bars of reading and of each stage of the search, one after the other.
#[derive(Clone)]
pub(super) struct Bars {
    reading: ProgressBar,
    current: Arc<Mutex<Option<(Stage, ProgressBar)>>>,
}

impl Bars {
    pub(super) fn new(reading: ProgressBar) -> Self {
        Self { reading, current: Arc::default() }
    }

    /// Returns a callback that shows progress.
    pub(super) fn reporter(&self) -> impl Fn(Progress) -> ControlFlow<()> + Send + Sync + use<> {
        let bars = self.clone();
        move |progress| {
            bars.show(progress);
            ControlFlow::Continue(())
        }
    }

    fn show(&self, progress: Progress) {
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
            let message = describe(progress.stage);
            let bar = match progress.total {
                Some(total) => progress::of_items(message, total),
                None => progress::of_endless_items(message),
            };
            *current = Some((progress.stage, bar));
        }
        if let Some((_, bar)) = &*current {
            progress.total.into_iter().for_each(|total| bar.set_length(total));
            bar.set_position(progress.done);
        }
    }

    pub(super) fn finish(&self) {
        if let Some((_, bar)) = self.current.lock().expect("no thread panics while it draws").take() {
            bar.finish_and_clear();
        }
    }
}

fn describe(stage: Stage) -> &'static str {
    match stage {
        Stage::Known => "Comparing with known documents",
        Stage::Count => "Counting shingles",
        Stage::Cluster => "Clustering",
        Stage::Measure => "Measuring clusters",
        _ => "Comparing",
    }
}
