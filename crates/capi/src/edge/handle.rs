//! Objects that C holds, as shells that outlive them.
//!
//! A shell is never given back to the allocator: closing empties it, and a later object takes it. A pointer that C uses
//! after it was closed therefore points to a shell that says so, and nothing is read that was freed. A shell waits
//! behind [`QUARANTINE`] others before it is taken again: only then is a stale pointer one to another object of the
//! same type, which cannot be known.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::mem::offset_of;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::status::Failure;

/// The number of empty shells that are kept before one is taken again.
const QUARANTINE: usize = 1024;

/// A type of objects that C holds.
pub(crate) trait Kind: Send + Sized + 'static {
    /// A number that tells pointers to this type from others.
    const MAGIC: u64;
    /// The type in messages.
    const NAME: &'static str;
    /// The structure that C sees. Its alignment is at most 8.
    type Public: Default;

    /// The empty shells of this type.
    fn pool() -> &'static Pool<Self>;
}

/// Makes a type one of objects that C holds, with the structure that C sees, the name in messages and the magic number.
macro_rules! kind {
    ($object:ty, $public:ty, $name:literal, $magic:literal) => {
        impl $crate::edge::Kind for $object {
            const MAGIC: u64 = u64::from_be_bytes(*$magic);
            const NAME: &'static str = $name;
            type Public = $public;

            fn pool() -> &'static $crate::edge::Pool<Self> {
                static POOL: $crate::edge::Pool<$object> = $crate::edge::Pool::new();
                &POOL
            }
        }
    };
}
pub(crate) use kind;

/// A place for an object. C has a pointer to `public`, and the magic number stands before it, whatever the type.
#[repr(C, align(8))]
pub(crate) struct Shell<T: Kind> {
    content: Mutex<Option<T>>,
    magic: u64,
    public: UnsafeCell<T::Public>,
}

// SAFETY: `content` is locked, `magic` never changes, and `public` is written only by the call that makes, fills or closes
// the object, during which C may not use the object in another thread.
unsafe impl<T: Kind> Sync for Shell<T> {}
// SAFETY: the raw pointers in `public` point into `content`, which can be sent.
unsafe impl<T: Kind> Send for Shell<T> {}

/// Empty shells.
pub(crate) struct Pool<T: Kind>(Mutex<VecDeque<&'static Shell<T>>>);

impl<T: Kind> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    fn shells(&self) -> MutexGuard<'_, VecDeque<&'static Shell<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<&'static Shell<T>> {
        let mut shells = self.shells();
        if shells.len() > QUARANTINE { shells.pop_front() } else { None }
    }
}

impl<T: Kind> Shell<T> {
    /// Bytes from the beginning of a shell to the part that C sees.
    const PUBLIC: usize = {
        let place = offset_of!(Self, public);
        assert!(place == offset_of!(Self, magic) + size_of::<u64>(), "the magic number is found before it");
        place
    };

    /// Puts an object into a shell.
    pub(crate) fn new(content: T) -> &'static Self {
        let shell = T::pool().take().unwrap_or_else(|| {
            Box::leak(Box::new(Self {
                content: Mutex::new(None),
                magic: T::MAGIC,
                public: UnsafeCell::new(T::Public::default()),
            }))
        });
        *shell.content() = Some(content);
        shell
    }

    /// The pointer that C gets.
    pub(crate) fn as_c(&'static self) -> *mut T::Public {
        let shell = std::ptr::from_ref(self).cast_mut();
        // Not a reference to `public`, from which `from_c` could not go back to the shell.
        shell.cast::<u8>().wrapping_add(Self::PUBLIC).cast()
    }

    /// The shell behind a pointer from C.
    ///
    /// # Safety
    /// The pointer is null, misaligned, or one that [`Shell::as_c`] of any type has returned.
    ///
    /// # Errors
    /// If it is null, misaligned, or of another type.
    pub(crate) unsafe fn from_c(pointer: *const T::Public) -> Result<&'static Self, Failure> {
        if pointer.is_null() {
            return Err(Failure::misuse(format!("the {} is null", T::NAME)));
        }
        if !pointer.addr().is_multiple_of(align_of::<Self>()) {
            return Err(Failure::misuse(format!("the {} is misaligned", T::NAME)));
        }
        // SAFETY: `as_c` returned it, shells are never deallocated, and the magic number stands before what C sees.
        let magic = unsafe { pointer.cast::<u64>().sub(1).read() };
        if magic != T::MAGIC {
            return Err(Failure::misuse(format!("the pointer is to no {}", T::NAME)));
        }
        // SAFETY: the magic number is that of this type, of which every shell lives forever.
        Ok(unsafe { &*pointer.cast::<u8>().wrapping_sub(Self::PUBLIC).cast::<Self>() })
    }

    /// The object, if it is not closed, even if a call has panicked with it.
    pub(crate) fn content(&self) -> MutexGuard<'_, Option<T>> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object for one thread at a time.
    ///
    /// # Errors
    /// If another call has it, a call has panicked with it, or it is closed.
    pub(crate) fn exclusive(&self) -> Result<Exclusive<'_, T>, Failure> {
        match self.content.try_lock() {
            Ok(content) if content.is_some() => Ok(Exclusive(content)),
            Ok(_) => Err(Self::closed()),
            Err(TryLockError::WouldBlock) => Err(Self::in_use()),
            Err(TryLockError::Poisoned(_)) => Err(Failure::poisoned(T::NAME)),
        }
    }

    /// Sets the part that C sees.
    pub(crate) fn publish(&self, public: T::Public) {
        // SAFETY: of the calls with this object, only the present one may use it now, and none keeps a reference to it.
        unsafe { self.public.get().write(public) };
    }

    /// Takes the object out, and keeps the shell for another.
    ///
    /// # Errors
    /// If it is closed already, or the object may not be closed.
    pub(crate) fn close(
        &'static self,
        may_close: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<T, Failure> {
        self.close_locked(self.content(), may_close)
    }

    /// As [`Shell::close`], of an object that calls keep locked while they work with it. A callback of such a call
    /// would otherwise wait for its own call.
    ///
    /// # Errors
    /// If it is closed already, or a call uses it.
    pub(crate) fn close_unused(&'static self) -> Result<T, Failure> {
        let content = match self.content.try_lock() {
            Ok(content) => content,
            Err(TryLockError::Poisoned(content)) => content.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Self::in_use()),
        };
        self.close_locked(content, |_| Ok(()))
    }

    fn close_locked(
        &'static self,
        mut content: MutexGuard<'_, Option<T>>,
        may_close: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<T, Failure> {
        may_close(content.as_ref().ok_or_else(Self::closed)?)?;
        let taken = content.take().ok_or_else(Self::closed)?;
        drop(content);
        self.content.clear_poison();
        self.publish(T::Public::default());
        T::pool().shells().push_back(self);
        Ok(taken)
    }

    fn in_use() -> Failure {
        Failure::misuse(format!("another call uses the {} now", T::NAME))
    }

    /// The failure of a call with a closed object.
    pub(crate) fn closed() -> Failure {
        Failure::misuse(format!("the {} is closed or freed already", T::NAME))
    }
}

/// An object that no other thread has.
pub(crate) struct Exclusive<'s, T>(MutexGuard<'s, Option<T>>);

impl<T> Exclusive<'_, T> {
    pub(crate) fn object(&mut self) -> &mut T {
        self.0.as_mut().expect("checked when it was locked")
    }
}
