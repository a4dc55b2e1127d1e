//! The widths of fingerprints, and functions that are compiled once for each, in this crate.
//!
//! A generic method is compiled again in every crate that calls it, which takes a minute for all of the engine. So the
//! methods that take long to compile are thin: each calls a function that [`per_width`] has instantiated here. Code
//! that calls the generic function itself, inside the crate, keeps its inlining.

use std::any::Any;

/// Compiles an expression for each width, and evaluates the one for `$bits`: 128, or otherwise 64.
///
/// ```
/// let bytes = |bits: u32| hamdex::for_width!(bits, F => size_of::<F>());
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

/// Defines functions that return a generic function as it was compiled in this crate, for both widths.
///
/// `verify: Verify = Index::verify_all;` defines `fn verify<F: Fingerprint>() -> Verify<F>`, where `Verify<F>` is a type of
/// function pointers, and the rest a generic function of that type, or a closure. A third width is one more line here.
macro_rules! per_width {
    ($($getter:ident: $signature:ident = $function:expr;)+) => {$(
        #[inline]
        fn $getter<F: hamdex_fingerprint::Fingerprint>() -> $signature<F> {
            static NARROW: $signature<u64> = $function;
            static WIDE: $signature<u128> = $function;
            $crate::widths::of_type(&NARROW, &WIDE)
        }
    )+};
}

pub(crate) use per_width;

/// Returns the one of two values that is of type `T`.
#[inline]
pub(crate) fn of_type<T: Copy + 'static>(narrow: &'static dyn Any, wide: &'static dyn Any) -> T {
    let either = narrow.downcast_ref().or_else(|| wide.downcast_ref());
    *either.expect("fingerprints have one of these widths")
}
