//! The decisions about documents, when they are committed, in order, as if each were alone: each is compared with the
//! documents inserted since the search, and its matches are looked up again if anything has been removed. One that is
//! similar to another replaces nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use hamdex::similar::{Condition, GrowingLists, Search};
use hamdex::{Fingerprint, ReadError, Report};

use crate::error::Error;
use crate::manifest::Schema;
use crate::memtable::Memtable;
use crate::read::Snapshot;
use crate::view::{View, Written};
use crate::write::conditional::{go_on_until, report_until};
use crate::write::request::{Conditional, Inserted, Put, Reply, Similar};
use crate::write::unless_similar::AT_ONCE;
use crate::write::{Batch, Document};

/// A request to insert documents unless others are similar.
pub(super) struct UnlessSimilar<F> {
    pub(super) named: Vec<(F, Document)>,
    /// The sets of their shingles.
    pub(super) sets: Vec<Vec<u64>>,
    pub(super) condition: Condition,
    pub(super) replaces: bool,
    /// The similar documents of the snapshot, of each.
    pub(super) known: Vec<SimilarIds>,
    /// The documents before each that are similar to it and presumed to be new, by their places, the most similar first.
    pub(super) own: Vec<Vec<(usize, f64)>>,
    /// Whether each is new as far as the search knows.
    pub(super) are_presumed_new: Vec<bool>,
    pub(super) deadline: Option<Instant>,
    pub(super) schema: Arc<Schema>,
    /// The view of the search.
    pub(super) searched: Arc<View<F>>,
}

/// The documents of a snapshot that are similar to another: ids, the most similar first.
pub(super) struct SimilarIds {
    pub(super) ids: Vec<(u64, f64)>,
    /// Whether there are more.
    pub(super) are_cut: bool,
}

/// The most similar document to another.
enum Found {
    Nothing,
    Stored {
        id: u64,
        similarity: f64,
    },
    /// A document of the same request, by its place.
    Own {
        place: usize,
        similarity: f64,
    },
    /// It has to be searched again.
    Unknown,
}

pub(super) fn set_of(document: &Document) -> Vec<u64> {
    let mut set = Vec::new();
    document.decode_shingles(&mut set);
    set
}

/// The documents of a request that are new, although something was similar to them when they were searched: it has been
/// removed, or replaced by a document before them. The search compared no other with them.
#[derive(Default)]
struct Unexpected {
    lists: GrowingLists,
    /// Their places in the request.
    places: Vec<usize>,
}

impl<F: Fingerprint> Conditional<F> for UnlessSimilar<F> {
    fn records(&self) -> usize {
        self.named.len()
    }

