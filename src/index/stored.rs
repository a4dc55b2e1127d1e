//! A single fingerprint: whether it is stored, and its ids.

use std::ops::ControlFlow;

use crate::codec::{Located, Target};
use crate::error::ReadError;
use crate::ids::Ids;
use crate::index::handle::Index;
use crate::table::scanner::Scanner;
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

type Find<F> = fn(&Index<F>, F, &mut Scanner<F>) -> Result<Option<(usize, usize)>, ReadError>;
type IdsWith<F> = for<'i> fn(&'i Index<F>, F, &mut Scanner<F>) -> Result<Ids<'i>, ReadError>;

per_width! {
    compiled_find: Find = find;
    compiled_ids: IdsWith = ids_with;
}

impl<F: Fingerprint> Index<F> {
    /// Returns whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that is read is damaged.
    pub fn contains(&self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(compiled_find()(self, fingerprint, &mut Scanner::default())?.is_some())
    }

    /// Returns the ids of a fingerprint, ascending: none if it is not stored, or the index has no ids.
    /// [`Searcher::ids`](crate::Searcher::ids) allocates nothing, for many look-ups in a row.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids(&self, fingerprint: F) -> Result<Ids<'_>, ReadError> {
        self.ids_through(fingerprint, &mut Scanner::default())
    }

    /// Returns the ids of a fingerprint, with this scanner.
    pub(super) fn ids_through(&self, fingerprint: F, scanner: &mut Scanner<F>) -> Result<Ids<'_>, ReadError> {
        compiled_ids()(self, fingerprint, scanner)
    }

    pub(super) fn ids_with(&self, fingerprint: F, scanner: &mut Scanner<F>) -> Result<Ids<'_>, ReadError> {
        let Some(ids) = &self.ids else { return Ok(Ids::NONE) };
        match self.find(fingerprint, scanner)? {
            Some((block, entry)) => {
                ids.of(self.data.as_ref(), block, entry).map_err(|error| self.error(error))
            }
            None => Ok(Ids::NONE),
        }
    }

    /// Returns the block of table 0, and the number in it, of a fingerprint.
    pub(crate) fn find(
        &self,
        fingerprint: F,
        scanner: &mut Scanner<F>,
    ) -> Result<Option<(usize, usize)>, ReadError> {
        // Table 0 is in natural order, so the whole width serves as the prefix.
        let table = &self.tables[0];
        let target = Target { query: fingerprint, prefix_bits: F::BITS, radius: 0, distance: 0 };
        let block = table.keys.in_file(self.data.as_ref()).find(fingerprint);
        if block == table.keys.len() {
            return Ok(None);
        }
        let file = self.data.as_ref();
        let mut found = None;
        let at = Located { table: 0, block: block as u32, target: 0 };
        let outcome = scanner.scan(&self.tables, file, &[at], &[target], &mut |_, entry, _| {
            found = Some((block, entry));
            ControlFlow::Break(())
        });
        let _ = outcome.map_err(|error| self.error(error))?;
        Ok(found)
    }
}

fn find<F: Fingerprint>(
    index: &Index<F>,
    fingerprint: F,
    scanner: &mut Scanner<F>,
) -> Result<Option<(usize, usize)>, ReadError> {
    index.find(fingerprint, scanner)
}

fn ids_with<'i, F: Fingerprint>(
    index: &'i Index<F>,
    fingerprint: F,
    scanner: &mut Scanner<F>,
) -> Result<Ids<'i>, ReadError> {
    index.ids_with(fingerprint, scanner)
}
