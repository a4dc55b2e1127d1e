//! Pages of mapped files that are gone, because the file was truncated or its storage cannot be read.
//!
//! Linux answers a read of such a page with `SIGBUS`, whose default action ends the process. After [`survive`] a handler
//! replaces the whole mapping by zeros instead, and marks it as lost. The reader continues with zeros, which it has to
//! tolerate as any bytes of a file; callers check [`Guard::is_lost`] before they use the result, and drop it if the mapping
//! is.
//!
//! A handler may run at any moment of any thread, so it takes no lock and allocates nothing: it walks a list whose nodes
//! are never freed ([`Region`]), and makes one system call.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::{c_int, c_void, siginfo_t};

/// All regions that were ever used, the newest first.
static REGIONS: AtomicPtr<Region> = AtomicPtr::new(std::ptr::null_mut());

/// Regions whose mapping is gone, to be used again.
static FREE: Mutex<Vec<&'static Region>> = Mutex::new(Vec::new());

/// The action for `SIGBUS` before [`survive`]; set before the handler is.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// The addresses of one mapping. It is never freed, so the handler may look at it at any time.
#[derive(Debug)]
struct Region {
    /// Odd while the addresses are changed.
    version: AtomicUsize,
    start: AtomicUsize,
    /// The first address after it; that of `start` if it has none.
    end: AtomicUsize,
    is_lost: AtomicBool,
    /// Set before the region is published, and never changed.
    next: Option<&'static Region>,
}

impl Region {
    /// Sets the addresses. The caller owns the region, so that no other thread does it at the same time.
    fn set(&self, start: usize, end: usize) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.start.store(start, Ordering::SeqCst);
        self.end.store(end, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the addresses; `None` while another thread changes them.
    fn addresses(&self) -> Option<(usize, usize)> {
        let version = self.version.load(Ordering::SeqCst);
        let addresses = (self.start.load(Ordering::SeqCst), self.end.load(Ordering::SeqCst));
        let is_stable = version.is_multiple_of(2) && self.version.load(Ordering::SeqCst) == version;
        is_stable.then_some(addresses)
    }
}

/// A mapping that the handler knows, until it is dropped, which has to be before the mapping is.
#[derive(Debug)]
pub(super) struct Guard(&'static Region);

impl Guard {
    /// Makes a mapping known to the handler.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let reused = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let region = reused.unwrap_or_else(new_region);
        region.is_lost.store(false, Ordering::SeqCst);
        let start = bytes.as_ptr().expose_provenance();
        region.set(start, start + bytes.len());
        Self(region)
    }

    /// Whether a page was missing when it was read. Results computed since are invalid.
    pub(super) fn is_lost(&self) -> bool {
        // All reads of the mapping before come before that of the mark, which was set before a zero could be read.
        fence(Ordering::SeqCst);
        self.0.is_lost.load(Ordering::SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(0, 0);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

/// Adds a region without addresses to the list.
fn new_region() -> &'static Region {
    let mut next = REGIONS.load(Ordering::SeqCst);
    let region = Box::leak(Box::new(Region {
        version: AtomicUsize::new(0),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        is_lost: AtomicBool::new(false),
        next: None,
    }));
    loop {
        // SAFETY: a pointer in the list is null or that of a region that was leaked, and is never written to again but
        // through its atomic fields.
        region.next = unsafe { next.as_ref() };
        let address: *mut Region = region;
        match REGIONS.compare_exchange(next, address, Ordering::SeqCst, Ordering::SeqCst) {
            // SAFETY: it was leaked, and the exclusive reference to it ends here.
            Ok(_) => return unsafe { &*address },
            Err(other) => next = other,
        }
    }
}

/// Returns the region of an address.
fn region_of(address: usize) -> Option<&'static Region> {
    // SAFETY: as in `new_region`.
    let mut next = unsafe { REGIONS.load(Ordering::SeqCst).as_ref() };
    while let Some(region) = next {
        // One that is changed just now is not that of the caller, which holds its mapping.
        if region.addresses().is_some_and(|(start, end)| (start..end).contains(&address)) {
            return Some(region);
        }
        next = region.next;
    }
    None
}

/// Lets the process survive reads of pages that are gone, from now on.
///
/// # Errors
/// When the system refuses it.
pub(super) fn survive() -> io::Result<()> {
    static IS_INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut is_installed = IS_INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_installed {
        return Ok(());
    }
    // SAFETY: zeros are a valid `sigaction`, of numbers, pointers that may be null, and a set of signals.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are null or valid; nothing is changed.
    if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_bus_error;
    let mut action = before;
    action.sa_sigaction = handler as usize;
    // On the stack for signals that Rust gives every thread: that of the reader may be nearly full.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    let _ = BEFORE.set(before);
    // SAFETY: the handler has the type that SA_SIGINFO asks for. It does nothing that POSIX forbids in a handler: it
    // reads atomics, sets one, and makes the system calls `mmap`, `sigaction` and `raise`.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    *is_installed = true;
    Ok(())
}

/// Replaces the mapping that could not be read by zeros; any other `SIGBUS` has the action of before.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the system calls the handler with valid information, whose address is that of the read if the code says
    // that the address cannot be read.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    if code == libc::BUS_ADRERR
        && let Some(region) = region_of(address)
        && replace(region)
    {
        return;
    }
    if let Some(before) = BEFORE.get() {
        // SAFETY: the action is the one that the system named. When this returns, the read is repeated and meets it; a
        // signal that another process has sent is sent again.
        unsafe {
            libc::sigaction(signal, before, std::ptr::null_mut());
            if code <= 0 {
                libc::raise(signal);
            }
        }
    }
}

/// Replaces the mapping of a region by zeros. Returns whether the system has done it.
///
/// The whole mapping, not one page: a file that was truncated has many, and the system limits the number of mappings.
fn replace(region: &Region) -> bool {
    let Some((start, end)) = region.addresses() else { return false };
    // Before the first zero can be read by any thread.
    region.is_lost.store(true, Ordering::SeqCst);
    // SAFETY: The addresses are those of a mapping of a file that this crate has made and still holds: the thread that
    // this handler has interrupted reads it, so it borrows the mapping, whose guard is dropped before it; `addresses`
    // therefore returns what `Guard::of` has set, and no other mapping can lie there. The new mapping begins at the same
    // page, has the same length, can be read as the old one could, and is unmapped with it. What changes is the bytes,
    // which may be in use by any thread: just as if another process wrote zeros into the file, against which no mapping
    // is safe (see `Mapping`). They are plain bytes that are read from memory that stays readable, every index that is
    // made of them is checked, and what was computed from them is dropped, since the region is marked as lost.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::with_exposed_provenance_mut(start),
            end - start,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}