    fn apply(self: Box<Self>, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, Error> {
        let before = view.clone();
        let Some(changes) = before.changes_since(&self.searched) else { return Ok(Reply::SearchAgain) };
        let (mut search, report) = (Search::default(), report_until(self.deadline));
        // The documents to insert, by their places, and the names that later ones may replace.
        let (mut is_new, mut of_name) = (vec![false; self.named.len()], HashMap::<&[u8], usize>::new());
        let mut decisions = Vec::with_capacity(self.named.len());
        let (mut written, mut unexpected) = (Written::default(), Unexpected::default());
        for (number, (_, document)) in self.named.iter().enumerate() {
            if number.is_multiple_of(AT_ONCE) {
                go_on_until(self.deadline)?;
            }
            let found =
                self.find(view, (&changes.newer, &unexpected, &report), &is_new, number, &mut search)?;
            if let Found::Unknown = found {
                return Ok(Reply::SearchAgain);
            }
            if let Found::Nothing = found {
                is_new[number] = true;
                if !self.are_presumed_new[number] {
                    unexpected.lists.add(&self.sets[number]);
                    unexpected.places.push(number);
                }
                if self.replaces {
                    if let Some(earlier) = of_name.insert(document.name(), number) {
                        is_new[earlier] = false;
                    } else {
                        let ids = view.ids_of_names(&HashSet::from([document.name().to_vec()]))?;
                        written.removed += view.remove_ids(&ids, effective)?.removed;
                    }
                }
            }
            decisions.push(found);
        }
        let numbers: Vec<usize> = (0..is_new.len()).filter(|&number| is_new[number]).collect();
        let named: Vec<(F, Document)> = numbers.iter().map(|&number| self.named[number].clone()).collect();
        let Some(first) = view.insert_named(&named, effective) else { return Ok(Reply::NoIdsLeft) };
        let id_of = |number: usize| {
            // One that was replaced has the id of what took its place.
            let last = if is_new[number] { number } else { of_name[self.named[number].1.name()] };
            first + numbers.partition_point(|&other| other < last) as u64
        };
        let mut outcomes = Vec::with_capacity(decisions.len());
        for (number, found) in decisions.into_iter().enumerate() {
            outcomes.push(match found {
                Found::Nothing => Inserted::New { id: id_of(number) },
                Found::Own { place, similarity } => {
                    let name = Arc::from(self.named[place].1.name());
                    Inserted::Similar(Box::new(Similar { id: id_of(place), name, similarity }))
                }
                Found::Stored { id, similarity } => {
                    Inserted::Similar(Box::new(before.similar(id, similarity)?))
                }
                Found::Unknown => unreachable!("it has been searched again"),
            });
        }
        let inserted = numbers.len() as u64;
        Ok(Reply::Put(Put { outcomes, inserted, removed: written.removed }))
    }
}

impl<F: Fingerprint> UnlessSimilar<F> {
    /// Returns the most similar of the remaining documents, and of equally similar ones the least id.
    fn find(
        &self,
        view: &View<F>,
        (newer, unexpected, report): (&[Memtable<F>], &Unexpected, &Report),
        is_new: &[bool],
        number: usize,
        search: &mut Search,
    ) -> Result<Found, Error> {
        let (set, name) = (&self.sets[number], self.named[number].1.name());
        let mut best: Option<(u64, f64)> = None;
        let SimilarIds { ids, are_cut } = &self.known[number];
        let has_removals = view.removals != self.searched.removals;
        for &(id, similarity) in ids {
            match if has_removals { view.has_document(id)? } else { Some(true) } {
                Some(true) => best = Some((id, similarity)),
                Some(false) => continue,
                None => return Ok(Found::Unknown),
            }
            break;
        }
        if best.is_none() && *are_cut {
            if !self.replaces {
                return Ok(Found::Unknown);
            }
            // The documents before it may have replaced all that are known, which another search would not change.
            best = self.most_similar(view, set, name, report)?;
        }
        for memtable in newer {
            let from = self.searched.next_id;
            memtable.documents.for_each_similar((set, &self.condition), from, report, |id, similarity| {
                let is_own = || self.replaces && memtable.documents.get(id) == Some(name);
                let is_left = || view.memtables().any(|memtable| memtable.has_id(id));
                let is_better =
                    best.is_none_or(|(other, than)| similarity > than || (similarity == than && id < other));
                if is_better && !is_own() && is_left() {
                    best = Some((id, similarity));
                }
            })?;
        }
        let mut own = self.own[number].iter().copied().find(|(place, _)| is_new[*place]);
        for one in search.run(&mut &unexpected.lists, set, &self.condition, &|| Ok(()))? {
            let place = unexpected.places[one.place as usize];
            let similarity = self.condition.share(one.shared, set.len(), one.size);
            let is_own = self.replaces && self.named[place].1.name() == name;
            let is_better =
                own.is_none_or(|(other, than)| similarity > than || (similarity == than && place < other));
            if is_new[place] && !is_own && is_better {
                own = Some((place, similarity));
            }
        }
        Ok(match (best, own) {
            (Some((_, than)), Some((place, similarity))) if similarity > than => {
                Found::Own { place, similarity }
            }
            (None, Some((place, similarity))) => Found::Own { place, similarity },
            (Some((id, similarity)), _) => Found::Stored { id, similarity },
            (None, None) => Found::Nothing,
        })
    }

    /// Returns the most similar document of another name in a view.
    fn most_similar(
        &self,
        view: &View<F>,
        set: &[u64],
        name: &[u8],
        report: &Report,
    ) -> Result<Option<(u64, f64)>, Error> {
        let snapshot = Snapshot::new(Arc::new(view.clone()), Arc::clone(&self.schema));
        let mut searcher = snapshot.searcher();
        searcher.report_to(report.clone());
        for one in searcher.similar(set, &self.condition, usize::MAX)? {
            if snapshot.name(one.id.id)? != Some(name) {
                return Ok(Some((one.id.id, one.similarity)));
            }
        }
        Ok(None)
    }
}

impl<F: Fingerprint> View<F> {
    /// Returns a similar document with its name.
    pub(super) fn similar(&self, id: u64, similarity: f64) -> Result<Similar, ReadError> {
        Ok(Similar { id, name: Arc::from(self.name(id)?.unwrap_or_default()), similarity })
    }

    /// Returns whether a document is left; `None` if that takes a pass over a segment.
    fn has_document(&self, id: u64) -> Result<Option<bool>, ReadError> {
        if self.memtables().any(|memtable| memtable.has_id(id)) {
            return Ok(Some(true));
        }
        for live in &*self.segments {
            match live.has_id(id)? {
                Some(false) => {}
                found => return Ok(found),
            }
        }
        Ok(Some(false))
    }
}
