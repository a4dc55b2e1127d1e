//! Everything that depends on the instruction set, behind one portable interface.
//!
//! Code that gains from wider instructions is a [`Kernel`]: written once, over the operations of
//! [`Instructions`], and compiled once for each instruction set. [`run`] takes the best that this
//! processor has.
//!
//! Architecture invariant: no other module names an instruction set, and nothing here changes a
//! result: a path taken on one machine gives what the portable path gives on any other.

mod compiled;
#[cfg(not(target_arch = "x86_64"))]
mod fallback;
mod fields;
mod instructions;
mod level;
mod portable;
mod prefetch;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions whose presence a token proves, which only detection makes")]
mod x86_64;

pub use compiled::{Compiled, prefetch_value, run_compiled};
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use fallback::{BitGather, prefetch, run};
pub(crate) use fields::{BYTES, Fields, LANES};
pub(crate) use instructions::{Instructions, Kernel};
pub use level::{Level, limit_level};
pub(crate) use prefetch::{LINE_BYTES, prefetch_lines};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{BitGather, prefetch, run};
