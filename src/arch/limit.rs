//! For tests: a limit to the instructions that [`run`](super::run) takes, so that every path of a kernel
//! is walked on a machine that has the best.

use std::cell::Cell;

/// What there is to choose from, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstructionSet {
    Portable,
    Avx2,
    Avx512,
}

/// All of them. One that this processor lacks is the best that it has.
pub(crate) const INSTRUCTION_SETS: [InstructionSet; 3] =
    [InstructionSet::Portable, InstructionSet::Avx2, InstructionSet::Avx512];

thread_local! {
    static MOST: Cell<InstructionSet> = const { Cell::new(InstructionSet::Avx512) };
}

/// Whether this thread may use that instruction set now.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is nothing to choose from"))]
pub(super) fn allows(set: InstructionSet) -> bool {
    set <= MOST.get()
}

/// Does something with no better instructions than these. They bind this thread, not others that it makes
/// work.
pub(crate) fn at_most<T>(set: InstructionSet, work: impl FnOnce() -> T) -> T {
    /// Ends the limit, also when `work` panics.
    struct Before(InstructionSet);

    impl Drop for Before {
        fn drop(&mut self) {
            MOST.set(self.0);
        }
    }

    let _before = Before(MOST.replace(set));
    work()
}
