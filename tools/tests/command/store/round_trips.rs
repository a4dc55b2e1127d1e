//! Inserted records are found, compared with brute force.

use std::collections::BTreeMap;

use predicates::prelude::*;
use serde_json::json;

use crate::common::{Scratch, json_lines};
use crate::store::{Model, dumped, hex, json_of, lines, pairs, with_store};

/// The lines that a query within a distance prints.
fn expected_matches(width: u32, model: &Model, queries: &[u128], distance: u32, has_ids: bool) -> String {
    let mut text = String::new();
    for &query in queries {
        let mut found: BTreeMap<(u32, u128), Vec<String>> = BTreeMap::new();
        for &(fingerprint, id) in model {
            let bits = (query ^ fingerprint).count_ones();
            if bits <= distance {
                found.entry((bits, fingerprint)).or_default().push(id.to_string());
            }
        }
        for ((bits, fingerprint), ids) in found {
            let ids = if has_ids { format!("\t{}", ids.join(",")) } else { String::new() };
            text += &format!("{}\t{}\t{bits}{ids}\n", hex(width, query), hex(width, fingerprint));
        }
    }
    text
}

fn expected_pairs(width: u32, model: &Model, distance: u32) -> Vec<String> {
    let mut all: Vec<u128> = model.iter().map(|pair| pair.0).collect();
    all.dedup();
    let mut found = Vec::new();
    for (number, &a) in all.iter().enumerate() {
        for &b in &all[number + 1..] {
            let bits = (a ^ b).count_ones();
            if bits <= distance {
                found.push(format!("{}\t{}\t{bits}", hex(width, a), hex(width, b)));
            }
        }
    }
    found.sort();
    found
}

/// Every command that reads gives what brute force gives.
fn assert_holds(scratch: &Scratch, width: u32, model: &Model, has_ids: bool) {
    if has_ids {
        assert_eq!(dumped(scratch, "s"), lines(width, model.iter().copied()));
    } else {
        let expected: String = model.iter().map(|pair| hex(width, pair.0) + "\n").collect();
        assert_eq!(scratch.output(&["dump", "s", "--fingerprints"]), expected);
    }
    let queries: Vec<u128> = pairs(width, 60, 1).into_iter().map(|pair| pair.0).collect();
    scratch.write("queries.txt", queries.iter().map(|query| hex(width, *query) + "\n").collect::<String>());
    for distance in [0, 3, 6] {
        let found = scratch.output(&["query", "s", "--file", "queries.txt", "-k", &distance.to_string()]);
        assert_eq!(found, expected_matches(width, model, &queries, distance, has_ids), "within {distance}");
    }
    let mut found: Vec<String> = scratch.output(&["pairs", "s"]).lines().map(str::to_owned).collect();
    found.sort();
    assert_eq!(found, expected_pairs(width, model, 3));
    scratch.hamdex(&["verify", "s"]).assert().success().stdout(predicate::str::starts_with("s: whole: "));
}

