//! What texts are held against: an index, a set of shards, or one moment of a store.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::{AnyIndex, Index, Match, OpenOptions};
use hamdex_documents::{Error, Known, Reference, stored_recipe};
use hamdex_shards::{AnyShards, IdType, is_set};
use hamdex_simhash::Recipe;
use hamdex_store::{AnyStoreReader, inspect};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::OrRaise;
use crate::index::Handle;
use crate::moment::Moment;
use crate::query::text_of;
use crate::recipe::{self, recipe};
use crate::rows::Labels;
use crate::shape::Shape;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::width::Width;
use crate::work::Watch;

/// What is known already.
pub(crate) enum Against {
    Index(Arc<AnyIndex>),
    Shards(AnyShards),
    Store(Snapshot),
}

impl Against {
    /// Takes an open index or store, or the path of one, or of a set of shards.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(index) = object.cast::<Handle>() {
            return index.get().index().map(Self::Index);
        }
        if let Ok(store) = object.cast::<Store>() {
            return store.get().moment().map(Self::Store);
        }
        if let Ok(snapshot) = object.cast::<Snapshot>() {
            return Ok(Self::Store(snapshot.get().clone()));
        }
        let path = object.extract::<PathBuf>().map_err(|_| {
            let class = object.get_type().name().map_or_else(|_| "that".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "against cannot be a {class}: an index, a store, or the path of one or of a set of shards"
            ))
        })?;
        object.py().detach(|| {
            if !path.is_dir() {
                return AnyIndex::open(&path).or_raise().map(|index| Self::Index(Arc::new(index)));
            }
            // Where the system does not say how its manifest begins, the directory is not taken for a store.
            if is_set(&path).or_raise()? {
                return AnyShards::open(&path, &OpenOptions::new()).or_raise().map(Self::Shards);
            }
            let shape = Shape::of(&inspect(&path).or_raise()?.manifest);
            let moment = match AnyStoreReader::open(&path).or_raise()? {
                AnyStoreReader::Bits64(reader) => Moment::Bits64(reader.snapshot()),
                AnyStoreReader::Bits128(reader) => Moment::Bits128(reader.snapshot()),
            };
            Ok(Self::Store(Snapshot::new(moment, shape)))
        })
    }

    fn width(&self) -> u32 {
        match self {
            Self::Index(index) => index.width(),
            Self::Shards(set) => set.manifest().width,
            Self::Store(snapshot) => snapshot.moment().width(),
        }
    }

    /// The recipe by which texts are to be held against it: its own, or if it has none, the one that is given.
    pub(crate) fn recipe(&self, given: Option<&str>) -> PyResult<Recipe> {
        let width = self.width();
        let given = given.map(|text| recipe::of_width(text, width, "what they are held against has"));
        let own = match self {
            Self::Index(index) => stored_recipe(index.metadata()).or_raise()?,
            Self::Shards(set) => parsed(set.manifest().recipe.as_deref())?,
            Self::Store(snapshot) => parsed(snapshot.shape().recipe.as_deref())?,
        };
        match (own, given.transpose()?) {
            (Some(own), Some(given)) if own != given => Err(PyValueError::new_err(format!(
                "what texts are held against was built by the recipe \"{own}\", not by \"{given}\": leave recipe out"
            ))),
            (Some(recipe), _) | (None, Some(recipe)) => Ok(recipe),
            (None, None) => Err(PyValueError::new_err(
                "what texts are held against was built of fingerprints and does not say how they are made of texts: \
                 say it with recipe=",
            )),
        }
    }

    /// What each known document is near to is called: the first of its ids, or the name of that; one label each.
    pub(crate) fn labels<F: Width>(&self, known: &[Known]) -> PyResult<Labels> {
        let fingerprints = known.iter().map(|known| F::truncate(known.fingerprint));
        match self {
            Self::Index(any) => {
                let index = F::of_index(any).ok_or_else(other_width).or_raise()?;
                let mut labels = Labels::new(index.has_ids(), index.has_names());
                let names = index.names().or_raise()?;
                for fingerprint in fingerprints {
                    let Some(id) = index.ids(fingerprint).or_raise()?.next() else { continue };
                    match (&mut labels, &names) {
                        (Labels::Names(labels), Some(names)) => {
                            labels.push(text_of(names.name_of(id).or_raise()?));
                        }
                        (Labels::Numbers(labels), _) => labels.push(id),
                        _ => {}
                    }
                }
                Ok(labels)
            }
            Self::Shards(any) => {
                let set = F::of_shards(any).ok_or_else(other_width).or_raise()?;
                let id_type = set.manifest().id_type;
                let mut labels = Labels::new(id_type.is_some(), id_type == Some(IdType::Names));
                let mut searcher = set.searcher();
                for fingerprint in fingerprints {
                    let ids = searcher.ids(fingerprint).or_raise()?;
                    let Some(&stored) = ids.first() else { continue };
                    match &mut labels {
                        Labels::Names(labels) => {
                            labels.push(text_of(set.name(stored).or_raise()?.unwrap_or_default()));
                        }
                        Labels::Numbers(labels) => labels.push(stored.id),
                        Labels::None => {}
                    }
                }
                Ok(labels)
            }
            Self::Store(snapshot) => {
                let shape = snapshot.shape();
                let taken = F::of_moment(snapshot.moment()).ok_or_else(other_width).or_raise()?;
                let mut labels = Labels::new(shape.has_ids, shape.has_names);
                for fingerprint in fingerprints {
                    let ids = taken.ids(fingerprint).or_raise()?;
                    let Some(&id) = ids.first() else { continue };
                    match &mut labels {
                        Labels::Names(labels) => {
                            labels.push(text_of(taken.name(id).or_raise()?.unwrap_or_default()));
                        }
                        Labels::Numbers(labels) => labels.push(id),
                        Labels::None => {}
                    }
                }
                Ok(labels)
            }
        }
    }
}

