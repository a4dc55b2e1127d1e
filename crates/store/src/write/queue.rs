//! The queue of group commits: a leader serves all waiting requests together.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use crate::error::Unpoisoned;

/// A queue of requests with at most one leader.
///
/// A writer that finds no leader becomes the leader at once. Requests that arrive meanwhile wait; the first waiting
/// thread is the next leader, and serves all requests that wait by then, in the order of arrival. So all requests that
/// arrive during a sync share the next one. Each follower waits on its own condition variable, so that none wakes up
/// without need.
pub(crate) struct Queue<R, A> {
    inner: Mutex<Inner<R, A>>,
}

struct Inner<R, A> {
    waiting: VecDeque<(R, Arc<Waiter<A>>)>,
    /// Whether there is a leader, or one has been called. Without one, no request waits.
    has_leader: bool,
}

/// The reason why a request was not served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotServed<E> {
    /// The deadline has passed.
    TimedOut,
    /// The leader could not begin.
    Refused(E),
}

impl<R, A> Queue<R, A> {
    pub(crate) fn new() -> Self {
        Self { inner: Mutex::new(Inner { waiting: VecDeque::new(), has_leader: false }) }
    }

    /// Returns the number of waiting requests.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Queues a request and waits for its answer, from another leader or from `serve`, which gets all waiting requests
    /// in the order of arrival and returns as many answers. The leader calls `prepare` before it takes the requests; if
    /// that fails, the next thread leads. The request is withdrawn when the deadline passes before a leader has taken
    /// it.
    ///
    /// # Panics
    /// When the leader that has taken the request has panicked.
    pub(crate) fn submit<E>(
        &self,
        request: R,
        deadline: Option<Instant>,
        prepare: impl FnOnce() -> Result<(), E>,
        serve: impl FnOnce(Vec<R>) -> Vec<A>,
    ) -> Result<A, NotServed<E>> {
        let waiter = Waiter::new();
        {
            let mut inner = self.lock();
            inner.waiting.push_back((request, Arc::clone(&waiter)));
            if !std::mem::replace(&mut inner.has_leader, true) {
                drop(inner);
                return self.lead_as(&waiter, prepare, serve);
            }
        }
        let call = match waiter.wait(deadline) {
            Some(call) => call,
            None => {
                let mut inner = self.lock();
                if let Some(at) = inner.place_of(&waiter)
                    && waiter.call.lock().unpoisoned().is_none()
                {
                    inner.waiting.remove(at);
                    return Err(NotServed::TimedOut);
                }
                drop(inner);
                // The request has been taken, or the thread is called to lead.
                waiter.wait(None).expect("a wait without a deadline ends with a call")
            }
        };
        match call {
            Call::Answer(answer) => Ok(answer),
            Call::Lead => self.lead_as(&waiter, prepare, serve),
            Call::LeaderPanicked => panic!("the leader of the group commit has panicked"),
        }
    }

    fn lead_as<E>(
        &self,
        own: &Arc<Waiter<A>>,
        prepare: impl FnOnce() -> Result<(), E>,
        serve: impl FnOnce(Vec<R>) -> Vec<A>,
    ) -> Result<A, NotServed<E>> {
        let leadership = Leadership { queue: self, own, served: Vec::new(), is_over: false };
        prepare().map_err(NotServed::Refused)?;
        Ok(self.lead(leadership, serve))
    }

    /// Serves all waiting requests. Returns the answer to the own request.
    fn lead(&self, mut leadership: Leadership<'_, R, A>, serve: impl FnOnce(Vec<R>) -> Vec<A>) -> A {
        let group = std::mem::take(&mut self.lock().waiting);
        let mut requests = Vec::with_capacity(group.len());
        for (request, waiter) in group {
            requests.push(request);
            leadership.served.push(waiter);
        }
        let answers = serve(requests);
        assert_eq!(answers.len(), leadership.served.len(), "every request has an answer");
        // The next leader can write its group while this one is answered.
        leadership.hand_over();
        let (own, mut own_answer) = (leadership.own, None);
        for (waiter, answer) in leadership.served.drain(..).zip(answers) {
            if Arc::ptr_eq(&waiter, own) {
                own_answer = Some(answer);
            } else {
                waiter.call(Call::Answer(answer));
            }
        }
        own_answer.expect("the own request waits")
    }

    fn lock(&self) -> MutexGuard<'_, Inner<R, A>> {
        self.inner.lock().unpoisoned()
    }
}

impl<R, A> Inner<R, A> {
    fn place_of(&self, waiter: &Arc<Waiter<A>>) -> Option<usize> {
        self.waiting.iter().position(|(_, other)| Arc::ptr_eq(other, waiter))
    }
}

/// The right to lead, which is handed over even if preparing or serving panics.
struct Leadership<'a, R, A> {
    queue: &'a Queue<R, A>,
    /// The leading thread.
    own: &'a Arc<Waiter<A>>,
    /// The threads whose requests are being served.
    served: Vec<Arc<Waiter<A>>>,
    is_over: bool,
}

impl<R, A> Leadership<'_, R, A> {
    /// Calls the next leader: the first waiting thread.
    fn hand_over(&mut self) {
        self.is_over = true;
        let mut inner = self.queue.lock();
        // A leader that could not begin withdraws its request: it will not lead again.
        if let Some(at) = inner.place_of(self.own) {
            inner.waiting.remove(at);
        }
        // Under the lock, so that no deadline passes in between.
        match inner.waiting.front() {
            Some((_, waiter)) => waiter.call(Call::Lead),
            None => inner.has_leader = false,
        }
    }
}

impl<R, A> Drop for Leadership<'_, R, A> {
    fn drop(&mut self) {
        if !self.is_over {
            self.hand_over();
        }
        self.served.drain(..).for_each(|waiter| waiter.call(Call::LeaderPanicked));
    }
}

/// A waiting thread.
struct Waiter<A> {
    call: Mutex<Option<Call<A>>>,
    called: Condvar,
}

/// A signal to a waiting thread.
enum Call<A> {
    /// The request has been served.
    Answer(A),
    /// The thread becomes the leader; its request still waits.
    Lead,
    /// The leader that had taken the request has panicked.
    LeaderPanicked,
}

impl<A> Waiter<A> {
    fn new() -> Arc<Self> {
        Arc::new(Self { call: Mutex::new(None), called: Condvar::new() })
    }

    fn call(&self, call: Call<A>) {
        *self.call.lock().unpoisoned() = Some(call);
        self.called.notify_one();
    }

    /// Waits for a call; `None` if the deadline passes first.
    fn wait(&self, deadline: Option<Instant>) -> Option<Call<A>> {
        let mut call = self.call.lock().unpoisoned();
        loop {
            if let Some(call) = call.take() {
                return Some(call);
            }
            call = match deadline {
                None => self.called.wait(call).unpoisoned(),
                Some(deadline) => {
                    let time = deadline.saturating_duration_since(Instant::now());
                    if time.is_zero() {
                        return None;
                    }
                    self.called.wait_timeout(call, time).unpoisoned().0
                }
            };
        }
    }
}

#[cfg(test)]
mod tests;
