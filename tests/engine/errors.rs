//! Errors name the file, and have the error of the operating system as their source, not in their text.

use std::error::Error;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};

use crate::common::{Scratch, with_a_damaged_block};
use hamdex::{BatchOptions, BuildError, BuildOptions, Builder, Checksums, Index, OpenOptions, ReadError};

/// Every text of an error and its sources.
fn texts(error: &dyn Error) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect()
}

/// That no text of the chain says what the next one says.
fn assert_said_once(error: &dyn Error) {
    let texts = texts(error);
    for pair in texts.windows(2) {
        assert!(!pair[0].contains(&pair[1]), "{texts:?}");
    }
}

#[test]
fn errors_while_opening_name_the_file() {
    let scratch = Scratch::new();
    let (missing, other) = (scratch.path("missing.hamdex"), scratch.path("other.txt"));
    fs::write(&other, "id,text\n1,hello").unwrap();
    for path in [&missing, &other] {
        let opened = Index::<u64>::open(path).unwrap_err();
        let loaded = OpenOptions::new().in_memory(true).open::<u64>(path).unwrap_err();
        for error in [opened, loaded, hamdex::width(path).unwrap_err()] {
            assert_eq!(error.path(), Some(path.as_path()));
            assert!(error.to_string().starts_with(&*path.to_string_lossy()), "{error}");
            assert_eq!(error.source().is_some(), path == &missing);
            assert_said_once(&error);
        }
    }
}

#[test]
fn errors_after_opening_name_the_file() {
    let scratch = Scratch::new();
    let path = scratch.path("damaged.hamdex");
    let (bytes, keys) = with_a_damaged_block();
    fs::write(&path, &bytes).unwrap();
    let of = |index: &Index<u64>| -> Vec<ReadError> {
        let query = keys[3];
        let batch = vec![query; 100];
        let ask = |queries: &[u64]| {
            index.batch_with(queries, 1, &BatchOptions::new(), |_, _| Ok::<_, ReadError>(()))
        };
        let mut searcher = index.searcher();
        vec![
            searcher.within(query, 3).unwrap_err(),
            searcher.first(query, 0).unwrap_err(),
            searcher.nearest(query, 5000).unwrap_err(),
            searcher.ids(query).err().or_else(|| index.contains(query).err()).unwrap(),
            index.contains(query).unwrap_err(),
            ask(&batch).unwrap_err(),
            ask(&batch[..2]).unwrap_err(),
            index.pairs(2).collect().unwrap_err(),
            index.verify().unwrap_err(),
            index.fingerprints().find_map(Result::err).unwrap(),
        ]
    };
    for error in of(&Index::open(&path).unwrap()) {
        assert_eq!(error.path(), Some(path.as_path()), "{error}");
        assert!(error.to_string().starts_with(&*path.to_string_lossy()), "{error}");
    }
    let error = Index::<u64>::from_bytes(bytes).unwrap().verify().unwrap_err();
    assert!(error.path().is_none() && error.to_string().starts_with("index in memory: "), "{error}");
}

#[test]
fn errors_of_a_build_name_the_file_and_no_flag_of_the_command() {
    let scratch = Scratch::new();
    let error = Builder::<u64>::new(scratch.path("none/index.hamdex")).map(drop).unwrap_err();
    assert!(error.to_string().contains("none") && error.source().is_some(), "{error}");
    assert_said_once(&error);
    fs::write(scratch.path("taken"), "").unwrap();
    let taken = Builder::<u64>::new(scratch.path("taken")).map(drop).unwrap_err();
    for error in [taken, BuildError::OutOfMemory { bytes: 7 }] {
        assert!(!error.to_string().contains("--"), "{error}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads_an_option_names() {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().threads(2)).unwrap();
    (0..5000).try_for_each(|i| builder.push(i * 0x0123_4567_89ab)).unwrap();
    builder.finish().unwrap();
    let index = Index::<u64>::open(&path).unwrap();
    let queries: Vec<u64> = (0..500).map(|i| (i * 0x0123_4567_89ab) ^ 1).collect();
    let answers = |threads| {
        let mut answers = Vec::new();
        let options = BatchOptions::new().threads(threads);
        let outcome = index.batch_with(&queries, 3, &options, |_, matches| {
            answers.push(matches.to_vec());
            Ok::<_, ReadError>(())
        });
        outcome.unwrap();
        answers
    };
    let alone = answers(1);
    assert!(alone.iter().all(|matches| !matches.is_empty()));
    for threads in [0, 2, 5] {
        assert_eq!(answers(threads), alone);
        let verified = index.verify_with(&hamdex::VerifyOptions::new().threads(threads)).unwrap();
        assert_eq!(verified.fingerprints, 5000);
    }
}

/// Ids that change on storage after the first read are detected if every read is checked.
#[test]
fn ids_are_checked_each_time_where_everything_is() {
    let directory = tempfile::tempdir().unwrap();
    for checksums in [Checksums::FirstTouch, Checksums::Always] {
        let path = directory.path().join(format!("{checksums:?}.hamdex"));
        let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true)).unwrap();
        (0..1000u64).try_for_each(|i| builder.push_with_id(i << 40, i * 3)).unwrap();
        builder.finish().unwrap();
        // A copy in memory would not change with the file.
        let index = OpenOptions::new().checksums(checksums).open::<u64>(&path).unwrap();
        let ids = || index.ids(500 << 40).map(Iterator::collect::<Vec<_>>);
        assert_eq!(ids().unwrap(), [1500]);
        let table = &index.stats().tables[0];
        let mut file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        // The ids follow the blocks of table 0.
        file.seek(SeekFrom::Start(table.offset + table.block_bytes + 700)).unwrap();
        file.read_exact(&mut byte).unwrap();
        file.seek_relative(-1).unwrap();
        file.write_all(&[byte[0] ^ 1]).unwrap();
        assert_eq!(ids().is_err(), checksums == Checksums::Always);
    }
}
