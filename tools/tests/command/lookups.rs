//! Fingerprints by id and by name, with look-ups and without; and records that replace others.

use predicates::prelude::*;
use serde_json::Value;

use crate::common::Scratch;

const PAIRS: &str = "00000000000000ff\t17\n00000000000001ff\t17\n0000000000000001\t3\n";
const NAMED: &str = "00000000000000ff\ta.html\n00000000000001ff\tb.html\n0000000000000001\ta.html\n";

#[test]
fn look_ups_without_ids_are_refused() {
    let scratch = Scratch::new();
    scratch.write("pairs.txt", PAIRS);
    for ids in [&[][..], &["--ids", "none"]] {
        let args = [&["build", "-o", "a.hamdex", "--lookups", "pairs.txt"], ids].concat();
        let (code, text) = scratch.failure(&args);
        assert!(code == 2 && text.contains("look-ups need ids"), "{text}");
    }
    let (code, text) = scratch.failure(&["build", "-o", "a.hamdex", "--delimiter", ";", "pairs.txt"]);
    assert!(code == 2 && text.contains("--delimiter is for documents"), "{text}");
    assert_eq!(scratch.names(), ["pairs.txt"]);
}

#[test]
fn fingerprints_are_found_by_id_and_by_name_in_files_and_stores() {
    let scratch = Scratch::new();
    scratch.write("pairs.txt", PAIRS);
    scratch.write("named.txt", NAMED);
    for lookups in [&["--lookups"][..], &[]] {
        let build = |output: &str, ids: &str, input: &str| {
            let options = ["build", "-o", output, "--ids", ids, input];
            scratch.output(&[&options[..], lookups, &["--force"]].concat());
        };
        build("a.hamdex", "pairs", "pairs.txt");
        build("b.hamdex", "names", "named.txt");
        let create = |store: &str, ids: &str, input: &str| {
            scratch.output(&[&["store", "create", store, "--ids", ids][..], lookups].concat());
            scratch.output(&["store", "insert", store, input]);
        };
        let store = |name: &str| format!("{name}{}.store", lookups.len());
        create(&store("a"), "numbers", "pairs.txt");
        create(&store("b"), "names", "named.txt");
        for set in ["a.hamdex", &store("a")] {
            let found = scratch.output(&["dump", set, "--id", "17"]);
            assert_eq!(found, "00000000000000ff\t17\n00000000000001ff\t17\n");
            scratch
                .hamdex(&["dump", set, "--id", "18"])
                .assert()
                .success()
                .stdout("")
                .stderr(predicate::str::contains("nothing has that id"));
        }
        for set in ["b.hamdex", &store("b")] {
            let found = scratch.output(&["dump", set, "--name", "a.html"]);
            let fingerprints: Vec<&str> = found.lines().map(|line| &line[..16]).collect();
            assert_eq!(fingerprints, ["00000000000000ff", "0000000000000001"]);
            let line = scratch.output(&["dump", set, "--name", "b.html", "--json"]);
            let line: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line["fingerprint"], "00000000000001ff");
        }
    }
    scratch.write("bare.txt", "00000000000000ff\n");
    scratch.output(&["build", "-o", "c.hamdex", "bare.txt"]);
    scratch
        .hamdex(&["dump", "c.hamdex", "--id", "1"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("the index has no ids"));
}

#[test]
fn records_replace_those_with_their_id_or_name_in_a_store_with_look_ups() {
    let scratch = Scratch::new();
    scratch.write("pairs.txt", PAIRS);
    scratch.write("named.txt", NAMED);
    scratch.write("new.txt", "00000000000000aa\t17\n0000000000000001\t3\n");
    scratch.write("new-named.txt", "00000000000000aa\ta.html\n");
    scratch.output(&["store", "create", "a.store", "--lookups"]);
    scratch.output(&["store", "insert", "a.store", "pairs.txt"]);
    let report = scratch.output(&["store", "insert", "a.store", "--replace", "new.txt", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((report["read"].as_u64(), report["replaced"].as_u64()), (Some(2), Some(2)));
    assert_eq!(
        scratch.output(&["dump", "a.store", "--fingerprints", "--ids"]),
        "0000000000000001\t3\n00000000000000aa\t17\n"
    );
    scratch.output(&["store", "create", "b.store", "--ids", "names", "--lookups"]);
    scratch.output(&["store", "insert", "b.store", "named.txt"]);
    scratch.output(&["store", "insert", "b.store", "--replace", "new-named.txt"]);
    let all = scratch.output(&["dump", "b.store", "--fingerprints", "--names"]);
    assert_eq!(all, "00000000000000aa\ta.html\n00000000000001ff\tb.html\n");
    scratch.output(&["verify", "a.store"]);
    scratch.output(&["verify", "b.store"]);

    scratch.output(&["store", "create", "c.store"]);
    scratch
        .hamdex(&["store", "insert", "c.store", "--replace", "pairs.txt"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("no look-ups"));
    scratch.hamdex(&["store", "create", "d.store", "--ids", "none", "--lookups"]).assert().code(2);
}
