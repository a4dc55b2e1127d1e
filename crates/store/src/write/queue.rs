//! The queue of group commits: a leader serves all waiting requests together.

mod recipient;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub(crate) use recipient::Callback;
use recipient::{Call, Recipient, Waiter};

/// A queue of requests with at most one leader.
///
/// A writer that finds no leader becomes the leader at once. Requests that arrive meanwhile wait; the first waiting
/// thread is the next leader, and serves all requests that wait by then, in the order of arrival. So all requests that
/// arrive during a sync share the next one. Each follower waits on a condition of its own, so that none wakes up
/// without need.
///
/// A request may also have a callback instead of a thread. If only such requests wait, the thread in [`Queue::run`]
/// leads.
pub(crate) struct Queue<R, A> {
    inner: Mutex<Inner<R, A>>,
    /// Signals that only callbacks wait and there is no leader, or that the queue is closed.
    called: Condvar,
}

struct Inner<R, A> {
    waiting: VecDeque<(R, Recipient<A>)>,
    /// Whether there is a leader, or one has been called. Without one, no request waits.
    has_leader: bool,
    /// Whether the thread of callbacks has been called to lead.
    is_called: bool,
    is_closed: bool,
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
        let waiting = VecDeque::new();
        let inner = Inner { waiting, has_leader: false, is_called: false, is_closed: false };
        Self { inner: Mutex::new(inner), called: Condvar::new() }
    }

    /// Whether requests with callbacks wait.
    pub(crate) fn has_callbacks(&self) -> bool {
        self.lock().waiting.iter().any(|(_, recipient)| matches!(recipient, Recipient::Callback(_)))
    }

    /// Returns the sum of a quantity over all waiting requests.
    pub(crate) fn sum(&self, of: impl Fn(&R) -> u64) -> u64 {
        self.lock().waiting.iter().map(|(request, _)| of(request)).sum()
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
            inner.waiting.push_back((request, Recipient::Thread(Arc::clone(&waiter))));
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
                    && waiter.lock().is_none()
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

    /// Adds a request whose answer goes to a callback, unless `most` requests are waiting or the queue is closed.
    /// Requests are served in the order in which they were added; their callbacks run on any thread, in any order.
    pub(crate) fn push(&self, request: R, callback: Callback<A>, most: usize) -> Result<(), Refused> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Err(Refused::Closed);
        }
        if inner.waiting.len() >= most {
            return Err(Refused::Full);
        }
        inner.waiting.push_back((request, Recipient::Callback(callback)));
        if !std::mem::replace(&mut inner.has_leader, true) {
            inner.is_called = true;
            self.called.notify_one();
        }
        Ok(())
    }

    /// Leads whenever only callbacks wait, until the queue is closed and empty. `serve` gets the outcome of `prepare`. If
    /// one of them panics, the requests of that group are answered with `None`, and later ones are served.
    pub(crate) fn run<E>(
        &self,
        mut prepare: impl FnMut() -> Result<(), E>,
        mut serve: impl FnMut(Vec<R>, Result<(), E>) -> Vec<A>,
    ) {
        loop {
            let idle = |inner: &mut Inner<R, A>| !inner.is_called && (!inner.is_closed || inner.has_leader);
            let waited = self.called.wait_while(self.lock(), idle);
            let mut inner = waited.unwrap_or_else(PoisonError::into_inner);
            if !std::mem::replace(&mut inner.is_called, false) {
                return;
            }
            drop(inner);
            let leadership = self.leadership(None);
            // A group whose preparation panics is taken as well: nothing else would answer it.
            let prepared = catch_unwind(AssertUnwindSafe(&mut prepare));
            let lead = || {
                self.lead(leadership, |requests| {
                    serve(requests, prepared.unwrap_or_else(|panic| resume_unwind(panic)))
                })
            };
            // The thread stays, since no other serves callbacks.
            drop(catch_unwind(AssertUnwindSafe(lead)));
        }
    }

    /// Rejects further callbacks, and ends [`Queue::run`].
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.called.notify_all();
    }

    fn lead_as<E>(
        &self,
        own: &Arc<Waiter<A>>,
        prepare: impl FnOnce() -> Result<(), E>,
        serve: impl FnOnce(Vec<R>) -> Vec<A>,
    ) -> Result<A, NotServed<E>> {
        let leadership = self.leadership(Some(own));
        prepare().map_err(NotServed::Refused)?;
        Ok(self.lead(leadership, serve).expect("the own request waits"))
    }

    fn leadership<'a>(&'a self, own: Option<&'a Arc<Waiter<A>>>) -> Leadership<'a, R, A> {
        Leadership { queue: self, own, recipients: Vec::new(), is_over: false }
    }

    /// Serves all waiting requests. Returns the answer to the own request.
    fn lead(&self, mut leadership: Leadership<'_, R, A>, serve: impl FnOnce(Vec<R>) -> Vec<A>) -> Option<A> {
        let group = std::mem::take(&mut self.lock().waiting);
        let mut requests = Vec::with_capacity(group.len());
        for (request, recipient) in group {
            requests.push(request);
            leadership.recipients.push(recipient);
        }
        let answers = serve(requests);
        assert_eq!(answers.len(), leadership.recipients.len(), "every request has an answer");
        // The next leader can write its group while this one is answered.
        leadership.hand_over();
        let (own, mut own_answer) = (leadership.own, None);
        for (recipient, answer) in leadership.recipients.drain(..).zip(answers) {
            match (&recipient, own) {
                (Recipient::Thread(waiter), Some(own)) if Arc::ptr_eq(waiter, own) => {
                    own_answer = Some(answer);
                }
                _ => recipient.answer(Some(answer)),
            }
        }
        own_answer
    }

    fn lock(&self) -> MutexGuard<'_, Inner<R, A>> {
        // No critical section can leave a partial change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason why a request with a callback is rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Full,
    Closed,
}

