//! Fuzz targets: each takes any bytes, and panics if something that hamdex promises does not hold.
//!
//! - [`Target`], [`TARGETS`]: what there is
//! - [`targets`]: one file each
//! - [`seal`]: checksums made right, so that the fuzzer gets behind them
//! - [`choose`]: sets and options from bytes
//! - [`check`]: an index compared with brute force and with the reference codec
//! - [`store`](mod@store): the same for the files of a store
//! - [`mutate`]: changes of inputs without a fuzzer
//! - `common`: data, brute force and the second writer of the format, shared with the tests of the engine
//!
//! `fuzz_targets/` has a program for libFuzzer per target; `replay` runs them without it.

pub mod check;
pub mod choose;
#[path = "../../tests/common/mod.rs"]
pub mod common;
pub mod mutate;
pub mod seal;
pub mod store;
pub mod targets;

pub use targets::{TARGETS, Target};

#[cfg(feature = "libfuzzer")]
#[doc(hidden)]
pub use libfuzzer_sys;

/// The program of a target for libFuzzer.
///
/// Its own panic hook ends the process at any panic, caught or not; some panics of the library that reads Parquet are
/// caught on purpose, so the standard hook comes back. A panic that nothing catches still ends the process.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(
            init: drop(std::panic::take_hook()),
            |data: &[u8]| $crate::targets::$target::run(data)
        );
    };
}
