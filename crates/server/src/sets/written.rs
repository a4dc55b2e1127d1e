//! A store that the service writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex::set::Description;
use hamdex::{FingerprintSet, Verified, VerifyOptions};
use hamdex_any::{AnySet, Kind};
use hamdex_store::health::Event;
use hamdex_store::{AnyStore, Durability, Error, for_any_store};

use crate::admission::Lane;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::sets::Extent;
use crate::sets::source::{Key, Part, Source, in_snapshot, segment};
use crate::sets::watch::{Directory, Watch};

/// Writes of a store that run at once, to share a sync, and writes that may wait.
const WRITES_AT_ONCE: usize = 64;
const WAITING_WRITES: usize = 4096;

/// A store that is open for writing.
pub(crate) struct Written {
    pub(crate) store: AnyStore,
    pub(crate) durability: Durability,
    pub(crate) has_lookups: bool,
    pub(crate) writes: Lane,
    extent: Extent,
    path: PathBuf,
    directory: Directory,
    /// The segments, unless they are in memory.
    watch: Option<Arc<Watch>>,
}

impl Written {
    /// Takes a store; `name` is that of the set in metrics.
    pub(super) fn of(
        name: &str,
        path: &Path,
        store: AnyStore,
        durability: Durability,
        metrics: &Arc<Metrics>,
        in_memory: bool,
    ) -> Self {
        let watch = (!in_memory).then(|| Arc::new(Watch::default()));
        let on_event = {
            let (metrics, name, path, watch) =
                (Arc::clone(metrics), name.to_owned(), path.to_owned(), watch.clone());
            move |event: &Event| {
                metrics.event(&name, event);
                if let (Event::Added(number), Some(watch)) = (event, &watch) {
                    watch.add(segment(&path, *number));
                }
            }
        };
        for_any_store!(&store, store => store.on_event(on_event));
        let description = for_any_store!(&store, store => store.snapshot().describe());
        let written = Self {
            store,
            durability,
            has_lookups: description.has_lookups,
            writes: Lane::new("writes", WRITES_AT_ONCE, WAITING_WRITES),
            extent: Extent::of(&description),
            path: path.to_owned(),
            directory: Directory::of(path),
            watch,
        };
        written.look(false);
        written
    }

    /// Makes everything durable and closes the store.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(super) fn close(&self) -> Result<(), Error> {
        for_any_store!(&self.store, store => store.shutdown())
    }

    fn segments(&self) -> impl Iterator<Item = PathBuf> {
        let stats = for_any_store!(&self.store, store => store.stats());
        stats.segments.into_iter().map(|one| segment(&self.path, one.number))
    }
}

impl Source for Written {
    fn extent(&self) -> Result<Extent, Problem> {
        Ok(self.extent)
    }

    fn current(&self) -> Result<AnySet, Problem> {
        self.check()?;
        let set = for_any_store!(&self.store, store => AnySet::new(Kind::Store, Arc::new(store.snapshot())));
        set.check_files()?;
        Ok(set)
    }

    fn check(&self) -> Result<(), Problem> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch.check())
    }

    fn look(&self, _is_due: bool) {
        if let Some(watch) = &self.watch {
            watch.look(self.segments());
        }
    }

    fn directory(&self) -> Option<&Directory> {
        Some(&self.directory)
    }

    fn has_other_file(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.has_other_file())
    }

    fn may_open_now(&self, _is_due: bool) -> bool {
        for_any_store!(&self.store, store => store.is_lost())
    }

    fn description(&self) -> Result<Description, Problem> {
        self.check()?;
        Ok(for_any_store!(&self.store, store => store.snapshot().describe()))
    }

    fn verify(&self, options: &VerifyOptions) -> Result<Verified, Problem> {
        self.check()?;
        Ok(for_any_store!(&self.store, store => store.verify(options))?)
    }

    fn find(&self, _set: &AnySet, key: &Key) -> Result<Vec<String>, Problem> {
        for_any_store!(&self.store, store => in_snapshot(&store.snapshot(), key))
    }

    fn parts(&self) -> Result<Vec<Part>, Problem> {
        self.check()?;
        Ok(self.segments().map(Part::of).collect())
    }
}
