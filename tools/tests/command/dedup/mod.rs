//! `hamdex dedup`: clusters, and what is left without the duplicates.
//!
//! - [`known`]: several sets and documents that are known
//! - [`method`]: what makes near-duplicates
//! - [`written`]: files of clusters and of what is left
//! - [`tables`]: tables of fingerprints
//! - [`truth`]: texts with known near-duplicates

mod known;
mod method;
mod page;
mod tables;
mod truth;
mod written;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::{Scratch, altered, json_line, json_lines, story};

/// Five documents: 1, 2 and an altered 1, another one, and 2 again but longer.
fn corpus() -> String {
    [
        json_line("one", &story(1)),
        json_line("two", &story(2)),
        json_line("one again", &altered(&story(1))),
        json_line("alone", &story(3)),
        json_line("two and more", &format!("{} more", story(2))),
    ]
    .concat()
}

/// Clusters as `--json` prints them: the ids of each.
fn clusters(text: &str) -> Vec<Vec<String>> {
    let mut clusters: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        clusters
            .entry(line["cluster"].as_u64().unwrap())
            .or_default()
            .push(line["id"].as_str().unwrap().to_owned());
    }
    clusters.into_values().collect()
}

fn messages(scratch: &Scratch, args: &[&str]) -> String {
    let output = scratch.hamdex(args).assert().success();
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}

#[test]
fn json_has_a_line_for_each_document_of_a_cluster() {
    let scratch = Scratch::new();
    scratch.write(
        "in.jsonl",
        [json_line("a", &story(1)), json_line("b", &story(2)), json_line("c\"", &story(1))].concat(),
    );
    assert_eq!(
        scratch.output(&["dedup", "in.jsonl", "--json"]),
        "{\"cluster\":1,\"id\":\"a\",\"kept\":true,\"distance\":0,\"similarity\":1.0}\n\
         {\"cluster\":1,\"id\":\"c\\\"\",\"kept\":false,\"distance\":0,\"similarity\":1.0}\n"
    );
    assert_eq!(scratch.output(&["dedup", "in.jsonl"]), "1\tkept\t0\t1.000\ta\n1\tduplicate\t0\t1.000\tc\"\n");
    assert_eq!(scratch.output(&["dedup", "in.jsonl", "-k", "3"]), "1\tkept\t0\ta\n1\tduplicate\t0\tc\"\n");
    let text = messages(&scratch, &["dedup", "in.jsonl"]);
    assert!(text.contains("3 documents") && text.contains("1 cluster, 1 duplicate"), "{text}");
}

#[test]
fn near_documents_are_found_and_others_are_not() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    let text = scratch.output(&["dedup", "in.jsonl", "--json", "--distance", "8"]);
    assert_eq!(clusters(&text), [["one", "one again"], ["two", "two and more"]]);
    assert_eq!(
        scratch.output(&["dedup", "in.jsonl", "--json", "--width", "128", "-k", "16"]).lines().count(),
        4
    );
}

#[test]
fn clusters_are_numbered_by_their_first_document_and_stable() {
    let scratch = Scratch::new();
    let lines: String =
        (0..400).map(|i| json_line(&i.to_string(), &story([7, 3, 9, 1000 + i][i as usize % 4]))).collect();
    scratch.write("in.jsonl", &lines);
    let text = scratch.output(&["dedup", "in.jsonl", "--json"]);
    let found = clusters(&text);
    assert_eq!(found.len(), 3);
    assert_eq!([&found[0][0], &found[1][0], &found[2][0]], ["0", "1", "2"]);
    assert!(found.iter().all(|cluster| cluster.len() == 100));
    for args in [&["--memory", "64MiB"][..], &["--temp-dir", "."]] {
        assert_eq!(scratch.output(&[&["dedup", "in.jsonl", "--json"], args].concat()), text, "{args:?}");
    }
    assert_eq!(scratch.names(), ["in.jsonl"], "nothing temporary is left");
}

#[test]
fn the_first_or_the_longest_is_kept() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    let kept = |keep: &str| -> Vec<String> {
        let text = scratch.output(&["dedup", "in.jsonl", "--distance", "8", "--keep", keep]);
        let kept = text.lines().filter(|line| line.contains("\tkept\t0\t"));
        kept.map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(kept("first"), ["one", "two"]);
    assert_eq!(kept("longest"), ["one again", "two and more"]);
}

