//! The queue of group commits: a leader serves all waiting requests together.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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

/// A callback for the answer to a request; `None` if its leader has panicked.
pub(crate) type Callback<A> = Box<dyn FnOnce(Option<A>) + Send>;

/// The recipient of an answer.
enum Recipient<A> {
    Thread(Arc<Waiter<A>>),
    Callback(Callback<A>),
}

impl<A> Recipient<A> {
    fn answer(self, answer: Option<A>) {
        match self {
            Self::Thread(waiter) => waiter.call(answer.map_or(Call::LeaderPanicked, Call::Answer)),
            // A panic in a callback must not affect other writers.
            Self::Callback(callback) => drop(catch_unwind(AssertUnwindSafe(|| callback(answer)))),
        }
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
        *self.lock() = Some(call);
        self.called.notify_one();
    }

    /// Waits for a call; `None` if the deadline passes first.
    fn wait(&self, deadline: Option<Instant>) -> Option<Call<A>> {
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

    fn lock(&self) -> MutexGuard<'_, Option<Call<A>>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn submit<R, A>(queue: &Queue<R, A>, request: R, serve: impl FnOnce(Vec<R>) -> Vec<A>) -> A {
        queue.submit(request, None, || Ok::<_, NotServed<()>>(()), serve).unwrap_or_else(|_| unreachable!())
    }

