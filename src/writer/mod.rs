//! Building an index: fingerprints in any order, in bounded memory, one file out.
//!
//! - [`options`]: the options of a build
//! - [`builder`]: fingerprints are pushed, an index comes out
//! - [`record`]: the sorted records
//! - [`sort`], [`spill`], [`run_merge`]: sorting within a memory limit
//! - [`table_source`]: the source of a file's tables
//! - [`pushed`]: tables from records that have been pushed
//! - [`job`]: options, threads and temporary files of a build
//! - [`assemble`]: from tables to a file, front to back
//! - [`census`]: counts over a table before its code is chosen
//! - [`tables_writer`]: the code, the blocks and the keys of a table
//! - [`filter`]: the filter of a table
//! - [`ids`]: the ids of table 0
//! - [`columns`], [`named`]: the names of ids, and the shingles of their documents
//! - [`sections`]: the sections of a file, one after the other
//! - [`output`]: the output of the bytes
//! - [`temporary`]: anonymous files
//!
//! The output is an [`AtomicFile`](hamdex_atomic_file::AtomicFile): its path has no file until it is complete.

mod assemble;
mod builder;
mod census;
mod columns;
mod file_id;
mod filter;
mod ids;
mod job;
mod lookup;
mod named;
mod options;
mod output;
mod pushed;
mod record;
mod run_merge;
mod sections;
mod sort;
mod spill;
mod summary;
mod table_source;
mod tables_writer;
mod temporary;

pub use builder::Builder;
pub(crate) use columns::{ColumnSource, ColumnSpool, Columns};
pub(crate) use job::Job;
pub use options::BuildOptions;
pub(crate) use record::{Record, WithId};
pub(crate) use sort::{OneByOne, Sorted, Sorter};
pub use summary::{SealedIndex, Summary};
pub(crate) use table_source::{Select, TableSource, Visit};
