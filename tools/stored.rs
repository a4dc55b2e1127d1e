//! What is queried: an index file, or the directory of a store. Both answer the same questions.

use std::collections::BTreeMap;
use std::path::Path;

use hamdex::{BatchOptions, Engine, Index, Match, MatchVisitor, OpenOptions, Pairs};
use hamdex_documents::RECIPE_KEY;
use hamdex_store::{Manifest, Snapshot, SnapshotIndexes, StoreReader};

use crate::failure::Failure;
use crate::ids::FoundIds;
use crate::names::Names;

/// Whether a path names a store rather than a file.
pub(crate) fn is_store(path: &Path) -> bool {
    path.is_dir()
}

/// The width of an index file or a store.
pub(crate) fn width(path: &Path) -> Result<u32, Failure> {
    if is_store(path) {
        return Ok(hamdex_store::width(path)?);
    }
    hamdex::width(path).map_err(Failure::Index)
}

/// What a store's manifest says that the metadata of an index file would say.
pub(crate) fn metadata_of(manifest: &Manifest) -> BTreeMap<String, Vec<u8>> {
    let recipe = manifest.recipe.iter();
    recipe.map(|recipe| (RECIPE_KEY.to_owned(), recipe.clone().into_bytes())).collect()
}

/// An open index file or store.
pub(crate) enum Stored<F: Engine> {
    File(Box<Index<F>>),
    Store(Box<OpenStore<F>>),
}

/// One moment of a store that another process may be writing to.
pub(crate) struct OpenStore<F: Engine> {
    snapshot: Snapshot<F>,
    manifest: Manifest,
}

impl<F: Engine> Stored<F> {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if !is_store(path) {
            return Ok(Self::File(Box::new(F::open(path, &OpenOptions::new()).map_err(Failure::Index)?)));
        }
        let manifest = hamdex_store::inspect(path)?.manifest;
        let snapshot = StoreReader::open(path)?.snapshot();
        Ok(Self::Store(Box::new(OpenStore { snapshot, manifest })))
    }

    pub(crate) fn has_ids(&self) -> bool {
        match self {
            Self::File(index) => index.has_ids(),
            Self::Store(store) => store.manifest.identity.has_ids,
        }
    }

    /// What its ids are called, where they have names.
    pub(crate) fn names(&self) -> Result<Option<Names<'_>>, Failure> {
        match self {
            Self::File(index) => Names::of(index),
            Self::Store(store) if store.manifest.identity.has_names => {
                Ok(Some(Names::Store(&store.snapshot)))
            }
            Self::Store(_) => Ok(None),
        }
    }

    /// The distance that it is made for.
    pub(crate) fn distance(&self) -> u32 {
        match self {
            Self::File(index) => index.design().distance(),
            Self::Store(store) => store.manifest.distance,
        }
    }

    /// Where its recipe is, if it has one.
    pub(crate) fn metadata(&self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Self::File(index) => index.metadata().clone(),
            Self::Store(store) => metadata_of(&store.manifest),
        }
    }

    /// All matches of many queries, in their order: see [`Index::batch_with`].
    pub(crate) fn batch_with(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<(), Failure> {
        // The visitor knows whether it has broken.
        let _ = match self {
            Self::File(index) => {
                F::batch_with(index, queries, distance, options, visit).map_err(Failure::Index)?
            }
            Self::Store(store) => store.snapshot.batch_with(queries, distance, options, visit)?,
        };
        Ok(())
    }

    pub(crate) fn searcher(&self) -> StoredSearcher<'_, F> {
        match self {
            Self::File(index) => StoredSearcher::File(Box::new(index.searcher())),
            Self::Store(store) => StoredSearcher::Store(Box::new(store.snapshot.searcher())),
        }
    }

    /// All of it in the form that a self-join takes.
    pub(crate) fn to_join(&self) -> Result<Joined<'_, F>, Failure> {
        Ok(match self {
            Self::File(index) => Joined::File(index),
            Self::Store(store) => Joined::Store(store.snapshot.indexes()?),
        })
    }
}

/// Answers queries one at a time.
pub(crate) enum StoredSearcher<'a, F: Engine> {
    File(Box<hamdex::Searcher<&'a Index<F>>>),
    Store(Box<hamdex_store::Searcher<F>>),
}

impl<F: Engine> StoredSearcher<'_, F> {
    /// The nearest within a distance.
    pub(crate) fn nearest_within(
        &mut self,
        query: F,
        count: usize,
        distance: u32,
    ) -> Result<Vec<Match<F>>, Failure> {
        Ok(match self {
            Self::File(searcher) => {
                F::nearest_within(searcher, query, count, distance).map_err(Failure::Index)?.to_vec()
            }
            Self::Store(searcher) => searcher.nearest_within(query, count, distance)?.to_vec(),
        })
    }

    /// Some match, if there is one.
    pub(crate) fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, Failure> {
        Ok(match self {
            Self::File(searcher) => F::first(searcher, query, distance).map_err(Failure::Index)?,
            Self::Store(searcher) => searcher.first(query, distance)?,
        })
    }

    /// The ids of each match.
    pub(crate) fn ids_of(&mut self, matches: &[Match<F>]) -> Result<Vec<FoundIds<'_>>, Failure> {
        Ok(match self {
            Self::File(searcher) => {
                let lists = F::ids_of(searcher, matches).map_err(Failure::Index)?;
                lists.into_iter().map(FoundIds::Stored).collect()
            }
            Self::Store(searcher) => {
                let lists = matches.iter().map(|found| searcher.ids(found.fingerprint).map(FoundIds::Listed));
                lists.collect::<Result<_, _>>()?
            }
        })
    }
}

/// What a self-join goes through.
pub(crate) enum Joined<'a, F: Engine> {
    File(&'a Index<F>),
    Store(SnapshotIndexes<F>),
}

impl<F: Engine> Joined<'_, F> {
    pub(crate) fn pairs(&self, distance: u32) -> Pairs<'_, F> {
        match self {
            Self::File(index) => F::pairs(index, distance),
            Self::Store(indexes) => F::pairs_of_all(indexes, distance),
        }
    }

    /// How many fingerprints there are; of a store, at most: one may lie in several of its files.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(index) => index.len(),
            Self::Store(indexes) => indexes.stored(),
        }
    }

    /// Whether [`Joined::len`] is exact.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self, Self::File(_))
    }
}
