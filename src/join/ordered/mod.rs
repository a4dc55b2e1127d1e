//! Tasks on several threads, their results on the caller's, in the order of the tasks.
//!
//! Threads take tasks in ascending order and send their results through a bounded channel; the receiver buffers
//! results that come before their turn. If much is buffered, a thread with more results waits for
//! its turn, so memory is bounded for any tasks, while tasks with few results never wait. The thread
//! with the lowest task never waits for its turn, so there is always progress.
//!
//! The threads are this module's own and not those of a pool: a waiting task must not block the task that it
//! waits for.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::ReadError;
use crate::progress::Stopped;

/// Runs the tasks 0 to `count` on that many threads and calls `deliver`, on this thread, with the results of
/// each; ends with the first task that fails, or when `deliver` stops it. `init` makes the state that the tasks of
/// one thread share. If the system refuses threads, fewer are used.
pub(super) fn run<T: Send, S>(
    threads: NonZeroUsize,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, &mut dyn FnMut(T) -> Result<(), Stopped>) -> Result<(), ReadError> + Sync,
    deliver: &mut dyn FnMut(T) -> Result<(), Stopped>,
) -> Result<(), ReadError> {
    run_with(|_| thread::Builder::new(), threads, count, init, task, deliver)
}

/// As [`run`]; `builder` makes the thread of each number.
fn run_with<T: Send, S>(
    builder: impl Fn(usize) -> thread::Builder,
    threads: NonZeroUsize,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, &mut dyn FnMut(T) -> Result<(), Stopped>) -> Result<(), ReadError> + Sync,
    deliver: &mut dyn FnMut(T) -> Result<(), Stopped>,
) -> Result<(), ReadError> {
    let threads = threads.get().min(count);
    if threads <= 1 {
        return alone(count, init, task, deliver);
    }
    let (sender, receiver) = sync_channel(2 * threads);
    let turn = Turn::default();
    let next = AtomicUsize::new(0);
    let work = |sender: SyncSender<_>| {
        let (turn, next, init, task) = (&turn, &next, &init, &task);
        move || {
            let _alarm = StopOnPanic(turn);
            let mut state = init();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count || turn.is_stopped() {
                    return;
                }
                let outcome = task(&mut state, number, &mut |result| {
                    let is_early = turn.claim(number).ok_or(Stopped)?;
                    sender.send((number, Message::Result(result, is_early))).map_err(|_| Stopped)
                });
                if sender.send((number, Message::End(outcome))).is_err() {
                    return;
                }
            }
        }
    };
    let outcome = thread::scope(|scope| {
        let start = |number| builder(number).spawn_scoped(scope, work(sender.clone())).is_ok();
        if (0..threads).take_while(|&number| start(number)).count() == 0 {
            return None;
        }
        drop(sender);
        // Any end of this, even a panic, releases the threads: waiting ones, and by the loss of the receiver
        // sending ones.
        let _end = Stop(&turn);
        Some(receive(receiver, &turn, count, deliver))
    });
    outcome.unwrap_or_else(|| alone(count, init, task, deliver))
}

/// Does the tasks on this thread.
fn alone<T, S>(
    count: usize,
    init: impl Fn() -> S,
    task: impl Fn(&mut S, usize, &mut dyn FnMut(T) -> Result<(), Stopped>) -> Result<(), ReadError>,
    deliver: &mut dyn FnMut(T) -> Result<(), Stopped>,
) -> Result<(), ReadError> {
    let mut state = init();
    (0..count).try_for_each(|number| task(&mut state, number, deliver))
}

/// A message of a task.
enum Message<T> {
    /// And whether it was sent before its turn.
    Result(T, bool),
    End(Result<(), ReadError>),
}

/// Calls `deliver` with the results of `count` tasks, in the order of the tasks.
fn receive<T>(
    receiver: Receiver<(usize, Message<T>)>,
    turn: &Turn,
    count: usize,
    deliver: &mut dyn FnMut(T) -> Result<(), Stopped>,
) -> Result<(), ReadError> {
    let mut current = 0;
    let mut early: BTreeMap<usize, Vec<Message<T>>> = BTreeMap::new();
    for (number, message) in receiver {
        if number != current {
            early.entry(number).or_default().push(message);
            continue;
        }
        let mut messages = vec![message];
        loop {
            let mut ended = false;
            for message in messages {
                match message {
                    Message::Result(result, is_early) => {
                        if is_early {
                            turn.release();
                        }
                        deliver(result)?;
                    }
                    Message::End(outcome) => {
                        outcome?;
                        ended = true;
                    }
                }
            }
            if !ended {
                break;
            }
            current += 1;
            turn.advance(current);
            if current == count {
                return Ok(());
            }
            messages = early.remove(&current).unwrap_or_default();
        }
    }
    // All threads ended before everything was done: one of them panicked.
    Err(Stopped.into())
}

/// Results that may wait for the turns of their tasks.
const MAX_EARLY: usize = 128;

/// Whose turn it is.
#[derive(Default)]
struct Turn {
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

    fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Waits until a result of that task may be sent, and returns whether that is before its turn; `None`
    /// when all is stopped.
    fn claim(&self, task: usize) -> Option<bool> {
        let mut state = self.lock();
        while !state.is_stopped && task > state.current && state.early >= MAX_EARLY {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_early = task > state.current;
        state.early += usize::from(is_early);
        (!state.is_stopped).then_some(is_early)
    }

    /// Gives back what an early result has claimed.
    fn release(&self) {
        self.lock().early -= 1;
        self.changed.notify_all();
    }

    fn advance(&self, current: usize) {
        self.lock().current = current;
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }
}

/// Stops all when it goes.
struct Stop<'a>(&'a Turn);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops all when its thread panics, which would leave the others waiting for its task.
struct StopOnPanic<'a>(&'a Turn);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests;