fn round_trip(width: u32, has_ids: bool) {
    let ids = if has_ids { "numbers" } else { "none" };
    let scratch = with_store(&["--width", &width.to_string(), "--ids", ids, "--design", "halves"]);
    let of_store = |pairs: Vec<(u128, u64)>| -> Vec<(u128, u64)> {
        pairs.into_iter().map(|(fingerprint, id)| (fingerprint, if has_ids { id } else { 0 })).collect()
    };
    let written = |pairs: &[(u128, u64)]| match has_ids {
        true => lines(width, pairs.iter().copied()),
        false => pairs.iter().map(|pair| hex(width, pair.0) + "\n").collect(),
    };
    let mut model = Model::new();
    assert_holds(&scratch, width, &model, has_ids);

    let all = of_store(pairs(width, 600, 1));
    scratch.write("first.txt", written(&all[..300]));
    scratch.write("second.txt", written(&all[300..]));
    scratch.output(&["store", "insert", "s", "--batch", "7", "first.txt"]);
    scratch.output(&["store", "flush", "s"]);
    scratch.output(&["store", "insert", "s", "--durability", "none", "second.txt"]);
    model.extend(&all);
    assert_holds(&scratch, width, &model, has_ids);

    // In the log, in a segment, and not there at all.
    let mut gone = [&all[..40], &all[400..440]].concat();
    gone.extend(of_store(pairs(width, 40, 9)));
    let there = gone.iter().filter(|pair| model.remove(*pair)).count();
    scratch.write("gone.txt", written(&gone));
    let removed = json_of(&scratch, &["store", "remove", "s", "--json", "gone.txt"]);
    assert_eq!(removed, json!({ "read": gone.len(), "removed": there, "absent": gone.len() - there }));
    assert_holds(&scratch, width, &model, has_ids);

    scratch.output(&["store", "compact", "s"]);
    assert_holds(&scratch, width, &model, has_ids);
    let stats = json_of(&scratch, &["store", "stats", "s", "--json"]);
    let mut fingerprints: Vec<u128> = model.iter().map(|pair| pair.0).collect();
    fingerprints.dedup();
    assert_eq!(stats["is_exact"], true);
    assert_eq!(stats["fingerprints"], fingerprints.len());
    assert_eq!(stats["ids"], if has_ids { model.len() } else { 0 });
    assert_eq!((&stats["segments"], &stats["removed"]), (&json!(1), &json!(0)));
}

#[test]
fn a_store_of_pairs_is_the_set_that_was_written() {
    round_trip(64, true);
}

#[test]
fn a_store_of_fingerprints_is_the_set_that_was_written() {
    round_trip(64, false);
}

#[test]
fn a_store_of_128_bits_is_the_set_that_was_written() {
    round_trip(128, true);
    round_trip(128, false);
}

#[test]
fn whole_fingerprints_and_all_with_an_id_can_be_removed() {
    let scratch = with_store(&[]);
    let all = pairs(64, 200, 3);
    let mut model: Model = all.iter().copied().collect();
    scratch.write("in.txt", lines(64, all.clone()));
    scratch.output(&["store", "insert", "s", "in.txt"]);

    let gone = [all[0].0, all[50].0, all[0].0, 1];
    let there = model.iter().filter(|pair| gone.contains(&pair.0)).count();
    model.retain(|pair| !gone.contains(&pair.0));
    let text: String = gone.iter().map(|fingerprint| hex(64, *fingerprint) + "\n").collect();
    let mut remove = scratch.hamdex(&["store", "remove", "s", "--ids", "none", "--json"]);
    let report = remove.write_stdin(text).assert().success();
    let report: serde_json::Value = serde_json::from_slice(&report.get_output().stdout).unwrap();
    assert_eq!(report, json!({ "read": 4, "removed": there, "absent": 2 }));
    assert_eq!(dumped(&scratch, "s"), lines(64, model.iter().copied()));

    let there = model.iter().filter(|pair| [7, 8].contains(&pair.1)).count();
    model.retain(|pair| ![7, 8].contains(&pair.1));
    scratch.write("ids.txt", "7\n\n 8 \n12345678901234567\n");
    let report = json_of(&scratch, &["store", "remove", "s", "--ids", "only", "--json", "ids.txt"]);
    assert_eq!(report, json!({ "read": 3, "removed": there }));
    assert_eq!(dumped(&scratch, "s"), lines(64, model.iter().copied()));
}

