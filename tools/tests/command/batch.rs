//! `hamdex query` with many queries.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::common::Scratch;

/// Numbers that look like chance, the same everywhere.
fn number(counter: u64) -> u64 {
    let mixed = (counter + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn lines(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|x| format!("{x:016x}\n")).collect()
}

/// A directory with an index of 3,000 fingerprints, each with its row as id, and 900 queries: of each
/// three, one is stored, one is near what is stored, one is neither.
fn with_index_and_queries(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("in.txt", lines((0..3000).map(number)));
    scratch.output(&[&["build", "-o", "index.hamdex", "in.txt"], options].concat());
    let queries = (0..900).map(|i| match i % 3 {
        0 => number(i),
        1 => number(i) ^ 0x8001,
        _ => number(i + 1_000_000),
    });
    scratch.write("queries.txt", lines(queries));
    scratch
}

#[test]
fn many_queries_are_answered_as_each_alone_in_their_order() {
    for options in [["--design", "single"], ["--design", "cover-6"]] {
        let scratch = with_index_and_queries(&[&options[..], &["--ids", "row"]].concat());
        let queries = std::fs::read_to_string(scratch.path("queries.txt")).unwrap();
        // So few on the command line are asked one by one.
        let queries: Vec<&str> = queries.lines().collect();
        let mut alone = String::new();
        for few in queries.chunks(20) {
            alone += &scratch.output(&[&["query", "index.hamdex"], few].concat());
        }
        assert_eq!(alone.lines().count(), 600);
        for strategy in ["auto", "probe", "scan"] {
            for threads in ["1", "2"] {
                let how = ["--strategy", strategy, "--threads", threads];
                let args = [&["query", "index.hamdex", "--file", "queries.txt"], &how[..]].concat();
                let output = scratch.hamdex(&args).assert().success();
                let output = output.get_output();
                assert!(output.stdout == alone.as_bytes(), "{how:?}");
                assert!(output.stderr.is_empty(), "silent without a terminal");
                let mut piped = scratch.hamdex(&[&["query", "index.hamdex"], &how[..]].concat());
                piped.write_stdin(lines_of(&queries)).assert().success().stdout(alone.clone());
            }
        }
    }
}

fn lines_of(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn limits_and_other_questions_hold_for_many_queries_too() {
    let scratch = with_index_and_queries(&["--ids", "row"]);
    let ask = |options: &[&str]| {
        scratch.output(&[&["query", "index.hamdex", "--file", "queries.txt"], options].concat())
    };
    assert_eq!(ask(&["--limit", "0"]), "");
    assert_eq!(ask(&["--first"]), ask(&["--limit", "1"]));
    assert_eq!(ask(&["--nearest", "1"]).lines().count(), 900);
    assert_eq!(ask(&["--distance", "0"]).lines().count(), 300);
    let json = ask(&["--json", "--strategy", "scan"]);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["distance"], &first["ids"]), (&0.into(), &serde_json::json!([0])));
    let (code, _) = scratch_failure(&scratch, &["--first", "--strategy", "scan"]);
    assert_eq!(code, 2);
    assert_eq!(scratch_failure(&scratch, &["--threads", "1025"]).0, 2);
    assert_eq!(ask(&["--threads", "0"]), ask(&[]));
}

/// How the command line is refused.
fn scratch_failure(scratch: &Scratch, options: &[&str]) -> (i32, String) {
    let args = [&["query", "index.hamdex", "--file", "queries.txt"], options].concat();
    let output = scratch.hamdex(&args).assert().failure();
    let output = output.get_output();
    (output.status.code().unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}

#[test]
fn what_comes_before_a_malformed_query_is_answered() {
    let scratch = with_index_and_queries(&[]);
    scratch.write("bad.txt", lines((0..100).map(number)) + "xyz\n");
    let output = scratch.hamdex(&["query", "index.hamdex", "--file", "bad.txt"]).assert().code(1);
    let output = output.get_output();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 100);
    assert!(String::from_utf8_lossy(&output.stderr).contains("bad.txt:101"));
}

#[test]
fn who_sends_a_query_down_a_pipe_gets_its_answer_before_the_next() {
    let scratch = with_index_and_queries(&[]);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("hamdex"))
        .args(["query", "index.hamdex", "--format", "hex"])
        .current_dir(scratch.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for i in 0..50 {
        let query = format!("{:016x}", number(i));
        writeln!(input, "{query}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert_eq!(answer, format!("{query}\t{query}\t0\n"));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
