//! Everything that depends on the instruction set, behind one portable face.
//!
//! Architecture invariant: no other module names an instruction set, and nothing here changes a
//! result: a path taken on one machine gives what the portable path gives on any other.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{BitGather, prefetch};

#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::{BitGather, prefetch};