#[test]
fn rows_are_numbered_over_all_inputs_and_batches() {
    let scratch = with_store(&[]);
    scratch.write("a.txt", "00000000000000aa\n00000000000000bb\n00000000000000aa\n");
    scratch.write("b.txt", "00000000000000cc\n");
    scratch.output(&["store", "insert", "s", "--ids", "row", "--batch", "2", "a.txt", "b.txt"]);
    let expected = "00000000000000aa\t0\n00000000000000aa\t2\n00000000000000bb\t1\n00000000000000cc\t3\n";
    assert_eq!(dumped(&scratch, "s"), expected);
    let json = scratch.output(&["dump", "s", "--fingerprints", "--ids", "--json"]);
    assert_eq!(json_lines(&json)[0], json!({ "fingerprint": "00000000000000aa", "ids": [0, 2] }));
    let found = scratch.output(&["query", "s", "0xaa", "-k", "0", "--json"]);
    let line = json!({
        "query": "00000000000000aa", "fingerprint": "00000000000000aa", "distance": 0, "ids": [0, 2]
    });
    assert_eq!(json_lines(&found), [line]);
    assert_eq!(
        scratch.output(&["query", "s", "0xab", "--nearest", "1", "--no-ids"]),
        "00000000000000ab\t00000000000000aa\t1\n"
    );
    assert_eq!(scratch.output(&["query", "s", "0xab", "--first", "-k", "1"]).lines().count(), 1);
}

#[test]
fn pairs_of_a_store_come_with_the_ids_of_all_its_files() {
    let scratch = with_store(&[]);
    scratch.write("a.txt", "00000000000000ff 1\n00000000000001ff 2\n");
    scratch.output(&["store", "insert", "s", "a.txt"]);
    scratch.output(&["store", "flush", "s"]);
    scratch.write("b.txt", "00000000000000ff 3\n");
    scratch.output(&["store", "insert", "s", "b.txt"]);
    assert_eq!(scratch.output(&["pairs", "s", "--ids"]), "00000000000000ff\t00000000000001ff\t1\t1,3\t2\n");
    assert_eq!(scratch.output(&["pairs", "s", "--count"]), "1\t1\n2\t0\n3\t0\n");
}

#[test]
fn what_is_near_to_something_is_not_inserted_but_printed() {
    let scratch = with_store(&[]);
    let all = pairs(64, 400, 5);
    scratch.write("in.txt", lines(64, all.clone()));
    let args = ["store", "insert", "s", "--batch", "13", "--unless-near", "3", "--json", "in.txt"];
    let mut printed = json_lines(&scratch.output(&args));

    let (mut model, mut expected) = (Model::new(), Vec::new());
    for (fingerprint, id) in all {
        let near = model.iter().map(|pair| ((pair.0 ^ fingerprint).count_ones(), pair.0)).min();
        match near.filter(|near| near.0 <= 3) {
            None => drop(model.insert((fingerprint, id))),
            Some((distance, near)) => {
                let ids: Vec<u64> = model.iter().filter(|pair| pair.0 == near).map(|pair| pair.1).collect();
                expected.push(json!({
                    "fingerprint": hex(64, fingerprint), "id": id,
                    "near": hex(64, near), "distance": distance, "ids": ids,
                }));
            }
        }
    }
    let summary = printed.pop().unwrap();
    assert!(!expected.is_empty() && !model.is_empty());
    assert_eq!((&summary["read"], &summary["near"]), (&json!(400), &json!(expected.len())));
    assert_eq!(summary["inserted"], model.len());
    assert_eq!(printed, expected);
    assert_eq!(dumped(&scratch, "s"), lines(64, model));
}

#[test]
fn a_purge_leaves_nothing_of_what_was_removed() {
    let scratch = with_store(&[]);
    scratch.write("in.txt", "1122334455667788 1\n00000000000000ff 2\n");
    scratch.output(&["store", "insert", "s", "in.txt"]);
    let bytes = 0x1122_3344_5566_7788u64.to_le_bytes();
    let is_in_a_log = || {
        let logs = std::fs::read_dir(scratch.path("s/log")).unwrap();
        let mut logs = logs.map(|log| std::fs::read(log.unwrap().path()).unwrap());
        logs.any(|log| log.windows(8).any(|window| window == bytes))
    };
    assert!(is_in_a_log());
    scratch.output(&["store", "flush", "s"]);
    scratch.write("gone.txt", "1122334455667788 1\n");
    scratch.output(&["store", "remove", "s", "gone.txt"]);
    assert_eq!(json_of(&scratch, &["store", "stats", "s", "--json"])["removed"], 1);
    assert!(is_in_a_log());
    let purged = json_of(&scratch, &["store", "purge", "s", "--json"]);
    assert_eq!(purged["purged"], 1);
    assert!(!is_in_a_log());
    assert_eq!(json_of(&scratch, &["store", "stats", "s", "--json"])["removed"], 0);
    let segments: Vec<_> = std::fs::read_dir(scratch.path("s/segments")).unwrap().collect();
    let segment = segments[0].as_ref().unwrap().path();
    assert_eq!(segments.len(), 1);
    let left = scratch.output(&["dump", segment.to_str().unwrap(), "--fingerprints", "--ids"]);
    assert_eq!(left, "00000000000000ff\t2\n");
}

