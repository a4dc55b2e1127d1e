//! One call from C: its arguments, its panics, and its error.

#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::{ptr, slice};

use super::handle::{Kind, Shell};
use crate::edge::{PairsReceiver, Reporter, export, hamdex_error, hamdex_on_pairs, hamdex_progress};
use crate::status::{Failure, HAMDEX_MISUSE, HAMDEX_OK, hamdex_status};

/// The greatest size that a structure may say it has.
const MAX_STRUCTURE_BYTES: usize = 4096;

/// A call from C. Only an unsafe function makes one, which says that the caller keeps the contract of the header:
/// pointers are null or valid for what the call does with them. What can be known of them is checked nevertheless.
pub(crate) struct Caller {
    error: *mut *mut hamdex_error,
}

/// A structure that begins with its size, so that later versions can have further fields.
///
/// # Safety
/// It is `repr(C)`, its first field is a `usize` with its size, and it is valid if all of its bytes are zero.
pub(crate) unsafe trait Versioned: Copy {
    /// The size of the first version, which stays when fields are added behind it.
    const LEAST_SIZE: usize;
}

/// A place for a result, which may be null if the caller does not want it.
pub(crate) struct Out<'c, T> {
    place: *mut T,
    call: PhantomData<&'c mut T>,
}

impl<T> Out<'_, T> {
    pub(crate) fn write(&mut self, value: T) {
        if !self.place.is_null() {
            // SAFETY: it is aligned, and valid for writing by the contract of the call.
            unsafe { self.place.write(value) };
        }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        !self.place.is_null()
    }
}

fn check_aligned<T>(what: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_aligned() { Ok(()) } else { Err(Failure::misuse(format!("{what} is misaligned"))) }
}

fn check_present<T>(what: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::misuse(format!("{what} is null")));
    }
    check_aligned(what, pointer)
}

impl Caller {
    /// # Safety
    /// Every pointer of the call is null, or as the header says; `error` is null, or valid for writing.
    pub(crate) unsafe fn new(error: *mut *mut hamdex_error) -> Self {
        Self { error }
    }

