//! Fuzz targets: each takes any bytes, and panics if something that hamdex promises does not hold.
//!
//! - [`Target`], [`TARGETS`]: what there is
//! - [`targets`]: one file each
//! - [`seal`]: checksums made right, so that the fuzzer gets behind them
//! - [`choose`]: sets and options from bytes
//! - [`check`]: an index compared with brute force and with the reference codec
//! - [`store`](mod@store), [`set`]: the same for the files of a store, and for the manifest of a set of shards
//! - [`mutate`]: changes of inputs without a fuzzer
//! - [`quiet`]: panics that are caught on purpose say nothing
//! - `common`: data, brute force and the second writer of the format, shared with the tests of the engine
//!
//! `fuzz_targets/` has a program for libFuzzer per target; `replay` runs them without it.

pub mod check;
pub mod choose;
#[path = "../../tests/common/mod.rs"]
pub mod common;
pub mod mutate;
pub mod quiet;
pub mod seal;
pub mod set;
pub mod store;
pub mod targets;

pub use targets::{TARGETS, Target};

/// [`check::file`] looks how large the largest allocation is.
#[global_allocator]
static ALLOCATOR: common::allocations::Watching = common::allocations::Watching;

#[cfg(feature = "libfuzzer")]
#[doc(hidden)]
pub use libfuzzer_sys;

/// The program of a target for libFuzzer.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(init: $crate::quiet::keep_panics(), |data: &[u8]| {
            $crate::quiet::or_abort(|| $crate::targets::$target::run(data))
        });
    };
}