#[test]
fn a_backup_is_a_store_of_its_own() {
    let scratch = with_store(&[]);
    let all = pairs(64, 100, 7);
    scratch.write("in.txt", lines(64, all[..50].iter().copied()));
    scratch.write("more.txt", lines(64, all[50..].iter().copied()));
    scratch.output(&["store", "insert", "s", "in.txt"]);
    scratch.output(&["store", "flush", "s"]);
    scratch.write("gone.txt", lines(64, [all[0]]));
    scratch.output(&["store", "remove", "s", "gone.txt"]);
    let before = dumped(&scratch, "s");
    scratch.output(&["store", "backup", "s", "copy"]);
    scratch.output(&["store", "insert", "s", "more.txt"]);
    scratch.output(&["store", "compact", "s"]);
    assert_eq!(dumped(&scratch, "copy"), before);
    scratch.output(&["store", "insert", "copy", "more.txt"]);
    assert_eq!(dumped(&scratch, "copy"), dumped(&scratch, "s"));
    let (code, text) = scratch.failure(&["store", "backup", "s", "copy"]);
    assert!(text.contains("copy: exists already") && code == 1, "{text}");
}

#[test]
fn a_checkpoint_is_a_store_of_its_own_by_links() {
    let scratch = with_store(&[]);
    scratch.write("in.txt", lines(64, pairs(64, 50, 7).iter().copied()));
    scratch.output(&["store", "insert", "s", "in.txt"]);
    scratch.output(&["store", "flush", "s"]);
    let before = dumped(&scratch, "s");
    scratch.output(&["store", "checkpoint", "s", "before"]);
    scratch.write("gone.txt", &before);
    scratch.output(&["store", "remove", "s", "gone.txt"]);
    scratch.output(&["store", "purge", "s"]);
    assert_eq!((dumped(&scratch, "before"), dumped(&scratch, "s")), (before, String::new()));
    scratch.output(&["verify", "before"]);
    let (code, text) = scratch.failure(&["store", "checkpoint", "s", "before"]);
    assert!(text.contains("before: exists already") && code == 1, "{text}");
}

#[test]
fn a_file_that_was_built_elsewhere_joins_the_store() {
    let scratch = with_store(&[]);
    let all = pairs(64, 300, 11);
    scratch.write("in.txt", lines(64, all[..150].iter().copied()));
    scratch.write("more.txt", lines(64, all[100..].iter().copied()));
    scratch.output(&["store", "insert", "s", "in.txt"]);
    scratch.output(&["build", "-o", "more.hamdex", "--ids", "pairs", "--codec", "elias-fano", "more.txt"]);
    scratch.output(&["store", "ingest", "s", "more.hamdex"]);
    std::fs::remove_file(scratch.path("more.hamdex")).unwrap();
    let model: Model = all.iter().copied().collect();
    assert_eq!(dumped(&scratch, "s"), lines(64, model.iter().copied()));
    scratch.output(&["store", "compact", "s"]);
    assert_eq!(dumped(&scratch, "s"), lines(64, model));
}

