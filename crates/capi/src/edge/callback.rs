//! Functions that C gave, with their contexts.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;

use hamdex::Progress;

/// Receives the progress of long work: units done, and how many there are, or 0 if that is unknown. Any thread may call
/// it, several at a time. It returns 0 to go on; anything else stops the work, which then fails with `HAMDEX_STOPPED`.
/// It must not throw, and must not close what the work uses.
pub type hamdex_progress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64) -> c_int>;

/// Receives `count` pairs of near fingerprints: fingerprint i of `left` and of `right` are `distances[i]` bits apart.
/// The arrays are the library's, and gone when it returns. It returns 0 to go on; anything else stops the work, which
/// then fails with `HAMDEX_STOPPED`. It is called by the thread that asked for the pairs. It must not throw.
pub type hamdex_on_pairs = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        left: *const u8,
        right: *const u8,
        distances: *const u32,
        count: u64,
    ) -> c_int,
>;

/// A progress callback and its context.
#[derive(Clone, Copy)]
pub(crate) struct Reporter {
    function: unsafe extern "C" fn(*mut c_void, u64, u64) -> c_int,
    context: *mut c_void,
}

// SAFETY: the contract of `hamdex_progress` is that any thread may call it with the context.
unsafe impl Send for Reporter {}
// SAFETY: as above.
unsafe impl Sync for Reporter {}

impl Reporter {
    /// # Safety
    /// The function keeps the contract of `hamdex_progress` as long as the reporter is used.
    pub(crate) unsafe fn new(function: hamdex_progress, context: *mut c_void) -> Option<Self> {
        function.map(|function| Self { function, context })
    }

    pub(crate) fn report(self, progress: Progress) -> ControlFlow<()> {
        // SAFETY: the caller of the function that made the reporter promised it.
        let answer = unsafe { (self.function)(self.context, progress.done, progress.total.unwrap_or(0)) };
        if answer == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// A callback for pairs and its context. It stays in the thread of the call.
pub(crate) struct PairsReceiver {
    function: unsafe extern "C" fn(*mut c_void, *const u8, *const u8, *const u32, u64) -> c_int,
    context: *mut c_void,
}

impl PairsReceiver {
    /// # Safety
    /// The function keeps the contract of `hamdex_on_pairs` as long as the receiver is used.
    pub(crate) unsafe fn new(function: hamdex_on_pairs, context: *mut c_void) -> Option<Self> {
        function.map(|function| Self { function, context })
    }

    /// Passes pairs on: as many bytes on each side as the distances have fingerprints.
    pub(crate) fn receive(&self, left: &[u8], right: &[u8], distances: &[u32]) -> ControlFlow<()> {
        let (left, right, count) = (left.as_ptr(), right.as_ptr(), distances.len() as u64);
        // SAFETY: the caller of the function that made the receiver promised it; the arrays live until it returns.
        let answer = unsafe { (self.function)(self.context, left, right, distances.as_ptr(), count) };
        if answer == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
