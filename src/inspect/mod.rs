//! The parts of an index file, for tools that show or measure them: sizes and codes of its tables, blocks as they
//! are stored, the plan of a query.
//!
//! - [`Stats`], from [`Index::stats`](crate::Index::stats), with [`TableStats`] and [`IdStats`]
//! - [`RawBlock`], from [`Index::raw_block`](crate::Index::raw_block); [`mod@reference`] reads it bit by bit, or
//!   returns a [`BlockError`]
//! - the blocks of the lists of shingles, from [`Shingles`]
//! - [`ProbeTrace`], from [`Index::explain`](crate::Index::explain): the blocks that a query reads, and why
//! - [`Permutation`], from [`Index::permutation`](crate::Index::permutation)
//! - [`Plan`], from [`Design::plan`](crate::Design::plan), with its [`Probe`]s and [`Cost`]
//! - [`FilterCost`], from [`Design::filter_cost`](crate::Design::filter_cost)
//! - [`blocks_read`], of all queries of this process

mod stats;

pub use stats::{FilterStats, IdStats, Stats, TableStats};

use crate::codec::Target;
pub use crate::codec::{BlockError, reference};
use crate::design::is_first;
pub use crate::design::{Cost, FilterCost, Plan, Probe};
use crate::error::{ReadError, check_distance};
use crate::filter::{self, prefix_of};
use crate::index::search::Search;
use crate::index::{Index, Shingles};
pub use crate::permutation::Permutation;
use crate::table::Table;
pub use crate::table::blocks_read;
use crate::table::scanner::Scanner;
use hamdex_fingerprint::Fingerprint;

/// A block as stored.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RawBlock<'a, F> {
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// Its bytes, for [`reference::read_block`].
    pub bytes: &'a [u8],
    /// Its last entry, in the table's order of bits, from the keys.
    pub key: F,
    /// Whether its checksum is right.
    pub is_whole: bool,
}

impl<F: Fingerprint> Index<F> {
    /// Returns a block as stored, damaged or not; `None` if there is no such table or block.
    #[must_use]
    pub fn raw_block(&self, table: usize, block: u64) -> Option<RawBlock<'_, F>> {
        raw_block_of(self.tables.get(table)?, self.data.as_ref(), block)
    }

    /// Returns the key of a block, its last entry in the table's order of bits, without reading the block; `None` if
    /// there is no such table or block.
    #[must_use]
    pub fn block_key(&self, table: usize, block: u64) -> Option<F> {
        let table = self.tables.get(table)?;
        let block = usize::try_from(block).ok().filter(|&block| block < table.keys.len())?;
        Some(table.keys.in_file(self.data.as_ref()).get(block))
    }

    /// Returns the permutation of a table; `None` if there is no such table.
    #[must_use]
    pub fn permutation(&self, table: usize) -> Option<&Permutation<F>> {
        Some(&self.tables.get(table)?.permutation)
    }
}

fn raw_block_of<'a, F: Fingerprint>(table: &Table<F>, file: &'a [u8], block: u64) -> Option<RawBlock<'a, F>> {
    let block = usize::try_from(block).ok().filter(|&block| block < table.keys.len())?;
    let bytes = table.bytes(file, block);
    Some(RawBlock {
        offset: (table.offset + block * bytes.len()) as u64,
        bytes,
        key: table.keys.in_file(file).get(block),
        is_whole: table.check(file, block).is_ok(),
    })
}

/// The lists of the documents of each shingle: pairs of a shingle and the place of a document, in Elias–Fano blocks.
impl<'a> Shingles<'a> {
    /// Returns the number of pairs.
    #[must_use]
    pub fn pair_count(&self) -> u64 {
        self.pairs().head().pairs
    }

    /// Returns the number of blocks of pairs.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.pairs().head().blocks
    }

    /// Returns a block of pairs as stored, damaged or not; `None` if there is no such block.
    #[must_use]
    pub fn raw_block(&self, block: u64) -> Option<RawBlock<'a, u128>> {
        raw_block_of(self.pairs().table(), self.documents().file(), block)
    }

    /// Returns the last pair of a block, without reading the block; `None` if there is no such block.
    #[must_use]
    pub fn block_key(&self, block: u64) -> Option<u128> {
        let block = usize::try_from(block).ok().filter(|&block| (block as u64) < self.block_count())?;
        Some(self.key(block))
    }

    /// Returns the shingle of a pair, and the place of the document: see [`Shingles::id_at`].
    #[must_use]
    pub fn shingle_and_place(&self, pair: u128) -> (u64, u64) {
        let head = self.pairs().head();
        (head.shingle_of(pair), head.place_of(pair))
    }

    /// Returns the id of the document at a place, counted from 0.
    ///
    /// # Errors
    /// When there is no such place, or the page that is read is damaged.
    pub fn id_at(&self, place: u64) -> Result<u64, ReadError> {
        let documents = self.documents();
        let id = if place < documents.len() {
            documents.id(place)
        } else {
            Err(documents.damaged(format_args!("it has no entry {place}")))
        };
        id.map_err(|error| error.of_file(documents.path()))
    }
}

