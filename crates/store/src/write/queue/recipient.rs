//! Who gets the answer to a request: a waiting thread, or a callback.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A callback for the answer to a request; `None` if its leader has panicked.
pub(crate) type Callback<A> = Box<dyn FnOnce(Option<A>) + Send>;

/// The recipient of an answer.
pub(super) enum Recipient<A> {
    Thread(Arc<Waiter<A>>),
    Callback(Callback<A>),
}

impl<A> Recipient<A> {
    pub(super) fn answer(self, answer: Option<A>) {
        match self {
            Self::Thread(waiter) => waiter.call(answer.map_or(Call::LeaderPanicked, Call::Answer)),
            // A panic in a callback must not affect other writers.
            Self::Callback(callback) => drop(catch_unwind(AssertUnwindSafe(|| callback(answer)))),
        }
    }
}

/// A waiting thread.
pub(super) struct Waiter<A> {
    call: Mutex<Option<Call<A>>>,
    called: Condvar,
}

/// A signal to a waiting thread.
pub(super) enum Call<A> {
    /// The request has been served.
    Answer(A),
    /// The thread becomes the leader; its request still waits.
    Lead,
    /// The leader that had taken the request has panicked.
    LeaderPanicked,
}

impl<A> Waiter<A> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { call: Mutex::new(None), called: Condvar::new() })
    }

    pub(super) fn call(&self, call: Call<A>) {
        *self.lock() = Some(call);
        self.called.notify_one();
    }

    /// Waits for a call; `None` if the deadline passes first.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Option<Call<A>> {
        let mut call = self.lock();
        loop {
            if let Some(call) = call.take() {
                return Some(call);
            }
            call = match deadline {
                None => self.called.wait(call).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let time = deadline.saturating_duration_since(Instant::now());
                    if time.is_zero() {
                        return None;
                    }
                    self.called.wait_timeout(call, time).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Call<A>>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
