//! Documents that are known already: of sets, or as they are.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hamdex::{BatchOptions, Fingerprint, Match, SetSearcher};
use hamdex_any::{AnySet, Kind};
use hamdex_documents::known::{
    Known, KnownAs, KnownShingles, KnownTexts, NearestTexts, NewTexts, Reference, nearest_in,
};
use hamdex_documents::{Clusters, Dedup, Documents, Error, RECIPE_KEY};
use hamdex_simhash::{Lists, Recipe};
use serde::Serialize;

use crate::commands::Set;
use crate::commands::dedup::Args;
use crate::documents::inputs::Reading;
use crate::documents::recipe;
use crate::failure::Failure;
use crate::ids::Ids;

/// The most ids shown of a stored fingerprint.
const MAX_IDS: usize = 10;

/// The sets and the documents that --against names.
pub(super) struct Source<'p> {
    sets: Vec<(&'p Path, AnySet)>,
    documents: Vec<PathBuf>,
}

impl<'p> Source<'p> {
    /// Opens what the paths name, each set once; `None` without paths.
    pub(super) fn open(paths: &'p [PathBuf]) -> Result<Option<Self>, Failure> {
        let (mut source, mut opened) = (Self { sets: Vec::new(), documents: Vec::new() }, HashSet::new());
        for path in paths {
            if path.as_os_str() == "-" || Kind::recognise(path)?.is_none() {
                source.documents.push(path.clone());
            } else if opened.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                source.sets.push((path, hamdex_any::open(path)?));
            }
        }
        let widths: Vec<_> = source.sets.iter().map(|(path, set)| (*path, set.description().width)).collect();
        check_same("widths", &widths, |width| format!("{width} bits"))?;
        Ok((!paths.is_empty()).then_some(source))
    }

    /// Returns the width of the sets, if there are any.
    pub(super) fn width(&self) -> Option<u32> {
        self.sets.first().map(|(_, set)| set.description().width)
    }

    /// Returns the recipe of the sets, or that of the options if there are none.
    pub(super) fn recipe(
        &self,
        options: &recipe::Options,
        (given, lists): (Recipe, Lists),
    ) -> Result<(Recipe, Lists), Failure> {
        let (mut recipes, mut own) = (Vec::with_capacity(self.sets.len()), None);
        for (path, set) in &self.sets {
            let metadata = &set.description().metadata;
            // An index of bare fingerprints has no recipe: the user names it.
            if options.recipe.is_none() || metadata.contains_key(RECIPE_KEY) {
                let (recipe, lists) = options.of_index(path, metadata)?;
                recipes.push((*path, recipe.clone()));
                own = Some((recipe, lists));
            }
        }
        check_same("recipes", &recipes, |recipe| format!("\"{recipe}\""))?;
        Ok(own.unwrap_or((given, lists)))
    }
}

/// Refuses sets that differ in a property.
fn check_same<T: PartialEq>(
    what: &str,
    of_sets: &[(&Path, T)],
    shown: impl Fn(&T) -> String,
) -> Result<(), Failure> {
    match of_sets.iter().find(|(_, property)| *property != of_sets[0].1) {
        None => Ok(()),
        Some((other, second)) => {
            let (one, first) = &of_sets[0];
            let (one, other, first, second) = (one.display(), other.display(), shown(first), shown(second));
            Err(Failure::Usage(format!(
                "--against: {one} and {other} have different {what}, {first} and {second}"
            )))
        }
    }
}

/// Known documents, as the search compares with them.
pub(super) struct Against<'s, F> {
    sets: Vec<(&'s Path, Set<'s, F>)>,
    by: By<'s, F>,
}

enum By<'s, F> {
    /// By fingerprints within this distance.
    Fingerprints(u32),
    /// By the shingles that the sets keep, and then by texts.
    Texts(Vec<KnownShingles<'s, F>>, Option<Box<Reading>>),
}

impl<'s, F: Fingerprint> Against<'s, F> {
    pub(super) fn new(args: &Args, source: &'s Source<'s>, directory: &Path) -> Result<Self, Failure> {
        let sets: Vec<_> = source.sets.iter().map(|(path, set)| (*path, Set::<F>::of(set))).collect();
        let by = match (args.method.distance_of_known(args.fingerprints.are_given()), &source.documents[..]) {
            (Some(distance), []) => By::Fingerprints(distance),
            (Some(_), [path, ..]) => {
                return Err(Failure::usage_of(
                    path,
                    "-k compares with indexes, stores and sets of shards; documents are compared by --similarity",
                ));
            }
            (None, documents) => {
                let of_set = |(path, set): &(&Path, Set<'s, F>)| {
                    let known = KnownShingles::new(set.set, args.method.words());
                    known.map_err(|error| Failure::Usage(advice(path, &error)))
                };
                let shingles = sets.iter().map(of_set).collect::<Result<_, _>>()?;
                let reading = match documents {
                    [] => None,
                    paths => {
                        let reading = args.inputs.reading_of(paths)?.temp_dir(directory);
                        Some(reading.with(Documents::repeatable))
                    }
                };
                By::Texts(shingles, reading.map(Box::new))
            }
        };
        Ok(Self { sets, by })
    }

