//! Compares texts with known documents: of an index, a set of shards or a store's snapshot, or texts as they are.

use std::ffi::CString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use hamdex::threads::map_numbers;
use hamdex::{BatchOptions, Match};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_documents::known::{
    Known, KnownAs, KnownShingles, KnownTexts, NearestTexts, NewTexts, Reference, Similar, nearest_in,
};
use hamdex_documents::problems::Notice;
use hamdex_documents::{Dedup, Documents, Error, stored_recipe};
use hamdex_simhash::{Recipe, Shingler};
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arrow::speaks_arrow;
use crate::errors::OrRaise;
use crate::query::Labels;
use crate::recipe;
use crate::set::Set;
use crate::store::Store;
use crate::texts::{Texts, words_in};
use crate::width::Width;
use crate::work::Watch;

/// Known texts that one thread compares at a time.
const COMPARED_AT_ONCE: usize = 1 << 12;

/// Problems with documents that are shown.
const SHOWN_NOTICES: usize = 20;

/// The known documents.
pub(crate) enum KnownDocuments {
    /// Of a set: by their shingles, or by fingerprints within a distance.
    Set(AnySet, Option<u32>),
    /// Texts, and their ids if they have a column of them.
    Table(Texts, Option<Vec<ArrayRef>>),
    /// Files of documents.
    Files(Box<Documents>, Arc<Mutex<Notices>>),
}

/// Problems with documents of files, of which the first are shown.
#[derive(Default)]
pub(crate) struct Notices {
    first: Vec<String>,
    more: u64,
}

impl Notices {
    fn add(&mut self, notice: &Notice) {
        if self.first.len() < SHOWN_NOTICES {
            self.first.push(format!("{}: {}", notice.place, notice.problem));
        } else {
            self.more += 1;
        }
    }

    /// Shows them as warnings.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let class = py.get_type::<PyUserWarning>();
        let more = (self.more > 0).then(|| format!("{} more problems with documents", self.more));
        for text in self.first.iter().chain(&more) {
            PyErr::warn(py, &class, &CString::new(text.replace('\0', "\u{fffd}"))?, 1)?;
        }
        Ok(())
    }
}

impl KnownDocuments {
    /// Takes an open index or store, the path of one, of a set of shards or of documents, or texts. `columns` are the
    /// names of the columns of texts and ids of a table; `k` is the distance within which fingerprints are known, and
    /// `words` is the number of words of a shingle. With `skip_unreadable`, files that cannot be read whole are left out.
    pub(crate) fn of(
        object: &Bound<'_, PyAny>,
        (text, id): (&str, Option<&str>),
        k: Option<u32>,
        words: NonZeroUsize,
        skip_unreadable: bool,
    ) -> PyResult<Self> {
        let set = if let Ok(set) = object.cast::<Set>() {
            Some(set.get().set()?)
        } else if let Ok(store) = object.cast::<Store>() {
            Some(store.get().take_snapshot()?.set()?)
        } else {
            None
        };
        if let Some(set) = set {
            return Self::of_set(set, k, words);
        }
        if let Ok(path) = object.extract::<PathBuf>() {
            let is_set = object.py().detach(|| Kind::recognise(&path)).or_raise()?.is_some();
            if is_set {
                return Self::of_set(object.py().detach(|| hamdex_any::open(&path)).or_raise()?, k, words);
            }
            Self::refuse_distance(k)?;
            let notices = Arc::<Mutex<Notices>>::default();
            let own = Arc::clone(&notices);
            let documents = Documents::from_paths([path])
                .skip_unreadable(skip_unreadable)
                .on_notice(move |notice| own.lock().unwrap_or_else(PoisonError::into_inner).add(notice));
            return Ok(Self::Files(Box::new(documents), notices));
        }
        let is_table = speaks_arrow(object)?;
        if !is_table && !object.is_instance_of::<PyList>() && !Texts::are(object)? {
            let class = object.get_type().name().map_or_else(|_| "that".to_owned(), |name| name.to_string());
            return Err(PyTypeError::new_err(format!(
                "against must be an index, a store, a table or list of texts, or the path of a set or of documents, \
                 not {class}"
            )));
        }
        Self::refuse_distance(k)?;
        let (texts, ids) = Texts::with_ids(object, text, id.filter(|_| is_table))?;
        Ok(Self::Table(texts, ids))
    }

    fn of_set(set: AnySet, k: Option<u32>, words: NonZeroUsize) -> PyResult<Self> {
        if k.is_some() {
            return Ok(Self::Set(set, k));
        }
        match words_in(set.description())? {
            None => Err(PyValueError::new_err(
                "the known documents are fingerprints without shingles, so texts cannot be compared with them: pass the \
                 texts themselves, a set made with shingles, or k= to compare fingerprints, which misses copies",
            )),
            Some(own) if own != words => Err(PyValueError::new_err(format!(
                "the known documents have shingles of {own} words, not {words}: pass shingle={own}"
            ))),
            Some(_) => Ok(Self::Set(set, k)),
        }
    }

    fn refuse_distance(k: Option<u32>) -> PyResult<()> {
        match k {
            Some(_) => Err(PyValueError::new_err(
                "k compares with fingerprints of a set; known texts are compared by similarity: leave k out",
            )),
            None => Ok(()),
        }
    }

