//! The clusters of a corpus: their members, and the distances of these from the kept documents.

use std::borrow::Cow;

use hamdex::Fingerprint;
use hamdex::threads::try_for_each;
use hamdex_simhash::resemblance;

use crate::dedup::classes::Classes;
use crate::dedup::corpus::{Corpus, State};
use crate::dedup::grouping::Groups;
use crate::dedup::resources::{CHECK_EVERY, Progress, Resources, Stage};
use crate::dedup::spill::Spilled;
use crate::dedup::texts::new_texts::Known;
use crate::document::{Counts, TooShort};
use crate::error::Error;
use crate::table_writer::{Cell, Kind, Rows};

/// The clusters of near-duplicates in a corpus.
///
/// Every document belongs to at most one cluster, and a cluster has two or more documents. Which documents are
/// together is decided by [`Clustering`](crate::Clustering).
#[derive(Debug)]
pub struct Clusters {
    pub(crate) members: Vec<Member>,
    pub(crate) ids: Spilled<u8>,
    pub(crate) states: Vec<State>,
    pub(crate) counts: Counts,
    pub(crate) too_short: TooShort,
    pub(crate) known: Option<Vec<Known>>,
    pub(crate) has_similarities: bool,
}

/// Statistics of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Extent {
    /// The cluster.
    pub cluster: u32,
    /// The kept document.
    pub kept: u32,
    /// The number of its documents, the kept one included.
    pub documents: u64,
    /// The greatest distance of a fingerprint from that of the kept document, in bits.
    pub greatest_distance: u32,
    /// The least similarity to the kept document; `None` unless texts are compared.
    pub least_similarity: Option<f64>,
}

/// The columns of [`Clusters::write`].
const COLUMNS: [(&str, Kind); 5] = [
    ("cluster", Kind::Number),
    ("id", Kind::Text),
    ("kept", Kind::Flag),
    ("distance", Kind::Number),
    ("similarity", Kind::Real),
];

impl Clusters {
    /// Returns the columns of [`Clusters::write`]: `cluster`, `id`, `kept`, `distance`, and `similarity` if texts are
    /// compared.
    #[must_use]
    pub fn columns(&self) -> &'static [(&'static str, Kind)] {
        if self.has_similarities { &COLUMNS } else { &COLUMNS[..4] }
    }

    /// Returns whether texts were compared.
    #[must_use]
    pub fn has_similarities(&self) -> bool {
        self.has_similarities
    }

    /// Returns all documents that belong to a cluster, by cluster and then by document.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the number of clusters.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.members.last().map_or(0, |member| member.cluster.into())
    }

    /// Returns the number of documents that are duplicates of a kept one.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.members.len() as u64 - self.count()
    }

    /// Returns the id of a document as text: see [`Names::text_of`](hamdex::Names::text_of).
    ///
    /// # Errors
    /// When the temporary file that holds it cannot be read.
    ///
    /// # Panics
    /// When there is no document of this number.
    pub fn id(&self, document: u32) -> Result<Cow<'_, str>, Error> {
        self.ids.text(document)
    }

    /// Returns the id of a document as bytes: those of the path of its file, if that is the id, or of the name of a
    /// fingerprint. Other programs find the file by them, also if the path is not UTF-8.
    ///
    /// # Errors
    /// When the temporary file that holds it cannot be read.
    ///
    /// # Panics
    /// When there is no document of this number.
    pub fn id_bytes(&self, document: u32) -> Result<Vec<u8>, Error> {
        Ok(self.ids.get(document)?.into_owned())
    }

    /// Returns the numbers of the documents that are neither duplicates nor known already.
    pub fn unique(&self) -> impl Iterator<Item = u32> + use<> {
        let mut is_left: Vec<bool> = self.states.iter().map(|state| *state != State::Known).collect();
        for member in self.members.iter().filter(|member| !member.is_kept) {
            is_left[member.document as usize] = false;
        }
        (0u32..).zip(is_left).filter(|(_, is_left)| *is_left).map(|(document, _)| document)
    }

    /// Returns the `count` clusters with the most documents; among equal ones the first.
    #[must_use]
    pub fn largest(&self, count: usize) -> Vec<Extent> {
        let clusters = self.members.chunk_by(|one, other| one.cluster == other.cluster);
        let mut extents: Vec<Extent> = clusters.map(extent).collect();
        extents.sort_by_key(|extent| (std::cmp::Reverse(extent.documents), extent.cluster));
        extents.truncate(count);
        extents
    }

    /// Calls `row` with the cells of every member, in the order of [`Clusters::columns`].
    ///
    /// # Errors
    /// When the temporary file that holds the ids cannot be read, or the error that `row` returns.
    pub fn for_each_row<E: From<Error>>(
        &self,
        mut row: impl FnMut(&Member, &[Cell<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        for member in &self.members {
            let id = self.id(member.document)?;
            let cells = [
                Cell::Number(member.cluster.into()),
                Cell::Text(&id),
                Cell::Flag(member.is_kept),
                Cell::Number(member.distance.into()),
                Cell::Real(member.similarity.unwrap_or_default()),
            ];
            row(member, &cells[..self.columns().len()])?;
        }
        Ok(())
    }

    /// Writes a row for every member to a table with the columns [`Clusters::columns`].
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn write(&self, rows: &mut Rows) -> Result<(), Error> {
        self.for_each_row(|_, cells| rows.push(cells))
    }

    /// Returns the numbers of documents read and skipped.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the documents without a reliable fingerprint, if fingerprints are compared: they are in a cluster only
    /// with equal ones. If texts alone are compared, no document is too short.
    #[must_use]
    pub fn too_short(&self) -> &TooShort {
        &self.too_short
    }

    /// Returns the documents that the reference of [`Dedup::against`](crate::Dedup::against) or
    /// [`Dedup::against_texts`](crate::Dedup::against_texts) has already, in their order; `None` without a reference.
    #[must_use]
    pub fn known(&self) -> Option<&[Known]> {
        self.known.as_deref()
    }
}

fn extent(members: &[Member]) -> Extent {
    let first = members[0];
    let kept = members.iter().find(|member| member.is_kept).unwrap_or(&first);
    let distances = members.iter().map(|member| member.distance);
    Extent {
        cluster: first.cluster,
        kept: kept.document,
        documents: members.len() as u64,
        greatest_distance: distances.max().unwrap_or_default(),
        least_similarity: members.iter().filter_map(|member| member.similarity).reduce(f64::min),
    }
}

/// Members measured between two progress reports.
const MEASURED_AT_ONCE: usize = 1 << 14;

/// A document of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// The cluster, numbered from 1 in the order of the clusters' first documents.
    pub cluster: u32,
    /// The document, numbered from 0 in the order of the input.
    pub document: u32,
    /// Whether it is the kept document of its cluster; the others are its duplicates.
    pub is_kept: bool,
    /// The distance of its fingerprint from that of the kept document, in bits.
    pub distance: u32,
    /// The share of shingles in common with the kept document, from 0 to 1; `None` unless texts are compared.
    pub similarity: Option<f64>,
}

