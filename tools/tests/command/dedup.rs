//! `hamdex dedup`: clusters, and what is left without the duplicates.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Scratch, altered, json_line, shared_data, story};

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
        "{\"cluster\":1,\"id\":\"a\",\"kept\":true,\"distance\":0}\n\
         {\"cluster\":1,\"id\":\"c\\\"\",\"kept\":false,\"distance\":0}\n"
    );
    assert_eq!(scratch.output(&["dedup", "in.jsonl"]), "1\tkept\t0\ta\n1\tduplicate\t0\tc\"\n");
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
    for args in [&["--memory", "16MiB"][..], &["--temp-dir", "."]] {
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
    assert!(messages(&scratch, &["dedup", "in.jsonl"]).contains("8 too short"));
}

#[test]
fn clusters_are_written_to_files() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    let args = ["dedup", "in.jsonl", "--distance", "8"];
    let json = scratch.output(&[&args[..], &["--json"]].concat());
    assert_eq!(scratch.output(&[&args[..], &["--out", "out.jsonl"]].concat()), "");
    assert_eq!(std::fs::read_to_string(scratch.path("out.jsonl")).unwrap(), json);
    scratch.output(&[&args[..], &["--out", "out.csv"]].concat());
    let csv = std::fs::read_to_string(scratch.path("out.csv")).unwrap();
    assert!(csv.starts_with("cluster,id,kept,distance\n1,one,true,0\n1,one again,false,"), "{csv}");
    let (code, text) = scratch.failure(&[&args[..], &["--out", "out.txt"]].concat());
    assert!(text.contains("must end in .jsonl, .csv or .parquet"), "{text}");
    assert_eq!(code, 2);
}

#[cfg(feature = "parquet")]
#[test]
fn clusters_are_written_as_parquet() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    scratch.output(&["dedup", "in.jsonl", "--distance", "8", "--out", "out.parquet"]);
    // Read back as documents whose text is the id.
    scratch.output(&[
        "dedup",
        "out.parquet",
        "--id-field",
        "cluster",
        "--text-field",
        "id",
        "--unique",
        "--out",
        "back.csv",
    ]);
    let csv = std::fs::read_to_string(scratch.path("back.csv")).unwrap();
    assert_eq!(csv, "cluster,id\n1,one\n1,one again\n2,two\n2,two and more\n");
}

#[cfg(all(feature = "parquet", unix))]
#[test]
fn temporary_files_go_where_the_command_says_and_never_to_a_full_tmp() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    scratch.output(&["dedup", "in.jsonl", "--unique", "-k", "0", "--out", "in.parquet"]);
    scratch.output(&["fingerprint", "in.jsonl", "--parquet", "prints.parquet"]);
    let pack = |name: &str| {
        let bytes = std::fs::read(scratch.path(name)).unwrap();
        scratch.write(&format!("{name}.zst"), zstd::encode_all(bytes.as_slice(), 1).unwrap());
    };
    ["in.parquet", "prints.parquet"].into_iter().for_each(pack);
    std::fs::create_dir(scratch.path("temporary")).unwrap();
    // What would still go to the system's place fails.
    let run = |args: &[&str]| scratch.hamdex(args).env("TMPDIR", scratch.path("missing")).assert();
    let expected = scratch.output(&["dedup", "in.jsonl", "-k", "8"]);
    let args = ["dedup", "in.parquet.zst", "-k", "8", "--check", "jaccard=0"];
    run(&[&args[..], &["--temp-dir", "temporary"]].concat()).success().stdout(expected);
    run(&args).failure();
    let build = ["build", "-o", "a.hamdex", "--force"];
    for (input, directory) in [
        (&["--documents", "in.parquet.zst"][..], &[][..]),
        (&["--documents", "in.parquet.zst"], &["--temp-dir", "temporary"]),
        (&["prints.parquet.zst"], &[]),
        (&["prints.parquet.zst"], &["--temp-dir", "temporary"]),
    ] {
        run(&[&build[..], input, directory].concat()).success();
        run(&[&build[..], input, &["--temp-dir", "missing"]].concat()).failure();
    }
    run(&["idf", "in.parquet.zst", "-o", "a.idf"]).success();
    run(&["fingerprint", "in.parquet.zst", "--parquet", "out.parquet"]).success();
    assert_eq!(std::fs::read_dir(scratch.path("temporary")).unwrap().count(), 0);
}

