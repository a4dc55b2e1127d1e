//! Decides which documents are new to a set, so that these are inserted: next to what it has, or in place of the
//! documents of their names.
//!
//! Documents are taken in order, as if each were alone. Without replacement, one is left out if it is similar to a
//! document that is stored, or was accepted before it. With replacement, one is left out if it is similar to a document
//! of another name, stored or accepted before it; otherwise the earlier documents of its name go. Stored documents of
//! other names cannot go: they are compared as known documents are. The few that the batch may replace are kept in
//! lists by shingle while the decisions are made.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use hamdex::{Fingerprint, FingerprintSet, Names};
use hamdex_simhash::{Fingerprinter, Scratch, Shingler, resemblance};
use rayon::prelude::*;

use crate::dedup::clusters::Clusters;
use crate::dedup::known::KnownAs;
use crate::dedup::known_shingles::{KnownShingles, LeftOut};
use crate::dedup::options::Dedup;
use crate::dedup::resources::{Progress, Stage};
use crate::dedup::similarity::Similarity;
use crate::dedup::texts::new_texts::prefix_len;
use crate::document::Document;
use crate::error::Error;

/// The decision about a document.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Decision<F> {
    /// Nothing is similar. A store with shingles takes the document as
    /// [`Record::document`](https://docs.rs/hamdex-store/latest/hamdex_store/struct.Record.html#method.document).
    New {
        /// Its fingerprint.
        fingerprint: F,
        /// Its shingles, ascending.
        shingles: Vec<u64>,
    },
    /// A document of this name is similar.
    Similar {
        /// The name.
        name: String,
        /// The share of common shingles.
        similarity: f64,
    },
    /// It has no shingles, and is similar to nothing.
    Blank,
}

/// Makes the fingerprint and the shingles of documents, one after the other.
struct Maker<'f, F> {
    fingerprinter: &'f Fingerprinter<F>,
    scratch: Scratch<F>,
    shingler: Shingler,
}

impl<'f, F: Fingerprint> Maker<'f, F> {
    fn new(fingerprinter: &'f Fingerprinter<F>, similarity: Similarity) -> Self {
        Self { fingerprinter, scratch: Scratch::default(), shingler: Shingler::new(similarity.words()) }
    }

    fn decide(&mut self, document: &Document) -> Decision<F> {
        let Self { fingerprinter, scratch, shingler } = self;
        let (outcome, shingles) = fingerprinter.fingerprint_and_shingles(&document.text, scratch, shingler);
        match outcome.value_of_text(&shingles) {
            Some(fingerprint) => Decision::New { fingerprint, shingles: shingles.hashes().to_vec() },
            None => Decision::Blank,
        }
    }
}

impl<F: Fingerprint> Dedup<'_, F> {
    /// Decides about documents, whose ids are names, in order: whether each is similar to a document of a set with
    /// shingles and names, or to one of them that is kept: by the default [`Clustering`](crate::Clustering) and
    /// [`Preference`](crate::Preference) one that was accepted before it.
    ///
    /// The caller stores the new ones, before anything else is stored:
    ///
    /// ```
    /// use hamdex_documents::{Decision, Dedup, Document, Similarity};
    /// use hamdex_simhash::{Fingerprinter, Recipe, Shingler};
    /// use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().shingles(Shingler::new(Similarity::DEFAULT_WORDS).definition());
    /// let store = Store::<u64>::create(directory.path().join("news.store"), &create, StoreOptions::new())?;
    ///
    /// let text = "Call me Ishmael. Some years ago, never mind how long precisely";
    /// let documents = [Document::new("first", text), Document::new("copy", format!("{text}!"))];
    /// let dedup = Dedup::new(Fingerprinter::new(&Recipe::default())?);
    /// let decisions = dedup.decide(&store.snapshot(), &documents)?;
    /// let new = documents.iter().zip(&decisions).filter_map(|(document, decision)| match decision {
    ///     Decision::New { fingerprint, shingles } => {
    ///         Some(Record::document(*fingerprint, document.id_bytes(), shingles))
    ///     }
    ///     _ => None,
    /// });
    /// assert_eq!(store.put(new, When::always())?.inserted, 1);
    /// assert!(matches!(&decisions[1], Decision::Similar { name, .. } if name == "first"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the set has no shingles of this width, it cannot be read, or the caller has stopped the search.
    pub fn decide(
        self,
        set: &dyn FingerprintSet<F>,
        documents: &[Document],
    ) -> Result<Vec<Decision<F>>, Error> {
        let similarity = self.similarity.unwrap_or_default();
        let (resources, fingerprinter) = (self.resources.clone(), self.fingerprinter.clone());
        let known = KnownShingles::new(set, similarity.words())?;
        let clusters = self.similarity(similarity).against_texts(&known).run_on(documents.iter().cloned())?;
        let mut similar = similar_to(&clusters, documents);
        let decide = |maker: &mut Maker<'_, F>, (document, similar): (_, &mut Option<_>)| {
            resources.report(Progress::new(Stage::Known, 0, None))?;
            Ok(match similar.take() {
                Some((name, similarity)) => Decision::Similar { name, similarity },
                None => maker.decide(document),
            })
        };
        let both = documents.par_iter().zip(&mut similar);
        both.map_init(|| Maker::new(&fingerprinter, similarity), decide).collect()
    }

    /// Decides as [`Dedup::decide`] about documents each of which replaces the documents of its name: they are compared
    /// with documents of other names alone. `earlier` are the ids of the set that have one of the names of the documents.
    ///
    /// # Errors
    /// As for [`Dedup::decide`].
    pub fn decide_replacements(
        self,
        set: &dyn FingerprintSet<F>,
        earlier: &HashSet<u64>,
        documents: &[Document],
    ) -> Result<Vec<Decision<F>>, Error> {
        let similarity = self.similarity.unwrap_or_default();
        let (resources, fingerprinter) = (self.resources.clone(), self.fingerprinter.clone());
        let left_out = LeftOut { ids: earlier, documents: Mutex::default() };
        let known = KnownShingles::new(set, similarity.words())?.without(&left_out);
        let clusters = self.similarity(similarity).against_texts(&known).run_on(documents.iter().cloned())?;
        let mut similar = similar_to_known(&clusters, documents.len());
        let mut live = Live::new(similarity);
        for (name, shingles) in left_out.documents.into_inner().unwrap_or_default() {
            live.add(&name, shingles);
        }
        let mut maker = Maker::new(&fingerprinter, similarity);
        let mut decisions = Vec::with_capacity(documents.len());
        for (document, similar) in documents.iter().zip(&mut similar) {
            resources.report(Progress::new(Stage::Known, 0, None))?;
            let decision = match similar.take() {
                Some((name, similarity)) => Decision::Similar { name, similarity },
                None => maker.decide(document),
            };
            decisions.push(match decision {
                Decision::New { fingerprint, shingles } => {
                    match live.similar(document.id_bytes(), &shingles) {
                        Some((name, similarity)) => Decision::Similar { name, similarity },
                        None => {
                            live.replace(document.id_bytes(), shingles.clone());
                            Decision::New { fingerprint, shingles }
                        }
                    }
                }
                decision => decision,
            });
        }
        Ok(decisions)
    }
}

