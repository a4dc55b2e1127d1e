//! The condition that no document is similar: a document is stored unless one that is similar as a text is. One that
//! replaces the earlier ones of its name is not similar to these.
//!
//! - This file: the search of a snapshot, and the method of [`Store`](crate::Store)
//! - [`decisions`]: the decisions under the lock of the writer

mod decisions;

use std::collections::HashMap;
use std::sync::Arc;

use hamdex::similar::{Condition, GrowingLists, Search};
use hamdex::{Fingerprint, ReadError};

use crate::error::Error;
use crate::read::searcher::Searcher;
use crate::store::Store;
use crate::write::Document;
use crate::write::conditional::go_on_until;
use crate::write::request::{Inserted, Put};
use crate::write::unless_similar::decisions::{SimilarIds, UnlessSimilar, set_of};

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
        if replaces {
            self.warm_names(&named.iter().map(|(_, document)| document.name().to_vec()).collect())?;
        }
        self.search_until_committed(|attempt| {
            let request = self.search_similar(named, &sets, (condition, replaces))?;
            if !request.are_presumed_new.contains(&true) {
                // Without insertions, the view of the search is the moment of the outcome.
                self.inner().check_held()?;
                return Ok(Some(self.all_similar(&request)?));
            }
            // Held until the commit returns, so that the view is not dropped under the writer's lock, which takes time.
            let _searched = Arc::clone(&request.searched);
            self.commit_conditional(request, attempt)
        })
    }

    /// Returns the outcomes of documents to all of which something stored is similar.
    fn all_similar(&self, request: &UnlessSimilar<F>) -> Result<Put<F>, Error> {
        let outcome = |known: &SimilarIds| {
            let &(id, similarity) = known.ids.first().expect("something is similar to each");
            Ok(Inserted::Similar(Box::new(request.searched.similar(id, similarity)?)))
        };
        let outcomes = request.known.iter().map(outcome).collect::<Result<_, Error>>()?;
        Ok(Put { outcomes, inserted: 0, removed: 0 })
    }

    /// Finds the documents similar to each one in the current view, and among the documents before it that are presumed to
    /// be new.
    fn search_similar(
        &self,
        named: &[(F, Document)],
        sets: &[Vec<u64>],
        (condition, replaces): (Condition, bool),
    ) -> Result<UnlessSimilar<F>, Error> {
        let snapshot = self.snapshot();
        let searchers = &self.inner().searchers;
        let mut searcher = searchers.take(snapshot.clone());
        let (mut known, mut own) = (Vec::with_capacity(named.len()), Vec::with_capacity(named.len()));
        let mut earlier = Earlier::new(named, replaces);
        for (number, (set, (_, document))) in sets.iter().zip(named).enumerate() {
            if number.is_multiple_of(AT_ONCE) {
                go_on_until(self.deadline())?;
            }
            known.push(known_of(&mut searcher, set, &condition, replaces.then(|| document.name()))?);
            own.push(earlier.similar(number, set, &condition)?);
            if known[number].ids.is_empty() && !own[number].iter().any(|&(place, _)| earlier.are_new[place]) {
                earlier.add(number, set);
            }
        }
        let are_presumed_new = earlier.were_new;
        searchers.put_back(searcher, &self.inner().view);
        // A segment that was cut off meanwhile makes the search worthless.
        snapshot.view().check_files()?;
        Ok(UnlessSimilar {
            named: named.to_vec(),
            sets: sets.to_vec(),
            condition,
            replaces,
            known,
            own,
            are_presumed_new,
            deadline: self.deadline(),
            schema: Arc::clone(&self.inner().schema),
            searched: snapshot.shared_view(),
        })
    }
}

/// Returns the documents of a snapshot that are similar to a set of shingles, except the ones of a name.
fn known_of<F: Fingerprint>(
    searcher: &mut Searcher<F>,
    set: &[u64],
    condition: &Condition,
    except: Option<&[u8]>,
) -> Result<SimilarIds, Error> {
    // One more than are kept; with a name, usually one is of that name.
    let mut limit = MAX_KNOWN + 1 + usize::from(except.is_some());
    loop {
        let found = searcher.similar(set, condition, limit)?;
        let is_all = found.len() < limit;
        let mut ids = Vec::with_capacity(found.len().min(MAX_KNOWN + 1));
        for one in found {
            let is_own = except.is_some() && searcher.snapshot().name(one.id.id)? == except;
            if !is_own {
                ids.push((one.id.id, one.similarity));
            }
            if ids.len() > MAX_KNOWN {
                ids.pop();
                return Ok(SimilarIds { ids, are_cut: true });
            }
        }
        if is_all {
            return Ok(SimilarIds { ids, are_cut: false });
        }
        limit = usize::MAX;
    }
}

/// The documents of a request that are presumed to be new, so far.
struct Earlier<'n, F> {
    named: &'n [(F, Document)],
    replaces: bool,
    lists: GrowingLists,
    /// Their places in the request.
    places: Vec<usize>,
    /// Whether each document of the request is one of them, and not replaced by a later one.
    are_new: Vec<bool>,
    /// Whether each document of the request is one of them.
    were_new: Vec<bool>,
    of_name: HashMap<&'n [u8], usize>,
    search: Search,
}

impl<'n, F> Earlier<'n, F> {
    fn new(named: &'n [(F, Document)], replaces: bool) -> Self {
        Self {
            named,
            replaces,
            lists: GrowingLists::default(),
            places: Vec::new(),
            are_new: vec![false; named.len()],
            were_new: vec![false; named.len()],
            of_name: HashMap::new(),
            search: Search::default(),
        }
    }

    /// Returns the ones that are similar to a document, by their places in the request, the most similar first; with
    /// replacements of other names alone.
    fn similar(
        &mut self,
        number: usize,
        set: &[u64],
        condition: &Condition,
    ) -> Result<Vec<(usize, f64)>, ReadError> {
        let Self { named, replaces, lists, places, search, .. } = self;
        let mut similar = Vec::new();
        for one in search.run(&mut &*lists, set, condition, &|| Ok(()))? {
            let place = places[one.place as usize];
            if !*replaces || named[place].1.name() != named[number].1.name() {
                similar.push((place, condition.share(one.shared, set.len(), one.size)));
            }
        }
        similar.sort_by(|one, other| other.1.total_cmp(&one.1));
        Ok(similar)
    }

    fn add(&mut self, number: usize, set: &[u64]) {
        self.lists.add(set);
        self.places.push(number);
        (self.are_new[number], self.were_new[number]) = (true, true);
        if self.replaces
            && let Some(before) = self.of_name.insert(self.named[number].1.name(), number)
        {
            self.are_new[before] = false;
        }
    }
}
