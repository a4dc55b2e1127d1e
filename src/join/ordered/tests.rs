//! Orders, ends, failures.

use std::time::Duration;

use super::*;
use crate::error::ReadErrorKind;

const THREADS: [usize; 4] = [1, 2, 3, 8];

/// As [`collect_with`], on threads that the system does not refuse.
fn collect(threads: usize, count: usize, most: usize) -> (Vec<(usize, usize)>, Result<(), ReadError>) {
    collect_with(&|_| thread::Builder::new(), threads, count, most)
}

/// Tasks of very different length, that send 0 to 39 numbers each.
fn collect_with(
    builder: &dyn Fn(usize) -> thread::Builder,
    threads: usize,
    count: usize,
    most: usize,
) -> (Vec<(usize, usize)>, Result<(), ReadError>) {
    let mut all = Vec::new();
    let outcome = run_with(
        builder,
        NonZeroUsize::new(threads).unwrap(),
        count,
        || (),
        |(), number, send| {
            std::thread::sleep(Duration::from_micros((number * 7919 % 13) as u64 * 50));
            for result in 0..number * 31 % 40 {
                send((number, result))?;
            }
            if number == 77 { Err(ReadErrorKind::NotHamdex.into()) } else { Ok(()) }
        },
        &mut |result| {
            all.push(result);
            if all.len() == most { Err(Stopped) } else { Ok(()) }
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
        assert!(outcome.is_ok());
        assert!(collect(threads, 0, usize::MAX).1.is_ok());
    }
}

#[test]
fn it_ends_when_its_receiver_breaks() {
    for threads in THREADS {
        for most in [1, 2, 100, 700] {
            let (all, outcome) = collect(threads, 70, most);
            assert_eq!(all.len(), most);
            assert!(matches!(outcome.unwrap_err().kind(), ReadErrorKind::Stopped));
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
fn threads_that_are_refused_are_done_without() {
    let expected = collect(1, 70, usize::MAX).0;
    for allowed in [0, 1, 3] {
        // No system has address space for such a stack.
        let stack_bytes = |number| if number < allowed { 1 << 20 } else { 1 << 60 };
        let builder = |number| thread::Builder::new().stack_size(stack_bytes(number));
        assert!(builder(allowed).spawn(|| ()).is_err());
        let (all, outcome) = collect_with(&builder, 4, 70, usize::MAX);
        assert_eq!(all, expected, "{allowed}");
        assert!(outcome.is_ok());
        assert!(collect_with(&builder, 4, 70, 9).1.is_err());
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
                        Ok(send(number)?)
                    },
                    &mut |number| {
                        assert!(in_task || number != 5);
                        Ok(())
                    },
                )
            });
            assert!(outcome.is_err());
        }
    }
}