#[test]
fn short_texts_are_together_only_when_equal() {
    let scratch = Scratch::new();
    let texts = ["Page not found", "Not found: page", "Page not found ", "", "", "!", "!", "Log in"];
    let lines: String = (0..).zip(texts).map(|(i, text)| json_line(&format!("d{i}"), text)).collect();
    scratch.write("in.jsonl", lines);
    let text = scratch.output(&["dedup", "in.jsonl", "--json", "--distance", "8"]);
    assert_eq!(clusters(&text), [["d0", "d2"], ["d5", "d6"]]);
    assert!(messages(&scratch, &["dedup", "in.jsonl", "-k", "3"]).contains("8 too short"));
    // If texts are compared, none is too short, and punctuation does not count next to words.
    scratch
        .write("near.jsonl", [json_line("a", "Page not found"), json_line("b", "page, not found!")].concat());
    assert_eq!(clusters(&scratch.output(&["dedup", "near.jsonl", "--json"])), [["a", "b"]]);
    assert!(!messages(&scratch, &["dedup", "near.jsonl"]).contains("too short"));
}

#[test]
fn only_what_is_new_is_left_against_an_index() {
    let scratch = Scratch::new();
    scratch.write("old.jsonl", [json_line("old", &story(1)), json_line("older", &story(9))].concat());
    scratch.output(&["build", "-o", "old.hamdex", "--documents", "old.jsonl"]);
    scratch.write(
        "new.jsonl",
        [1, 2, 1, 3, 2].map(|number| json_line(&number.to_string(), &story(number))).concat(),
    );
    let args = ["dedup", "new.jsonl", "--against", "old.hamdex", "-k", "3"];
    assert_eq!(
        scratch.output(&[&args[..], &["--unique"]].concat()),
        [2, 3].map(|number| json_line(&number.to_string(), &story(number))).concat()
    );
    let lines = json_lines(&scratch.output(&[&args[..], &["--json"]].concat()));
    let (known, others): (Vec<Value>, Vec<Value>) =
        lines.into_iter().partition(|line| !line["known"].is_null());
    assert_eq!(others.iter().map(|line| &line["id"]).collect::<Vec<_>>(), ["2", "2"]);
    let row = serde_json::json!({ "id": "1", "known": ["old"], "distance": 0 });
    assert_eq!(known, [row.clone(), row]);
    let text = scratch.output(&args);
    assert_eq!(text.matches("-\tknown\t0\t-\t1\told\n").count(), 2, "{text}");
    // The same against a store, and against fingerprints without names or ids.
    scratch.output(&["store", "create", "old.store", "--documents"]);
    scratch.output(&["store", "insert", "old.store", "--documents", "old.jsonl"]);
    assert_eq!(scratch.output(&["dedup", "new.jsonl", "--against", "old.store", "-k", "3"]), text);
    let prints = scratch.output(&["fingerprint", "old.jsonl"]);
    let prints: Vec<&str> = prints.lines().map(|line| line.split('\t').next().unwrap()).collect();
    scratch.write("prints.txt", prints.join("\n"));
    scratch.output(&["build", "-o", "prints.hamdex", "prints.txt"]);
    let bare = ["dedup", "new.jsonl", "--against", "prints.hamdex", "--recipe", "default", "-k", "0"];
    assert!(scratch.output(&bare).contains(&format!("-\tknown\t0\t-\t1\t{}\n", prints[0])));
    assert!(messages(&scratch, &args).contains("2 known already"));
    let (code, text) = scratch.failure(&[&args[..], &["--recipe", "default weight=once"]].concat());
    assert!(text.contains("old.hamdex: was built by the recipe"), "{text}");
    assert_eq!(code, 2);
    scratch.write("bare.txt", crate::common::LINES);
    scratch.output(&["build", "-o", "bare.hamdex", "bare.txt"]);
    let (code, text) = scratch.failure(&["dedup", "new.jsonl", "--against", "bare.hamdex", "-k", "3"]);
    assert!(text.contains("bare.hamdex: holds no recipe"), "{text}");
    assert_eq!(code, 2);
    // Texts are not compared with fingerprints unless -k says so.
    let (code, text) = scratch.failure(&["dedup", "new.jsonl", "--against", "old.hamdex"]);
    assert!(text.contains("old.hamdex keeps no shingles") && text.contains("-k 3"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn only_what_is_new_is_left_against_documents() {
    let scratch = Scratch::new();
    let half = |from: u64, number: u64| {
        let words = |number: u64| story(number).split(' ').map(str::to_owned).collect::<Vec<_>>();
        [&words(from)[..], &words(number)[..10]].concat().join(" ")
    };
    scratch.write("old.jsonl", [json_line("old", &story(1)), json_line("older", &story(9))].concat());
    std::fs::create_dir(scratch.path("folder")).unwrap();
    scratch.write("folder/page.txt", story(4));
    let new = [
        ("same", story(1)),
        ("longer", half(9, 20)),
        ("page", story(4)),
        ("new", story(2)),
        ("n2", story(2)),
    ];
    scratch.write("new.jsonl", new.map(|(id, text)| json_line(id, &text)).concat());
    let args = ["dedup", "new.jsonl", "--against", "old.jsonl", "--against", "folder"];
    assert_eq!(scratch.output(&[&args[..], &["--print", "kept"]].concat()), "new\n");
    let text = scratch.output(&args);
    assert!(text.contains("-\tknown\t-\t1.000\tsame\told\n"), "{text}");
    assert!(text.contains("\tlonger\tolder\n") && text.contains("\tpage\tfolder/page.txt\n"), "{text}");
    let lines = json_lines(&scratch.output(&[&args[..], &["--json"]].concat()));
    let known: Vec<&Value> = lines.iter().filter(|line| !line["known"].is_null()).collect();
    assert_eq!((known.len(), &known[0]["similarity"], &known[0]["distance"]), (3, &1.0.into(), &Value::Null));
    assert_eq!(known[0]["known"], serde_json::json!(["old"]));
    // A stricter rule holds for what is known, too.
    let strict = [&args[..], &["--similarity", "0.99", "--print", "kept"]].concat();
    assert_eq!(scratch.output(&strict), "longer\nnew\n");
    let (code, text) = scratch.failure(&[&args[..], &["-k", "3"]].concat());
    assert!(code == 2 && text.contains("compared by --similarity"), "{text}");
    let (code, text) = scratch.failure(&["dedup", "new.jsonl", "--against", "missing.jsonl"]);
    assert!(code == 1 && text.contains("missing.jsonl"), "{text}");
}

#[test]
fn an_index_with_shingles_is_compared_as_its_documents_are() {
    let scratch = Scratch::new();
    let short = ["Page not found", "", "?!"].map(|text| json_line(&format!("short {text}"), text)).concat();
    let old: String = (0..40).map(|number| json_line(&format!("old {number}"), &story(number))).collect();
    scratch.write("old.jsonl", old + &short);
    let new =
        (20..60).map(|number| json_line(&number.to_string(), &altered(&story(number)))).collect::<String>();
    scratch.write("new.jsonl", new + &json_line("short", "Page, not found!") + &json_line("blank", " "));
    for ids in ["row", "names"] {
        scratch.output(&[
            "build",
            "-o",
            "old.hamdex",
            "--documents",
            "--shingles",
            "--ids",
            ids,
            "--force",
            "old.jsonl",
        ]);
        scratch.output(&["verify", "old.hamdex"]);
        let known = |reference: &str| {
            let lines =
                json_lines(&scratch.output(&["dedup", "new.jsonl", "--against", reference, "--json"]));
            let known = lines.into_iter().filter(|line| !line["known"].is_null());
            known.map(|line| (line["id"].to_string(), line["similarity"].to_string())).collect::<Vec<_>>()
        };
        assert_eq!(known("old.hamdex"), known("old.jsonl"));
        assert_eq!(known("old.hamdex").len(), 21);
        let text = scratch.output(&["dedup", "new.jsonl", "--against", "old.hamdex"]);
        let name = if ids == "names" { "short\tshort Page not found\n" } else { "short\t40\n" };
        assert!(text.contains(name), "{text}");
        // Shards of both layouts.
        for layout in ["families", "hash"] {
            let build = ["build", "-o", "old.shards", "--force", "--documents", "--shingles", "--ids", ids];
            scratch.output(&[&build[..], &["--shards", "3", "--layout", layout, "old.jsonl"]].concat());
            scratch.output(&["verify", "old.shards"]);
            assert_eq!(scratch.output(&["dedup", "new.jsonl", "--against", "old.shards"]), text, "{layout}");
        }
    }
    // Merged files have the shingles of both.
    scratch.write("more.jsonl", json_line("more", &story(59)));
    scratch.output(&["build", "-o", "more.hamdex", "--documents", "--shingles", "more.jsonl"]);
    scratch.output(&["merge", "-o", "all.hamdex", "old.hamdex", "more.hamdex"]);
    let text = scratch.output(&["dedup", "new.jsonl", "--against", "all.hamdex"]);
    assert_eq!(text.matches("\tknown\t").count(), 22, "{text}");
    let (code, text) =
        scratch.failure(&["dedup", "new.jsonl", "--against", "old.hamdex", "--check-words", "3"]);
    assert!(code == 2 && text.contains("--check-words must be as it was made"), "{text}");
    let (code, text) =
        scratch.failure(&["build", "-o", "x", "--documents", "--shingles", "--ids", "none", "old.jsonl"]);
    assert!(code == 2 && text.contains("shingles need ids"), "{text}");
}

#[test]
fn nothing_and_one_document_have_no_clusters() {
    let scratch = Scratch::new();
    scratch.hamdex(&["dedup", "--json"]).write_stdin("a b\n").assert().success().stdout("");
    scratch.hamdex(&["dedup", "--json"]).write_stdin("").assert().success().stdout("");
}
