//! Group commit: writers that come together are served together.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Requests that wait, and who serves them.
///
/// A writer who finds nobody serving serves himself at once. Those who come meanwhile wait; the first of them is called
/// next, and serves all who wait by then. So a sync is shared by as many as came during the one before it. Each waits
/// on a seat of his own, and is called when there is something for him, so nobody is woken for nothing.
pub(crate) struct Queue<R, A> {
    inner: Mutex<Inner<R, A>>,
}

struct Inner<R, A> {
    waiting: Vec<(R, Arc<Seat<A, R>>)>,
    /// Somebody serves, or has been called to. Nobody waits where this is not so.
    is_served: bool,
}

/// Where a writer waits.
struct Seat<A, R> {
    call: Mutex<Option<Call<A, R>>>,
    called: Condvar,
}

/// What a writer is told who waits.
enum Call<A, R> {
    /// His request has been served.
    Answer(A),
    /// He is to serve all who wait; here is his own request.
    Serve(R),
    /// The one who was to serve him has panicked.
    Gone,
}

impl<A, R> Seat<A, R> {
    fn new() -> Self {
        Self { call: Mutex::new(None), called: Condvar::new() }
    }

    fn call(&self, call: Call<A, R>) {
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        self.called.notify_one();
    }

    fn wait(&self) -> Call<A, R> {
        let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(call) = call.take() {
                return call;
            }
            call = self.called.wait(call).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<R, A> Queue<R, A> {
    pub(crate) fn new() -> Self {
        Self { inner: Mutex::new(Inner { waiting: Vec::new(), is_served: false }) }
    }

    /// Waits until the request has been answered: by another writer, or by `serve`, which gets all requests
    /// that wait, in the order in which they came, and returns as many answers.
    ///
    /// # Panics
    /// When the writer who has taken the request has panicked.
    pub(crate) fn submit(&self, request: R, serve: impl FnOnce(Vec<R>) -> Vec<A>) -> A {
        let mut inner = self.lock();
        if !inner.is_served {
            inner.is_served = true;
            drop(inner);
            return self.serve_with_those_who_wait(request, serve);
        }
        let seat = Arc::new(Seat::new());
        inner.waiting.push((request, Arc::clone(&seat)));
        drop(inner);
        match seat.wait() {
            Call::Answer(answer) => answer,
            Call::Serve(request) => self.serve_with_those_who_wait(request, serve),
            Call::Gone => panic!("the thread that was to write this has panicked"),
        }
    }

    fn serve_with_those_who_wait(&self, own: R, serve: impl FnOnce(Vec<R>) -> Vec<A>) -> A {
        let others = std::mem::take(&mut self.lock().waiting);
        let mut turn = Turn { queue: self, seats: Vec::with_capacity(others.len()), is_over: false };
        let mut requests = Vec::with_capacity(1 + others.len());
        requests.push(own);
        for (request, seat) in others {
            requests.push(request);
            turn.seats.push(seat);
        }
        let answers = serve(requests);
        assert_eq!(answers.len(), 1 + turn.seats.len(), "every request has an answer");
        // The next group is on its way to the disk while this one is told.
        turn.hand_over();
        let mut answers = answers.into_iter();
        let own = answers.next();
        turn.seats.drain(..).zip(answers).for_each(|(seat, answer)| seat.call(Call::Answer(answer)));
        own.expect("there is one for every request")
    }

    fn lock(&self) -> MutexGuard<'_, Inner<R, A>> {
        // Whatever is done under the lock is done whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to serve; it ends also where serving panics.
struct Turn<'a, R, A> {
    queue: &'a Queue<R, A>,
    /// Of those who are being served, without the one who serves.
    seats: Vec<Arc<Seat<A, R>>>,
    is_over: bool,
}

impl<R, A> Turn<'_, R, A> {
    /// Calls the first who waits.
    fn hand_over(&mut self) {
        self.is_over = true;
        let mut inner = self.queue.lock();
        if inner.waiting.is_empty() {
            inner.is_served = false;
        } else {
            let (request, seat) = inner.waiting.remove(0);
            drop(inner);
            seat.call(Call::Serve(request));
        }
    }
}

impl<R, A> Drop for Turn<'_, R, A> {
    fn drop(&mut self) {
        if !self.is_over {
            self.hand_over();
        }
        self.seats.drain(..).for_each(|seat| seat.call(Call::Gone));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

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
                        let answer = queue.submit(request, |requests| {
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
        assert!(queue.lock().waiting.is_empty() && !queue.lock().is_served);
    }

    #[test]
    fn requests_that_came_meanwhile_are_served_together() {
        let queue = Queue::<u32, usize>::new();
        thread::scope(|scope| {
            let answer = queue.submit(0, |first| {
                assert_eq!(first, [0]);
                for request in 1..=5 {
                    let queue = &queue;
                    scope.spawn(move || {
                        let answer = queue.submit(request, |all| vec![all.len(); all.len()]);
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
        assert_eq!(queue.submit(9, |all| vec![all.len()]), 1);
    }

    #[test]
    fn a_server_that_panics_takes_only_its_group_with_it() {
        let queue = Queue::<u32, u32>::new();
        let outcome = thread::scope(|scope| scope.spawn(|| queue.submit(1, |_| panic!("on purpose"))).join());
        assert!(outcome.is_err());
        assert_eq!(queue.submit(2, |requests| requests), 2);
    }

    #[test]
    fn those_who_were_to_be_served_by_one_who_panics_are_told_and_the_others_are_served() {
        let queue = Queue::<u32, u32>::new();
        let has_taken = AtomicUsize::new(0);
        let wait_for = |waiting: usize| {
            while queue.lock().waiting.len() < waiting {
                thread::yield_now();
            }
        };
        let come = &|request: u32| {
            queue.submit(request, |requests| {
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
            let answer = queue.submit(0, |requests| {
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
        assert_eq!(queue.submit(7, |requests| requests), 7);
    }
}
