//! Memory, threads, temporary files, and reports.

use std::sync::{Arc, Mutex};
use std::thread;

use hamdex::Cancellation;
use hamdex_documents::{Clustering, Document, Error, Stage};
use rayon::ThreadPoolBuilder;

use super::common::{Rule, corpus, text};

/// Some thousand documents: stories with a word changed here and there, each three times.
fn many() -> Vec<String> {
    let story =
        |number: usize| text(1000 + number / 3, 0).replace(&format!("word{}", number % 50), "changed");
    (0..3000).map(story).collect()
}

#[test]
fn clusters_do_not_depend_on_threads_or_memory() {
    let texts = many();
    for clustering in [Clustering::Stars, Clustering::Linked] {
        for rule in [Rule::default(), Rule::of_distance(6)] {
            let rule = Rule { clustering, ..rule };
            let run = |threads, memory| {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let dedup = rule.dedup::<u64>().memory(memory);
                pool.install(|| dedup.run_on(corpus(&texts)).unwrap()).members().to_vec()
            };
            let expected = run(1, 1 << 30);
            assert!(expected.len() > 2000, "{}", expected.len());
            assert_eq!(run(3, 1 << 30), expected);
            // Too little for the shingles of all, so that most of them are in a temporary file.
            assert_eq!(run(2, 2 << 20), expected);
        }
    }
}

#[test]
fn an_error_about_memory_reports_the_sufficient_limit() {
    let dedup = Rule::default().dedup::<u64>();
    let error = dedup.memory(100_000).run_on(corpus(&many())).unwrap_err();
    let Error::Memory { documents: 3000, bytes, allowed: 100_000 } = error else { panic!("{error:?}") };
    assert!(Rule::default().dedup::<u64>().memory(bytes).run_on(corpus(&many())).is_ok());
}

#[test]
fn documents_that_are_too_short_are_reported_if_fingerprints_are_compared() {
    let texts = [text(0, 0), "short".to_owned(), text(1, 0)];
    for (rule, expected) in [(Rule::of_distance(3), vec![("d1".to_owned(), 1)]), (Rule::default(), vec![])] {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let receiver = Arc::clone(&reported);
        let dedup = rule
            .dedup::<u64>()
            .on_too_short(move |documents| receiver.lock().unwrap().extend_from_slice(documents.examples()));
        dedup.run_on(corpus(&texts)).unwrap();
        assert_eq!(*reported.lock().unwrap(), expected);
    }
}

#[test]
fn a_missing_directory_is_an_error_only_if_it_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let dedup = |memory| Rule::default().dedup::<u64>().temp_dir(&missing).memory(memory);
    assert!(dedup(1 << 30).run_on(corpus(&many())).is_ok());
    let error = dedup(1 << 20).run_on(corpus(&many())).unwrap_err();
    assert!(matches!(error, Error::Temporary { .. }), "{error:?}");
}

/// So that a run which is killed leaves nothing either.
#[cfg(target_os = "linux")]
#[test]
fn no_temporary_file_has_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let (watched, record) = (directory.path().to_owned(), Arc::clone(&seen));
    let dedup = Rule { clustering: Clustering::Linked, ..Rule::default() }
        .dedup::<u64>()
        .temp_dir(directory.path())
        .memory(1 << 15)
        .on_progress(move |progress| {
            let mut record = record.lock().unwrap();
            record.0.push(progress.stage);
            record.1.extend(watched.read_dir().unwrap().map(|entry| entry.unwrap().file_name()));
        });
    let documents = (0..50).map(|number| Document::new(number.to_string(), text(number / 2, 0)));
    assert_eq!(dedup.run_on(documents).unwrap().count(), 25);
    let (stages, names) = &*seen.lock().unwrap();
    for stage in [Stage::Read, Stage::Count, Stage::Compare, Stage::Cluster, Stage::Measure] {
        assert!(stages.contains(&stage), "every stage reports its progress: {stage:?}");
    }
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_search_ends_in_the_stage_in_which_it_is_stopped() {
    let documents = || many().into_iter().map(|text| Document::new("", text));
    let by_distance = Rule::of_distance(3);
    for rule in [Rule { clustering: Clustering::Linked, ..Rule::default() }, by_distance] {
        for last in [Stage::Read, Stage::Count, Stage::Compare, Stage::Cluster, Stage::Measure] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let record = Arc::clone(&seen);
            let cancellation = Cancellation::new();
            let dedup = rule.dedup::<u64>().cancellation(cancellation.clone()).on_progress(move |progress| {
                record.lock().unwrap().push(progress.stage);
                if progress.stage == last {
                    // From another thread.
                    thread::scope(|scope| scope.spawn(|| cancellation.cancel()).join()).unwrap();
                }
            });
            let outcome = dedup.run_on(documents());
            assert_eq!(outcome.is_err(), seen.lock().unwrap().contains(&last), "{last:?}");
            assert!(outcome.is_ok() || matches!(outcome, Err(Error::Stopped)));
        }
        let cancellation = Cancellation::new();
        cancellation.cancel();
        let dedup = rule.dedup::<u64>().cancellation(cancellation);
        assert!(matches!(dedup.run_on(documents()), Err(Error::Stopped)));
    }
}
