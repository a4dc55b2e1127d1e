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

pub use crate::codec::{BlockError, reference};
pub use crate::design::{Cost, FilterCost, Plan, Probe};
pub use crate::permutation::Permutation;
pub use crate::table::blocks_read;

use crate::codec::reference::Coding;
use crate::codec::{Codec, Located, Target, information_bound_bits};
use crate::design::{TableDesign, is_first};
use crate::digest::scramble;
use crate::error::{ReadError, check_distance};
use crate::filter_bits::{self, Form, prefix_of};
use crate::format::checksum::UnitKind;
use crate::format::footer::OLD_SHINGLES;
use crate::format::{FileId, MAJOR};
use crate::index::search::Search;
use crate::index::{Index, Shingles};
use crate::progress::Stopped;
use crate::shingles::ShingleTable;
use crate::table::Table;
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
                tried: filter_bits::ways(probe.reach.prefix_bits(), errors) as u64,
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

/// Statistics of a file; see [`Index::stats`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stats<F> {
    /// The format's version.
    pub version: (u16, u16),
    /// The file's id.
    pub file_id: FileId,
    /// Width of the fingerprints, in bits.
    pub width: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// The codec of the blocks.
    pub codec: Codec,
    /// Distinct fingerprints.
    pub fingerprints: u64,
    /// The distance up to which the design finds everything.
    pub distance: u32,
    /// The design's name.
    pub design: String,
    /// Bits per fingerprint and table that no code goes below for uniformly spread fingerprints.
    pub bound_bits: f64,
    /// Bytes of memory that the index takes in addition to the file.
    pub memory_bytes: u64,
    /// Bytes of the user's metadata.
    pub metadata_bytes: u64,
    /// Bytes of the footer and what surrounds the sections.
    pub overhead_bytes: u64,
    /// The tables.
    pub tables: Vec<TableStats<F>>,
    /// The ids, if there are any.
    pub ids: Option<IdStats>,
    /// Bytes of names and their directory in the file, if there are any.
    pub name_bytes: Option<u64>,
    /// The bytes of the shingles of documents and their directory, if there are some.
    pub shingle_bytes: Option<u64>,
    /// The bytes of the look-ups by id and by name, if there are some.
    pub lookup_bytes: Option<u64>,
}

/// Statistics of a table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TableStats<F> {
    /// Its mask and radius.
    pub design: TableDesign<F>,
    /// Number of blocks.
    pub blocks: u64,
    /// Offset of block 0 in the file, in bytes.
    pub offset: u64,
    /// Bytes of its blocks.
    pub block_bytes: u64,
    /// Bytes of its keys in the file.
    pub key_bytes: u64,
    /// Bytes of memory that its keys and their directory take in addition to the file.
    pub key_memory_bytes: u64,
    /// Whether the keys are copied into memory of the process: otherwise queries read those of the file.
    pub keys_are_copied: bool,
    /// Its filter, if it has one.
    pub filter: Option<FilterStats>,
    /// The length of the code of each h, in bits; empty if the codec has no code.
    pub code_lengths: Vec<u8>,
    /// The code of each h: the low bits of the number, as many as its length.
    pub codes: Vec<u16>,
    /// Number of occurrences of each h between neighbours.
    pub counts: Vec<u64>,
}

/// Statistics of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FilterStats {
    /// Whether each prefix that there can be has a bit, so that there are no false positives.
    pub is_bitmap: bool,
    /// Length of its prefixes, in bits.
    pub prefix_bits: u32,
    /// Number of lines, of 64 bytes.
    pub lines: u64,
    /// Bytes in the file.
    pub bytes: u64,
    /// Bytes of memory that it takes in addition to the file.
    pub memory_bytes: u64,
    /// Whether it is copied into memory of the process: otherwise queries read that of the file.
    pub is_copied: bool,
    /// The share of absent prefixes that pass if the fingerprints are evenly spread.
    /// [`Index::filter_false_positives`] measures it.
    pub expected_false_positives: f64,
}

/// Statistics of the ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdStats {
    /// Number of ids in all.
    pub count: u64,
    /// The smallest id.
    pub base: u64,
    /// Bits of each id.
    pub bits: u32,
    /// Bytes of ids, marks and directory in the file.
    pub bytes: u64,
}

impl<F> Stats<F> {
    /// Returns the coding of the blocks of a table, for
    /// [`reference::read_block`]; `None` when there is no such table.
    #[must_use]
    pub fn coding(&self, table: usize) -> Option<Coding<'_>> {
        let code_lengths = &self.tables.get(table)?.code_lengths;
        Some(match self.codec {
            Codec::Huffman => Coding::Huffman { code_lengths },
            Codec::EliasFano => Coding::EliasFano,
        })
    }
}

