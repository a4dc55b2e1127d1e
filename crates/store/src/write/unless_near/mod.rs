//! The condition that no fingerprint is near: a record is stored unless one within a distance of it is stored. A record
//! that replaces others is not near to the pairs of its own id or name.
//!
//! - This file: the search of a snapshot, and the method of [`Store`](crate::Store)
//! - [`decisions`]: the decisions under the lock of the writer
//! - [`owned`]: the pairs that a record would replace

mod decisions;
pub(super) mod owned;

use std::sync::Arc;

use hamdex::{BatchOptions, Fingerprint, Match};

use crate::error::Error;
use crate::read::Snapshot;
use crate::store::Store;
use crate::write::conditional::{go_on_until, report_until};
use crate::write::request::{Nears, Put};
use crate::write::unless_near::decisions::{UnlessNear, nearest_other};
use crate::write::unless_near::owned::{Owned, count_within};
use crate::write::{Document, Pair};

/// Minimum number of pairs that are searched for as a batch, by all threads.
const MIN_BATCH: usize = 64;

/// The nearest fingerprint to a record, as far as the record would not replace it.
#[derive(Debug, Clone, Copy)]
enum Known<F> {
    /// It was not searched for, since it depends on the records before, or it has gone since.
    Unknown,
    Nothing,
    Nearest(Match<F>),
}

impl<F> From<Option<Match<F>>> for Known<F> {
    fn from(found: Option<Match<F>>) -> Self {
        found.map_or(Self::Nothing, Self::Nearest)
    }
}

impl<F: Fingerprint> Store<F> {
    /// Stores pairs in order, each unless a fingerprint within `distance` is stored or has been inserted before it. With
    /// `replaces`, each takes the place of the pairs of its id or name, which do not count as near. `names` are those of
    /// the pairs, in a store with names.
    pub(in crate::write) fn unless_near(
        &self,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        distance: u32,
        replaces: bool,
    ) -> Result<Put<F>, Error> {
        self.search_until_committed(|attempt| {
            let request = self.search_near(pairs, names, distance, replaces)?;
            if let Some(put) = request.all_near() {
                // Without insertions, the view of the search is the moment of the outcome.
                self.inner().check_held()?;
                return Ok(Some(put));
            }
            // Held until the commit returns, so that the view is not dropped under the writer's lock, which takes time.
            let _searched = Arc::clone(&request.searched);
            self.commit_conditional(request, attempt)
        })
    }

    /// Finds the nearest fingerprint to each pair in the current view, until the deadline of this handle.
    fn search_near(
        &self,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        distance: u32,
        replaces: bool,
    ) -> Result<UnlessNear<F>, Error> {
        let snapshot = self.snapshot();
        let view = snapshot.view();
        let owned = if replaces { Owned::of(view, pairs, names, true)? } else { Owned::nothing(pairs.len()) };
        let known = self.nearest_others(&snapshot, pairs, &owned, distance)?;
        let (schema, mut nears) = (Arc::clone(&self.inner().schema), Nears::default());
        for found in &known {
            if let (Known::Nearest(found), false) = (found, replaces) {
                nears.of(view, *found, &schema.identity)?;
                go_on_until(self.deadline())?;
            }
        }
        // What was found in segments that were cut off, and what was not.
        view.check_files()?;
        Ok(UnlessNear {
            pairs: pairs.to_vec(),
            names: names.map(<[_]>::to_vec),
            distance,
            replaces,
            known,
            nears,
            searched: snapshot.shared_view(),
            schema,
            deadline: self.deadline(),
        })
    }

    /// Finds the nearest fingerprint to the first record of each label. For later ones it depends on those before.
    fn nearest_others(
        &self,
        snapshot: &Snapshot<F>,
        pairs: &[Pair<F>],
        owned: &Owned<F>,
        distance: u32,
    ) -> Result<Vec<Known<F>>, Error> {
        let mut known = vec![Known::Unknown; pairs.len()];
        let mut is_first = vec![true; owned.pairs.len()];
        let first = (0..pairs.len()).filter(|&record| std::mem::take(&mut is_first[owned.labels[record]]));
        // Records with nothing of their own near them are searched for together.
        let (mut alone, mut others): (Vec<usize>, Vec<usize>) =
            first.partition(|&record| count_within(owned.by(record), pairs[record].0, distance) == 0);
        if alone.len() < MIN_BATCH {
            others.append(&mut alone);
        } else {
            let values: Vec<F> = alone.iter().map(|&record| pairs[record].0).collect();
            let options = BatchOptions::new().threads(self.inner().options.threads);
            let options = options.report_to(report_until(self.deadline()));
            let nearest = snapshot.nearest_of_each(&values, distance, options)?;
            for (record, found) in alone.into_iter().zip(nearest) {
                known[record] = Known::from(found);
            }
        }
        let searchers = &self.inner().searchers;
        let mut searcher = searchers.take(snapshot.clone());
        for record in others {
            go_on_until(self.deadline())?;
            let (value, own) = (pairs[record].0, owned.by(record));
            known[record] = Known::from(nearest_other(&mut searcher, value, own, distance)?);
        }
        searchers.put_back(searcher, &self.inner().view);
        Ok(known)
    }
}
