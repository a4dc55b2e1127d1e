//! The options that define near-duplicates, and which of several are kept.

use super::{clusters, corpus, messages};
use crate::common::{Scratch, altered, json_line, story};

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

/// A story of which this many words, from the first, are others.
fn replaced(count: usize) -> String {
    let words = story(1);
    let word =
        |(place, word): (usize, &str)| if place < count { format!("new{place}") } else { word.to_owned() };
    words.split(' ').enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Stories that are links of a chain: each has five more words replaced.
fn chain() -> String {
    (0..8).map(|link| json_line(&link.to_string(), &replaced(5 * link))).collect()
}

#[test]
fn texts_are_near_duplicates_from_a_similarity_on() {
    let scratch = Scratch::new();
    // 120 words have 116 shingles; without the first five words 111 are left, so 111 of 121 are shared.
    scratch.write("in.jsonl", [json_line("a", &story(1)), json_line("b", &replaced(5))].concat());
    let run = |args: &[&str]| scratch.output(&[&["dedup", "in.jsonl"][..], args].concat());
    let similarity = 111.0 / 121.0;
    let json = run(&["--json", "--similarity", "0.9"]);
    assert!(json.contains(&format!("\"similarity\":{similarity}}}")), "{json}");
    assert!(run(&["--similarity", "0.9"]).contains("\t0.917\tb\n"));
    assert_eq!(run(&["--similarity", "0.92"]), "");
    // With shingles of one word, 115 of 125 are shared.
    assert!(run(&["--similarity", "0.92", "--check-words", "1"]).contains("\t0.920\tb\n"));
    assert_eq!(run(&["-k", "0", "--similarity", "0.5"]), "");
}

#[test]
fn whatever_is_removed_is_similar_to_what_is_kept() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", chain());
    let rows = |args: &[&str]| -> Vec<(u64, bool, f64)> {
        let text =
            scratch.output(&[&["dedup", "in.jsonl", "--json", "--similarity", "0.85"][..], args].concat());
        let row = |line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let similarity = line["similarity"].as_f64().unwrap();
            (line["cluster"].as_u64().unwrap(), line["kept"].as_bool().unwrap(), similarity)
        };
        text.lines().map(row).collect()
    };
    let stars = rows(&[]);
    assert_eq!(stars.iter().filter(|(_, is_kept, _)| *is_kept).count(), 4);
    assert!(stars.iter().all(|(.., similarity)| *similarity >= 0.85), "{stars:?}");
    let linked = rows(&["--clusters", "linked"]);
    assert_eq!((linked.len(), linked.iter().filter(|(_, is_kept, _)| *is_kept).count()), (8, 1));
    let text = messages(&scratch, &["dedup", "in.jsonl", "--similarity", "0.85", "--clusters", "linked"]);
    assert!(text.contains("the largest chains: \"0\" and 7 others, down to 0.5"), "{text}");
}

#[test]
fn the_largest_clusters_are_named() {
    let scratch = Scratch::new();
    let texts = [1, 2, 2, 3, 3, 3, 4, 4, 4, 4];
    let lines = (0..).zip(texts).map(|(id, number)| json_line(&format!("d{id}"), &story(number)));
    scratch.write("in.jsonl", lines.collect::<String>());
    let text = messages(&scratch, &["dedup", "in.jsonl"]);
    assert!(text.ends_with("the largest clusters: \"d6\" and 3 others; \"d3\" and 2 others\n"), "{text}");
}

#[test]
fn ids_alone_are_printed_for_other_programs() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", [corpus(), json_line("a\nb", &story(1))].concat());
    let print = |args: &[&str]| scratch.output(&[&["dedup", "in.jsonl", "--print"][..], args].concat());
    assert_eq!(print(&["duplicates"]), "one again\n\"a\\nb\"\ntwo and more\n");
    assert_eq!(print(&["kept"]), "one\ntwo\nalone\n");
    assert_eq!(print(&["duplicates", "-0"]), "one again\0a\nb\0two and more\0");
}