/// The recipe of what says so in a text, if it does.
fn parsed(text: Option<&str>) -> PyResult<Option<Recipe>> {
    text.map(|text| recipe(text, None)).transpose()
}

fn other_width() -> Error {
    Error::Reference { source: "it has fingerprints of another width".into() }
}

/// What is known already, looked up until the work is stopped.
pub(crate) struct Watched<'a> {
    pub(crate) against: &'a Against,
    pub(crate) watch: &'a Watch,
}

impl<F: Width> Reference<F> for Watched<'_> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        match self.against {
            Against::Index(any) => {
                let index: &Index<F> = F::of_index(any).ok_or_else(other_width)?;
                self.each(
                    fingerprints,
                    || index.searcher(),
                    |searcher, fingerprint| {
                        Ok(searcher.nearest_within(fingerprint, 1, distance)?.first().copied())
                    },
                )
            }
            Against::Shards(any) => {
                let set = F::of_shards(any).ok_or_else(other_width)?;
                self.each(
                    fingerprints,
                    || set.searcher(),
                    |searcher, fingerprint| {
                        let found = searcher.nearest_within(fingerprint, 1, distance);
                        let found = found.map_err(|error| match error {
                            hamdex_shards::Error::Read(error) => Error::Index(error),
                            other => Error::Reference { source: other.into() },
                        })?;
                        Ok(found.first().copied())
                    },
                )
            }
            Against::Store(snapshot) => {
                let taken = F::of_moment(snapshot.moment()).ok_or_else(other_width)?;
                self.each(
                    fingerprints,
                    || taken.searcher(),
                    |searcher, fingerprint| {
                        let found = searcher.nearest_within(fingerprint, 1, distance);
                        let found = found.map_err(|error| Error::Reference { source: error.into() })?;
                        Ok(found.first().copied())
                    },
                )
            }
        }
    }
}

impl Watched<'_> {
    fn each<F: Width, S>(
        &self,
        fingerprints: &[Option<F>],
        searcher: impl Fn() -> S + Send + Sync,
        nearest: impl Fn(&mut S, F) -> Result<Option<Match<F>>, Error> + Send + Sync,
    ) -> Result<Vec<Option<Match<F>>>, Error> {
        let found = fingerprints.par_iter().map_init(searcher, |searcher, fingerprint| match fingerprint {
            _ if self.watch.go_on().is_break() => Err(Error::Stopped),
            Some(fingerprint) => nearest(searcher, *fingerprint),
            None => Ok(None),
        });
        found.collect()
    }
}
