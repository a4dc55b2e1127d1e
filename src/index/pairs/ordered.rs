//! Tasks on several threads, their results on the caller's, in the order of the tasks.
//!
//! Threads take tasks in ascending order and send what they produce through a bounded channel; what
//! comes before its turn waits beside it. Once much waits there, a thread with more of it waits for its
//! turn, so memory is bounded whatever a task produces, while tasks that produce little go on however
//! far they are ahead. The thread with the lowest task never waits for its turn, so there is always
//! progress.
//!
//! The threads are this module's own and not those of a pool: what waits for its turn must not keep
//! from running what it waits for.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{ReadError, ReadErrorKind};

/// Results that may wait for the turns of their tasks.
const MAX_EARLY: usize = 128;

/// What a task says of its end: it is done, it was stopped, it has failed.
pub(super) type Outcome = Result<ControlFlow<()>, ReadError>;

enum Message<T> {
    /// And whether it was sent before its turn.
    Result(T, bool),
    End(Outcome),
}

/// Does the tasks 0 to `count` on that many threads and calls `deliver`, on this thread, with what each
/// one sends; ends with the first task that fails, or when `deliver` breaks. `init` makes what the
/// tasks of one thread share.
pub(super) fn run<T: Send, S>(
    threads: NonZeroUsize,
    count: usize,
    init: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, usize, &mut dyn FnMut(T) -> ControlFlow<()>) -> Outcome + Sync,
    deliver: &mut dyn FnMut(T) -> ControlFlow<()>,
) -> Outcome {
    if threads.get() == 1 || count <= 1 {
        let mut state = init();
        for number in 0..count {
            if task(&mut state, number, deliver)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    let threads = threads.get().min(count);
    let (sender, receiver) = sync_channel(2 * threads);
    let turn = Turn::default();
    let next = AtomicUsize::new(0);
    let (turn, next, init, task) = (&turn, &next, &init, &task);
    std::thread::scope(|scope| {
        for started in 0..threads {
            let sender = sender.clone();
            let work = move || {
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
            };
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                // Those that have been started do all of it.
                if started == 0 {
                    return Err(ReadErrorKind::Threads(error).into());
                }
                break;
            }
        }
        drop(sender);
        // Whatever ends this, a panic too, lets the threads go: those that wait, and by the loss of the
        // receiver those that send.
        let _end = Stop(turn);
        receive(receiver, turn, count, deliver)
    })
}

fn receive<T>(
    receiver: Receiver<(usize, Message<T>)>,
    turn: &Turn,
    count: usize,
    deliver: &mut dyn FnMut(T) -> ControlFlow<()>,
) -> Outcome {
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
                        if deliver(result).is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    Message::End(outcome) => {
                        if outcome?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
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
                return Ok(ControlFlow::Continue(()));
            }
            messages = early.remove(&current).unwrap_or_default();
        }
    }
    // All threads have gone without having done everything: one of them panics.
    Ok(ControlFlow::Break(()))
}

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
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::ReadErrorKind;

    const THREADS: [usize; 4] = [1, 2, 3, 8];

    /// Tasks of very different length, that send 0 to 39 numbers each.
    fn collect(threads: usize, count: usize, most: usize) -> (Vec<(usize, usize)>, Outcome) {
        let mut all = Vec::new();
        let outcome = run(
            NonZeroUsize::new(threads).unwrap(),
            count,
            || (),
            |(), number, send| {
                std::thread::sleep(Duration::from_micros((number * 7919 % 13) as u64 * 50));
                for result in 0..number * 31 % 40 {
                    if send((number, result)).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                if number == 77 {
                    Err(ReadErrorKind::NotHamdex.into())
                } else {
                    Ok(ControlFlow::Continue(()))
                }
            },
            &mut |result| {
                all.push(result);
                if all.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        (all, outcome)
    }

    #[test]
    fn results_come_in_order_whatever_the_number_of_threads() {
        let expected: Vec<_> = (0..70).flat_map(|n| (0..n * 31 % 40).map(move |r| (n, r))).collect();
        for threads in THREADS {
            let (all, outcome) = collect(threads, 70, usize::MAX);
            assert_eq!(all, expected, "{threads}");
            assert!(outcome.unwrap().is_continue());
            assert!(collect(threads, 0, usize::MAX).1.unwrap().is_continue());
        }
    }

    #[test]
    fn it_ends_when_told_to() {
        for threads in THREADS {
            for most in [1, 2, 100, 700] {
                let (all, outcome) = collect(threads, 70, most);
                assert_eq!(all.len(), most);
                assert!(outcome.unwrap().is_break());
            }
        }
    }

    #[test]
    fn a_failure_comes_after_what_was_before_it() {
        for threads in THREADS {
            let (all, outcome) = collect(threads, 200, usize::MAX);
            assert!(matches!(outcome.unwrap_err().kind(), ReadErrorKind::NotHamdex));
            assert_eq!(all.len(), (0..=77).map(|n| n * 31 % 40).sum::<usize>(), "{threads}");
        }
    }

    #[test]
    fn a_panic_is_passed_on() {
        for threads in THREADS {
            for in_task in [true, false] {
                let outcome = std::panic::catch_unwind(|| {
                    run(
                        NonZeroUsize::new(threads).unwrap(),
                        1000,
                        || (),
                        |(), number, send| {
                            assert!(!in_task || number != 5);
                            Ok(send(number))
                        },
                        &mut |number| {
                            assert!(in_task || number != 5);
                            ControlFlow::Continue(())
                        },
                    )
                });
                assert!(outcome.is_err());
            }
        }
    }
}