    #[test]
    fn every_request_is_answered_once_and_many_at_a_time() {
        let queue = Queue::<u64, u64>::new();
        let (served, groups, serving) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for thread in 0..16u64 {
                let (queue, served, groups, serving) = (&queue, &served, &groups, &serving);
                scope.spawn(move || {
                    for number in 0..100 {
                        let request = thread * 1000 + number;
                        let answer = submit(queue, request, |requests| {
                            assert_eq!(serving.fetch_add(1, Ordering::SeqCst), 0, "one serves at a time");
                            thread::sleep(Duration::from_micros(200));
                            served.fetch_add(requests.len(), Ordering::SeqCst);
                            groups.fetch_add(1, Ordering::SeqCst);
                            serving.fetch_sub(1, Ordering::SeqCst);
                            requests.into_iter().map(|request| request + 7).collect()
                        });
                        assert_eq!(answer, request + 7);
                    }
                });
            }
        });
        assert_eq!(served.into_inner(), 1600);
        assert!(groups.into_inner() <= 1600);
        assert!(queue.lock().waiting.is_empty() && !queue.lock().has_leader);
    }

    #[test]
    fn requests_that_came_meanwhile_are_served_together() {
        let queue = Queue::<u32, usize>::new();
        thread::scope(|scope| {
            let answer = submit(&queue, 0, |first| {
                assert_eq!(first, [0]);
                for request in 1..=5 {
                    let queue = &queue;
                    scope.spawn(move || {
                        let answer = submit(queue, request, |all| vec![all.len(); all.len()]);
                        assert_eq!(answer, 5);
                    });
                }
                while queue.lock().waiting.len() < 5 {
                    thread::yield_now();
                }
                vec![1]
            });
            assert_eq!(answer, 1);
        });
        assert_eq!(submit(&queue, 9, |all| vec![all.len()]), 1);
    }

    #[test]
    fn a_leader_that_panics_takes_only_its_group_with_it() {
        let queue = Queue::<u32, u32>::new();
        let outcome =
            thread::scope(|scope| scope.spawn(|| submit(&queue, 1, |_| panic!("on purpose"))).join());
        assert!(outcome.is_err());
        assert_eq!(submit(&queue, 2, |requests| requests), 2);
    }

    #[test]
    fn the_group_of_a_leader_that_panics_is_told_and_others_are_served() {
        let queue = Queue::<u32, u32>::new();
        let has_taken = AtomicUsize::new(0);
        let wait_for = |waiting: usize| {
            while queue.lock().waiting.len() < waiting {
                thread::yield_now();
            }
        };
        let come = &|request: u32| {
            submit(&queue, request, |requests| {
                if requests[0] == 1 {
                    assert_eq!(requests, [1, 2, 3]);
                    has_taken.store(1, Ordering::SeqCst);
                    wait_for(2);
                    panic!("on purpose");
                }
                requests
            })
        };
        let outcomes: Vec<bool> = thread::scope(|scope| {
            let mut waiters = Vec::new();
            let answer = submit(&queue, 0, |requests| {
                for request in 1..=3 {
                    waiters.push(scope.spawn(move || come(request)));
                    wait_for(request as usize);
                }
                requests
            });
            assert_eq!(answer, 0);
            while has_taken.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            waiters.extend((4..=5).map(|request| scope.spawn(move || come(request))));
            waiters.into_iter().map(|waiter| waiter.join().is_ok()).collect()
        });
        assert_eq!(outcomes, [false, false, false, true, true]);
        assert_eq!(submit(&queue, 7, |requests| requests), 7);
    }

    #[test]
    fn a_request_is_withdrawn_at_its_deadline_unless_it_has_been_taken() {
        let queue = Queue::<u32, u32>::new();
        let soon = || Some(Instant::now() + Duration::from_millis(20));
        thread::scope(|scope| {
            let answer = submit(&queue, 0, |requests| {
                let late = scope.spawn(|| queue.submit(1, soon(), || Ok::<_, ()>(()), |requests| requests));
                assert_eq!(late.join().unwrap(), Err(NotServed::TimedOut));
                assert_eq!(queue.len(), 0);
                requests
            });
            assert_eq!(answer, 0);
            // The leader takes as long as it likes for what it has taken.
            let slow = queue.submit(
                2,
                soon(),
                || Ok::<_, ()>(()),
                |requests| {
                    thread::sleep(Duration::from_millis(50));
                    requests
                },
            );
            assert_eq!(slow, Ok(2));
        });
    }

    #[test]
    fn a_leader_that_cannot_begin_leaves_the_others_to_the_next() {
        let queue = Queue::<u32, u32>::new();
        thread::scope(|scope| {
            let mut other = None;
            let refused = queue.submit(
                1,
                None,
                || {
                    other = Some(scope.spawn(|| submit(&queue, 2, |requests| requests)));
                    while queue.len() < 2 {
                        thread::yield_now();
                    }
                    Err("no room")
                },
                |_| unreachable!(),
            );
            assert_eq!(refused, Err(NotServed::Refused("no room")));
            assert_eq!(other.unwrap().join().unwrap(), 2);
        });
        assert!(!queue.lock().has_leader);
    }

    #[test]
    fn a_leader_that_panics_before_it_begins_leaves_the_others_to_the_next() {
        let queue = Queue::<u32, u32>::new();
        thread::scope(|scope| {
            let mut other = None;
            let panics = || {
                other = Some(scope.spawn(|| submit(&queue, 2, |requests| requests)));
                while queue.len() < 2 {
                    thread::yield_now();
                }
                panic!("on purpose")
            };
            let submitted = || queue.submit::<()>(1, None, panics, |requests| requests);
            assert!(catch_unwind(AssertUnwindSafe(submitted)).is_err());
            assert_eq!(other.unwrap().join().unwrap(), 2);
        });
        assert!(!queue.lock().has_leader && queue.len() == 0);
        assert_eq!(submit(&queue, 3, |requests| requests), 3);
    }

    #[test]
    fn the_thread_of_callbacks_outlives_a_panic() {
        let queue = Arc::new(Queue::<u32, u32>::new());
        let server = {
            let queue = Arc::clone(&queue);
            let mut turns = 0;
            let prepare = move || {
                turns += 1;
                if turns == 1 { panic!("on purpose") } else { Ok::<_, ()>(()) }
            };
            let serve = |requests: Vec<u32>, _| match requests[0] {
                2 => panic!("on purpose"),
                _ => requests,
            };
            thread::spawn(move || queue.run(prepare, serve))
        };
        let (send, answers) = std::sync::mpsc::channel();
        for (request, expected) in [(1, None), (2, None), (3, Some(3))] {
            let send = send.clone();
            queue.push(request, Box::new(move |answer| send.send(answer).unwrap()), 9).unwrap();
            assert_eq!(answers.recv_timeout(Duration::from_secs(60)), Ok(expected));
        }
        assert_eq!(submit(&queue, 4, |requests| requests), 4);
        queue.close();
        server.join().unwrap();
    }

    #[test]
    fn callbacks_are_answered_with_and_without_threads_that_wait() {
        let queue = Arc::new(Queue::<u32, u32>::new());
        let answers = Arc::new(Mutex::new(Vec::new()));
        let server = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.run(|| Ok::<_, ()>(()), |requests, _| requests))
        };
        let push = |request: u32| {
            let answers = Arc::clone(&answers);
            let callback = Box::new(move |answer: Option<u32>| answers.lock().unwrap().push(answer.unwrap()));
            queue.push(request, callback, 1000)
        };
        for request in 0..500 {
            push(request).unwrap();
            if request % 50 == 0 {
                assert_eq!(submit(&queue, 1000, |requests| requests), 1000);
            }
        }
        queue.close();
        server.join().unwrap();
        // Another leader may still be answering its group.
        while answers.lock().unwrap().len() < 500 {
            thread::yield_now();
        }
        let mut answers = answers.lock().unwrap().clone();
        answers.sort_unstable();
        assert_eq!(answers, (0..500).collect::<Vec<_>>());
        assert_eq!(push(7), Err(Refused::Closed));
    }

    #[test]
    fn a_full_queue_takes_no_more_callbacks() {
        let queue = Queue::<u32, u32>::new();
        let push = || queue.push(1, Box::new(|answer| assert!(answer.is_none())), 2);
        assert_eq!((push(), push(), push()), (Ok(()), Ok(()), Err(Refused::Full)));
        assert_eq!((queue.len(), queue.sum(|request| u64::from(*request))), (2, 2));
        // Callbacks are also called if the requests cannot be served.
        let mut leadership = queue.leadership(None);
        leadership.recipients.extend(queue.lock().waiting.drain(..).map(|(_, recipient)| recipient));
        drop(leadership);
    }
    #[test]
    fn a_callback_that_panics_concerns_no_one_else() {
        let queue = Queue::<u32, u32>::new();
        let answers = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&answers);
        queue.push(1, Box::new(|_| panic!("on purpose")), 9).unwrap();
        let count = move |answer: Option<u32>| counted.store(answer.unwrap() as usize, Ordering::SeqCst);
        queue.push(2, Box::new(count), 9).unwrap();
        queue.close();
        queue.run(|| Ok::<_, ()>(()), |requests, _| requests);
        assert_eq!(answers.load(Ordering::SeqCst), 2);
        assert_eq!(submit(&queue, 3, |requests| requests), 3);
    }
}