impl<F: Fingerprint> Index<F> {
    /// Returns the statistics of the file. Reads nothing beyond what opening it has read.
    #[must_use]
    pub fn stats(&self) -> Stats<F> {
        let bytes_of = |wanted: &[UnitKind]| self.section_bytes(wanted, 0);
        let ids = self.footer.ids.map(|ids| IdStats {
            count: ids.count,
            base: ids.base,
            bits: ids.bits,
            bytes: bytes_of(&[UnitKind::Ids, UnitKind::IdStarts, UnitKind::IdDirectory]),
        });
        let name_bytes = self.names.is_some().then(|| bytes_of(&[UnitKind::NameDirectory, UnitKind::Names]));
        let of_shingles =
            [UnitKind::ShingleDirectory, OLD_SHINGLES, UnitKind::ShinglePairs, UnitKind::ShingleKeys];
        let pairs = match &self.shingles {
            Some(ShingleTable::Listed { pairs, .. }) => pairs.table().memory_bytes() as u64,
            _ => 0,
        };
        let shingle_bytes = self.shingles.is_some().then(|| bytes_of(&of_shingles));
        let of_lookups = [UnitKind::IdLookup, UnitKind::NameLookup];
        let lookup_bytes = self.id_lookup.is_some().then(|| bytes_of(&of_lookups));
        let file_bytes = self.data.as_ref().len() as u64;
        let in_sections: u64 =
            self.footer.sections.iter().map(|s| s.end().expect("it lies inside the file") - s.offset).sum();
        Stats {
            version: (MAJOR, self.header.minor),
            file_id: self.header.file_id,
            width: F::BITS,
            file_bytes,
            block_bytes: self.footer.layout.block_bytes as u32,
            codec: self.footer.layout.codec,
            fingerprints: self.len(),
            distance: self.design.distance(),
            design: self.design.name().to_owned(),
            bound_bits: information_bound_bits(F::BITS, self.len()),
            memory_bytes: self.tables.iter().map(|table| table.memory_bytes() as u64).sum::<u64>() + pairs,
            metadata_bytes: self.metadata_section.length() as u64,
            overhead_bytes: file_bytes - in_sections,
            tables: self.tables.iter().map(|table| self.table_stats(table)).collect(),
            ids,
            name_bytes,
            shingle_bytes,
            lookup_bytes,
        }
    }

    fn table_stats(&self, table: &Table<F>) -> TableStats<F> {
        let record = &self.footer.tables[table.number];
        TableStats {
            design: self.design.tables()[table.number],
            blocks: record.blocks,
            offset: table.offset as u64,
            block_bytes: self.section_bytes(&[UnitKind::Block], table.number),
            key_bytes: self.section_bytes(&[UnitKind::Keys], table.number),
            key_memory_bytes: table.keys.bytes() as u64,
            keys_are_copied: table.keys.is_copied(),
            filter: table.filter.as_ref().map(|filter| FilterStats {
                is_bitmap: filter.geometry().form == Form::Bitmap,
                prefix_bits: filter.geometry().prefix_bits,
                lines: filter.geometry().lines,
                bytes: self.section_bytes(&[UnitKind::Filter], table.number),
                memory_bytes: filter.memory_bytes() as u64,
                is_copied: filter.is_copied(),
                expected_false_positives: filter.geometry().false_positives(self.len()),
            }),
            code_lengths: table.codec.code_lengths().to_vec(),
            codes: table.codec.codes().to_vec(),
            counts: record.counts.clone(),
        }
    }

    /// Returns the bytes in the file of the sections of these kinds that belong to a table.
    fn section_bytes(&self, wanted: &[UnitKind], table: usize) -> u64 {
        let sections = self.footer.sections.iter();
        let wanted = sections.filter(|s| wanted.contains(&s.kind) && s.table as usize == table);
        wanted.map(|s| s.end().expect("it lies inside the file") - s.offset).sum()
    }
}

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
            let mut is_stored = false;
            let scanned = self.scan(&mut scanner, &located, &[target], |_, _, _| {
                is_stored = true;
                Err(ReadError::from(Stopped))
            });
            if is_stored {
                continue;
            }
            scanned?;
            absent += 1;
            passed += 1;
        }
        Ok((absent > 0).then(|| f64::from(passed) / f64::from(absent)))
    }
}
