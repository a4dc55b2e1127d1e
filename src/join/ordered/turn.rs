//! The task whose turn it is to send.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Results that may wait for the turns of their tasks.
const MAX_EARLY: usize = 128;

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turn {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    current: usize,
    /// Results sent before their turn and not delivered yet.
    early: usize,
    is_stopped: bool,
}

impl Turn {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Waits until a result of that task may be sent, and returns whether that is before its turn; `None`
    /// when all is stopped.
    pub(super) fn claim(&self, task: usize) -> Option<bool> {
        let mut state = self.lock();
        while !state.is_stopped && task > state.current && state.early >= MAX_EARLY {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_early = task > state.current;
        state.early += usize::from(is_early);
        (!state.is_stopped).then_some(is_early)
    }

    /// Gives back what an early result has claimed.
    pub(super) fn release(&self) {
        self.lock().early -= 1;
        self.changed.notify_all();
    }

    pub(super) fn advance(&self, current: usize) {
        self.lock().current = current;
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }
}

/// Stops all when it goes.
pub(super) struct Stop<'a>(pub(super) &'a Turn);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops all when its thread panics, which would leave the others waiting for its task.
pub(super) struct StopOnPanic<'a>(pub(super) &'a Turn);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
