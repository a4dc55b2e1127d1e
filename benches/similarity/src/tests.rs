use std::fs;

use super::*;

/// A file of the data kept next to the project; `None`, and a message, where there is none.
fn shared_data(name: &str) -> Option<String> {
    let path = format!("{}/../../../shared/data/{name}", env!("CARGO_MANIFEST_DIR"));
    if !Path::new(&path).exists() {
        println!("skipped: no {name} in ../shared/data next to the project");
        return None;
    }
    Some(path)
}

fn story(number: u64) -> String {
    let word =
        |place: u64| format!("w{:x} ", (number * 1000 + place).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
    (0..120).map(word).collect()
}

fn report(arguments: &[&str]) -> Result<Report> {
    evaluate::<u64>(&Args::try_parse_from([&["hamdex-similarity"], arguments].concat())?)
}

/// The pairs that a rule of clusters has found.
fn found(report: &Report, rule: usize) -> u64 {
    report.clusters[rule].bands.iter().map(|band| band.found).sum()
}

/// The right pairs that a method has reported at a level, and all.
fn reported(report: &Report, method: usize, level: u32) -> (u64, u64) {
    let score = report.methods[method].scores.iter().find(|at| at.level == level).unwrap().score;
    (score.right, score.reported)
}

#[test]
fn methods_are_scored_against_pairs_or_groups() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let document =
        |id, group, text| format!("{}\n", serde_json::json!({ "id": id, "group": group, "text": text }));
    let lines = [
        document(7, "x", story(1)),
        document(8, "x", story(1).replacen(' ', " altered ", 1)),
        document(9, "y", story(2)),
        document(10, "z", "too short".to_owned()),
    ];
    fs::write(path("in.jsonl"), lines.concat()).unwrap();
    fs::write(path("truth.txt"), "7 8\n\n").unwrap();
    let of_pairs = report(&[&path("in.jsonl"), "--truth", &path("truth.txt")]).unwrap();
    assert_eq!((of_pairs.documents, of_pairs.too_short, of_pairs.truth), (4, 1, 1));
    assert_eq!((of_pairs.methods.len(), of_pairs.methods[0].scores.len()), (5, 11));
    assert_eq!(reported(&of_pairs, 0, 10), (1, 1));
    let rules: Vec<&str> = of_pairs.clusters.iter().map(|outcome| &*outcome.rule).collect();
    assert_eq!(rules, ["--similarity 0.7", "-k 3"]);
    let text = of_pairs.to_string();
    for expected in
        ["precision", "longest sentences", "cosine", "words changed, up to 5 %", "less than 0.7 similar"]
    {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(report(&[&path("in.jsonl"), "--group-field", "group"]).unwrap().to_string(), text);

    fs::write(path("truth.txt"), "7 none\n").unwrap();
    for (known, expected) in [
        (&["--truth", &path("truth.txt")][..], "truth.txt: line 1: no document has the id \"none\""),
        (&["--group-field", "none"], "no document has a field \"none\""),
        (&[], "required arguments were not provided"),
    ] {
        let error = report(&[&[&*path("in.jsonl")], known].concat()).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_dictionary_weights_words() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("in.txt"), format!("a {}\nb {}\n", story(1), story(1))).unwrap();
    fs::write(path("a.idf"), "word 2\n").unwrap();
    let with_idf = report(&["--lines", "--pages", "--idf", &path("a.idf"), &path("in.txt")]).unwrap();
    assert!(with_idf.methods[0].name.contains(" weight=idf:"), "{}", with_idf.methods[0].name);
}

#[test]
fn other_methods_find_the_articles_too() {
    let Some(articles) = shared_data("articles_1000.train") else { return };
    let truth = articles.replace(".train", ".truth");
    let report = report(&["--lines", &articles, "--truth", &truth]).unwrap();
    assert_eq!((report.documents, report.truth), (1000, 10));
    assert_eq!(reported(&report, 1, 50), (10, 10));
    // Half of the copies had their longest sentence altered.
    assert!(reported(&report, 4, 1).0 >= 5);
}

#[test]
fn pages_that_differ_in_adverts_counters_and_dates_are_evaluated() {
    let Some(articles) = shared_data("articles_1000.train") else { return };
    let directory = tempfile::tempdir().unwrap();
    let some = directory.path().join("a.train");
    let lines: String = fs::read_to_string(articles).unwrap().split_inclusive('\n').take(100).collect();
    fs::write(&some, lines).unwrap();
    let report = report(&["--lines", "--pages", some.to_str().unwrap()]).unwrap();
    assert_eq!((report.documents, report.truth), (200, 100));
    assert_eq!(found(&report, 0), 100);
    assert!(found(&report, 1) < 50, "{}", found(&report, 1));
    assert_eq!(reported(&report, 3, 90).0, 100);
    assert!(reported(&report, 2, 2).0 < reported(&report, 2, 1).0);
}