/// The name of a document that is similar to one, and the share of common shingles.
type Similar = Option<(String, f64)>;

/// Returns the known document to which each of some documents is similar.
fn similar_to_known(clusters: &Clusters, documents: usize) -> Vec<Similar> {
    let mut similar = vec![None; documents];
    for known in clusters.known().unwrap_or_default() {
        let name = match &known.known {
            KnownAs::Name(name) => name.clone(),
            KnownAs::Id(id) => id.to_string(),
            // Sets with shingles have ids.
            KnownAs::Fingerprint(fingerprint) => format!("{fingerprint:x}"),
        };
        similar[known.document as usize] = Some((name, known.similarity.unwrap_or_default()));
    }
    similar
}

/// Returns the document, known or of these, to which each of these is similar.
fn similar_to(clusters: &Clusters, documents: &[Document]) -> Vec<Similar> {
    let mut similar = similar_to_known(clusters, documents.len());
    for cluster in clusters.members().chunk_by(|one, other| one.cluster == other.cluster) {
        let Some(kept) = cluster.iter().find(|member| member.is_kept) else { continue };
        let name = &documents[kept.document as usize].id;
        for member in cluster.iter().filter(|member| !member.is_kept) {
            let similarity = member.similarity.unwrap_or_default();
            similar[member.document as usize] = Some((name.clone(), similarity));
        }
    }
    similar
}

/// Documents that may be replaced.
struct Live {
    similarity: Similarity,
    /// A name, and a set until it is replaced.
    documents: Vec<(usize, Option<Vec<u64>>)>,
    names: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The documents of each name that have not been replaced.
    of_name: Vec<Vec<u32>>,
    /// Documents by shingle, perhaps including replaced ones.
    lists: HashMap<u64, Vec<u32>>,
}

impl Live {
    fn new(similarity: Similarity) -> Self {
        Self {
            similarity,
            documents: Vec::new(),
            names: Vec::new(),
            numbers: HashMap::new(),
            of_name: Vec::new(),
            lists: HashMap::new(),
        }
    }

    fn add(&mut self, name: &[u8], shingles: Vec<u64>) {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                self.numbers.insert(name.to_owned(), self.names.len());
                self.names.push(name.to_owned());
                self.of_name.push(Vec::new());
                self.names.len() - 1
            }
        };
        let document = self.documents.len() as u32;
        shingles.iter().for_each(|&shingle| self.lists.entry(shingle).or_default().push(document));
        self.of_name[number].push(document);
        self.documents.push((number, Some(shingles)));
    }

    /// Puts a document in place of all of its name.
    fn replace(&mut self, name: &[u8], shingles: Vec<u64>) {
        if let Some(&number) = self.numbers.get(name) {
            for document in std::mem::take(&mut self.of_name[number]) {
                self.documents[document as usize].1 = None;
            }
        }
        self.add(name, shingles);
    }

    /// Returns the name of a similar document of another name, and the share of common shingles.
    fn similar(&mut self, name: &[u8], shingles: &[u64]) -> Option<(String, f64)> {
        let Self { similarity, documents, lists, .. } = self;
        let own = self.numbers.get(name).copied();
        let mut order: Vec<u64> =
            shingles.iter().copied().filter(|shingle| lists.contains_key(shingle)).collect();
        order.sort_unstable_by_key(|shingle| (lists[shingle].len(), *shingle));
        // A similar set has one of any so many shingles, also of the rarest.
        let absent = shingles.len() - order.len();
        let prefix = prefix_len(shingles.len(), *similarity);
        let mut seen = HashSet::new();
        for shingle in order.into_iter().take(prefix.saturating_sub(absent)) {
            let list = lists.get_mut(&shingle)?;
            // Replaced documents are met once.
            list.retain(|&document| documents[document as usize].1.is_some());
            for &document in &*list {
                let (number, set) = &documents[document as usize];
                let Some(set) = set.as_ref().filter(|_| Some(*number) != own) else { continue };
                if !seen.insert(document)
                    || similarity.least_shared(shingles.len(), set.len()) > shingles.len().min(set.len())
                {
                    continue;
                }
                let share = resemblance(set, shingles);
                if share >= similarity.least() {
                    return Some((Names::text_of(&self.names[*number]).into_owned(), share));
                }
            }
        }
        None
    }
}