    /// Returns the recipe of the known documents; `given`, if they have none.
    pub(crate) fn recipe(&self, given: Option<&str>) -> PyResult<Recipe> {
        let Self::Set(set, _) = self else { return recipe::recipe(given.unwrap_or("default"), None) };
        let width = set.description().width;
        let given = given.map(|text| recipe::of_width(text, width, "the known documents have"));
        let own = stored_recipe(&set.description().metadata).or_raise()?;
        match (own, given.transpose()?) {
            (Some(own), Some(given)) if own != given => Err(PyValueError::new_err(format!(
                "the known documents have the recipe \"{own}\", not \"{given}\": leave recipe out"
            ))),
            (Some(recipe), _) | (None, Some(recipe)) => Ok(recipe),
            (None, None) => Err(PyValueError::new_err(
                "the known documents have fingerprints without a recipe: pass it with recipe=",
            )),
        }
    }

    /// Returns the ids of known texts that have a column of them.
    pub(crate) fn ids(&self) -> Option<&[ArrayRef]> {
        match self {
            Self::Table(_, ids) => ids.as_deref(),
            Self::Set(..) | Self::Files(..) => None,
        }
    }

    /// Shows the problems with documents that were met, as warnings.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Self::Files(_, notices) => notices.lock().unwrap_or_else(PoisonError::into_inner).warn(py),
            Self::Set(..) | Self::Table(..) => Ok(()),
        }
    }

    /// Returns whether fingerprints are compared.
    pub(crate) fn is_by_fingerprints(&self) -> bool {
        matches!(self, Self::Set(_, Some(_)))
    }

    /// Makes the search leave out what is known.
    pub(crate) fn apply<'a, F: Width>(
        &'a self,
        dedup: Dedup<'a, F>,
        watched: &'a WatchedDocuments<'a>,
    ) -> Dedup<'a, F> {
        match self {
            Self::Set(_, Some(k)) => dedup.against(watched, *k),
            Self::Set(_, None) | Self::Table(..) | Self::Files(..) => dedup.against_texts(watched),
        }
    }

    /// Returns the name or number of the known document of each text; where fingerprints were compared, the first id of
    /// the nearest one.
    pub(crate) fn labels<F: Width>(&self, known: &[Known]) -> PyResult<Labels> {
        let Self::Set(set, Some(_)) = self else { return Ok(labels_of_texts(self, known)) };
        let mut labels = Labels::of(set.description());
        let Some(typed) = set.typed::<F>().filter(|_| set.description().has_ids) else { return Ok(labels) };
        let mut searcher = typed.open_searcher();
        for known in known {
            let KnownAs::Fingerprint(fingerprint) = known.known else { continue };
            let fingerprint = F::truncate(fingerprint);
            let mut lists = searcher.ids_of(&[Match::new(fingerprint, fingerprint)], 1).or_raise()?;
            let Some(first) = lists.remove(0).next() else { continue };
            labels.push(set, first).or_raise()?;
        }
        Ok(labels)
    }
}

/// Known documents, looked up until the work is cancelled.
pub(crate) struct WatchedDocuments<'a> {
    pub(crate) against: &'a KnownDocuments,
    pub(crate) watch: &'a Arc<Watch>,
}

impl<F: Width> Reference<F> for WatchedDocuments<'_> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        let set = match self.against {
            KnownDocuments::Set(set, _) => set.typed::<F>(),
            KnownDocuments::Table(..) | KnownDocuments::Files(..) => None,
        };
        let Some(set) = set else {
            return Err(Error::Reference { source: "its fingerprints have another width".into() });
        };
        let options = BatchOptions::new().threads(rayon::current_num_threads());
        let options = options.report_to(self.watch.report());
        nearest_in(&**set, fingerprints, distance, options)
    }
}

impl KnownTexts for WatchedDocuments<'_> {
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        let words = new.similarity().words();
        match self.against {
            KnownDocuments::Set(set, _) => for_width!(set.description().width, F => {
                let set = set.typed::<F>().expect("the width was checked");
                KnownShingles::new(&**set, words)?.search(new, nearest)
            }),
            KnownDocuments::Files(documents, _) => documents.search(new, nearest),
            KnownDocuments::Table(texts, _) => {
                let texts =
                    texts.as_strs().map_err(|error| Error::Reference { source: error.to_string().into() })?;
                let similar_of = |number: usize, text: &str| -> Result<Vec<(u64, Similar)>, Error> {
                    new.check_cancelled()?;
                    let similar = new.similar(Shingler::new(words).shingles(text).hashes())?;
                    Ok(similar.into_iter().map(|similar| (number as u64, similar)).collect())
                };
                for (part, some) in texts.chunks(COMPARED_AT_ONCE).enumerate() {
                    let similar_of =
                        |(): &mut (), number| similar_of(part * COMPARED_AT_ONCE + number, some[number]);
                    let found = map_numbers(some.len(), || (), similar_of)?;
                    for (number, similar) in found.into_iter().flatten() {
                        nearest.offer(similar, number, || Ok(KnownAs::Id(number)))?;
                    }
                }
                Ok(())
            }
        }
    }

    fn is_repeatable(&self) -> bool {
        match self.against {
            KnownDocuments::Set(..) | KnownDocuments::Table(..) => true,
            KnownDocuments::Files(documents, _) => documents.is_repeatable(),
        }
    }
}

/// Returns the names or numbers of known texts.
fn labels_of_texts(against: &KnownDocuments, known: &[Known]) -> Labels {
    let mut labels = match against {
        KnownDocuments::Set(set, _) => Labels::of(set.description()),
        KnownDocuments::Files(..) => Labels::Names(Vec::new()),
        KnownDocuments::Table(..) => Labels::Numbers(Vec::new()),
    };
    for known in known {
        match (&mut labels, &known.known) {
            (Labels::Names(labels), KnownAs::Name(name)) => labels.push(name.clone()),
            (Labels::Numbers(labels), KnownAs::Id(id)) => labels.push(*id),
            _ => {}
        }
    }
    labels
}
