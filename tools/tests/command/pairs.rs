//! `hamdex pairs`.

use std::collections::BTreeSet;

use crate::common::{Scratch, altered, json_line, json_lines, story, with_index};
use serde_json::json;

#[test]
fn a_line_for_each_pair() {
    let scratch = with_index(&[]);
    assert_eq!(scratch.output(&["pairs", "index.hamdex"]), "00000000000000ff\t00000000000001ff\t1\n");
    assert_eq!(scratch.output(&["pairs", "index.hamdex", "-k", "0"]), "");
    assert_eq!(scratch.output(&["pairs", "index.hamdex", "-k", "64"]).lines().count(), 6);
}

#[test]
fn pairs_are_counted_by_distance() {
    let scratch = with_index(&[]);
    assert_eq!(scratch.output(&["pairs", "index.hamdex", "--count"]), "1\t1\n2\t0\n3\t0\n");
    assert_eq!(
        json_lines(&scratch.output(&["pairs", "index.hamdex", "--count", "--json", "-k", "1"])),
        [json!({ "distance": 1, "pairs": 1 })]
    );
}

#[test]
fn ids_of_both_where_they_are_asked_for() {
    let scratch = with_index(&["--ids", "row"]);
    assert_eq!(
        scratch.output(&["pairs", "index.hamdex", "--ids"]),
        "00000000000000ff\t00000000000001ff\t1\t0,4\t1\n"
    );
    assert_eq!(
        json_lines(&scratch.output(&["pairs", "index.hamdex", "--ids", "--json"])),
        [json!({
            "a": "00000000000000ff", "b": "00000000000001ff", "distance": 1,
            "a_ids": [0, 4], "b_ids": [1],
        })]
    );
    assert_eq!(
        json_lines(&scratch.output(&["pairs", "index.hamdex", "--json"])),
        [json!({ "a": "00000000000000ff", "b": "00000000000001ff", "distance": 1 })]
    );
    assert_eq!(
        scratch.output(&["pairs", "index.hamdex", "--ids", "--ids-limit", "1"]),
        "00000000000000ff\t00000000000001ff\t1\t0,+1\t1\n"
    );
    assert_eq!(
        json_lines(&scratch.output(&["pairs", "index.hamdex", "--ids", "--json", "--ids-limit", "1"])),
        [json!({
            "a": "00000000000000ff", "b": "00000000000001ff", "distance": 1,
            "a_ids": [0], "a_ids_count": 2, "b_ids": [1],
        })]
    );
    let (code, text) = with_index(&[]).failure(&["pairs", "index.hamdex", "--ids"]);
    assert!(text.contains("no ids"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn documents_are_named() {
    let scratch = Scratch::new();
    let text = story(1);
    let lines: String = [("one", &text), ("two", &altered(&text)), ("three", &story(2))]
        .map(|(id, t)| json_line(id, t))
        .concat();
    scratch.write("in.jsonl", lines);
    scratch.output(&["build", "-o", "index.hamdex", "--documents", "in.jsonl"]);
    let found = json_lines(&scratch.output(&["pairs", "index.hamdex", "-k", "10", "--ids", "--json"]));
    let names: Vec<BTreeSet<&str>> = found
        .iter()
        .map(|line| ["a_ids", "b_ids"].map(|ids| line[ids][0].as_str().unwrap()).into())
        .collect();
    assert_eq!(names, [BTreeSet::from(["one", "two"])]);
}

#[test]
fn threads_and_memory_change_nothing_but_the_time() {
    let scratch = Scratch::new();
    let lines: String = (0..3000u64).map(|i| format!("{:016x}\n", i * i)).collect();
    scratch.write("in.txt", lines);
    scratch.output(&["build", "-o", "index.hamdex", "in.txt"]);
    let one = scratch.output(&["pairs", "index.hamdex", "--threads", "1"]);
    assert!(one.lines().count() > 100);
    assert_eq!(scratch.output(&["pairs", "index.hamdex", "--threads", "2"]), one);
    assert_eq!(scratch.output(&["pairs", "index.hamdex", "--memory", "16MiB"]), one);
    let counted = scratch.output(&["pairs", "index.hamdex", "--count"]);
    let sum: usize =
        counted.lines().map(|line| line.split_once('\t').unwrap().1.parse::<usize>().unwrap()).sum();
    assert_eq!(sum, one.lines().count());
}

#[test]
fn an_output_file_appears_when_it_is_whole() {
    let scratch = with_index(&[]);
    assert_eq!(scratch.output(&["pairs", "index.hamdex", "-o", "near.csv"]), "");
    let written = std::fs::read_to_string(scratch.path("near.csv")).unwrap();
    assert_eq!(written, "a,b,distance\n00000000000000ff,00000000000001ff,1\n");
    let mut damaged = std::fs::read(scratch.path("index.hamdex")).unwrap();
    damaged[4096 + 20] ^= 1;
    scratch.write("damaged.hamdex", damaged);
    let (code, text) = scratch.failure(&["pairs", "damaged.hamdex", "-o", "never.csv"]);
    assert!(text.contains("damaged.hamdex: damaged at table 0"), "{text}");
    assert_eq!(code, 3);
    assert_eq!(scratch.names(), ["damaged.hamdex", "in.txt", "index.hamdex", "near.csv"]);
    let (code, text) = scratch.failure(&["pairs", "index.hamdex", "-o", "nowhere/near.csv"]);
    assert!(text.contains("nowhere/near.csv"), "{text}");
    assert_eq!(code, 1);
}
