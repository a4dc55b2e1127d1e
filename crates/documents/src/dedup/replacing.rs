//! Documents that take the place of earlier ones of their names, unless they are similar to others.
//!
//! Documents are taken in order, as if each were alone: one is left out if it is similar to a document of another name,
//! stored or accepted before it. Otherwise the earlier documents of its name go. What is stored under other names than
//! those of the batch cannot go; it is compared as known documents are. The others, few, are kept in lists by shingle
//! while the decisions are made.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use hamdex::{Fingerprint, FingerprintSet, Names};
use hamdex_simhash::{Scratch, Shingler, resemblance};

use crate::dedup::known::KnownAs;
use crate::dedup::known_shingles::{KnownShingles, LeftOut};
use crate::dedup::options::Dedup;
use crate::dedup::resources::{Progress, Stage};
use crate::dedup::similarity::Similarity;
use crate::dedup::texts::new_texts::prefix_len;
use crate::document::Document;
use crate::error::Error;

/// The decision about a document that may replace others.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Replacement {
    /// Nothing of another name is similar.
    New,
    /// A document of this name is similar.
    Similar {
        /// The name.
        name: String,
        /// The share of common shingles.
        similarity: f64,
    },
    /// It has no shingles.
    Blank,
}

impl<F: Fingerprint> Dedup<'_, F> {
    /// Decides about documents, whose ids are names, in order: whether each is similar to a document of another name
    /// that is in a set with shingles, or was accepted before it. One that is not replaces the documents of its name.
    /// `earlier` are the ids of the set that have one of the names of the documents.
    ///
    /// # Errors
    /// When the set has no shingles of this width, it cannot be read, or the caller has stopped the search.
    pub fn decide_replacements(
        self,
        set: &dyn FingerprintSet<F>,
        earlier: &HashSet<u64>,
        documents: &[Document],
    ) -> Result<Vec<Replacement>, Error> {
        let similarity = self.similarity.unwrap_or_default();
        let (resources, fingerprinter) = (self.resources.clone(), self.fingerprinter.clone());
        let left_out = LeftOut { ids: earlier, documents: Mutex::default() };
        let known = KnownShingles::new(set, similarity.words())?.without(&left_out);
        let clusters = self.similarity(similarity).against_texts(&known).run_on(documents.to_vec())?;
        let mut decisions = vec![Replacement::New; documents.len()];
        for known in clusters.known().unwrap_or_default() {
            let KnownAs::Name(name) = &known.known else { continue };
            let similarity = known.similarity.unwrap_or_default();
            decisions[known.document as usize] = Replacement::Similar { name: name.clone(), similarity };
        }
        let mut live = Live::new(similarity);
        for (name, shingles) in left_out.documents.into_inner().unwrap_or_default() {
            live.add(&name, shingles);
        }
        let (mut scratch, mut shingler) = (Scratch::default(), Shingler::new(similarity.words()));
        for (document, decision) in documents.iter().zip(&mut decisions) {
            resources.report(Progress::new(Stage::Known, 0, None))?;
            if *decision != Replacement::New {
                continue;
            }
            let (_, shingles) =
                fingerprinter.fingerprint_and_shingles(&document.text, &mut scratch, &mut shingler);
            let shingles = shingles.hashes();
            *decision = match live.similar(document.id_bytes(), shingles) {
                Some((name, similarity)) => Replacement::Similar { name, similarity },
                None if shingles.is_empty() => Replacement::Blank,
                None => {
                    live.replace(document.id_bytes(), shingles.to_vec());
                    Replacement::New
                }
            };
        }
        Ok(decisions)
    }
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
