//! The load and the false positives of a filter, measured.

use std::ops::ControlFlow;

use crate::codec::{Located, Target};
use crate::digest::scramble;
use crate::error::ReadError;
use crate::filter::prefix_of;
use crate::index::handle::Index;
use crate::table::scanner::Scanner;
use hamdex_fingerprint::Fingerprint;

impl<F: Fingerprint> Index<F> {
    /// Returns the share of the bits of a table's filter that are set; `None` if there is no such table, or it has no
    /// filter.
    ///
    /// # Errors
    /// When the filter is damaged.
    pub fn filter_load(&self, table: usize) -> Result<Option<f64>, ReadError> {
        let filter = self.tables.get(table).and_then(|table| table.filter.as_ref());
        let load = filter.map(|filter| filter.load(self.data.as_ref()));
        load.transpose().map_err(|error| self.error(error))
    }

    /// Returns the share of absent prefixes that pass the filter of a table: of `samples` prefixes, evenly spread and
    /// always the same. `None` if there is no such table, it has no filter, or it has all of these prefixes.
    ///
    /// # Errors
    /// When a block that is read, or the filter, is damaged.
    pub fn filter_false_positives(&self, table: usize, samples: u32) -> Result<Option<f64>, ReadError> {
        let file = self.data.as_ref();
        let Some((table, filter)) = self.tables.get(table).and_then(|t| Some((t, t.filter.as_ref()?))) else {
            return Ok(None);
        };
        let bits = filter.geometry().prefix_bits;
        let (mut scanner, mut blocks) = (Scanner::default(), Vec::new());
        let (mut absent, mut passed) = (0u32, 0u32);
        for sample in 0..samples {
            let query = F::truncate(u128::from(scramble(u64::from(sample)))) << (F::BITS - u64::BITS);
            let passes = filter.in_file(file).may_have(prefix_of(query, bits));
            if !passes.map_err(|error| self.error(error))? {
                // A prefix that does not pass is absent: no block is read for it.
                absent += 1;
                continue;
            }
            let target = Target { query, prefix_bits: bits, radius: 0, distance: F::BITS };
            blocks.clear();
            table.locate(file, &target, &mut blocks);
            let at = |&block: &u32| Located { table: table.number as u32, block, target: 0 };
            let located: Vec<Located> = blocks.iter().map(at).collect();
            let found =
                scanner.scan(&self.tables, file, &located, &[target], &mut |_, _, _| ControlFlow::Break(()));
            if found.map_err(|error| self.error(error))?.is_break() {
                continue;
            }
            absent += 1;
            passed += 1;
        }
        Ok((absent > 0).then(|| f64::from(passed) / f64::from(absent)))
    }
}
