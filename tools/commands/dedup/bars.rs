//! Progress of the search, as bars.

use std::sync::{Arc, Mutex};

use hamdex_documents::Progress;
use indicatif::ProgressBar;

use crate::bars::{self, Phases};

/// The bars of reading, indexing and comparing, one after the other.
#[derive(Clone)]
pub(super) struct Bars {
    reading: ProgressBar,
    indexing: Arc<Phases>,
    comparing: Arc<Mutex<Option<ProgressBar>>>,
}

impl Bars {
    pub(super) fn new(reading: ProgressBar) -> Self {
        Self { reading, indexing: Arc::default(), comparing: Arc::default() }
    }

    /// Returns a function that shows reported progress.
    pub(super) fn reporter(&self) -> impl Fn(Progress) + Send + Sync + use<> {
        let bars = self.clone();
        move |progress| bars.show(progress)
    }

    fn show(&self, progress: Progress) {
        self.reading.finish_and_clear();
        match progress {
            Progress::Index(progress) => self.indexing.show(progress),
            Progress::Compare { done, total } => {
                self.indexing.finish();
                let mut comparing = self.comparing.lock().expect("no thread panics while it draws");
                comparing.get_or_insert_with(|| bars::of_items("Comparing", total)).set_position(done);
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self) {
        self.indexing.finish();
        if let Some(bar) = self.comparing.lock().expect("no thread panics while it draws").take() {
            bar.finish_and_clear();
        }
    }
}
