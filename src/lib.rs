//! A compressed on-disk index that finds every stored fingerprint within k bits of a query, exactly.
//!
//! Documents become 64-bit (or 128-bit) simhash fingerprints; near-duplicates are those that differ in
//! at most k bits. hamdex keeps a few sorted, permuted, compressed copies of the set in one file, after
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007).
//!
//! - [`Builder`] writes a file, in bounded memory; [`BuildOptions`] says how.
//! - [`Index`] opens it; a [`Searcher`] answers queries; [`Index::batch`] answers many at once;
//!   [`Index::pairs`] compares all with all; [`Index::verify`] reads and checks all of it.
//! - [`Design`] is the choice of tables; one that misses something cannot be made.
//! - [`reference`](mod@reference) is a slow second codec, for tools that show a block bit by bit.
//!
//! # Threads, memory, progress
//!
//! Whatever takes long has the same options: `threads(n)`, `memory(bytes)` where it needs much, and
//! `progress(report)`: [`BuildOptions`], [`BatchOptions`], [`Pairs`], [`VerifyOptions`].
//!
//! - `threads(0)`, the default, takes as many threads as the current rayon pool has: the pool in which it is
//!   called, otherwise the global one, which has one for each processor unless it has been set up differently.
//!   `threads(n)` takes n, started for this work and gone after it. Where the system refuses to start that many,
//!   fewer do the work; where it refuses to start any, that is an error. No result depends on the number.
//! - `report` is called from any thread, with a [`Progress`], many times per second; it should return quickly.
//!   It returns whether the work goes on: after a [`ControlFlow::Break`](std::ops::ControlFlow::Break) the work
//!   ends with [`BuildError::Stopped`] or [`ReadErrorKind::Stopped`], and what it has written is gone. A call
//!   of the operating system is not interrupted, and a build does not wait for one that makes a file durable.
//!
//! A deadline is a callback that looks at the clock:
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::time::{Duration, Instant};
//! use hamdex::{Builder, Index, ReadErrorKind, VerifyOptions};
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
//! let deadline = Instant::now() + budget;
//! let options = VerifyOptions::new().progress(move |_| {
//!     if Instant::now() < deadline { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
//! });
//! match index.verify_with(&options) {
//!     Ok(verified) => println!("{} blocks are whole", verified.blocks),
//!     Err(error) if matches!(error.kind(), ReadErrorKind::Stopped) => println!("not done in time"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
        reason = "what tests turn is used with that feature only"
    )
)]

mod arch;
mod batch;
mod bits;
mod category;
mod checked;
mod codec;
mod design;
mod digest;
mod error;
mod format;
mod ids;
mod index;
pub mod inspect;
mod join;
#[expect(unsafe_code, reason = "the one place where a file becomes memory")]
mod mapping;
mod memory;
mod merge;
mod metadata;
mod multi;
mod names;
mod permutation;
mod progress;
pub mod salvage;
mod set;
mod sorting;
mod table;
mod threads;
mod verify;
mod widths;
mod writer;

pub use batch::{Batch, BatchOptions, Strategy};
pub use category::Category;
pub use codec::{BlockError, Codec, UnknownCodec};
pub use design::{AUTO, Design, DesignError, MAX_TABLES, TableDesign};
pub use error::{BuildError, Place, ReadError, ReadErrorKind, SetError};
pub use format::header::FileId;
pub use hamdex_atomic_file::Error as OutputError;
pub use hamdex_fingerprint::{Fingerprint, Hex, ParseFingerprintError};
pub use ids::Ids;
pub use index::{
    Checksums, Entries, Entry, Fingerprints, Index, IndexRef, Match, MatchVisitor, OpenOptions, Searcher,
    width,
};
pub use join::{Pair, Pairs, PairsOptions, pairs};
pub use mapping::Mapping;
pub use memory::default_memory;
pub use merge::{MAX_MERGED, Merger};
pub use metadata::RECIPE_KEY;
pub use multi::{FoundIn, MultiIndex, MultiMatch, MultiMatches, MultiSearcher};
pub use names::{Names, NamesIter};
pub use progress::{Phase, Progress};
pub use set::{
    Description, EntryVisitor, FingerprintSet, MatchIds, PairVisitor, ProgressCallback, SetSearcher, StoredId,
};
#[doc(hidden)]
pub use sorting::sort_by_keys;
pub use verify::{Verified, VerifyOptions};
pub use writer::{BuildOptions, Builder, DesignChoice, IndexFile, SealedIndex, Summary, Take};

/// The block codec itself, and what tests and benches turn.
///
/// Only with the feature `unstable`, for the project's own use: nothing here is promised to stay.
#[cfg(feature = "unstable")]
pub mod internals {
    pub use crate::arch::{Level, limit_level};
    pub use crate::codec::elias_fano::EliasFanoCodec;
    pub use crate::codec::huffman::HuffmanCodec;
    pub use crate::codec::{BlockCodec, Layout, Scratch, Target, count_differences};
    pub use crate::join::{Tuning, Way};
}