#[test]
fn summaries_say_what_was_done_and_what_a_store_is() {
    let scratch = Scratch::new();
    let created = json_of(&scratch, &["store", "create", "s", "--design", "halves", "--json"]);
    assert_eq!(
        (&created["width"], &created["distance"], &created["ids"]),
        (&json!(64), &json!(3), &json!("numbers"))
    );
    scratch.write("in.txt", lines(64, pairs(64, 20, 13)));
    let said = "hamdex: s: 20 records read in ";
    let insert = scratch.hamdex(&["store", "insert", "s", "in.txt"]).assert().success();
    insert.stdout("").stderr(predicate::str::starts_with(said));
    scratch.hamdex(&["store", "flush", "s"]).assert().success().stderr(predicate::str::contains("1 segment"));
    let dump = json_of(&scratch, &["dump", "s", "--json"]);
    assert_eq!((&dump["store"], &dump["design"]), (&created["id"], &json!("halves")));
    assert_eq!(dump["segments"].as_array().unwrap().len(), 1);
    assert_eq!((&dump["segments"][0]["pairs"], &dump["segments"][0]["removed"]), (&json!(20), &json!(0)));
    assert!(
        dump["logs"][0]["bytes"].as_u64().unwrap() > 0 && dump["write_amplification"].as_f64().unwrap() > 0.0
    );
    let text = scratch.output(&["dump", "s"]);
    assert!(text.contains("segment 000001: level 0") && text.contains("closed cleanly"), "{text}");
    assert!(scratch.output(&["store", "stats", "s"]).contains("fingerprints    "));
    let verified = json_of(&scratch, &["verify", "s", "--json"]);
    assert_eq!((&verified["ok"], &verified["segments"]), (&json!(true), &json!(1)));
}

#[test]
fn an_exact_count_is_had_where_it_is_asked_for() {
    let scratch = with_store(&["--design", "halves"]);
    let all = pairs(64, 300, 3);
    scratch.write("first.txt", lines(64, all.iter().copied()));
    // The same pairs in a file and in the log: the counts that are kept have them twice.
    scratch.output(&["store", "insert", "s", "first.txt"]);
    scratch.output(&["store", "flush", "s"]);
    scratch.output(&["store", "insert", "s", "first.txt"]);
    let kept = json_of(&scratch, &["store", "stats", "s", "--json"]);
    assert_eq!((&kept["is_exact"], kept["ids"].as_u64().unwrap()), (&false.into(), 2 * all.len() as u64));
    let exact = json_of(&scratch, &["store", "stats", "s", "--json", "--exact"]);
    assert_eq!((&exact["is_exact"], exact["ids"].as_u64().unwrap()), (&true.into(), all.len() as u64));
}

/// Three files are open when the command starts.
#[cfg(unix)]
#[test]
fn sixteen_open_files_suffice_for_all_work() {
    // Among them are the directories of a store, which its writer holds.
    let scratch = with_store(&["--design", "halves"]);
    let all = pairs(64, 4000, 3);
    scratch.write("first.txt", lines(64, all[..3000].iter().copied()));
    scratch.write("second.txt", lines(64, all[3000..].iter().copied()));
    scratch.write("gone.txt", lines(64, all[..500].iter().copied()));
    for args in [
        &["store", "insert", "s", "first.txt"][..],
        &["store", "flush", "s"],
        &["store", "insert", "s", "second.txt", "--unless-near", "3"],
        &["store", "flush", "s"],
        &["store", "remove", "s", "gone.txt"],
        &["store", "compact", "s"],
        &["store", "purge", "s"],
        &["store", "backup", "s", "copy"],
        &["store", "stats", "copy", "--exact"],
        &["store", "repair", "copy"],
        &["verify", "copy"],
        &["pairs", "copy"],
    ] {
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -n 16; exec \"$0\" \"$@\""])
            .arg(scratch.hamdex(args).get_program())
            .args(args)
            .current_dir(scratch.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
    assert_eq!(dumped(&scratch, "copy"), dumped(&scratch, "s"));
}
