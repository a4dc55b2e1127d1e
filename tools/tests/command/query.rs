//! `hamdex query`, `dump`, `verify`, `designs` and `demo`.

use crate::common::{LINES, Scratch, crc32, json_lines, with_index};
use predicates::prelude::*;
use serde_json::{Value, json};

#[test]
fn matches_come_in_order_of_query_distance_and_fingerprint() {
    let scratch = with_index(&[]);
    let text = scratch.output(&["query", "index.hamdex", "00000000000001ff", "00000000000000ff", "--json"]);
    let line = |query: &str, fingerprint: &str, distance: u32| json!({ "query": query, "fingerprint": fingerprint, "distance": distance });
    assert_eq!(
        json_lines(&text),
        [
            line("00000000000001ff", "00000000000001ff", 0),
            line("00000000000001ff", "00000000000000ff", 1),
            line("00000000000000ff", "00000000000000ff", 0),
            line("00000000000000ff", "00000000000001ff", 1),
        ]
    );
}

#[test]
fn ids_stand_in_json_only_where_there_are_ids() {
    let scratch = with_index(&["--ids", "row"]);
    let text = scratch.output(&["query", "index.hamdex", "0xff", "--distance", "0", "--json"]);
    assert_eq!(
        json_lines(&text),
        [
            json!({ "query": "00000000000000ff", "fingerprint": "00000000000000ff", "distance": 0, "ids": [0, 4] })
        ]
    );
}

#[test]
fn queries_come_from_a_file_or_standard_input() {
    let scratch = with_index(&[]);
    scratch.write("queries.txt", "ffffffffffffffff\n00000000000001ff\n");
    let from_file = scratch.output(&["query", "index.hamdex", "--file", "queries.txt", "--distance", "0"]);
    assert_eq!(from_file.lines().count(), 2);
    let mut piped = scratch.hamdex(&["query", "index.hamdex", "--distance", "0"]);
    piped.write_stdin("ffffffffffffffff\n00000000000001ff\n").assert().success().stdout(from_file);
}

#[test]
fn a_query_that_finds_nothing_succeeds() {
    let scratch = with_index(&[]);
    assert_eq!(scratch.output(&["query", "index.hamdex", "0x00ff00ff00ff00ff"]), "");
}

#[test]
fn first_nearest_and_limit_bound_what_is_printed() {
    let scratch = with_index(&[]);
    let lines = |options: &[&str]| {
        let text = scratch.output(&[&["query", "index.hamdex", "0xff"], options].concat());
        text.lines().map(|line| line.split('\t').nth(2).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines(&["--first"]).len(), 1);
    assert_eq!(lines(&["--limit", "1"]), ["0"]);
    assert_eq!(lines(&["--nearest", "3"])[..2], ["0", "1"]);
    assert_eq!(lines(&["--nearest", "3"]).len(), 3);
    assert_eq!(lines(&["--nearest", "3", "-k", "0"]), ["0"]);
    assert_eq!(lines(&["--distance", "64"]).len(), 4);
}

#[test]
fn malformed_queries_are_refused() {
    let scratch = with_index(&[]);
    scratch.write("queries.txt", "ffffffffffffffff\nxyz\n");
    assert!(scratch.failure(&["query", "index.hamdex", "xyz"]).1.contains("\"xyz\""));
    let (code, text) = scratch.failure(&["query", "index.hamdex", "--file", "queries.txt"]);
    assert!(text.contains("queries.txt:2"), "{text}");
    assert_eq!(code, 1);
}

#[test]
fn files_that_cannot_be_read_say_why_and_exit_with_their_code() {
    let scratch = with_index(&[]);
    let whole = std::fs::read(scratch.path("index.hamdex")).unwrap();
    scratch.write("text.hamdex", LINES);
    scratch.write("short.hamdex", &whole[..whole.len() - 100]);
    scratch.write("empty.hamdex", "");
    let changed = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        scratch.write(name, bytes);
    };
    changed("new.hamdex", &|bytes| {
        bytes[8] = 9;
        let checksum = crc32(&bytes[..60]);
        bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
    });
    changed("flipped.hamdex", &|bytes| bytes[4096 + 20] ^= 1);
    for command in ["query", "dump", "verify"] {
        let ask = |name: &str| {
            let mut args = vec![command, name];
            if command == "query" {
                args.push("0xff");
            }
            scratch.failure(&args)
        };
        assert!(ask("text.hamdex").1.contains("text.hamdex: not a hamdex file"));
        assert!(ask("short.hamdex").1.contains("truncated"));
        assert!(ask("new.hamdex").1.contains("too new"));
        assert_eq!(ask("short.hamdex").0, 3);
        assert_eq!(ask("missing.hamdex").0, 1);
        assert!(ask("missing.hamdex").1.contains("missing.hamdex: cannot read it"));
        assert_ne!(ask("empty.hamdex").0, 0);
    }
    let (code, text) = scratch.failure(&["verify", "flipped.hamdex"]);
    assert!(text.contains("table 0, block 0 (byte 4096)"), "{text}");
    assert_eq!(code, 3);
    let (_, text) = scratch.failure(&["query", "flipped.hamdex", "0xff"]);
    assert!(text.contains("checksum does not match"), "{text}");
    let report = scratch.hamdex(&["verify", "flipped.hamdex", "--json"]).assert().code(3);
    let report: Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    assert_eq!(report["ok"], false);
}