#[test]
fn what_is_unique_keeps_its_lines_as_they_are() {
    let scratch = Scratch::new();
    let lines = [
        format!("{{ \"more\": [1, 2], \"text\": \"{}\", \"id\": 7 }}", story(1)),
        format!("{{\"id\":\"x\",\"text\":\"{}\"}}", story(2)),
        format!("{{\"id\":8,\"text\":\"{}\"}}", story(1)),
        "{\"id\":9,\"text\":\"short\"}".to_owned(),
    ];
    scratch.write("in.jsonl", lines.join("\n"));
    let expected = [&lines[0], &lines[1], &lines[3]].map(|line| format!("{line}\n")).concat();
    assert_eq!(scratch.output(&["dedup", "in.jsonl", "--unique"]), expected);
    scratch.output(&["dedup", "in.jsonl", "--unique", "--out", "out.jsonl"]);
    assert_eq!(std::fs::read_to_string(scratch.path("out.jsonl")).unwrap(), expected);
    scratch.output(&["dedup", "in.jsonl", "--unique", "--out", "out.csv", "--check", "jaccard=0.9"]);
    let csv = std::fs::read_to_string(scratch.path("out.csv")).unwrap();
    assert_eq!(csv, format!("id,text\n7,{}\nx,{}\n9,short\n", story(1), story(2)));

    scratch.write("in.train", format!("a {}\nb {}\n", story(1), story(1)));
    assert_eq!(scratch.output(&["dedup", "in.train", "--unique"]), json_line("a", &story(1)));
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
    let args = ["dedup", "new.jsonl", "--against", "old.hamdex"];
    assert_eq!(
        scratch.output(&[&args[..], &["--unique"]].concat()),
        [2, 3].map(|number| json_line(&number.to_string(), &story(number))).concat()
    );
    assert_eq!(clusters(&scratch.output(&[&args[..], &["--json"]].concat())), [["2", "2"]]);
    assert!(messages(&scratch, &args).contains("2 known already"));
    let (code, text) = scratch.failure(&[&args[..], &["--recipe", "default weight=once"]].concat());
    assert!(text.contains("old.hamdex: was built by the recipe"), "{text}");
    assert_eq!(code, 2);
    scratch.write("bare.txt", crate::common::LINES);
    scratch.output(&["build", "-o", "bare.hamdex", "bare.txt"]);
    let (code, text) = scratch.failure(&["dedup", "new.jsonl", "--against", "bare.hamdex"]);
    assert!(text.contains("bare.hamdex: holds no recipe"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn candidates_are_confirmed_by_their_texts() {
    let scratch = Scratch::new();
    // Words in another order: the same fingerprint, but hardly a shingle in common.
    let mut words: Vec<String> = story(1).split(' ').map(str::to_owned).collect();
    words.reverse();
    let lines = [
        json_line("a", &story(1)),
        json_line("backwards", &words.join(" ")),
        json_line("b", &altered(&story(1))),
        json_line("backwards again", &words.join(" ")),
    ];
    scratch.write("in.jsonl", lines.concat());
    let args = ["dedup", "in.jsonl", "--json", "-k", "8"];
    assert_eq!(clusters(&scratch.output(&args)).len(), 1);
    let checked = [&args[..], &["--check", "jaccard=0.8"]].concat();
    assert_eq!(clusters(&scratch.output(&checked)), [["a", "b"], ["backwards", "backwards again"]]);
    assert!(messages(&scratch, &checked).contains("candidate pairs not confirmed"));
    assert!(
        scratch.hamdex(&["dedup", "--check", "jaccard=80"]).assert().code(2).get_output().stdout.is_empty()
    );
}

#[test]
fn a_distance_that_no_design_serves_is_refused_at_once() {
    let scratch = Scratch::new();
    let (code, text) = scratch.failure(&["dedup", "missing.jsonl", "--distance", "40"]);
    assert!(text.contains("too large"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn nothing_and_one_document_have_no_clusters() {
    let scratch = Scratch::new();
    scratch.hamdex(&["dedup", "--json"]).write_stdin("a b\n").assert().success().stdout("");
    scratch.hamdex(&["dedup", "--json"]).write_stdin("").assert().code(1).stdout("");
}

/// Precision and recall of all pairs within clusters.
fn score(found: &[Vec<String>], truth: &BTreeSet<(String, String)>) -> (f64, f64) {
    let mut pairs = BTreeSet::new();
    for cluster in found {
        for (at, one) in cluster.iter().enumerate() {
            for other in &cluster[..at] {
                pairs.insert((one.min(other).clone(), one.max(other).clone()));
            }
        }
    }
    let right = pairs.intersection(truth).count() as f64;
    (right / pairs.len() as f64, right / truth.len() as f64)
}

#[test]
fn altered_articles_are_found() {
    let (Some(articles), Some(truth)) =
        (shared_data("articles_1000.train"), shared_data("articles_1000.truth"))
    else {
        return;
    };
    let truth = std::fs::read_to_string(truth).unwrap();
    let truth: BTreeSet<(String, String)> = truth
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(one, other)| (one.min(other).to_owned(), one.max(other).to_owned()))
        .collect();
    let scratch = Scratch::new();
    for format in ["auto", "lines"] {
        let text = scratch.output(&["dedup", articles.to_str().unwrap(), "--json", "--format", format]);
        let (precision, recall) = score(&clusters(&text), &truth);
        assert!(recall >= 0.9 && precision >= 0.95, "precision {precision}, recall {recall}");
    }
}

#[test]
fn pages_of_a_manual_for_two_machines_are_found() {
    let Some(pages) = shared_data("install-guide.jsonl") else { return };
    let scratch = Scratch::new();
    let text = scratch.output(&["dedup", pages.to_str().unwrap(), "--json"]);
    let found = clusters(&text);
    assert!(found.len() >= 100, "{}", found.len());
    // Ids are language/machine/page.
    let page = |id: &str| {
        let parts: Vec<&str> = id.split('/').collect();
        (parts[0].to_owned(), parts[2].to_owned())
    };
    let right = found.iter().filter(|cluster| cluster.iter().all(|id| page(id) == page(&cluster[0]))).count();
    assert!(right as f64 >= 0.9 * found.len() as f64, "{right} of {}", found.len());
}