/// A probe of a query; see [`Index::explain`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProbeTrace<F> {
    /// The table, and the errors admitted in its prefix.
    pub probe: Probe<F>,
    /// The query in the order of the table's bits.
    pub permuted: F,
    /// The filter's answers, if the probe asks one.
    pub filter: Option<FilterTrace>,
    /// The blocks that it reads, ascending.
    pub blocks: Vec<BlockTrace<F>>,
}

/// The answers of a filter to a probe.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FilterTrace {
    /// Number of prefixes tested in the filter: all with at most the admitted errors.
    pub tried: u64,
    /// The prefixes that pass: only their blocks are read. Empty if too many pass.
    pub passed: Vec<PassedPrefix>,
    /// Whether so many prefixes pass, as where fingerprints crowd, that all blocks are read that may have one.
    pub passes_too_many: bool,
}

/// A prefix that a filter lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedPrefix {
    /// The prefix, in the low bits.
    pub prefix: u64,
    /// Number of bits in which it differs from the query's.
    pub errors: u32,
}

/// A block that a probe reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockTrace<F> {
    /// Its number in the table.
    pub number: u64,
    /// The key of the block before it: its own entries are greater. `None` for the first block.
    pub after: Option<F>,
    /// Its key: its last entry, in the table's order of bits.
    pub key: F,
    /// The fingerprints in it that the probe finds.
    pub matches: Vec<TracedMatch<F>>,
}

/// A fingerprint that a probe finds in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TracedMatch<F> {
    /// The stored fingerprint.
    pub fingerprint: F,
    /// Its distance from the query.
    pub distance: u32,
    /// Whether the query returns it from here. Otherwise an earlier probe returns it.
    pub is_returned: bool,
}

impl<F: Fingerprint> Index<F> {
    /// Returns the probes of a query for everything within `distance`, in order, with the blocks that each reads: found
    /// as [`Searcher::within`](crate::Searcher::within) finds them.
    ///
    /// # Errors
    /// When a block that the query reads, or a filter, is damaged, or the distance exceeds the width.
    pub fn explain(&self, query: F, distance: u32) -> Result<Vec<ProbeTrace<F>>, ReadError> {
        check_distance::<F>(distance)?;
        let plan = self.plan(distance);
        let mut search = Search::default();
        search.locate(self, &[query], plan)?;
        let (probes, targets): (Vec<usize>, Vec<Target<F>>) = search.targets().unzip();
        let trace = |(number, &probe): (usize, &Probe<F>)| {
            let errors = probe.reach.radius.min(plan.distance());
            let filter = plan.asks_filter(number).then(|| FilterTrace {
                tried: filter::count(probe.reach.prefix_bits(), errors) as u64,
                passed: Vec::new(),
                passes_too_many: false,
            });
            let permuted = self.tables[probe.table].permutation.apply(query);
            ProbeTrace { probe, permuted, filter, blocks: Vec::new() }
        };
        let mut traces: Vec<ProbeTrace<F>> = plan.probes().iter().enumerate().map(trace).collect();
        for (&probe, target) in probes.iter().zip(&targets) {
            let ProbeTrace { permuted, filter, .. } = &mut traces[probe];
            if let Some(filter) = filter {
                if target.prefix_errors() > 0 {
                    filter.passes_too_many = true;
                    continue;
                }
                let prefix = prefix_of(target.query, target.prefix_bits);
                let errors = (prefix ^ prefix_of(*permuted, target.prefix_bits)).count_ones();
                filter.passed.push(PassedPrefix { prefix, errors });
            }
        }
        let file = self.data.as_ref();
        let mut scanner = Scanner::default();
        for &at in &search.located {
            let probe = probes[at.target as usize];
            let table = &self.tables[at.table as usize];
            let mut matches = Vec::new();
            self.scan(&mut scanner, &[at], &targets, |_, _, value| {
                let fingerprint = table.permutation.undo(value);
                let difference = fingerprint ^ query;
                let is_returned = is_first(&plan.probes()[..probe], difference);
                matches.push(TracedMatch { fingerprint, distance: difference.count_ones(), is_returned });
                Ok::<_, ReadError>(())
            })?;
            let keys = table.keys.in_file(file);
            let number = at.block as usize;
            traces[probe].blocks.push(BlockTrace {
                number: number as u64,
                after: number.checked_sub(1).map(|before| keys.get(before)),
                key: keys.get(number),
                matches,
            });
        }
        traces.iter_mut().for_each(ProbeTrace::join_blocks);
        Ok(traces)
    }
}

impl<F: Fingerprint> ProbeTrace<F> {
    /// Sorts the blocks; one that several prefixes lead to becomes one.
    fn join_blocks(&mut self) {
        self.blocks.sort_by_key(|block| block.number);
        self.blocks.dedup_by(|later, earlier| {
            let is_same = later.number == earlier.number;
            if is_same {
                earlier.matches.append(&mut later.matches);
            }
            is_same
        });
    }
}
