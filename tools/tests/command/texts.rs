//! Indexes of documents: `hamdex build` and `query` with texts.

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
fn damaged_names_are_never_shown_and_hinder_no_other() {
    let scratch = with_index(&[]);
    assert!(scratch.output(&["verify", "a.hamdex"]).ends_with("3 ids, 3 names\n"));
    let whole = std::fs::read(scratch.path("a.hamdex")).unwrap();
    let query = ["query", "a.hamdex", "--text", &story(2)];
    assert!(scratch.output(&query).ends_with("\t0\tn/9\n"));
    let mut damaged = whole.clone();
    let at = whole.windows(3).position(|bytes| bytes == b"n/9").unwrap();
    damaged[at] ^= 1;
    scratch.write("a.hamdex", damaged);
    for args in [&query[..], &["pairs", "a.hamdex", "--ids", "-k", "64"], &["verify", "a.hamdex"]] {
        let (code, text) = scratch.failure(args);
        assert!(code == 3 && text.contains("a.hamdex: damaged at the names"), "{text}");
    }
    assert!(scratch.output(&[&query[..], &["--no-ids"]].concat()).ends_with("\t0\n"));
}

#[test]
fn ids_can_be_numbers_rows_or_none() {
    let scratch = with_index(&[]);
    let last = |ids: &str, input: &str| {
        scratch.output(&["build", "-o", "b.hamdex", "--force", "--documents", "--ids", ids, input]);
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
    let (code, text) = scratch.failure(&["build", "-o", "c.hamdex", "--ids", "numbers", "in.jsonl"]);
    assert!(text.contains("--ids for fingerprints is one of: none, row, pairs, names"), "{text}");
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
    let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    assert!(bytes("a.hamdex") == bytes("b.hamdex"));
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

#[test]
fn a_whole_file_of_documents_is_asked_for() {
    let scratch = with_index(&[]);
    let asked = [
        json_line("same", &story(2)),
        json_line("short", "two words"),
        json_line("a\tb", &altered(&story(3))),
    ];
    scratch.write("asked.jsonl", asked.concat());
    let args = ["query", "a.hamdex", "--documents", "--file", "asked.jsonl", "-k", "6"];
    let found = scratch.output(&args);
    let lines: Vec<Vec<&str>> = found.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((lines[0][0], lines[0][2], lines[0][3]), ("same", "0", "n/9"), "{found}");
    assert!(lines.iter().all(|line| line[0] != "short"), "{found}");
    assert_eq!(scratch.output(&[&args[..], &["--first"]].concat()).lines().next(), found.lines().next());
    let json = scratch.output(&[&args[..], &["--json", "--nearest", "1"]].concat());
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["document"], &line["distance"], &line["ids"][0]),
        (&"same".into(), &0.into(), &"n/9".into())
    );
    let piped = ["query", "a.hamdex", "--documents=jsonl", "-k", "6"];
    scratch.hamdex(&piped).write_stdin(asked.concat()).assert().success().stdout(found);
    let output = scratch.hamdex(&args).assert().success();
    let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(said.contains("\"short\" is too short") && said.contains("3 documents"), "{said}");
    assert_eq!(scratch.failure(&[&args[..4], &["--text", "x"]].concat()).0, 2);
}

#[test]
fn a_query_by_a_sentence_says_that_whole_documents_match() {
    let scratch = with_index(&[]);
    let said = |text: &str| {
        let output = scratch.hamdex(&["query", "a.hamdex", "--text", text]).assert().success();
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    let sentence = story(2).split(' ').take(20).collect::<Vec<_>>().join(" ");
    assert!(said(&sentence).contains("--text: whole documents match"), "{}", said(&sentence));
    assert_eq!(said(&story(2)), "");
}