    /// Makes the search leave out what is known.
    pub(super) fn apply<'a>(&'a self, dedup: Dedup<'a, F>) -> Dedup<'a, F> {
        match self.by {
            By::Fingerprints(distance) => dedup.against(self, distance),
            By::Texts(..) => dedup.against_texts(self),
        }
    }

    /// Returns the path of a set, if there are other known documents as well, so that its ids alone are ambiguous.
    fn named(&self, set: usize) -> Option<&'s Path> {
        let is_only = self.sets.len() == 1 && !matches!(self.by, By::Texts(_, Some(_)));
        self.sets.get(set).filter(|_| !is_only).map(|(path, _)| *path)
    }
}

impl<F: Fingerprint> Reference<F> for Against<'_, F> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        let mut nearest: Vec<Option<Match<F>>> = vec![None; fingerprints.len()];
        for (_, set) in &self.sets {
            let found = nearest_in(set.set, fingerprints, distance, BatchOptions::new())?;
            for (nearest, found) in nearest.iter_mut().zip(found) {
                let both = nearest.iter().chain(&found).copied();
                *nearest = both.min_by_key(|found| (found.distance, found.fingerprint));
            }
        }
        Ok(nearest)
    }
}

impl<F: Fingerprint> KnownTexts for Against<'_, F> {
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        let By::Texts(shingles, documents) = &self.by else { return Ok(()) };
        for (number, known) in (0..).zip(shingles) {
            nearest.set_source(number);
            known.search(new, nearest)?;
        }
        nearest.set_source(shingles.len() as u32);
        let Some(reading) = documents else { return Ok(()) };
        reading.read(|documents| Ok(documents.search(new, nearest)?)).map_err(of_failure)
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
    /// The known document; if fingerprints were compared, the ids of the nearest stored one, as names if there are names,
    /// or its digits if it has no ids. Those of one of several sources have the path of their set in front.
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
    let mut searchers: Vec<_> = against.sets.iter().map(|(_, set)| set.set.open_searcher()).collect();
    for row in clusters.known().unwrap_or_default() {
        let id = clusters.id(row.document)?;
        let Known { distance, similarity, .. } = *row;
        let path = against.named(row.source as usize);
        let known = match (&row.known, path) {
            (KnownAs::Fingerprint(fingerprint), _) => {
                ids_of(F::truncate(*fingerprint), against, &mut searchers)?
            }
            (KnownAs::Id(id), None) => Ids::numbers(vec![*id], 1),
            (KnownAs::Id(id), path) => Ids::names(vec![in_set(path, id.to_string())], 1),
            (KnownAs::Name(name), path) => Ids::names(vec![in_set(path, name)], 1),
            (other, _) => unreachable!("{other:?} is of a later version"),
        };
        print(Row { id: &id, id_bytes: clusters.id_bytes(row.document)?, known, distance, similarity })?;
    }
    Ok(())
}

/// Returns the ids of a fingerprint in all sets that store it.
fn ids_of<'a, F: Fingerprint>(
    fingerprint: F,
    against: &Against<'_, F>,
    searchers: &'a mut [Box<dyn SetSearcher<F> + Send + '_>],
) -> Result<Ids<'a>, Failure> {
    let digits = || fingerprint.hex().to_string();
    if let [(_, set)] = against.sets[..] {
        if !set.description.has_ids {
            return Ok(Ids::names(vec![digits().into_bytes()], 1));
        }
        let mut lists = searchers[0].ids_of(&[Match::new(fingerprint, fingerprint)], MAX_IDS)?;
        return Ids::new(lists.remove(0), set.names(), MAX_IDS);
    }
    let (mut known, mut all) = (Vec::new(), 0);
    for (number, ((_, set), searcher)) in against.sets.iter().zip(searchers).enumerate() {
        let Some(found) = searcher.first(fingerprint, 0)? else { continue };
        let path = against.named(number);
        if !set.description.has_ids {
            all += 1;
            known.push(in_set(path, digits()));
            continue;
        }
        let ids = searcher.ids_of(&[found], MAX_IDS)?.remove(0);
        all += ids.all();
        for id in ids {
            let name = set.names().map(|names| names.name_of(id)).transpose()?.flatten();
            known.push(name.map_or_else(|| in_set(path, id.id.to_string()), |name| in_set(path, name)));
        }
    }
    known.truncate(MAX_IDS);
    Ok(Ids::names(known, all))
}

/// Returns an id with the path of its set in front, as ids of documents without one have that of their file.
fn in_set(path: Option<&Path>, id: impl AsRef<[u8]>) -> Vec<u8> {
    let path = path.map(|path| format!("{}:", path.display())).unwrap_or_default();
    [path.as_bytes(), id.as_ref()].concat()
}