/// A placeholder for a member that is not filled in yet.
const UNFILLED: Member = Member { cluster: 0, document: 0, is_kept: false, distance: 0, similarity: None };

/// Finds the members of all clusters, by cluster and then by document.
pub(crate) fn find_members<F: Fingerprint>(
    corpus: &Corpus<F>,
    groups: &Groups,
    resources: &Resources,
) -> Result<Vec<Member>, Error> {
    let classes = &groups.classes;
    let first = |class: u32| groups.first[class as usize];
    let check = resources.cancellation_check(Stage::Cluster, corpus.states.len());
    let mut sizes = vec![0; classes.len()];
    for_each(classes, &check, |_, class| sizes[first(class) as usize] += 1)?;
    // The number of a cluster by its first class, 0 until its first member is found; by cluster, the kept document
    // and the start of its members.
    let mut numbers = vec![0; classes.len()];
    let (mut kept, mut starts) = (Vec::new(), Vec::new());
    let mut count = 0;
    for_each(classes, &check, |_, class| {
        let first = first(class);
        let (size, number): (usize, &mut u32) = (sizes[first as usize], &mut numbers[first as usize]);
        if size > 1 && *number == 0 {
            kept.push(classes.leader(first));
            starts.push(count);
            count += size;
            *number = kept.len() as u32;
        }
    })?;
    let mut members = vec![UNFILLED; count];
    // Documents come in ascending order, so each member takes the next place of its cluster.
    for_each(classes, &check, |document, class| {
        let cluster = numbers[first(class) as usize];
        let Some(number) = (cluster as usize).checked_sub(1) else { return };
        let leader = kept[number];
        let fingerprint = |document: u32| corpus.fingerprints[document as usize];
        members[starts[number]] = Member {
            cluster,
            document,
            is_kept: document == leader,
            distance: fingerprint(document).distance(fingerprint(leader)),
            similarity: None,
        };
        starts[number] += 1;
    })?;
    if let Some(sets) = &corpus.sets {
        let total = Some(members.len() as u64);
        let mut done = 0;
        for some in members.chunks_mut(MEASURED_AT_ONCE) {
            resources.report(Progress::new(Stage::Measure, done, total))?;
            done += some.len() as u64;
            try_for_each(some.iter_mut().collect(), |member| {
                measure(member, kept[member.cluster as usize - 1], (groups, sets))
            })?;
        }
    }
    Ok(members)
}

/// Calls `visit` with every document that has a class, and its class; and `check` now and then, until it fails.
fn for_each(
    classes: &Classes,
    check: &impl Fn() -> Result<(), Error>,
    mut visit: impl FnMut(u32, u32),
) -> Result<(), Error> {
    for (place, (document, class)) in classes.documents().enumerate() {
        if place.is_multiple_of(CHECK_EVERY) {
            check()?;
        }
        visit(document, class);
    }
    Ok(())
}

fn measure(member: &mut Member, kept: u32, (groups, sets): (&Groups, &Spilled<u64>)) -> Result<(), Error> {
    let is_equal = groups.classes.of(member.document) == groups.classes.of(kept);
    let similarity = if is_equal { 1.0 } else { resemblance(&sets.get(member.document)?, &sets.get(kept)?) };
    member.similarity = Some(similarity);
    Ok(())
}
