//! Tasks on several threads, their results on the caller's, in the order of the tasks.
//!
//! Threads take tasks in ascending order and send their results through a bounded channel; the receiver buffers
//! results that come before their turn ([`receive`]). If much is buffered, a thread with more results waits for
//! its turn ([`turn`]), so memory is bounded for any tasks, while tasks with few results never wait. The thread
//! with the lowest task never waits for its turn, so there is always progress.
//!
//! The threads are this module's own and not those of a pool: a waiting task must not block the task that it
//! waits for.

mod receive;
#[cfg(test)]
mod tests;
mod turn;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::error::ReadError;
use crate::join::ordered::receive::{Message, receive};
use crate::join::ordered::turn::{Stop, StopOnPanic, Turn};

/// The outcome of a task: done, stopped, or failed.
pub(super) type Outcome = Result<ControlFlow<()>, ReadError>;

/// Runs the tasks 0 to `count` on that many threads and calls `deliver`, on this thread, with the results of
/// each; ends with the first task that fails, or if `deliver` breaks. `init` makes the state that the tasks of
/// one thread share. If the system refuses threads, fewer are used.
pub(super) fn run<T: Send, S>(
    threads: NonZeroUsize,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, &mut dyn FnMut(T) -> ControlFlow<()>) -> Outcome + Sync,
    deliver: &mut dyn FnMut(T) -> ControlFlow<()>,
) -> Outcome {
    run_with(|_| thread::Builder::new(), threads, count, init, task, deliver)
}

/// As [`run`]; `builder` makes the thread of each number.
fn run_with<T: Send, S>(
    builder: impl Fn(usize) -> thread::Builder,
    threads: NonZeroUsize,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, &mut dyn FnMut(T) -> ControlFlow<()>) -> Outcome + Sync,
    deliver: &mut dyn FnMut(T) -> ControlFlow<()>,
) -> Outcome {
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
                    let Some(is_early) = turn.claim(number) else { return ControlFlow::Break(()) };
                    match sender.send((number, Message::Result(result, is_early))) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    }
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
    task: impl Fn(&mut S, usize, &mut dyn FnMut(T) -> ControlFlow<()>) -> Outcome,
    deliver: &mut dyn FnMut(T) -> ControlFlow<()>,
) -> Outcome {
    let mut state = init();
    for number in 0..count {
        if task(&mut state, number, deliver)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
