//! Insert unless similar: a document is inserted unless one that is similar as a text is stored.
//!
//! A snapshot is searched without any lock. When the documents are committed, only what was inserted since is searched,
//! and what was found is looked up again if anything has been removed. Documents are taken in order, as if each were
//! alone; a document that replaces the earlier ones of its name is not similar to these, and one that is similar to
//! another replaces nothing.
//!
//! This file has the first half, on a snapshot, and the method of [`Store`](crate::Store). [`decisions`] has the second
//! half, under the lock of the writer.

pub(crate) mod decisions;

use hamdex::similar::{Condition, Search};
use hamdex::{Fingerprint, ReadError};

use crate::error::Error;
use crate::store::Store;
use crate::write::batch::Document;
use crate::write::reply::{Put, Reply};
use crate::write::request::Request;
use crate::write::unless_near::decisions::go_on_until;
use crate::write::unless_similar::decisions::{Known, UnlessSimilar, for_each_similar, lists_of, set_of};

/// The most similar documents of a snapshot that are kept for each new one: if all of them have been removed when it is
/// committed, the search is repeated.
const MAX_KNOWN: usize = 64;

/// New documents between two looks at the deadline.
const AT_ONCE: usize = 16;

impl<F: Fingerprint> Store<F> {
    /// Inserts documents in order, each unless one that meets the condition is stored or has been inserted before it;
    /// `replaces`: in place of the earlier ones of its name, which do not count.
    pub(in crate::write) fn unless_similar(
        &self,
        named: &[(F, Document)],
        condition: Condition,
        replaces: bool,
    ) -> Result<Put<F>, Error> {
        self.check_shingles(true)?;
        let sets: Vec<Vec<u64>> = named.iter().map(|(_, document)| set_of(document)).collect();
        let own = similar_before(named, &sets, &condition, replaces)?;
        self.search_until_committed(|commit| {
            let request = self.search_similar(named, &sets, &own, (condition, replaces))?;
            match commit(self, Request::UnlessSimilar(Box::new(request)))? {
                Reply::Put(put) => Ok(Some(put)),
                Reply::SearchAgain => Ok(None),
                reply => Err(self.refused(&reply)),
            }
        })
    }

    /// Finds what is similar to each document in the current view.
    fn search_similar(
        &self,
        named: &[(F, Document)],
        sets: &[Vec<u64>],
        own: &[Vec<(usize, f64)>],
        (condition, replaces): (Condition, bool),
    ) -> Result<UnlessSimilar<F>, Error> {
        let snapshot = self.snapshot();
        let searchers = &self.inner().searchers;
        let mut searcher = searchers.take(snapshot.clone());
        let mut known = Vec::with_capacity(named.len());
        for (number, (set, (_, document))) in sets.iter().zip(named).enumerate() {
            if number.is_multiple_of(AT_ONCE) && go_on_until(self.deadline()).is_err() {
                return Err(self.inner().timed_out());
            }
            // With replacements, some of them may have its own name.
            let limit = if replaces { usize::MAX } else { MAX_KNOWN + 1 };
            let found = searcher.similar(set, &condition, limit)?;
            let mut ids = Vec::with_capacity(found.len().min(MAX_KNOWN + 1));
            for one in found {
                let is_own = replaces && snapshot.name(one.id.id)? == Some(document.name());
                if !is_own && ids.len() <= MAX_KNOWN {
                    ids.push((one.id.id, one.similarity));
                }
            }
            let are_cut = ids.len() > MAX_KNOWN;
            ids.truncate(MAX_KNOWN);
            known.push(Known { ids, are_cut });
        }
        searchers.put_back(searcher, &self.inner().view);
        let view = snapshot.view();
        // What was found in segments that were cut off, and what was not.
        view.check_files()?;
        Ok(UnlessSimilar {
            named: named.to_vec(),
            sets: sets.to_vec(),
            condition,
            replaces,
            known,
            own: own.to_vec(),
            generation: view.generation,
            removals: view.removals,
            ingests: view.ingests,
            next_id: view.next_id,
        })
    }
}

/// Returns for each document the ones before it that are similar; with replacements of other names alone.
fn similar_before<F>(
    named: &[(F, Document)],
    sets: &[Vec<u64>],
    condition: &Condition,
    replaces: bool,
) -> Result<Vec<Vec<(usize, f64)>>, ReadError> {
    let (lists, mut search) = (lists_of(sets), Search::default());
    let mut all = Vec::with_capacity(sets.len());
    for (number, set) in sets.iter().enumerate() {
        let mut before = Vec::new();
        for_each_similar(&mut search, &lists, set, condition, |other, similarity| {
            let is_own = replaces && named[other].1.name() == named[number].1.name();
            if other < number && !is_own {
                before.push((other, similarity));
            }
        })?;
        before.sort_by(|one, other| other.1.total_cmp(&one.1));
        all.push(before);
    }
    Ok(all)
}
