//! Tests of the queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
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
    let outcome = thread::scope(|scope| scope.spawn(|| submit(&queue, 1, |_| panic!("on purpose"))).join());
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
