//! Indexes of documents: `hamdex build`, `query` and `evaluate` with texts.

use crate::common::{Scratch, altered, json_line, story};
use serde_json::Value;

fn with_index(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    let ids = ["7", "8", "9", "10"];
    let texts = [story(1), altered(&story(1)), story(2), "too short".to_owned()];
    let lines: String = ids.iter().zip(texts).map(|(id, text)| json_line(id, &text)).collect();
    scratch.write("in.jsonl", lines.replace("\"9\"", "\"n/9\""));
    scratch.write("numbers.jsonl", lines);
    scratch.output(&[&["build", "-o", "a.hamdex", "--documents", "in.jsonl"], options].concat());
    scratch
}

#[test]
fn a_query_by_text_names_documents() {
    let scratch = with_index(&[]);
    let text = scratch.output(&["query", "a.hamdex", "--text", &story(2), "--json"]);
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&line["distance"], &line["ids"]), (&0.into(), &serde_json::json!(["n/9"])));
    scratch.write("draft.html", format!("<html><body><p>{}</p></body></html>", story(2)));
    let text = scratch.output(&["query", "a.hamdex", "--document", "draft.html"]);
    assert!(text.ends_with("\t0\tn/9\n"), "{text}");
    // By fingerprint as well.
    let fingerprint = text.split('\t').next().unwrap();
    assert_eq!(scratch.output(&["query", "a.hamdex", fingerprint]), text);
    assert_eq!(scratch.output(&["query", "a.hamdex", "--text", &story(5)]), "");
    let near = scratch.output(&["query", "a.hamdex", "--text", &story(1), "-k", "8"]);
    assert_eq!(near.lines().count(), 2, "{near}");
}

