//! A compressed on-disk index that finds every stored fingerprint within k bits of a query, exactly.
//!
//! Documents become 64-bit (or 128-bit) simhash fingerprints; near-duplicates differ in
//! at most k bits. hamdex keeps a few sorted, permuted, compressed copies of the set in one file, after
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007).
//!
//! - [`Builder`] writes a file, in bounded memory; [`BuildOptions`] has its settings. [`Merger`] merges files.
//! - [`Index`] opens a file. A [`Searcher`] answers single queries, [`Index::batch_with`] many at once;
//!   [`Index::pairs`] is the self-join; [`Index::verify`] reads and checks the whole file.
//! - [`MultiIndex`] queries several indexes as one.
//! - [`FingerprintSet`] is the common interface of an index, several indexes, a store and a set of shards.
//! - [`Design`] is the choice of tables. A design that would miss a match is rejected.
//! - [`inspect`] has the parts of a file, for tools that show or measure them; [`salvage`] reads damaged files.
//!
//! # Threads, memory, progress
//!
//! All long operations have the same options: `threads(n)`, `memory(bytes)` if they need much, `progress(report)` and
//! `cancellation(cancellation)`. See [`BuildOptions`], [`BatchOptions`], [`Pairs`] and [`VerifyOptions`].
//!
//! - **Threads.** `threads(0)`, the default, uses the current rayon pool: the pool in which it is called, or the
//!   global one, which has one thread per processor unless configured otherwise. `threads(n)` starts n threads
//!   for this operation. If the system refuses some of them, the operation uses fewer; if it refuses all, it
//!   returns an error. Results do not depend on the number of threads.
//! - **Memory.** `memory(bytes)` limits the working memory. The default is [`default_memory`]. With less memory,
//!   a build sorts on disk, and batches and self-joins work in smaller steps. If the system cannot allocate the
//!   limit, less is used; if it cannot allocate even the minimum, a build returns [`BuildError::OutOfMemory`] and a
//!   self-join [`ReadErrorKind::OutOfMemory`], while a batch answers query by query.
//! - **Progress.** Any thread calls `report` with a [`Progress`], many times per second, so it should return quickly.
//! - **Cancellation.** Any thread, also one that calls `report`, may cancel the [`Cancellation`] that the operation got.
//!   The operation then ends with [`BuildError::Stopped`] or [`ReadErrorKind::Stopped`], removes its output, and calls
//!   `report` no more. System calls are not interrupted, but a build does not wait for the one that syncs its file.
//!
//! A cancellation may have a deadline:
//!
//! ```
//! use std::time::{Duration, Instant};
//! use hamdex::{Builder, Cancellation, Index, ReadErrorKind, VerifyOptions};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("news.hamdex");
//! # let mut builder = Builder::<u64>::new(&path)?;
//! # builder.push(7)?;
//! # builder.finish()?;
//! let index = Index::<u64>::open(&path)?;
//! # let budget = Duration::ZERO;
//! # /*
//! let budget = Duration::from_secs(10);
//! # */
//! let options = VerifyOptions::new().cancellation(Cancellation::at(Instant::now() + budget));
//! match index.verify_with(&options) {
//!     Ok(verified) => println!("{} blocks are whole", verified.blocks),
//!     Err(error) if matches!(error.kind(), ReadErrorKind::Stopped) => println!("not done in time"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Example
//!
//! ```
//! use hamdex::{BuildOptions, Builder, Index};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("news.hamdex");
//! let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true))?;
//! builder.push_with_id(0x0123_4567_89ab_cdef, 17)?;
//! builder.finish()?;
//!
//! let index = Index::<u64>::open(&path)?;
//! let mut searcher = index.searcher();
//! let found = searcher.within(0x0123_4567_89ab_cdee, 3)?;
//! assert_eq!(found[0].distance, 1);
//! assert_eq!(index.ids(found[0].fingerprint)?.collect::<Vec<_>>(), [17]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(feature = "unstable"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "settings for tests are used with that feature only"
    )
)]

mod arch;
mod batch;
mod bits;
mod category;
mod codec;
mod design;
mod digest;
mod error;
mod filter_bits;
mod format;
mod ids;
mod index;
pub mod inspect;
mod join;
mod lookup;
#[expect(unsafe_code, reason = "the only place that maps files into memory")]
mod mapping;
mod memory;
mod merge;
mod metadata;
pub mod multi;
mod names;
mod permutation;
mod progress;
pub mod salvage;
pub mod set;
pub mod shingles;
mod sorted_union;
mod sorting;
mod table;
#[doc(hidden)]
pub mod threads;
mod verify;
mod widths;
mod writer;

#[doc(hidden)]
pub use arch::{Compiled, prefetch_value, run_compiled};
pub use batch::{BatchOptions, Strategy};
pub use category::{Category, ParseOptionError, chain};
pub use codec::Codec;
pub use design::{AUTO, Design, DesignError, FilterChoice, MAX_TABLES, TableDesign};
pub use error::{BuildError, IdColumn, Place, ReadError, ReadErrorKind, SetError, check_distance};
pub use format::FileId;
pub use hamdex_atomic_file::Error as OutputError;
pub use hamdex_fingerprint::{Fingerprint, Hex, ParseFingerprintError};
pub use ids::Ids;
pub use index::{Checksums, Entries, Entry, Index, Lookups, Match, OpenOptions, Searcher, Shingles, width};
pub use join::{Pair, Pairs, PairsOptions, pairs};
pub use mapping::Mapping;
#[doc(hidden)]
pub use mapping::{limit_heaps, prefer_huge_pages};
pub use memory::default_memory;
pub use merge::{MAX_MERGED, Merger};
pub use metadata::RECIPE_KEY;
#[doc(inline)]
pub use multi::MultiIndex;
pub use names::{MAX_NAME_BYTES, Names};
pub use progress::{Cancellation, Phase, Progress, Report, Stopped};
#[doc(inline)]
pub use set::{FingerprintSet, SetSearcher};
#[doc(hidden)]
pub use sorting::sort_by_keys;
pub use verify::{Verified, VerifyOptions};
pub use writer::{BuildOptions, Builder, SealedIndex, Summary};

/// Documents that are similar as texts: the stored sets of shingles that are like another set.
///
/// The sets are kept by shingle: each shingle has a list of the documents that have it. A document that is similar to a
/// set of n shingles shares at least s of them, so it is in one of *any* n − s + 1 of the n lists. The shortest are read,
/// in the others each document found is looked up: a phrase that a million documents have costs what a rare one does.
/// (Set-similarity search by prefixes: Bayardo, Ma, Srikant, WWW 2007; Xiao et al., WWW 2008. Here all shingles are
/// indexed, so the prefix is chosen by the query.)
pub mod similar {
    pub use crate::shingles::condition::{Condition, Measure, SimilarDocument};
    pub use crate::shingles::memory::{GrowingLists, LaterLists, MemoryLists};
    pub use crate::shingles::search::{Alike, Search};
}

/// The block codec itself, and settings for tests and benches.
///
/// Only with the feature `unstable`, for the project's own use: nothing here is stable.
#[cfg(feature = "unstable")]
pub mod internals {
    pub use crate::arch::{Level, limit_level};
    pub use crate::batch::BatchTuning;
    pub use crate::codec::elias_fano::EliasFanoCodec;
    pub use crate::codec::huffman::HuffmanCodec;
    pub use crate::codec::{BlockCodec, Layout, Scratch, Target, count_differences};
    pub use crate::join::{Tuning, Way};
}
