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
/// A document belongs to a cluster of two or more or to none; clusters are linked by pairs within the distance,
/// so that their ends can be further apart.
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

    /// All documents that belong to a cluster, by cluster and then by document.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// How many clusters there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.members.last().map_or(0, |member| member.cluster.into())
    }

    /// How many documents are duplicates of one that is kept.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.members.len() as u64 - self.count()
    }

    /// The id of a document.
    ///
    /// # Panics
    /// When there is no document of this number.
    #[must_use]
    pub fn id(&self, document: u32) -> &str {
        self.ids.get(document)
    }

    /// The documents, by number, that are neither duplicates nor near a document of the index compared with.
    pub fn unique(&self) -> impl Iterator<Item = u32> + use<> {
        let mut is_left: Vec<bool> = self.states.iter().map(|state| *state != State::Known).collect();
        for member in self.members.iter().filter(|member| !member.is_kept) {
            is_left[member.document as usize] = false;
        }
        (0u32..).zip(is_left).filter(|(_, is_left)| *is_left).map(|(document, _)| document)
    }

    /// The text of a document, if texts were kept ([`Dedup::keep_texts`](crate::Dedup::keep_texts)).
    ///
    /// # Errors
    /// When the temporary file that holds it cannot be read.
    ///
    /// # Panics
    /// When there is no document of this number.
    pub fn text(&self, document: u32) -> Result<Option<String>, Error> {
        self.kept.texts.as_ref().map(|texts| texts.get(document)).transpose()
    }

    /// The document as a line of JSON without the line's end, if lines were kept
    /// ([`Dedup::keep_lines`](crate::Dedup::keep_lines)): the line it was read from, or an object of id and text.
    ///
    /// # Errors
    /// When the temporary file that holds it cannot be read.
    ///
    /// # Panics
    /// When there is no document of this number.
    pub fn line(&self, document: u32) -> Result<Option<String>, Error> {
        self.kept.lines.as_ref().map(|lines| lines.get(document)).transpose()
    }

    /// The cells of a member, as [`Clusters::COLUMNS`] names them.
    #[must_use]
    pub fn cells(&self, member: &Member) -> [Cell<'_>; 4] {
        [
            Cell::Number(member.cluster.into()),
            Cell::Text(self.id(member.document)),
            Cell::Flag(member.is_kept),
            Cell::Number(member.distance.into()),
        ]
    }

    /// Writes a row for every member to a table of the columns [`Clusters::COLUMNS`].
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn write(&self, rows: &mut Rows) -> Result<(), Error> {
        self.members.iter().try_for_each(|member| rows.push(&self.cells(member)))
    }

    /// How many documents there were, and how many were skipped.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Documents without a reliable fingerprint: they form clusters only where their texts are equal.
    #[must_use]
    pub fn too_short(&self) -> &TooShort {
        &self.too_short
    }

    /// How many documents are near a document of the index compared with, if there was one.
    #[must_use]
    pub fn known(&self) -> Option<u64> {
        self.known
    }

    /// How many candidate pairs the check did not confirm, if there was one.
    #[must_use]
    pub fn unconfirmed(&self) -> Option<u64> {
        self.unconfirmed
    }
}
