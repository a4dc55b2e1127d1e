//! From the results of many tasks, as they come, to their order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;

use crate::join::ordered::Outcome;
use crate::join::ordered::turn::Turn;

/// A message of a task.
pub(super) enum Message<T> {
    /// And whether it was sent before its turn.
    Result(T, bool),
    End(Outcome),
}

/// Calls `deliver` with the results of `count` tasks, in the order of the tasks.
pub(super) fn receive<T>(
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
    // All threads ended before everything was done: one of them panicked.
    Ok(ControlFlow::Break(()))
}
