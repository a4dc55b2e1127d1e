//! Opens whatever a path names: an index file, a store or a set of shards, of fingerprints of any width.
//!
//! - [`open`] looks at what is there and returns an [`AnySet`], which can be queried without knowing what it is.
//! - [`AnySet::typed`] gives the set at its width, for work on whole arrays of fingerprints; [`for_width`] compiles
//!   such work once per width.
//!
//! A width is matched in `set.rs` and in [`for_width`], a kind of container in `set.rs` and `open.rs`.
//!
//! ```
//! use hamdex::{BuildOptions, Builder};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("news.hamdex");
//! let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true))?;
//! builder.push_with_id(0x00ff, 17)?;
//! builder.finish()?;
//!
//! let set = hamdex_any::open(&path)?;
//! assert_eq!((set.description().width, set.description().fingerprints), (64, 1));
//! let mut searcher = set.searcher();
//! assert_eq!(searcher.nearest_within(0x01ff_u64.into(), 10, 3)?[0].distance, 1);
//! assert_eq!(searcher.ids(10)?.remove(0).map(|stored| stored.id).collect::<Vec<_>>(), [17]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod open;
mod set;

pub use open::{open, open_file, open_with, width};
pub use set::{AnyFingerprint, AnyMatch, AnySearcher, AnySet, Kind};

/// Compiles an expression for each width, and evaluates the one for `$bits`: 128, or otherwise 64.
///
/// ```
/// let bytes = |bits: u32| hamdex_any::for_width!(bits, F => size_of::<F>());
/// assert_eq!((bytes(64), bytes(128)), (8, 16));
/// ```
#[macro_export]
macro_rules! for_width {
    ($bits:expr, $fingerprint:ident => $work:expr) => {
        match $bits {
            64 => {
                type $fingerprint = u64;
                $work
            }
            128 => {
                type $fingerprint = u128;
                $work
            }
            other => unreachable!("no fingerprints have {other} bits"),
        }
    };
}