#[test]
fn verify_says_what_it_has_read() {
    let scratch = with_index(&["--ids", "row"]);
    assert!(scratch.output(&["verify", "index.hamdex"]).contains("whole"));
    let report: Value = serde_json::from_str(&scratch.output(&["verify", "index.hamdex", "--json"])).unwrap();
    assert_eq!(
        (&report["ok"], &report["fingerprints"], &report["ids"]),
        (&json!(true), &json!(4), &json!(5))
    );
}

#[test]
fn dump_shows_the_file_its_tables_and_blocks_down_to_the_bit() {
    let scratch = with_index(&["--design", "halves", "--ids", "row"]);
    let overview = scratch.output(&["dump", "index.hamdex"]);
    for expected in
        ["4 distinct, 64 bits", "design halves", "████", "radius 1", "codebook", "information bound"]
    {
        assert!(overview.contains(expected), "{expected}: {overview}");
    }
    let report: Value = serde_json::from_str(&scratch.output(&["dump", "index.hamdex", "--json"])).unwrap();
    assert_eq!(report["design"], "halves");
    assert_eq!(report["tables"].as_array().unwrap().len(), 2);
    assert_eq!(report["tables"][1]["mask"], "00000000ffffffff");
    assert_eq!(report["ids"]["count"], 5);

    let entries = scratch.output(&["dump", "index.hamdex", "--table", "1", "--block", "0"]);
    // Table 1 leads with the low half.
    assert!(entries.contains("000000ff00000000  00000000000000ff"), "{entries}");
    let bits = scratch.output(&["dump", "index.hamdex", "--table", "0", "--block", "0", "--bits"]);
    assert!(bits.contains("entry 1, code of h = 55") && bits.contains("entry 0, raw"), "{bits}");
    assert!(!bits.contains('\u{1b}'), "no colours in a pipe");
    let block = scratch.output(&["dump", "index.hamdex", "--table", "0", "--block", "0", "--json"]);
    let block: Value = serde_json::from_str(&block).unwrap();
    assert_eq!(block["entries"][1]["fingerprint"], "00000000000001ff");

    assert!(scratch.failure(&["dump", "index.hamdex", "--table", "2"]).1.contains("no table 2"));
    let missing = ["dump", "index.hamdex", "--table", "0", "--block", "1"];
    assert!(scratch.failure(&missing).1.contains("no block 1"));
}

