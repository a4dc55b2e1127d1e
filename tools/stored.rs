//! What is queried: an index file, or the directory of a store or of a set of shards. All answer the same questions.

use std::collections::BTreeMap;
use std::path::Path;

use hamdex::{BatchOptions, Fingerprint, Index, Match, MatchVisitor, OpenOptions};
use hamdex_documents::RECIPE_KEY;
use hamdex_shards::{IdType, Shards, ShardsSearcher};
use hamdex_store::{Manifest, Snapshot, StoreReader};

use crate::failure::Failure;
use crate::ids::FoundIds;
use crate::joined::Joined;
use crate::names::Names;

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Store,
    Shards,
}

/// What a path names: of a directory, the beginning of its manifest tells. Where the system does not say how that
/// begins, the directory is not taken for something else.
pub(crate) fn kind(path: &Path) -> Result<Kind, Failure> {
    if !path.is_dir() {
        return Ok(Kind::File);
    }
    Ok(if hamdex_shards::is_set(path)? { Kind::Shards } else { Kind::Store })
}

/// The width of what a path names.
pub(crate) fn width(path: &Path) -> Result<u32, Failure> {
    match kind(path)? {
        Kind::File => hamdex::width(path).map_err(Failure::Index),
        Kind::Store => Ok(hamdex_store::width(path)?),
        Kind::Shards => Ok(hamdex_shards::width(path)?),
    }
}

/// What a store's manifest says that the metadata of an index file would say.
pub(crate) fn metadata_of(manifest: &Manifest) -> BTreeMap<String, Vec<u8>> {
    metadata_with(manifest.recipe.as_deref())
}

/// Metadata that has a recipe, if there is one.
fn metadata_with(recipe: Option<&str>) -> BTreeMap<String, Vec<u8>> {
    recipe.map(|recipe| (RECIPE_KEY.to_owned(), recipe.as_bytes().to_vec())).into_iter().collect()
}

/// An open index file, store or set of shards.
pub(crate) enum Stored<F: Fingerprint> {
    File(Box<Index<F>>),
    Store(Box<OpenStore<F>>),
    Shards(Box<Shards<F>>),
}

/// One moment of a store that another process may be writing to.
pub(crate) struct OpenStore<F: Fingerprint> {
    snapshot: Snapshot<F>,
    manifest: Manifest,
}

impl<F: Fingerprint> Stored<F> {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        match kind(path)? {
            Kind::File => {
                return Ok(Self::File(Box::new(OpenOptions::new().open::<F>(path).map_err(Failure::Index)?)));
            }
            Kind::Shards => return Ok(Self::Shards(Box::new(Shards::open(path, &OpenOptions::new())?))),
            Kind::Store => {}
        }
        let manifest = hamdex_store::inspect(path)?.manifest;
        let snapshot = StoreReader::open(path)?.snapshot();
        Ok(Self::Store(Box::new(OpenStore { snapshot, manifest })))
    }

    pub(crate) fn has_ids(&self) -> bool {
        match self {
            Self::File(index) => index.has_ids(),
            Self::Store(store) => store.manifest.identity.has_ids,
            Self::Shards(set) => set.manifest().id_type.is_some(),
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
            Self::Shards(set) => {
                Ok((set.manifest().id_type == Some(IdType::Names)).then_some(Names::Shards(&**set)))
            }
        }
    }

    /// The distance that it is made for.
    pub(crate) fn distance(&self) -> u32 {
        match self {
            Self::File(index) => index.design().distance(),
            Self::Store(store) => store.manifest.distance,
            Self::Shards(set) => set.distance(),
        }
    }

    /// Where its recipe is, if it has one.
    pub(crate) fn metadata(&self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Self::File(index) => index.metadata().clone(),
            Self::Store(store) => metadata_of(&store.manifest),
            Self::Shards(set) => metadata_with(set.manifest().recipe.as_deref()),
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
                index.batch_with(queries, distance, options, visit).map_err(Failure::Index)?
            }
            Self::Store(store) => store.snapshot.batch_with(queries, distance, options, visit)?,
            Self::Shards(set) => set.batch_with(queries, distance, options, visit)?,
        };
        Ok(())
    }

    pub(crate) fn searcher(&self) -> StoredSearcher<'_, F> {
        match self {
            Self::File(index) => StoredSearcher::File(Box::new(index.searcher())),
            Self::Store(store) => StoredSearcher::Store(Box::new(store.snapshot.searcher())),
            Self::Shards(set) => StoredSearcher::Shards(Box::new(set.searcher())),
        }
    }

    /// All of it in the form that a self-join takes.
    pub(crate) fn to_join(&self) -> Result<Joined<'_, F>, Failure> {
        Ok(match self {
            Self::File(index) => Joined::File(index),
            Self::Store(store) => Joined::Store(store.snapshot.indexes()?),
            Self::Shards(set) => Joined::Shards(set),
        })
    }
}

/// Answers queries one at a time.
pub(crate) enum StoredSearcher<'a, F: Fingerprint> {
    File(Box<hamdex::Searcher<&'a Index<F>>>),
    Store(Box<hamdex_store::Searcher<F>>),
    Shards(Box<ShardsSearcher<'a, F>>),
}

impl<F: Fingerprint> StoredSearcher<'_, F> {
    /// The nearest within a distance.
    pub(crate) fn nearest_within(
        &mut self,
        query: F,
        count: usize,
        distance: u32,
    ) -> Result<Vec<Match<F>>, Failure> {
        Ok(match self {
            Self::File(searcher) => {
                searcher.nearest_within(query, count, distance).map_err(Failure::Index)?.to_vec()
            }
            Self::Store(searcher) => searcher.nearest_within(query, count, distance)?.to_vec(),
            Self::Shards(searcher) => searcher.nearest_within(query, count, distance)?.to_vec(),
        })
    }

    /// Some match, if there is one.
    pub(crate) fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, Failure> {
        Ok(match self {
            Self::File(searcher) => searcher.first(query, distance).map_err(Failure::Index)?,
            Self::Store(searcher) => searcher.first(query, distance)?,
            Self::Shards(searcher) => searcher.first(query, distance)?,
        })
    }

    /// The ids of each match.
    pub(crate) fn ids_of(&mut self, matches: &[Match<F>]) -> Result<Vec<FoundIds<'_>>, Failure> {
        Ok(match self {
            Self::File(searcher) => {
                let lists = searcher.ids_of(matches).map_err(Failure::Index)?;
                lists.into_iter().map(FoundIds::Stored).collect()
            }
            Self::Store(searcher) => {
                let lists = matches.iter().map(|found| searcher.ids(found.fingerprint).map(FoundIds::Listed));
                lists.collect::<Result<_, _>>()?
            }
            Self::Shards(searcher) => {
                let lists = matches.iter().map(|found| searcher.ids(found.fingerprint).map(FoundIds::Placed));
                lists.collect::<Result<_, _>>()?
            }
        })
    }
}