impl<R, A> Inner<R, A> {
    fn place_of(&self, waiter: &Arc<Waiter<A>>) -> Option<usize> {
        self.waiting.iter().position(|(_, recipient)| match recipient {
            Recipient::Thread(other) => Arc::ptr_eq(other, waiter),
            Recipient::Callback(_) => false,
        })
    }
}

/// The right to lead, which is handed over even if preparing or serving panics.
struct Leadership<'a, R, A> {
    queue: &'a Queue<R, A>,
    /// The leading thread, if it has a request in the queue.
    own: Option<&'a Arc<Waiter<A>>>,
    /// The recipients of the requests that are being served.
    recipients: Vec<Recipient<A>>,
    is_over: bool,
}

impl<R, A> Leadership<'_, R, A> {
    /// Calls the next leader: the first waiting thread, or the thread of callbacks.
    fn hand_over(&mut self) {
        self.is_over = true;
        let mut inner = self.queue.lock();
        // A leader that could not begin withdraws its request: it will not lead again.
        if let Some(at) = self.own.and_then(|own| inner.place_of(own)) {
            inner.waiting.remove(at);
        }
        let threads = inner.waiting.iter().find_map(|(_, recipient)| match recipient {
            Recipient::Thread(waiter) => Some(waiter),
            Recipient::Callback(_) => None,
        });
        // Under the lock, so that no deadline passes in between.
        match threads {
            Some(waiter) => waiter.call(Call::Lead),
            None if inner.waiting.is_empty() => {
                inner.has_leader = false;
                if inner.is_closed {
                    self.queue.called.notify_one();
                }
            }
            None => {
                inner.is_called = true;
                self.queue.called.notify_one();
            }
        }
    }
}

impl<R, A> Drop for Leadership<'_, R, A> {
    fn drop(&mut self) {
        if !self.is_over {
            self.hand_over();
        }
        self.recipients.drain(..).for_each(|recipient| recipient.answer(None));
    }
}

#[cfg(test)]
mod tests;