#[test]
fn dump_shows_an_elias_fano_file_down_to_the_bit() {
    let scratch = with_index(&["--design", "halves", "--codec", "elias-fano"]);
    let overview = scratch.output(&["dump", "index.hamdex"]);
    assert!(overview.contains("codec           elias-fano"), "{overview}");
    for absent in ["codebook", "a raw fingerprint every"] {
        assert!(!overview.contains(absent), "{absent}: {overview}");
    }
    let report: Value = serde_json::from_str(&scratch.output(&["dump", "index.hamdex", "--json"])).unwrap();
    assert_eq!((&report["codec"], &report["restart_interval"]), (&json!("elias-fano"), &Value::Null));
    let codebook = report["tables"][0]["codebook"].as_array().unwrap();
    assert!(codebook.iter().all(|row| row["code"].is_null()));
    assert_eq!(codebook.iter().filter_map(|row| row["count"].as_u64()).sum::<u64>(), 3);

    let block = ["dump", "index.hamdex", "--table", "0", "--block", "0"];
    let entries = scratch.output(&block);
    // The gaps are so wide that low fields are as long as can be.
    assert!(entries.contains("     1    55      56  00000000000001ff"), "{entries}");
    let bits = scratch.output(&[&block[..], &["--bits"]].concat());
    for expected in ["entry 0, raw", "56 low bits an entry", "zero", "entry 2, low bits", "padding"] {
        assert!(bits.contains(expected), "{expected}: {bits}");
    }
    // 0xab is the bucket of the third entry: so many zeros, then a one.
    let zeros = "0".repeat(0xab);
    let bucket = bits.lines().find(|line| line.contains("entry 2, bucket 171")).unwrap();
    assert!(bucket.contains(&zeros[..160]) && bucket.contains("… and 12 more"), "{bucket}");
    // Least significant bit first: 0x1ff begins with nine ones.
    let low = bits.lines().find(|line| line.contains("entry 1, low bits")).unwrap();
    assert!(low.ends_with(&format!("{}{}", "1".repeat(9), "0".repeat(47))), "{low}");
    let json: Value = serde_json::from_str(&scratch.output(&[&block[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["entries"][1]["fingerprint"], "00000000000001ff");
    assert_eq!((&json["entries"][0]["h"], &json["entries"][1]["h"]), (&Value::Null, &json!(55)));

    assert_eq!(scratch.output(&["query", "index.hamdex", "00000000000000ff"]).lines().count(), 2);
    scratch.output(&["verify", "index.hamdex"]);
    // Byte 7 of a block is zero.
    let mut bytes = std::fs::read(scratch.path("index.hamdex")).unwrap();
    bytes[4096 + 7] = 1;
    scratch.write("index.hamdex", bytes);
    let text = scratch.output_before(3, &block);
    assert!(text.contains("checksum WRONG") && text.contains("not a block"), "{text}");
}

#[test]
fn dump_shows_a_damaged_block_too() {
    let scratch = with_index(&["--design", "halves"]);
    let mut bytes = std::fs::read(scratch.path("index.hamdex")).unwrap();
    bytes[4096 + 5] ^= 0x40;
    scratch.write("index.hamdex", bytes);
    let block = ["dump", "index.hamdex", "--table", "0", "--block", "0"];
    let text = scratch.output_before(3, &block);
    assert!(text.contains("checksum WRONG") && text.contains("not a block"), "{text}");
    assert!(scratch.failure(&block).1.contains("block 0 of table 0 is damaged"));
    assert!(scratch.failure(&["dump", "index.hamdex", "--fingerprints"]).1.contains("block 0"));
}

#[test]
fn designs_are_listed_for_people_and_programs() {
    let scratch = Scratch::new();
    let text = scratch.output(&["designs", "--count", "8000000000", "--distance", "3"]);
    assert!(text.contains("cover-14") && text.contains("<- auto"), "{text}");
    let rows: Value = serde_json::from_str(&scratch.output(&["designs", "--json"])).unwrap();
    let rows = rows.as_array().unwrap();
    let halves = rows.iter().find(|row| row["name"] == "halves").unwrap();
    assert_eq!(
        (&halves["tables"], &halves["prefix_bits"], &halves["radius"]),
        (&json!(2), &json!(32), &json!(1))
    );
    for key in ["bytes_per_fingerprint", "blocks_per_query"] {
        assert!(rows.iter().all(|row| row[key].as_f64().unwrap() > 0.0), "{key}");
    }
    assert_eq!(rows.iter().filter(|row| row["auto"] == true).count(), 1);

    let other = |options: &[&str]| -> f64 {
        let text = scratch.output(&[&["designs", "--json"], options].concat());
        let rows: Value = serde_json::from_str(&text).unwrap();
        let halves = rows.as_array().unwrap().iter().find(|row| row["name"] == "halves").unwrap().clone();
        halves["bytes_per_fingerprint"].as_f64().unwrap()
    };
    let huffman = halves["bytes_per_fingerprint"].as_f64().unwrap();
    let elias_fano = other(&["--codec", "elias-fano"]);
    assert!(elias_fano < huffman && elias_fano > huffman * 0.9, "{elias_fano} {huffman}");
    assert!(other(&["--codec", "elias-fano", "--block-size", "512"]) > elias_fano);
    assert_eq!(other(&["--codec", "huffman"]), huffman);
    for wrong in [["--codec", "golomb"], ["--block-size", "1000"]] {
        scratch.hamdex(&["designs", wrong[0], wrong[1]]).assert().code(2);
    }
}

#[test]
fn the_demo_agrees_with_brute_force() {
    let scratch = Scratch::new();
    let json: serde_json::Value =
        serde_json::from_str(&scratch.output(&["demo", "--count", "20000", "--json"])).unwrap();
    let codecs: Vec<&str> =
        json.as_array().unwrap().iter().map(|row| row["codec"].as_str().unwrap()).collect();
    assert_eq!(codecs, ["huffman", "elias-fano"]);
    for row in json.as_array().unwrap() {
        assert!(row["expected"].as_u64() >= Some(100), "{row}");
        assert_eq!((&row["found"], &row["excess"]), (&row["expected"], &serde_json::json!(0)), "{row}");
    }
    assert!(scratch.names().is_empty());
}

#[test]
fn the_demo_shows_both_codecs_and_says_what_to_try_next() {
    let scratch = Scratch::new();
    let text = scratch.output(&["demo", "--count", "1000"]);
    for expected in ["huffman      elias-fano", "bytes per fingerprint", "Try next", "hamdex dedup"] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    let one = scratch.output(&["demo", "--count", "1000", "--threads", "1", "--codec", "elias-fano"]);
    assert!(!one.contains("huffman "), "{one}");
}

#[test]
fn help_shows_an_example_for_every_command() {
    let scratch = Scratch::new();
    for command in
        ["dedup", "fingerprint", "idf", "build", "query", "dump", "verify", "designs", "distance", "demo"]
    {
        let help = scratch.output(&[command, "--help"]);
        assert!(help.contains(&format!("Example:\n  hamdex {command}")), "{help}");
    }
    scratch.hamdex(&["build"]).assert().code(2).stderr(predicate::str::contains("--output"));
}
