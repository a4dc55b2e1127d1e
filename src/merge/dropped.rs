//! The fingerprints that a filter leaves out, for the tables after the first.

use crate::error::BuildError;
use crate::merge::unite::without;
use crate::permutation::Permutation;
use crate::progress::Counter;
use crate::writer::{OneByOne, Sorted, Sorter, Visit};
use hamdex_fingerprint::Fingerprint;

/// Fingerprints without any record that is kept, in natural order.
pub(super) struct Dropped<F>(Option<Sorted<F>>);

impl<F: Fingerprint> Dropped<F> {
    /// Nothing is left out.
    pub(super) const NOTHING: Self = Self(None);

    pub(super) fn new(sorter: Sorter<F>, done: &Counter) -> Result<Self, BuildError> {
        Ok(Self(Some(sorter.finish(done)?)))
    }

    /// Returns the same in the order of a table, sorted by `sorter`.
    pub(super) fn permuted(
        &self,
        permutation: &Permutation<F>,
        mut sorter: Sorter<F>,
        done: &Counter,
    ) -> Result<Self, BuildError> {
        let Some(natural) = &self.0 else { return Ok(Self::NOTHING) };
        natural.for_each_unordered(&mut |batch| {
            batch.iter().try_for_each(|&fingerprint| sorter.push(permutation.apply(fingerprint), done))?;
            Ok(done.check()?)
        })?;
        Self::new(sorter, done)
    }

    /// Returns a visitor that leaves them out of ascending batches and passes the rest to `visit`.
    pub(super) fn leave_out<'d>(
        &'d self,
        visit: &'d mut Visit<'_, F>,
    ) -> Result<impl FnMut(Vec<F>) -> Result<(), BuildError> + Send + 'd, BuildError> {
        let mut rest = self.0.as_ref().map(Sorted::one_by_one).transpose()?;
        let mut next = rest.as_mut().map_or(Ok(None), OneByOne::next)?;
        Ok(move |batch: Vec<F>| {
            let (Some(rest), Some(&last)) = (&mut rest, batch.last()) else { return visit(&batch) };
            let mut dropped = Vec::new();
            while let Some(fingerprint) = next.filter(|&fingerprint| fingerprint <= last) {
                dropped.push(fingerprint);
                next = rest.next()?;
            }
            if dropped.is_empty() { visit(&batch) } else { visit(&without(&batch, dropped)) }
        })
    }
}
