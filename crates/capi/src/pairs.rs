//! All pairs within a distance of each other.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::c_void;
use std::ops::ControlFlow;

use hamdex::{Fingerprint, Pair};
use hamdex_any::{AnyFingerprint, AnySet, for_width};

use crate::edge::{Caller, PairsReceiver, hamdex_error, hamdex_on_pairs};
use crate::failure::Failure;
use crate::fingerprint::{MAX_BYTES, to_bytes};
use crate::options::{Work, hamdex_work};
use crate::set::{get, hamdex_set};
use crate::status::hamdex_status;

/// Pairs for the callback, in memory that is used again and again.
#[derive(Default)]
struct Portion {
    left: Vec<u8>,
    right: Vec<u8>,
    distances: Vec<u32>,
}

impl Portion {
    fn fill<F: Fingerprint>(&mut self, pairs: &[Pair<F>]) {
        self.left.clear();
        self.right.clear();
        self.distances.clear();
        for pair in pairs {
            for (side, fingerprint) in [(&mut self.left, pair.a), (&mut self.right, pair.b)] {
                side.extend_from_slice(&to_bytes(AnyFingerprint::of(fingerprint))[MAX_BYTES - F::BYTES..]);
            }
            self.distances.push(pair.distance);
        }
    }
}

fn find<F: Fingerprint>(
    any: &AnySet,
    distance: u32,
    work: &Work,
    receiver: &PairsReceiver,
) -> Result<(), Failure> {
    let set = any.typed::<F>().ok_or_else(|| Failure::input("the set has another width"))?;
    let mut portion = Portion::default();
    let outcome = set.visit_pairs(distance, &work.pairs(), &mut |pairs| {
        if pairs.is_empty() {
            return ControlFlow::Continue(());
        }
        portion.fill(pairs);
        receiver.receive(&portion.left, &portion.right, &portion.distances)
    })?;
    if outcome.is_break() { Err(Failure::stopped()) } else { Ok(()) }
}

/// Calls `on_pairs` with all pairs of different fingerprints of a set within `distance` bits of each other, each pair
/// once, the lower fingerprint on the left, some thousands at a time. `work` may be null.
///
/// Ownership: the arrays that `on_pairs` gets are the library's, until it returns. Within it, other calls with the set
/// are allowed.
///
/// Threads: any; it uses several. `on_pairs` is called by this thread.
///
/// Errors: `HAMDEX_STOPPED` if a callback stopped it, `HAMDEX_DAMAGED`, `HAMDEX_MEMORY`, `HAMDEX_SYSTEM`,
/// `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_set_pairs(
    set: *const hamdex_set,
    distance: u32,
    work: *const hamdex_work,
    on_pairs: hamdex_on_pairs,
    context: *mut c_void,
    error: *mut *mut hamdex_error,
) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    let caller = unsafe { Caller::new(error) };
    caller.run(|caller| {
        let set = get(caller, set)?;
        let receiver = caller.pairs_receiver(on_pairs, context)?;
        let work = Work::of(caller, work)?;
        for_width!(set.description().width, F => find::<F>(&set, distance, &work, &receiver))
    })
}
