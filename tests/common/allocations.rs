//! An allocator that watches: how many allocations a thread makes, how much it holds, and how large the largest
//! one of the process has been. A test file that wants it names it as its global allocator.

#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

pub struct Watching;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// Bytes allocated by all threads, and their maximum.
static ALL: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

fn note(bytes: usize) {
    // While a thread ends there is nothing left to count in.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    LARGEST.fetch_max(bytes, Ordering::Relaxed);
}

/// Notes that the bytes of this thread have become more, or fewer.
fn hold(change: i64) {
    let _ = HELD.try_with(|held| held.set(held.get() + change));
    let all = ALL.fetch_add(change, Ordering::Relaxed) + change;
    PEAK.fetch_max(all, Ordering::Relaxed);
}

// SAFETY: everything is handed on to the system's allocator as it came; noting it allocates nothing.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        hold(layout.size() as i64);
        // SAFETY: the caller upholds the contract of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        hold(layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size);
        hold(new_size as i64 - layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Returns the number of allocations made by this thread so far.
pub fn by_this_thread() -> u64 {
    COUNT.with(Cell::get)
}

/// The bytes that this thread has allocated and not given back.
pub fn held_by_this_thread() -> i64 {
    HELD.with(Cell::get)
}

/// The bytes of the largest allocation of the process so far.
pub fn largest() -> usize {
    LARGEST.load(Ordering::Relaxed)
}

/// Runs work, and returns by how many bytes the process held more at most meanwhile.
pub fn most_bytes_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ALL.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let outcome = work();
    (outcome, usize::try_from(PEAK.load(Ordering::Relaxed) - before).unwrap_or_default())
}
