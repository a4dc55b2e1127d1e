//! Documents that are known already: of a set, or as they are.

use std::path::{Path, PathBuf};

use hamdex::{BatchOptions, Fingerprint, Match, SetSearcher};
use hamdex_any::{AnySet, Kind};
use hamdex_documents::known::{
    Known, KnownAs, KnownShingles, KnownTexts, NearestTexts, NewTexts, Reference, nearest_in,
};
use hamdex_documents::{Clusters, Dedup, Error};
use serde::Serialize;

use crate::commands::dedup::Args;
use crate::documents::inputs::Reading;
use crate::failure::Failure;
use crate::ids::Ids;
use crate::set::Set;

/// The most ids shown of a stored fingerprint.
const MAX_IDS: usize = 10;

/// The paths of --against: one set, or documents.
pub(super) enum Source<'p> {
    Set(&'p Path, AnySet),
    Documents(&'p [PathBuf]),
}

impl<'p> Source<'p> {
    /// Opens what the paths name; `None` without paths.
    pub(super) fn open(paths: &'p [PathBuf]) -> Result<Option<Self>, Failure> {
        let mut of_sets = Vec::with_capacity(paths.len());
        for path in paths {
            let is_set = path.as_os_str() != "-" && Kind::recognise(path)?.is_some();
            of_sets.push(is_set);
        }
        match (paths, of_sets.contains(&true)) {
            ([], _) => Ok(None),
            (_, false) => Ok(Some(Self::Documents(paths))),
            ([path], true) => Ok(Some(Self::Set(path, hamdex_any::open(path)?))),
            (_, true) => Err(Failure::Usage(
                "--against takes one index, store or set of shards, or any number of documents: `hamdex merge` makes \
                 one index of several"
                    .to_owned(),
            )),
        }
    }

    /// Returns the set, if it is one.
    pub(super) fn set(&self) -> Option<&AnySet> {
        match self {
            Self::Set(_, set) => Some(set),
            Self::Documents(_) => None,
        }
    }
}

/// Known documents, as the search compares with them.
pub(super) enum Against<'s, F> {
    /// By fingerprints within this distance.
    Fingerprints(Set<'s, F>, u32),
    /// By the shingles that the set keeps.
    Shingles(KnownShingles<'s, F>),
    /// By texts.
    Documents(Box<Reading>),
}

impl<'s, F: Fingerprint> Against<'s, F> {
    pub(super) fn new(args: &Args, source: &'s Source<'s>, directory: &Path) -> Result<Self, Failure> {
        let distance = args.method.distance_of_known(args.fingerprints.are_given());
        match (source, distance) {
            (Source::Set(_, set), Some(distance)) => Ok(Self::Fingerprints(Set::of(set), distance)),
            (Source::Set(path, set), None) => {
                let known = KnownShingles::new(Set::<F>::of(set).set, args.method.words());
                known.map(Self::Shingles).map_err(|error| Failure::Usage(advice(path, &error)))
            }
            (Source::Documents(_), Some(_)) => Err(Failure::Usage(
                "-k compares with an index, a store or a set of shards; documents are compared by --similarity"
                    .to_owned(),
            )),
            (Source::Documents(paths), None) => {
                let reading = args.inputs.reading_of(paths)?.temp_dir(directory).repeatable();
                Ok(Self::Documents(Box::new(reading)))
            }
        }
    }

    /// Makes the search leave out what is known.
    pub(super) fn apply<'a>(&'a self, dedup: Dedup<'a, F>) -> Dedup<'a, F> {
        match self {
            Self::Fingerprints(_, distance) => dedup.against(self, *distance),
            Self::Shingles(known) => dedup.against_texts(known),
            Self::Documents(_) => dedup.against_texts(self),
        }
    }
}

impl<F: Fingerprint> Reference<F> for Against<'_, F> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        let Self::Fingerprints(set, _) = self else { return Ok(vec![None; fingerprints.len()]) };
        nearest_in(set.set, fingerprints, distance, BatchOptions::new())
    }
}

impl<F: Fingerprint> KnownTexts for Against<'_, F> {
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        match self {
            Self::Fingerprints(..) | Self::Shingles(_) => Ok(()),
            Self::Documents(reading) => {
                reading.read(|documents| Ok(documents.search(new, nearest)?)).map_err(of_failure)
            }
        }
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Returns what is wrong with the shingles of a set, and what to do instead.
fn advice(path: &Path, error: &Error) -> String {
    let path = path.display();
    match error {
        Error::NoShingles => format!(
            "{path} keeps no shingles of its documents, so texts cannot be compared with it: make it with \
             --shingles, name the documents themselves with --against, or compare fingerprints within 3 bits \
             with -k 3, which misses copies and takes other texts for copies"
        ),
        other => format!("{path}: {other}; --check-words must be as it was made"),
    }
}

fn of_failure(failure: Failure) -> Error {
    match failure {
        Failure::Index(error) => Error::Index(error),
        other => Error::Reference { source: other.line().into() },
    }
}

/// A known document, as it is printed.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    pub(super) id: &'a str,
    #[serde(skip)]
    pub(super) id_bytes: Vec<u8>,
    /// The known document; of a set the ids of the nearest stored fingerprint, as names if there are names, or its
    /// digits if it has no ids.
    pub(super) known: Ids<'a>,
    /// The distance in bits, if fingerprints were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) distance: Option<u32>,
    /// The share of common shingles, if texts were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) similarity: Option<f64>,
}

/// Calls `print` with each known document.
pub(super) fn for_each<F: Fingerprint>(
    clusters: &Clusters,
    against: &Against<'_, F>,
    mut print: impl FnMut(Row<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut searcher = match against {
        Against::Fingerprints(set, _) => Some((*set, set.set.open_searcher())),
        Against::Shingles(_) | Against::Documents(_) => None,
    };
    for row in clusters.known().unwrap_or_default() {
        let id = clusters.id(row.document)?;
        let Known { distance, similarity, .. } = *row;
        let known = match (&row.known, &mut searcher) {
            (KnownAs::Fingerprint(fingerprint), Some((set, searcher))) => {
                ids_of(F::truncate(*fingerprint), *set, &mut **searcher)?
            }
            (KnownAs::Id(id), _) => Ids::numbers(vec![*id], 1),
            (KnownAs::Name(name), _) => Ids::names(vec![name.clone().into_bytes()], 1),
            (other, _) => unreachable!("{other:?} is of a set of fingerprints"),
        };
        print(Row { id: &id, id_bytes: clusters.id_bytes(row.document)?, known, distance, similarity })?;
    }
    Ok(())
}

fn ids_of<'a, F: Fingerprint>(
    fingerprint: F,
    set: Set<'_, F>,
    searcher: &'a mut dyn SetSearcher<F>,
) -> Result<Ids<'a>, Failure> {
    if !set.description.has_ids {
        return Ok(Ids::names(vec![fingerprint.hex().to_string().into_bytes()], 1));
    }
    let mut lists = searcher.ids_of(&[Match::new(fingerprint, fingerprint)], MAX_IDS)?;
    Ids::new(lists.remove(0), set.names(), MAX_IDS)
}