    /// Does the work of the call. A failure and a panic become a status, and an error if the caller wants one.
    pub(crate) fn run(self, work: impl FnOnce(&Self) -> Result<(), Failure>) -> hamdex_status {
        if !self.error.is_aligned() {
            return HAMDEX_MISUSE;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&self)));
        let outcome = outcome.unwrap_or_else(|panic| Err(Failure::of_panic(&*panic)));
        let (status, failure) = match outcome {
            Ok(()) => (HAMDEX_OK, None),
            Err(failure) => (failure.status, Some(failure)),
        };
        if !self.error.is_null() {
            let error = failure.map_or(ptr::null_mut(), |failure| {
                catch_unwind(AssertUnwindSafe(|| export(failure))).unwrap_or(ptr::null_mut())
            });
            // SAFETY: it is aligned and not null, so valid for writing by the contract of `new`.
            unsafe { self.error.write(error) };
        }
        status
    }

    /// An array of the caller.
    ///
    /// # Errors
    /// If it is null and not empty, misaligned, or longer than memory.
    pub(crate) fn array<'c, T: Copy>(
        &'c self,
        what: &str,
        pointer: *const T,
        count: u64,
    ) -> Result<&'c [T], Failure> {
        if count == 0 {
            return Ok(&[]);
        }
        check_present(what, pointer)?;
        let count = usize::try_from(count).ok();
        let count = count.filter(|count| {
            count.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= isize::MAX as usize)
        });
        let count = count.ok_or_else(|| Failure::misuse(format!("{what}: no array is that long")))?;
        // SAFETY: not null, aligned, no longer than an allocation can be, and otherwise as the contract of the call says.
        Ok(unsafe { slice::from_raw_parts(pointer, count) })
    }

    /// Text of the caller.
    ///
    /// # Errors
    /// As for [`Caller::array`]; if it is not UTF-8.
    pub(crate) fn text<'c>(
        &'c self,
        what: &str,
        pointer: *const c_char,
        length: usize,
    ) -> Result<&'c str, Failure> {
        let bytes = self.array(what, pointer.cast::<u8>(), length as u64)?;
        std::str::from_utf8(bytes).map_err(|_| Failure::usage(format!("{what} is not UTF-8")))
    }

    /// Text of the caller; none if it is null.
    ///
    /// # Errors
    /// As for [`Caller::text`].
    pub(crate) fn text_if<'c>(
        &'c self,
        what: &str,
        pointer: *const c_char,
        length: usize,
    ) -> Result<Option<&'c str>, Failure> {
        if pointer.is_null() { Ok(None) } else { self.text(what, pointer, length).map(Some) }
    }

    /// A path of the caller: on Unix any bytes, elsewhere UTF-8.
    ///
    /// # Errors
    /// As for [`Caller::text`]; if it is empty.
    pub(crate) fn path(&self, pointer: *const c_char, length: usize) -> Result<&Path, Failure> {
        let bytes = self.array("the path", pointer.cast::<u8>(), length as u64)?;
        if bytes.is_empty() {
            return Err(Failure::usage("the path is empty"));
        }
        #[cfg(unix)]
        let path = Path::new(<OsStr as OsStrExt>::from_bytes(bytes));
        #[cfg(not(unix))]
        let path =
            Path::new(std::str::from_utf8(bytes).map_err(|_| Failure::usage("the path is not UTF-8"))?);
        Ok(path)
    }

    /// A place for a result that the call needs.
    ///
    /// # Errors
    /// If it is null or misaligned.
    pub(crate) fn out<'c, T>(&'c self, what: &str, place: *mut T) -> Result<Out<'c, T>, Failure> {
        check_present(what, place)?;
        self.maybe_out(what, place)
    }

    /// A place for a result that the caller may not want.
    ///
    /// # Errors
    /// If it is misaligned.
    pub(crate) fn maybe_out<'c, T>(&'c self, what: &str, place: *mut T) -> Result<Out<'c, T>, Failure> {
        check_aligned(what, place)?;
        Ok(Out { place, call: PhantomData })
    }

    fn size_of_given<T: Versioned>(&self, what: &str, given: *const T) -> Result<usize, Failure> {
        check_present(what, given)?;
        // SAFETY: aligned, not null, so by the contract of the call it begins with its size.
        let size = unsafe { given.cast::<usize>().read() };
        if !(T::LEAST_SIZE..=MAX_STRUCTURE_BYTES).contains(&size) {
            return Err(Failure::usage(format!(
                "the size of {what} cannot be {size}: it is that of the structure"
            )));
        }
        Ok(size)
    }

    /// A structure of the caller, perhaps of another version of the library.
    ///
    /// # Errors
    /// If it is null, misaligned, too short, or has fields that this version does not know and that are not zero.
    pub(crate) fn structure<T: Versioned>(&self, what: &str, given: *const T) -> Result<T, Failure> {
        let size = self.size_of_given(what, given)?;
        let known = size.min(size_of::<T>());
        // SAFETY: the structure has `size` bytes by the contract of the call.
        let rest = unsafe { slice::from_raw_parts(given.cast::<u8>().add(known), size - known) };
        if rest.iter().any(|&byte| byte != 0) {
            return Err(Failure::usage(format!(
                "{what}: a field is set that this version of the library lacks"
            )));
        }
        let mut own = MaybeUninit::<T>::zeroed();
        // SAFETY: `known` bytes are there on both sides. The structure is valid where bytes are zero, and the caller's
        // fields are, by the contract of the call.
        unsafe {
            ptr::copy_nonoverlapping(given.cast::<u8>(), own.as_mut_ptr().cast(), known);
            Ok(own.assume_init())
        }
    }

    /// Options of the caller; `default` if there are none.
    ///
    /// # Errors
    /// As for [`Caller::structure`].
    pub(crate) fn options<T: Versioned + Default>(&self, what: &str, given: *const T) -> Result<T, Failure> {
        if given.is_null() { Ok(T::default()) } else { self.structure(what, given) }
    }

    /// Fills a structure of the caller, as far as it goes, and its size with that of the part.
    ///
    /// # Errors
    /// If it is null, misaligned or too short.
    pub(crate) fn fill<T: Versioned>(&self, what: &str, place: *mut T, value: &T) -> Result<(), Failure> {
        let size = self.size_of_given(what, place)?.min(size_of::<T>());
        // SAFETY: the structure has at least `size` bytes by the contract of the call, and begins with its size.
        unsafe {
            ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>(), place.cast(), size);
            place.cast::<usize>().write(size);
        }
        Ok(())
    }

    /// The shell of an object.
    ///
    /// # Errors
    /// As for [`Shell::from_c`].
    pub(crate) fn shell<T: Kind>(&self, pointer: *const T::Public) -> Result<&'static Shell<T>, Failure> {
        // SAFETY: by the contract of the call, the library has made what it points to.
        unsafe { Shell::from_c(pointer) }
    }

    /// Closes an object, and returns its contents; `None` for null.
    ///
    /// # Errors
    /// If it is not an object of this type, or closed already.
    pub(crate) fn close<T: Kind>(&self, pointer: *const T::Public) -> Result<Option<T>, Failure> {
        if pointer.is_null() {
            return Ok(None);
        }
        self.shell::<T>(pointer)?.close(|_| Ok(())).map(Some)
    }

    /// A callback for progress; none if it is null.
    pub(crate) fn reporter(&self, function: hamdex_progress, context: *mut c_void) -> Option<Reporter> {
        // SAFETY: it keeps its contract, by that of the call.
        unsafe { Reporter::new(function, context) }
    }

    /// A callback for pairs.
    ///
    /// # Errors
    /// If it is null.
    pub(crate) fn pairs_receiver(
        &self,
        function: hamdex_on_pairs,
        context: *mut c_void,
    ) -> Result<PairsReceiver, Failure> {
        // SAFETY: it keeps its contract, by that of the call.
        let receiver = unsafe { PairsReceiver::new(function, context) };
        receiver.ok_or_else(|| Failure::misuse("the callback is null"))
    }
}
