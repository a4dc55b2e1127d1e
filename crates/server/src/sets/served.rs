//! One set of the service.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex::FingerprintSet;
use hamdex::set::Description;
use hamdex_any::{AnySet, Kind};
use hamdex_store::{AnyStore, Durability, for_any_store};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::failure::Failure;
use crate::lane::Lane;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::sets::fixed::Fixed;

/// Writes of a store that run at once, to share a sync, and writes that may wait.
const WRITES_AT_ONCE: usize = 64;
const WAITING_WRITES: usize = 4096;

/// The kind of the ids of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IdKind {
    /// Fingerprints alone.
    None,
    /// Each with one or more numbers of at most 64 bits.
    Numbers,
    /// Each with one or more names.
    Names,
}

impl IdKind {
    pub(crate) fn of(description: &Description) -> Self {
        match (description.has_ids, description.has_names) {
            (_, true) => Self::Names,
            (true, false) => Self::Numbers,
            (false, false) => Self::None,
        }
    }
}

/// The width of the fingerprints of a set, and the distance for which it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) width: u32,
    pub(crate) distance: u32,
}

/// A set under its name.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    source: Source,
}

enum Source {
    Store(Box<Written>),
    Fixed(Fixed),
    /// A store of the directory of sets that cannot be opened; others are served.
    Broken(Problem),
}

/// A store that is open for writing.
pub(crate) struct Written {
    pub(crate) store: AnyStore,
    pub(crate) durability: Durability,
    pub(crate) has_shingles: bool,
    pub(crate) has_lookups: bool,
    pub(crate) extent: Extent,
    pub(crate) writes: Lane,
}

/// An index file that is a set, or a part of one.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Served {
    pub(super) fn of_store(
        name: String,
        path: PathBuf,
        store: AnyStore,
        durability: Durability,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let (metrics, of) = (Arc::clone(metrics), name.clone());
        for_any_store!(&store, store => store.on_event(move |event| metrics.event(&of, event)));
        let writes = Lane::new("writes", WRITES_AT_ONCE, WAITING_WRITES);
        let Description { has_shingles, has_lookups, width, distance, .. } =
            for_any_store!(&store, store => store.snapshot().describe());
        let extent = Extent { width, distance };
        let written = Written { store, durability, has_shingles, has_lookups, extent, writes };
        Self { name, path, source: Source::Store(Box::new(written)) }
    }

    pub(super) fn of_fixed(name: String, path: &Path) -> Result<Self, Failure> {
        Ok(Self { name, path: path.to_owned(), source: Source::Fixed(Fixed::open(path)?) })
    }

    pub(super) fn broken(name: String, path: PathBuf, is_store: bool, problem: Problem) -> Self {
        let source =
            if is_store { Source::Broken(problem) } else { Source::Fixed(Fixed::broken(&path, problem)) };
        Self { name, path, source }
    }

    /// Returns how far the queries of the set reach, without a look at the disk.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn extent(&self) -> Result<Extent, Problem> {
        let of = |Description { width, distance, .. }| Extent { width, distance };
        match &self.source {
            Source::Store(written) => Ok(written.extent),
            Source::Fixed(fixed) => fixed.description().map(of),
            Source::Broken(problem) => Err(problem.clone()),
        }
    }

    /// Returns the store, if it is one.
    pub(crate) fn written(&self) -> Option<&Written> {
        match &self.source {
            Source::Store(written) => Some(written),
            _ => None,
        }
    }

    /// Returns the store.
    ///
    /// # Errors
    /// When the set is none.
    pub(crate) fn writable(&self) -> Result<&Written, Problem> {
        match &self.source {
            Source::Store(written) => Ok(written),
            Source::Broken(problem) => Err(problem.clone()),
            Source::Fixed(_) => Err(Problem::new(
                axum::http::StatusCode::CONFLICT,
                "read_only",
                format!("{:?} is no store: index files and shards never change", self.name),
            )),
        }
    }

    /// Returns the set as it is now.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn current(&self) -> Result<AnySet, Problem> {
        match &self.source {
            Source::Store(written) => Ok(
                for_any_store!(&written.store, store => AnySet::new(Kind::Store, Arc::new(store.snapshot()))),
            ),
            Source::Fixed(fixed) => fixed.current(),
            Source::Broken(problem) => Err(problem.clone()),
        }
    }

    /// Returns the properties of the set as it is now.
    ///
    /// # Errors
    /// As for [`Served::current`].
    pub(crate) fn description(&self) -> Result<Description, Problem> {
        match &self.source {
            Source::Store(written) => {
                Ok(for_any_store!(&written.store, store => store.snapshot().describe()))
            }
            _ => Ok(self.current()?.description().clone()),
        }
    }

    /// Returns the index files of the set.
    ///
    /// # Errors
    /// When a manifest cannot be read.
    pub(crate) fn parts(&self) -> Result<Vec<Part>, Problem> {
        let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match &self.source {
            Source::Broken(problem) => Err(problem.clone()),
            Source::Store(written) => {
                let stats = for_any_store!(&written.store, store => store.stats());
                let path = |number: u64| self.path.join("segments").join(format!("{number:06}.hamdex"));
                let paths = stats.segments.iter().map(|segment| path(segment.number));
                Ok(paths.map(|path| Part { name: name_of(&path), path }).collect())
            }
            Source::Fixed(fixed) if fixed.kind() == Kind::Shards => {
                let manifest =
                    hamdex_shards::inspect::read_manifest(&self.path).map_err(hamdex::SetError::from)?;
                let shards = manifest.shards.into_iter();
                Ok(shards.map(|shard| Part { path: self.path.join(&shard.file), name: shard.file }).collect())
            }
            Source::Fixed(fixed) => {
                fixed.current()?;
                Ok(vec![Part { name: name_of(&self.path), path: self.path.clone() }])
            }
        }
    }
}
