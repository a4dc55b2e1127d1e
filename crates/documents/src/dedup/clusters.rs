//! The clusters of a corpus.

use crate::counts::Counts;
use crate::dedup::corpus::{Ids, State};
use crate::dedup::keep::Kept;
use crate::dedup::members::Member;
use crate::error::Error;
use crate::rows::cell::{Cell, Kind};
use crate::rows::table::Rows;
use crate::too_short::TooShort;

/// The clusters of near-duplicates in a corpus.
///
/// Every document belongs to at most one cluster, and a cluster has two or more documents. Each member is within
/// the distance of another one, so two members can be further apart.
#[derive(Debug)]
pub struct Clusters {
    pub(crate) members: Vec<Member>,
    pub(crate) ids: Ids,
    pub(crate) states: Vec<State>,
    pub(crate) kept: Kept,
    pub(crate) counts: Counts,
    pub(crate) too_short: TooShort,
    pub(crate) known: Option<u64>,
    pub(crate) unconfirmed: Option<u64>,
}

impl Clusters {
    /// The columns of [`Clusters::write`].
    pub const COLUMNS: [(&'static str, Kind); 4] =
        [("cluster", Kind::Number), ("id", Kind::Text), ("kept", Kind::Flag), ("distance", Kind::Number)];

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

    /// Returns the id of a document.
    ///
    /// # Panics
    /// When there is no document of this number.
    #[must_use]
    pub fn id(&self, document: u32) -> &str {
        self.ids.get(document)
    }

    /// Returns the numbers of the documents that are neither duplicates nor near a fingerprint of the index of
    /// [`Dedup::against`](crate::Dedup::against).
    pub fn unique(&self) -> impl Iterator<Item = u32> + use<> {
        let mut is_left: Vec<bool> = self.states.iter().map(|state| *state != State::Known).collect();
        for member in self.members.iter().filter(|member| !member.is_kept) {
            is_left[member.document as usize] = false;
        }
        (0u32..).zip(is_left).filter(|(_, is_left)| *is_left).map(|(document, _)| document)
    }

    /// Returns the text of a document, if texts were kept ([`Dedup::keep_texts`](crate::Dedup::keep_texts)).
    ///
    /// # Errors
    /// When the temporary file that holds it cannot be read.
    ///
    /// # Panics
    /// When there is no document of this number.
    pub fn text(&self, document: u32) -> Result<Option<String>, Error> {
        self.kept.texts.as_ref().map(|texts| texts.get(document)).transpose()
    }

    /// Returns the document as a line of JSON without its line end, if lines were kept
    /// ([`Dedup::keep_lines`](crate::Dedup::keep_lines)): the line from which it was read, or an object with its
    /// id and text.
    ///
    /// # Errors
    /// When the temporary file that holds it cannot be read.
    ///
    /// # Panics
    /// When there is no document of this number.
    pub fn line(&self, document: u32) -> Result<Option<String>, Error> {
        self.kept.lines.as_ref().map(|lines| lines.get(document)).transpose()
    }

    /// Returns the cells of a member in the order of [`Clusters::COLUMNS`].
    #[must_use]
    pub fn cells(&self, member: &Member) -> [Cell<'_>; 4] {
        [
            Cell::Number(member.cluster.into()),
            Cell::Text(self.id(member.document)),
            Cell::Flag(member.is_kept),
            Cell::Number(member.distance.into()),
        ]
    }

    /// Writes a row for every member to a table with the columns [`Clusters::COLUMNS`].
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn write(&self, rows: &mut Rows) -> Result<(), Error> {
        self.members.iter().try_for_each(|member| rows.push(&self.cells(member)))
    }

    /// Returns how many documents there were, and how many were skipped.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the documents without a reliable fingerprint; they are in a cluster only if their texts are equal.
    #[must_use]
    pub fn too_short(&self) -> &TooShort {
        &self.too_short
    }

    /// Returns the number of documents near a fingerprint of the index, with
    /// [`Dedup::against`](crate::Dedup::against).
    #[must_use]
    pub fn known(&self) -> Option<u64> {
        self.known
    }

    /// Returns the number of pairs that the check did not confirm, with [`Dedup::check`](crate::Dedup::check).
    #[must_use]
    pub fn unconfirmed(&self) -> Option<u64> {
        self.unconfirmed
    }
}
