//! An index that was read into memory: the same answers, even if the file is changed or removed.

use std::fs;

use crate::common::{Shape, data};
use hamdex::{BuildOptions, Builder, Codec, Index, OpenOptions};

#[test]
fn it_answers_as_the_mapped_one_does_and_outlives_its_file() {
    let stored = data::<u64>(Shape::Clustered, 3000, 5);
    let directory = tempfile::tempdir().unwrap();
    for codec in Codec::ALL {
        let path = directory.path().join(format!("{codec}.hamdex"));
        let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().codec(codec)).unwrap();
        stored.iter().for_each(|&x| builder.push(x).unwrap());
        builder.finish().unwrap();

        let mapped = Index::<u64>::open(&path).unwrap();
        let mut searcher = mapped.searcher();
        let queries: Vec<u64> = stored.iter().step_by(7).map(|x| x ^ 0b101).collect();
        let mut expected = Vec::new();
        for &query in &queries {
            expected.push(searcher.within(query, 3).unwrap().to_vec());
        }
        assert!(expected.iter().any(|matches| matches.len() > 1), "there is something to find");
        drop(mapped);

        let loaded = OpenOptions::new().in_memory(true).open::<u64>(&path).unwrap();
        fs::write(&path, b"gone").unwrap();
        let mut searcher = loaded.searcher();
        for (&query, expected) in queries.iter().zip(&expected) {
            assert_eq!(searcher.within(query, 3).unwrap(), expected);
        }
        loaded.verify().unwrap();
    }
}

#[test]
fn what_is_no_index_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let options = OpenOptions::new().in_memory(true);
    assert!(options.open::<u64>(directory.path()).is_err(), "a directory");
    assert!(options.open::<u64>(directory.path().join("none")).is_err(), "nothing");
    let empty = directory.path().join("empty");
    fs::write(&empty, b"").unwrap();
    assert!(options.open::<u64>(&empty).is_err(), "an empty file");
}
