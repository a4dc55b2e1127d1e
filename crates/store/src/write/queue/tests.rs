//! Tests of the queue.

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
