//! Group commit: writers that come together are served together.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Requests that wait, and who serves them.
///
/// The first writer who finds nobody serving takes all requests that wait, his own among them, and serves them
/// at once; those who come meanwhile wait, and one of them serves all of these next. So a sync is shared by as
/// many as came during the one before it.
pub(crate) struct Queue<R, A> {
    inner: Mutex<Inner<R, A>>,
    /// Something has been answered, or somebody else may serve.
    changed: Condvar,
}

struct Inner<R, A> {
    waiting: Vec<(u64, R)>,
    answers: HashMap<u64, A>,
    next_ticket: u64,
    is_served: bool,
    /// Tickets below this have been taken to be served.
    taken: u64,
}

impl<R, A> Queue<R, A> {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            waiting: Vec::new(),
            answers: HashMap::new(),
            next_ticket: 0,
            is_served: false,
            taken: 0,
        };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Waits until the request has been answered: by another writer, or by `serve`, which gets all requests
    /// that wait, in the order in which they came, and returns as many answers.
    ///
    /// # Panics
    /// When the writer who has taken the request has panicked.
    pub(crate) fn submit(&self, request: R, serve: impl FnOnce(Vec<R>) -> Vec<A>) -> A {
        let mut inner = self.lock();
        let ticket = inner.next_ticket;
        inner.next_ticket += 1;
        inner.waiting.push((ticket, request));
        while inner.is_served {
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
            if let Some(answer) = inner.answers.remove(&ticket) {
                return answer;
            }
        }
        // Nobody serves, and it has not been answered: it still waits, unless its server is gone.
        assert!(ticket >= inner.taken, "the thread that was to write this has panicked");
        let group = std::mem::take(&mut inner.waiting);
        inner.taken = inner.next_ticket;
        inner.is_served = true;
        drop(inner);

        let serving = Serving(self);
        let (tickets, requests): (Vec<u64>, Vec<R>) = group.into_iter().unzip();
        let mut own = None;
        let answers = serve(requests);
        assert_eq!(answers.len(), tickets.len(), "every request has an answer");
        let mut inner = self.lock();
        for (other, answer) in tickets.into_iter().zip(answers) {
            if other == ticket {
                own = Some(answer);
            } else {
                inner.answers.insert(other, answer);
            }
        }
        drop(inner);
        drop(serving);
        own.expect("one's own request is among those that wait")
    }

    fn lock(&self) -> MutexGuard<'_, Inner<R, A>> {
        // Whatever is done under the lock is done whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends serving, also where it panics.
struct Serving<'a, R, A>(&'a Queue<R, A>);

impl<R, A> Drop for Serving<'_, R, A> {
    fn drop(&mut self) {
        self.0.lock().is_served = false;
        self.0.changed.notify_all();
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
        assert!(queue.lock().answers.is_empty());
    }

    #[test]
    fn requests_that_came_meanwhile_are_served_together() {
        let queue = Queue::<u32, usize>::new();
        thread::scope(|scope| {
            let answer = queue.submit(0, |first| {
                assert_eq!(first, [0]);
                for request in 1..=5 {
                    let queue = &queue;
                    scope.spawn(move || queue.submit(request, |all| vec![all.len(); all.len()]));
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
}