/// A program that removes the named duplicates must not remove a kept file.
#[cfg(target_os = "linux")]
#[test]
fn files_whose_names_are_not_utf_8_are_not_taken_for_others() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("z")).unwrap();
    for name in ["a\u{fffd}.txt".as_bytes(), b"a\xff.txt", b"a\xfe.txt"] {
        std::fs::write(scratch.path("z").join(OsStr::from_bytes(name)), story(1)).unwrap();
    }
    let print = |options: &[&str]| {
        let output = scratch.hamdex(&[&["dedup", "z", "--print"], options].concat()).assert().success();
        output.get_output().stdout.clone()
    };
    // Other programs find the files by their bytes.
    assert_eq!(print(&["kept", "-0"]), "z/a\u{fffd}.txt\0".as_bytes());
    assert_eq!(print(&["duplicates", "-0"]), b"z/a\xfe.txt\0z/a\xff.txt\0");
    assert_eq!(print(&["duplicates"]), b"z/a\xfe.txt\nz/a\xff.txt\n");
    // They are names of records, too.
    let text = |args: &[&str]| scratch.hamdex(args).assert().success().get_output().stdout.clone();
    let has_both = |output: &[u8]| {
        [&b"z/a\xfe.txt"[..], b"z/a\xff.txt"]
            .iter()
            .all(|name| output.windows(name.len()).any(|part| part == *name))
    };
    text(&["build", "-o", "a.hamdex", "--documents", "z"]);
    assert!(has_both(&text(&["dump", "a.hamdex", "--fingerprints", "--names"])));
    assert!(has_both(&text(&["fingerprint", "z"])));
    assert!(has_both(&text(&["query", "a.hamdex", "--documents", "--file", "z", "--no-ids"])));
    assert!(has_both(&text(&["dedup", "z", "--against", "z"])));
    for shingles in [&[][..], &["--shingles"]] {
        let name = format!("{}.store", shingles.len());
        text(&[&["store", "create", &name, "--documents", "--lookups"], shingles].concat());
        // The second time, each replaces what has its name.
        for _ in 0..2 {
            text(&["store", "insert", &name, "--documents", "--replace", "z"]);
        }
        let mut remove = scratch.hamdex(&["store", "remove", &name, "-0", "--json"]);
        let removed = remove.write_stdin(print(&["duplicates", "-0"])).assert().success();
        assert_eq!(removed.get_output().stdout, b"{\"read\":2,\"removed\":2}\n");
        let left = text(&["dump", &name, "--fingerprints", "--names"]);
        assert!(left.ends_with("\tz/a\u{fffd}.txt\n".as_bytes()) && !has_both(&left));
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    for (args, expected) in [
        (&["--similarity", "0.5", "--check", "jaccard=0.5"][..], "'--similarity <X>' cannot be used with"),
        (&["--similarity", "0"], "above 0"),
        (&["--similarity", "70"], "above 0"),
        (&["--similarity", "NaN"], "above 0"),
        (&["--check", "0.7"], "jaccard=0.8"),
        (&["--check-words", "0"], "from 1 to 64"),
        (&["--check-words", "65"], "from 1 to 64"),
        (&["-k", "3", "--check-words", "4"], "--check-words needs --similarity or --check"),
        (&["--clusters", "rings"], "stars, linked"),
        (&["--print", "all"], "duplicates, kept"),
        (&["-0"], "--print"),
        (&["--print", "kept", "--json"], "cannot be used with"),
        (&["--print", "kept", "--unique"], "cannot be used with"),
        (&["-k", "17"], "too large"),
        (&["--fingerprints", "--similarity", "0.7"], "--fingerprints has no texts"),
        (&["--fingerprints", "--keep", "longest"], "--fingerprints has no texts"),
        (&["--fingerprints", "--html", "x.html"], "cannot be used with"),
        (&["--drop-columns"], "--unique"),
        (&["--ids", "row"], "--fingerprints"),
    ] {
        let (code, text) = scratch.failure(&[&["dedup", "in.jsonl"][..], args].concat());
        assert!(text.contains(expected), "{args:?}: {text}");
        assert_eq!(code, 2, "{args:?}");
    }
}

#[test]
fn too_little_memory_is_refused_before_anything_is_read() {
    let scratch = Scratch::new();
    let lines: String = (0..20_000).map(|number| json_line(&number.to_string(), "a text")).collect();
    scratch.write("in.jsonl", lines);
    for input in ["in.jsonl", "missing.jsonl"] {
        let (code, text) = scratch.failure(&["dedup", input, "--memory", "63MiB"]);
        assert!(code == 2 && text.contains("--memory: the program needs at least 64 MiB"), "{text}");
    }
    assert_eq!(scratch.output(&["dedup", "in.jsonl", "--memory", "64MiB"]).lines().count(), 20_000);
}

#[test]
fn fingerprints_from_elsewhere_have_clusters() {
    let scratch = Scratch::new();
    scratch.write("a.tsv", "00000000000000ff\timg 1.png\n0123456789abcdef\tb.png\n00000000000000fe\tc.png\n");
    scratch.write("b.txt", "0123456789abcdff\n");
    let run = |args: &[&str]| scratch.output(&[&["dedup", "--fingerprints"][..], args].concat());
    let expected = "1\tkept\t0\timg 1.png\n1\tduplicate\t1\tc.png\n2\tkept\t0\tb.png\n2\tduplicate\t1\t3\n";
    assert_eq!(run(&["a.tsv", "b.txt"]), expected);
    assert_eq!(run(&["a.tsv", "b.txt", "-k", "0"]), "");
    assert_eq!(run(&["a.tsv", "b.txt", "--print", "duplicates", "-0"]), "c.png\x003\0");
    assert!(
        run(&["a.tsv", "b.txt", "--json"])
            .contains("{\"cluster\":1,\"id\":\"c.png\",\"kept\":false,\"distance\":1}")
    );
    scratch.write("c.csv", "page,phash\nx,00000000000000ff\ny,00000000000000ff\n");
    let columns = ["c.csv", "--fingerprint-field", "phash"];
    assert_eq!(run(&[&columns[..], &["--id-field", "page"]].concat()), "1\tkept\t0\tx\n1\tduplicate\t0\ty\n");
    assert_eq!(run(&[&columns[..], &["--ids", "row"]].concat()), "1\tkept\t0\t0\n1\tduplicate\t0\t1\n");
    let (code, text) = scratch.failure(&[&["dedup", "--fingerprints"][..], &columns].concat());
    assert!(text.contains("no column is named \"id\" (--id-field)"), "{text}");
    assert_eq!(code, 1);
    scratch.write("wide.txt", "00000000000000000000000000000001\ta\n00000000000000000000000000000003\tb\n");
    assert_eq!(run(&["--width", "128", "wide.txt"]).lines().count(), 2);
}
