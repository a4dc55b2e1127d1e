//! `--filter` of all commands that write index files, and what `dump` says of filters and queries.

use serde_json::{Value, json};

use crate::common::{Scratch, json_lines};

/// Evenly spread fingerprints, as lines.
fn lines(count: u64) -> String {
    let scrambled = |number: u64| {
        let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    (0..count).map(|number| format!("{:016x}\n", scrambled(number))).collect()
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("in.txt", lines(20_000));
    scratch
}

fn dumped(scratch: &Scratch, path: &str) -> Value {
    serde_json::from_str(&scratch.output(&["dump", "--json", path])).unwrap()
}

/// The bits per fingerprint of the filters of a file, whole, by table.
fn filter_bits(scratch: &Scratch, path: &str) -> Vec<Option<u64>> {
    let tables = dumped(scratch, path)["tables"].clone();
    let bits = |table: &Value| table["filter"]["bits_per_fingerprint"].as_f64().map(f64::round);
    tables.as_array().unwrap().iter().map(|table| bits(table).map(|bits| bits as u64)).collect()
}

#[test]
fn build_and_merge_make_the_filters_that_are_chosen() {
    let scratch = scratch();
    let build = |options: &[&str]| {
        let args = ["build", "--force", "--design", "halves", "-o", "x.hamdex", "in.txt"];
        scratch.output(&[&args[..], options].concat());
        filter_bits(&scratch, "x.hamdex")
    };
    assert_eq!(build(&["--filter", "none"]), [None, None]);
    assert_eq!(build(&["--filter", "20"]), [Some(20), Some(20)]);
    assert_eq!(build(&[]), [Some(11), Some(11)]);
    assert_eq!(build(&["--filter", "auto"]), [Some(11), Some(11)]);
    let merge = |options: &[&str]| {
        let args = ["merge", "--force", "-o", "y.hamdex", "x.hamdex"];
        scratch.output(&[&args[..], options].concat());
        filter_bits(&scratch, "y.hamdex")
    };
    assert_eq!(merge(&["--filter", "none"]), [None, None]);
    assert_eq!(merge(&["--filter", "7"]), [Some(7), Some(7)]);
    assert_eq!(merge(&[]), [Some(11), Some(11)]);
    for command in ["build", "merge"] {
        let (code, text) = scratch.failure(&[command, "-o", "z.hamdex", "--filter", "0", "in.txt"]);
        assert_eq!(code, 2);
        assert!(text.contains("use auto, none or 1 to 64 bits per fingerprint"), "{text}");
    }
}

#[test]
fn shards_have_the_filters_that_are_chosen() {
    let scratch = scratch();
    let args = ["build", "--shards", "2", "--layout", "hash", "--design", "halves", "--filter", "9"];
    scratch.output(&[&args[..], &["-o", "set", "in.txt"]].concat());
    let mut shards = 0;
    for file in std::fs::read_dir(scratch.path("set")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name != "manifest" {
            assert_eq!(filter_bits(&scratch, &format!("set/{name}")), [Some(9), Some(9)], "{name}");
            shards += 1;
        }
    }
    assert_eq!(shards, 2);
}

#[test]
fn a_store_keeps_its_filters() {
    let scratch = scratch();
    let segments_of = |store: &str| {
        let directory = std::fs::read_dir(scratch.path(store).join("segments")).unwrap();
        let names = directory.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.map(|name| filter_bits(&scratch, &format!("{store}/segments/{name}"))).collect::<Vec<_>>()
    };
    for (store, filter, bits) in
        [("none", "none", None), ("sixteen", "16", Some(16)), ("auto", "auto", Some(11))]
    {
        let create = ["store", "create", store, "--ids", "none", "--design", "halves"];
        let created = scratch.output(&[&create[..], &["--filter", filter, "--json"]].concat());
        assert_eq!(serde_json::from_str::<Value>(&created).unwrap()["filter"], filter);
        scratch.output(&["store", "insert", store, "in.txt"]);
        scratch.output(&["store", "compact", store]);
        assert_eq!(segments_of(store), [[bits, bits]], "{filter}");
        assert_eq!(dumped(&scratch, store)["filter"], filter);
    }
    assert!(scratch.output(&["dump", "sixteen"]).contains("at most 16 bits per fingerprint and table"));
    let (code, text) = scratch.failure(&["store", "create", "other", "--filter", "some"]);
    assert!(code == 2 && text.contains("use auto, none or 1 to 64 bits per fingerprint"), "{text}");
}

#[test]
fn dump_shows_filters_and_what_is_in_memory() {
    let scratch = scratch();
    scratch.output(&["build", "--design", "halves", "-o", "x.hamdex", "in.txt"]);
    let text = scratch.output(&["dump", "x.hamdex"]);
    for part in
        ["Bloom lines of prefixes of 32 bits", "% measured", "of its bits are set", "copied into memory"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let filter = &dumped(&scratch, "x.hamdex")["tables"][0]["filter"];
    assert_eq!(
        (&filter["form"], &filter["is_copied"], &filter["error"]),
        (&json!("bloom"), &json!(true), &Value::Null)
    );
    let expected = filter["expected_false_positives"].as_f64().unwrap();
    let measured = filter["measured_false_positives"].as_f64().unwrap();
    assert!(0.5 < measured / expected && measured / expected < 2.0, "{measured} {expected}");
    assert!((0.3..0.5).contains(&filter["load"].as_f64().unwrap()), "{filter}");
    scratch.output(&["build", "--filter", "none", "--force", "-o", "x.hamdex", "in.txt"]);
    assert!(scratch.output(&["dump", "x.hamdex"]).contains("filter          none"));
    assert_eq!(dumped(&scratch, "x.hamdex")["tables"][0]["filter"], Value::Null);
}

#[test]
fn dump_lists_the_keys_of_a_table() {
    let scratch = scratch();
    scratch.output(&["build", "--design", "halves", "-o", "x.hamdex", "in.txt"]);
    let keys = json_lines(&scratch.output(&["dump", "x.hamdex", "--table", "1", "--keys", "--json"]));
    assert_eq!(keys.len() as u64, dumped(&scratch, "x.hamdex")["tables"][1]["blocks"].as_u64().unwrap());
    for number in [0, keys.len() - 1] {
        let args = ["dump", "x.hamdex", "--table", "1", "--block", &number.to_string(), "--json"];
        let block: Value = serde_json::from_str(&scratch.output(&args)).unwrap();
        assert_eq!((&block["block"], &block["key"]), (&keys[number]["block"], &keys[number]["key"]));
        let last = block["entries"].as_array().unwrap().last().unwrap();
        assert_eq!(last["fingerprint"], keys[number]["fingerprint"]);
    }
    let text = scratch.output(&["dump", "x.hamdex", "--table", "1", "--keys"]);
    assert_eq!(text.lines().count(), keys.len() + 1);
    assert_eq!(scratch.failure(&["dump", "x.hamdex", "--table", "2", "--keys"]).0, 2);
    assert_eq!(scratch.failure(&["dump", "x.hamdex", "--keys"]).0, 2);
}

#[test]
fn dump_locates_the_blocks_of_a_query() {
    let scratch = scratch();
    scratch.output(&["build", "--design", "halves", "-o", "with.hamdex", "in.txt"]);
    scratch.output(&["build", "--design", "halves", "--filter", "none", "-o", "without.hamdex", "in.txt"]);
    let stored = lines(3).lines().last().unwrap().to_owned();
    let near = format!("{:016x}", u64::from_str_radix(&stored, 16).unwrap() ^ 1 << 40 ^ 1 << 3);
    let locate = |file: &str, options: &[&str]| -> Value {
        let args = ["dump", file, "--json", "--locate", &near];
        serde_json::from_str(&scratch.output(&[&args[..], options].concat())).unwrap()
    };
    let (with, without) = (locate("with.hamdex", &[]), locate("without.hamdex", &[]));
    assert_eq!((&with["matches"], &without["matches"], &with["distance"]), (&json!(1), &json!(1), &json!(3)));
    assert!(with["blocks"].as_u64().unwrap() * 4 < without["blocks"].as_u64().unwrap(), "{with} {without}");
    let probe = &with["probes"][0];
    assert_eq!(
        (&probe["prefix_bits"], &probe["radius"], &probe["filter"]["tried"]),
        (&json!(32), &json!(1), &json!(33))
    );
    assert_eq!(without["probes"][0]["filter"], Value::Null);
    // The block that is named has the match.
    let block = &probe["blocks"][0];
    assert_eq!(block["matches"], json!([{ "fingerprint": stored, "distance": 2, "returned": true }]));
    let number = block["block"].to_string();
    let contents = scratch.output(&["dump", "with.hamdex", "--table", "0", "--block", &number, "--json"]);
    assert!(contents.contains(&stored), "{contents}");
    // Below the distance of the match there is none.
    assert_eq!(locate("with.hamdex", &["-k", "1"])["matches"], 0);
    let text = scratch.output(&["dump", "with.hamdex", "--locate", &near]);
    for part in ["within 3 bits: 2 probes, ", "1 match", "of 33 prefixes pass", "1 error", &stored] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(scratch.output(&["dump", "without.hamdex", "--locate", &near]).contains("not asked"));
    let (code, text) = scratch.failure(&["dump", "with.hamdex", "--locate", "xyz"]);
    assert!(code == 2 && text.contains("fingerprint \"xyz\""), "{text}");
    assert_eq!(scratch.failure(&["dump", "with.hamdex", "-k", "3"]).0, 2);
    scratch.output(&["store", "create", "s"]);
    assert_eq!(scratch.failure(&["dump", "s", "--locate", &near]).0, 2);
}

#[test]
fn designs_show_costs_with_and_without_filters() {
    let scratch = Scratch::new();
    let rows = |filter: &str| -> Vec<Value> {
        let text = scratch.output(&["designs", "--json", "--filter", filter]);
        serde_json::from_str(&text).unwrap()
    };
    let halves = |rows: &[Value]| rows.iter().find(|row| row["name"] == "halves").unwrap().clone();
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap();
    let auto = halves(&rows("auto"));
    let more = number(&auto, "bytes_per_fingerprint_with_filters") - number(&auto, "bytes_per_fingerprint");
    assert!((more - 2.75).abs() < 0.01, "{auto}");
    let fewer = number(&auto, "blocks_per_query") / number(&auto, "blocks_per_query_with_filters");
    assert!(fewer > 5.0, "{auto}");
    let none = halves(&rows("none"));
    assert_eq!(none["bytes_per_fingerprint_with_filters"], none["bytes_per_fingerprint"]);
    assert_eq!((&none["filters"], &auto["filters"]), (&json!(0), &json!(2)));
    // Without errors in prefixes there is nothing to filter.
    assert!(rows("auto").iter().any(|row| row["filters"] == 0));
    assert!(scratch.output(&["designs"]).contains("with filters"));
}

#[test]
fn the_demo_is_exact_with_and_without_filters() {
    let scratch = Scratch::new();
    for filter in ["none", "3", "auto"] {
        let args =
            ["demo", "--count", "20000", "--codec", "elias-fano", "--design", "halves", "--threads", "1"];
        scratch.output(&[&args[..], &["--filter", filter]].concat());
    }
}