#[test]
fn another_recipe_is_an_error() {
    let scratch = with_index(&["--recipe", "default weight=once"]);
    let ask =
        |recipe: &str| ["query", "a.hamdex", "--text", &story(2), "--recipe", recipe].map(str::to_owned);
    let (code, text) = scratch.failure(&ask("default").each_ref().map(String::as_str));
    assert!(text.contains("a.hamdex: was built by the recipe \"hamdex-simhash/1 width=64 "), "{text}");
    assert_eq!(code, 2);
    assert!(scratch.output(&ask("default weight=once").each_ref().map(String::as_str)).ends_with("n/9\n"));
    let dump: Value = serde_json::from_str(&scratch.output(&["dump", "a.hamdex", "--json"])).unwrap();
    assert!(dump["metadata"]["hamdex.recipe"].as_str().unwrap().contains("weight=once"));

    scratch.write("bare.txt", crate::common::LINES);
    scratch.output(&["build", "-o", "bare.hamdex", "bare.txt"]);
    let (code, text) = scratch.failure(&["query", "bare.hamdex", "--text", &story(2)]);
    assert!(text.contains("bare.hamdex: holds no recipe"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn lists_are_those_of_the_build_or_an_error() {
    let scratch = with_index(&[]);
    scratch.output(&["idf", "in.jsonl", "-o", "in.idf"]);
    scratch.write("other.idf", "word 1\n");
    let (code, text) = scratch.failure(&["query", "a.hamdex", "--text", &story(2), "--idf", "in.idf"]);
    assert!(text.contains("a.hamdex: was built without a dictionary"), "{text}");
    assert_eq!(code, 2);
    scratch.output(&["build", "-o", "b.hamdex", "--documents", "--idf", "in.idf", "in.jsonl"]);
    let ask = ["query", "b.hamdex", "--text", &story(2)];
    assert!(scratch.failure(&ask).1.contains("recipe needs the idf dictionary with digest"));
    assert!(scratch.failure(&[&ask[..], &["--idf", "other.idf"]].concat()).1.contains("not the one with"));
    assert!(scratch.output(&[&ask[..], &["--idf", "in.idf"]].concat()).ends_with("\t0\tn/9\n"));
}

#[test]
fn a_text_too_short_to_ask_for_says_so() {
    let scratch = with_index(&[]);
    let (code, text) = scratch.failure(&["query", "a.hamdex", "--text", "two words"]);
    assert!(text.contains("too short for a reliable fingerprint: 2 features, 16 are needed"), "{text}");
    assert_eq!(code, 1);
}

#[test]
fn without_its_names_an_index_answers_with_numbers() {
    let scratch = with_index(&[]);
    let query: [&str; 4] = ["query", "a.hamdex", "--text", &story(2)];
    assert!(scratch.output(&query).ends_with("\t0\tn/9\n"));
    std::fs::remove_file(scratch.path("a.hamdex.ids")).unwrap();
    for args in [&query[..], &["pairs", "a.hamdex", "--ids"]] {
        let output = scratch.hamdex(args).assert().success();
        let warning = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        let warnings: Vec<&str> = warning.lines().filter(|line| line.contains("a.hamdex.ids")).collect();
        assert!(warnings.len() == 1 && warnings[0].starts_with("hamdex: a.hamdex.ids: "), "{warning}");
        assert!(warnings[0].ends_with("ids are shown as numbers"), "{warning}");
    }
    assert!(scratch.output(&query).ends_with("\t0\t2\n"));
    let (code, text) = scratch.failure(&["verify", "a.hamdex"]);
    assert!(text.contains("a.hamdex.ids: cannot open the names"), "{text}");
    assert_eq!(code, 3);
}

#[test]
fn names_that_are_damaged_or_of_another_index_are_never_shown() {
    let scratch = with_index(&[]);
    assert!(scratch.output(&["verify", "a.hamdex"]).ends_with("3 ids, 3 names\n"));
    let ids = std::fs::read(scratch.path("a.hamdex.ids")).unwrap();
    scratch.write("b.jsonl", [json_line("x", &story(2)), json_line("y", &story(3))].concat());
    scratch.output(&["build", "-o", "b.hamdex", "--documents", "b.jsonl"]);
    let text = story(2);
    let numbers = |index: &str, warning: &str, number: &str| {
        let output = scratch.hamdex(&["query", index, "--text", &text]).assert().success();
        let output = output.get_output();
        let (found, said) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(found.ends_with(&format!("\t0\t{number}\n")), "{found}");
        assert!(said.contains(warning) && said.contains("ids are shown as numbers"), "{said}");
        let (code, text) = scratch.failure(&["verify", index]);
        assert!(code == 3 && text.contains(warning), "{text}");
    };
    scratch.write("b.hamdex.ids", &ids);
    numbers("b.hamdex", "b.hamdex.ids: it belongs to another index", "0");
    scratch.write("a.hamdex.ids", &ids[..ids.len() - 1]);
    numbers("a.hamdex", "truncated", "2");
    // A name that is damaged by itself is an error: the others are whole.
    let mut damaged = ids.clone();
    *damaged.last_mut().unwrap() ^= 1;
    scratch.write("a.hamdex.ids", damaged);
    for args in [&["query", "a.hamdex", "--text", &text][..], &["verify", "a.hamdex"]] {
        let (code, text) = scratch.failure(args);
        assert!(code == 3 && text.contains("name 2 is damaged"), "{text}");
    }
}

#[test]
fn other_names_are_not_written_over() {
    let scratch = with_index(&[]);
    std::fs::remove_file(scratch.path("a.hamdex")).unwrap();
    let args = ["build", "-o", "a.hamdex", "--documents", "in.jsonl"];
    let (code, text) = scratch.failure(&args);
    assert!(text.contains("a.hamdex.ids") && text.contains("--force"), "{text}");
    assert_eq!(code, 1);
    scratch.output(&[&args[..], &["--force"]].concat());
    assert!(scratch.output(&["query", "a.hamdex", "--text", &story(2)]).ends_with("n/9\n"));
}

#[test]
fn ids_can_be_numbers_rows_or_none() {
    let scratch = with_index(&[]);
    let last = |ids: &str, input: &str| {
        scratch.output(&["build", "-o", "b.hamdex", "--force", "--documents", "--ids", ids, input]);
        assert!(!scratch.names().contains(&"b.hamdex.ids".to_owned()));
        scratch
            .output(&["query", "b.hamdex", "--text", &story(2)])
            .trim()
            .rsplit('\t')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(last("numbers", "numbers.jsonl"), "9");
    assert_eq!(last("row", "in.jsonl"), "2");
    assert_eq!(last("none", "in.jsonl"), "0", "the distance comes last");
    let (_, text) = scratch.failure(&[
        "build",
        "-o",
        "c.hamdex",
        "--documents",
        "--ids",
        "numbers",
        "--temp-dir",
        ".",
        "in.jsonl",
    ]);
    assert!(text.contains("n/9") || text.contains("too short"), "{text}");
}

#[test]
fn ids_that_do_not_fit_are_refused() {
    let scratch = with_index(&[]);
    let (code, text) =
        scratch.failure(&["build", "-o", "c.hamdex", "--documents", "--ids", "pairs", "in.jsonl"]);
    assert!(text.contains("--ids for documents is one of: names, numbers, row, none"), "{text}");
    assert_eq!(code, 2);
    let (code, text) = scratch.failure(&["build", "-o", "c.hamdex", "--ids", "names", "in.jsonl"]);
    assert!(text.contains("--ids for fingerprints is one of: none, row, pairs"), "{text}");
    assert_eq!(code, 2);
    assert!(
        scratch
            .failure(&["build", "-o", "c.hamdex", "--recipe", "default", "in.jsonl"])
            .1
            .contains("--documents")
    );
}

#[test]
fn the_same_documents_give_the_same_files() {
    let scratch = with_index(&[]);
    scratch.output(&["build", "-o", "b.hamdex", "--documents=jsonl", "--threads", "1", "in.jsonl"]);
    for ending in ["hamdex", "hamdex.ids"] {
        let bytes = |name: &str| std::fs::read(scratch.path(&format!("{name}.{ending}"))).unwrap();
        assert!(bytes("a") == bytes("b"), "{ending}");
    }
}

#[test]
fn fingerprints_of_128_bits_are_built_of_documents() {
    let scratch = with_index(&["--width", "128"]);
    let named = scratch.output(&["query", "a.hamdex", "--recipe", "default", "--text", &story(2)]);
    assert_eq!(named.split('\t').next().unwrap().len(), 32);
    assert_eq!(scratch.failure(&["query", "a.hamdex", "--recipe", "default width=64", "--text", "x"]).0, 2);
    assert!(scratch.output(&["query", "a.hamdex", "--text", &story(2)]).ends_with("\t0\tn/9\n"));
}

#[test]
fn skewed_fingerprints_are_warned_about() {
    let scratch = Scratch::new();
    let even: String =
        (0..5000u64).map(|i| format!("{:016x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let skewed: String = (0..5000u64).map(|i| format!("{i:016x}\n")).collect();
    scratch.write("even.txt", even);
    scratch.write("skewed.txt", skewed);
    let warnings = |input: &str| {
        let output = scratch.hamdex(&["build", "-o", &format!("{input}.hamdex"), input]).assert().success();
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    assert_eq!(warnings("even.txt").lines().count(), 1, "the summary alone");
    scratch.write("same.txt", "00000000000000ff\n".repeat(2000));
    assert!(warnings("same.txt").contains("only 1 of 2,000 fingerprints are distinct"));
    let warning = warnings("skewed.txt");
    assert!(
        warning.contains("hamdex: skewed.txt.hamdex: the fingerprints are skewed")
            && warning.lines().count() == 2,
        "{warning}"
    );
}

#[test]
fn methods_are_scored_against_pairs_or_groups() {
    let scratch = with_index(&[]);
    scratch.write("truth.txt", "7 8\n\n");
    let args = ["evaluate", "in.jsonl", "--truth", "truth.txt"];
    let report: Value = serde_json::from_str(&scratch.output(&[&args[..], &["--json"]].concat())).unwrap();
    assert_eq!(
        (&report["documents"], &report["too_short"], &report["true_pairs"]),
        (&4.into(), &1.into(), &1.into())
    );
    let methods = report["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 3);
    let scores = methods[0]["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 11);
    assert_eq!(scores[10]["recall"], 1.0);
    assert_eq!(scores[10]["precision"], 1.0);

    scratch.output(&[&args[..], &["--svg", "curve.svg"]].concat());
    assert!(std::fs::read_to_string(scratch.path("curve.svg")).unwrap().starts_with("<svg"));
    let text = scratch.output(&args);
    assert!(text.contains("precision") && text.contains("longest sentences"), "{text}");

    let groups = [("a", "x", 1), ("b", "x", 1), ("c", "y", 2)];
    let lines = groups.map(|(id, group, number)| {
        format!("{}\n", serde_json::json!({ "id": id, "group": group, "text": story(number) }))
    });
    scratch.write("groups.jsonl", lines.concat());
    let grouped = scratch.output(&["evaluate", "groups.jsonl", "--group-field", "group", "--json"]);
    let grouped: Value = serde_json::from_str(&grouped).unwrap();
    assert_eq!(grouped["true_pairs"], 1);
    assert_eq!(grouped["methods"][0]["scores"][0]["recall"], 1.0);
}

#[test]
fn a_truth_that_does_not_fit_is_refused() {
    let scratch = with_index(&[]);
    for (truth, expected) in [
        ("7 8\n7 nobody\n", "truth.txt:2: no document has the id \"nobody\""),
        ("7 8 10\n", "truth.txt:1: expected two ids; found 3"),
    ] {
        scratch.write("truth.txt", truth);
        let output = scratch.hamdex(&["evaluate", "in.jsonl", "--truth", "truth.txt"]).assert().code(1);
        let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        assert!(text.contains(expected), "{text}");
    }
    scratch.hamdex(&["evaluate", "in.jsonl"]).assert().code(2);
}

#[test]
fn a_dictionary_is_reported_for_programs_too() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", json_line("one", "three words here") + &json_line("two", "words"));
    let report: serde_json::Value =
        serde_json::from_str(&scratch.output(&["idf", "--json", "-o", "in.idf", "in.jsonl"])).unwrap();
    let dictionary = std::fs::read_to_string(scratch.path("in.idf")).unwrap();
    let words = dictionary.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!((&report["output"], &report["documents"]), (&"in.idf".into(), &2.into()));
    assert_eq!((&report["words"], &report["error_documents"]), (&words.into(), &0.into()));
    assert_eq!(report["digest"].as_str().unwrap().len(), 32);
}
