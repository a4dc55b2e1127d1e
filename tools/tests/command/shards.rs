//! Sets of shards: `hamdex build --shards`, `hamdex shards`, and the commands that take a set as they take a file.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::common::{Scratch, altered, json_line, json_lines, story};

fn number(rank: u64) -> u64 {
    rank.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Fingerprints of some numbers, each with one a bit away, a line each.
fn lines(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|rank| format!("{:016x}\n{:016x}\n", number(rank), number(rank) ^ 1 << (rank % 64))).collect()
}

/// An index file, and sets of both layouts with the same in them.
fn scene(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("in.txt", lines(0..1000));
    let build = |output: &str, more: &[&str]| {
        scratch.output(&[&["build", "in.txt", "-o", output], more, options].concat());
    };
    build("one.hamdex", &[]);
    build("families.shards", &["--shards", "3"]);
    build("hash.shards", &["--shards", "3", "--layout", "hash"]);
    scratch
}

fn sorted(text: &str) -> BTreeSet<&str> {
    text.lines().collect()
}

#[test]
fn sets_answer_as_a_file_does() {
    for options in [&["--ids", "row"][..], &["--codec", "elias-fano", "-k", "2"]] {
        let scratch = scene(options);
        let queries = scratch.write("queries.txt", lines(990..1010));
        let queries = queries.to_str().unwrap();
        for set in ["families.shards", "hash.shards"] {
            let same = |args: &[&str]| {
                let with = |index: &str| scratch.output(&[&args[..1], &[index], &args[1..]].concat());
                let (of_set, of_file) = (with(set), with("one.hamdex"));
                assert_eq!(of_set, of_file, "{set} {args:?}");
                assert!(!of_file.is_empty());
            };
            same(&["query", "--file", queries]);
            same(&["query", "--file", queries, "-k", "5", "--json"]);
            same(&["query", "--file", queries, "--limit", "1", "--no-ids"]);
            same(&["query", "0x1", "--nearest", "3"]);
            same(&["pairs", "--count"]);
            same(&["pairs", "-k", "5", "--count", "--json"]);
            same(&["dump", "--fingerprints"]);
            if options[0] == "--ids" {
                same(&["dump", "--fingerprints", "--ids"]);
                let pairs = |index: &str| scratch.output(&["pairs", index, "--ids"]);
                assert_eq!(sorted(&pairs(set)), sorted(&pairs("one.hamdex")));
            }
            let verified = scratch.output(&["verify", set]);
            assert!(verified.starts_with(&format!("{set}: whole: ")), "{verified}");
            let dumped: Value = serde_json::from_str(&scratch.output(&["dump", set, "--json"])).unwrap();
            assert_eq!(dumped["fingerprints"], 2000);
            let families = dumped["families"].as_u64().unwrap() as usize;
            assert_eq!(dumped["shards"].as_array().unwrap().len(), 3 * families);
            assert!(scratch.output(&["dump", set]).contains("layout"));
        }
    }
}

#[test]
fn a_set_of_documents_answers_by_text_and_by_name() {
    let scratch = Scratch::new();
    let documents: String = (0..30).map(|n| json_line(&format!("page {n}"), &story(n))).collect();
    scratch.write("in.jsonl", documents);
    for layout in ["families", "hash"] {
        let build =
            ["build", "--documents", "in.jsonl", "-o", layout, "--shards", "2", "--layout", layout, "--json"];
        let report: Value = serde_json::from_str(&scratch.output(&build)).unwrap();
        assert_eq!((&report["documents"], &report["ids"]), (&Value::from(30), &Value::from(30)));
        let found = scratch.output(&["query", layout, "--text", &story(7), "--json"]);
        assert_eq!(json_lines(&found)[0]["ids"], Value::from(vec!["page 7"]));
        scratch.write("new.txt", altered(&story(8)));
        let found = scratch.output(&["query", layout, "--document", "new.txt", "-k", "12"]);
        assert!(found.contains("\tpage 8\n"), "{found}");
        let names = scratch.output(&["dump", layout, "--fingerprints", "--names"]);
        assert_eq!(names.lines().filter(|line| line.contains("\tpage ")).count(), 30);
        let known = scratch.write("again.jsonl", json_line("copy", &story(9)));
        let known = scratch.output(&["dedup", known.to_str().unwrap(), "--against", layout, "-k", "3"]);
        assert!(known.contains("page 9"), "{known}");
        let verified: Value = serde_json::from_str(&scratch.output(&["verify", layout, "--json"])).unwrap();
        assert_eq!((&verified["ok"], &verified["fingerprints"]), (&Value::from(true), &Value::from(30)));
    }
}

#[test]
fn files_from_elsewhere_join_a_set() {
    let scratch = Scratch::new();
    for (name, range) in [("a", 0..500), ("b", 400..900), ("c", 900..1000)] {
        scratch.write(&format!("{name}.txt"), lines(range));
        let (input, index) = (format!("{name}.txt"), format!("{name}.hamdex"));
        scratch.output(&["build", &input, "-o", &index]);
    }
    let created = scratch.output(&["shards", "create", "set", "a.hamdex", "b.hamdex", "--json"]);
    let created: Value = serde_json::from_str(&created).unwrap();
    assert_eq!((&created["shards"], &created["added"]), (&Value::from(2), &Value::from(2)));
    let added = scratch.output(&["shards", "add", "set", "c.hamdex", "--json"]);
    let added: Value = serde_json::from_str(&added).unwrap();
    assert_eq!((&added["shards"], &added["fingerprints"]), (&Value::from(3), &Value::from(2200)));
    let merged = ["merge", "a.hamdex", "b.hamdex", "c.hamdex", "-o", "one.hamdex"];
    scratch.output(&merged);
    for args in [&["dump", "--fingerprints"][..], &["pairs", "--count"], &["query", "0x1", "--nearest", "5"]]
    {
        let with = |index: &str| scratch.output(&[&args[..1], &[index], &args[1..]].concat());
        assert_eq!(with("set"), with("one.hamdex"));
    }
    let (code, text) = scratch.failure(&["shards", "add", "set", "c.hamdex"]);
    assert!(text.contains("c.hamdex: is in the set already, as "), "{text}");
    assert_eq!(code, 1);
    scratch.output(&["build", "c.txt", "--ids", "row", "-o", "ids.hamdex"]);
    let (code, text) = scratch.failure(&["shards", "add", "set", "ids.hamdex"]);
    assert!(text.contains("ids.hamdex: has ids that are numbers, and the set no ids"), "{text}");
    assert_eq!(code, 1);
    let (code, text) = scratch.failure(&["shards", "create", "set", "c.hamdex"]);
    assert!(text.contains("set: exists already; --force replaces it"), "{text}");
    assert_eq!(code, 1);
    scratch.output(&["shards", "create", "set", "c.hamdex", "--force"]);
    assert_eq!(scratch.output(&["dump", "set", "--fingerprints"]).lines().count(), 200);
    scratch.output(&["build", "c.txt", "-o", "families", "--shards", "2"]);
    let (code, text) = scratch.failure(&["shards", "add", "families", "c.hamdex"]);
    assert!(text.contains("split into families") && text.contains("build it again"), "{text}");
    assert_eq!(code, 1);
    let (code, text) = scratch.failure(&["shards", "add", "set", "c.txt"]);
    assert!(text.contains("c.txt: not a hamdex file: build one with `hamdex build`"), "{text}");
    assert_eq!(code, 3);
    let (code, text) = scratch.failure(&["shards", "add", "nothing", "c.hamdex"]);
    assert!(text.contains("nothing"), "{text}");
    assert_eq!(code, 1);
}

#[test]
fn a_set_replaces_only_a_set_and_only_by_force() {
    let scratch = scene(&[]);
    let build = ["build", "in.txt", "--shards", "2", "-o"];
    let with = |more: &[&'static str]| [&build, more].concat();
    let before = scratch.names();
    let (code, text) = scratch.failure(&with(&["families.shards"]));
    assert!(text.contains("families.shards: exists already; --force replaces it"), "{text}");
    assert_eq!(code, 1);
    fs::create_dir(scratch.path("mine")).unwrap();
    scratch.write("mine/notes.txt", "mine");
    let (code, text) = scratch.failure(&with(&["mine", "--force"]));
    assert!(text.contains("mine: not a set of shards: only a set of shards is replaced"), "{text}");
    assert_eq!(code, 1);
    assert_eq!(fs::read(scratch.path("mine/notes.txt")).unwrap(), b"mine");
    let (_, text) = scratch.failure(&with(&["one.hamdex", "--force"]));
    assert!(text.contains("one.hamdex: not a directory"), "{text}");
    let (_, text) = scratch.failure(&with(&[".", "--force"]));
    assert!(!text.is_empty());
    let (_, text) = scratch.failure(&with(&["no/such"]));
    assert!(text.contains("no/such: cannot create it"), "{text}");
    let (code, text) = scratch.failure(&with(&["-"]));
    assert!(text.contains("a set of shards is a directory"), "{text}");
    assert_eq!(code, 2);
    let inside = ["build", "hash.shards/shard-00000.hamdex", "--shards", "2", "-o", "hash.shards", "--force"];
    let (_, text) = scratch.failure(&inside);
    assert!(text.contains("hash.shards: is the input hash.shards/shard-00000.hamdex"), "{text}");
    // An input that fails half-way leaves the set, and nothing else.
    scratch.write("bad.txt", lines(0..10) + "no number\n");
    let bad = ["build", "bad.txt", "--shards", "2", "-o", "families.shards", "--force"];
    let (code, _) = scratch.failure(&bad);
    assert_eq!(code, 1);
    scratch.output(&["verify", "families.shards"]);
    scratch.output(&with(&["families.shards/", "--force"]));
    let dumped: Value =
        serde_json::from_str(&scratch.output(&["dump", "families.shards", "--json"])).unwrap();
    assert_eq!(dumped["shards"].as_array().unwrap().len(), 8);
    let mut expected = before;
    expected.extend(["mine".to_owned(), "bad.txt".to_owned()]);
    expected.sort();
    assert_eq!(scratch.names(), expected);
}

#[test]
fn wrong_options_are_refused() {
    let scratch = Scratch::new();
    scratch.write("in.txt", lines(0..10));
    let refused = |more: &[&str], expected: &str| {
        let (code, text) = scratch.failure(&[&["build", "in.txt", "-o", "set"], more].concat());
        assert!(text.contains(expected), "{more:?}: {text}");
        assert_eq!((code, scratch.names()), (2, vec!["in.txt".to_owned()]));
    };
    refused(&["--shards", "0"], "the number of shards cannot be 0: 1 to ");
    refused(&["--shards", "1000000"], "the number of shards cannot be 1000000");
    refused(&["--layout", "hash"], "--shards");
    refused(&["--shards", "2", "--layout", "rings"], "[possible values: families, hash]");
    refused(&["--shards", "2", "--design", "no such"], "no such");
    scratch.output(&["build", "in.txt", "-o", "set", "--shards", "2"]);
    for args in [&["dump", "set", "--table", "0"][..], &["dump", "set", "--stats"]] {
        let (code, text) = scratch.failure(args);
        assert!(text.contains("are for index files, such as those in it"), "{text}");
        assert_eq!(code, 2);
    }
    for args in [&["dump", "set", "--fingerprints", "--ids"][..], &["pairs", "set", "--ids"]] {
        let (code, text) = scratch.failure(args);
        assert!(text.contains("holds no ids"), "{text}");
        assert_eq!(code, 2);
    }
}

#[test]
fn damage_is_found_and_named() {
    let scratch = scene(&[]);
    let manifest = scratch.path("families.shards/manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"distance\":3", "\"distance\":1")).unwrap();
    let (code, said) = scratch.failure(&["query", "families.shards", "0x1"]);
    assert!(
        said.contains("families.shards/manifest: damaged: byte 0: the checksum of a line differs"),
        "{said}"
    );
    assert_eq!(code, 3);
    fs::write(&manifest, text).unwrap();
    let shard = scratch.path("families.shards/family-1-shard-00001.hamdex");
    let whole = fs::read(&shard).unwrap();
    let mut changed = whole.clone();
    changed[4500] ^= 1;
    fs::write(&shard, changed).unwrap();
    let (code, said) = scratch.failure(&["verify", "families.shards"]);
    assert!(said.contains("family-1-shard-00001.hamdex: damaged at "), "{said}");
    assert_eq!(code, 3);
    fs::remove_file(&shard).unwrap();
    let (code, said) = scratch.failure(&["query", "families.shards", "0x1"]);
    assert!(said.contains("family-1-shard-00001.hamdex: is missing; restore it"), "{said}");
    assert_eq!(code, 3);
    fs::write(&shard, whole).unwrap();
    scratch.write("families.shards/notes.txt", "mine");
    let said = scratch.output(&["verify", "families.shards"]);
    assert!(said.ends_with("notes.txt: is not part of the set\n"), "{said}");
}

#[test]
fn less_memory_gives_the_same_set() {
    let scratch = Scratch::new();
    scratch.write("in.txt", lines(0..200_000));
    let build = |output: &str, memory: &str| {
        let args = ["build", "in.txt", "--ids", "row", "--shards", "2", "-o", output, "--memory", memory];
        scratch.output(&args);
    };
    build("small", "16MiB");
    build("large", "1GiB");
    for entry in fs::read_dir(scratch.path("small")).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |set: &str| fs::read(scratch.path(set).join(&name)).unwrap();
        assert!(read("small") == read("large"), "{}", name.display());
    }
}

/// A build that is killed while it takes in what does not fit into memory leaves nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_build_leaves_nothing() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let scratch = Scratch::new();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("hamdex"))
        .args(["build", "--shards", "3", "-o", "set", "--memory", "16MiB"])
        .current_dir(scratch.path(""))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The pipe stays open, so the build waits for more.
    child.stdin.as_mut().unwrap().write_all(lines(0..400_000).as_bytes()).unwrap();
    let names = scratch.names();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((names, scratch.names()), (Vec::new(), Vec::new()));
}

#[cfg(unix)]
#[test]
fn a_set_whose_manifest_cannot_be_looked_at_is_taken_for_nothing_else() {
    let scratch = scene(&[]);
    let manifest = scratch.path("hash.shards/manifest");
    fs::remove_file(&manifest).unwrap();
    std::os::unix::fs::symlink("manifest", &manifest).unwrap();
    for args in [&["query", "hash.shards", "00"][..], &["verify", "hash.shards"], &["dump", "hash.shards"]] {
        let (code, text) = scratch.failure(args);
        assert!(text.contains("manifest: cannot look at it"), "{args:?}: {text}");
        assert_eq!(code, 1);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_directory_is_no_set_and_no_store() {
    let scratch = scene(&[]);
    let pipe = scratch.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for what in ["pipe", "in.txt"] {
        let (code, message) = scratch.failure(&["shards", "add", what, "one.hamdex"]);
        assert_eq!(code, 3, "{message}");
        let (code, message) = scratch.failure(&["store", "stats", what]);
        assert!(code == 3 && message.contains("not a store"), "{code}: {message}");
    }
}

#[test]
fn files_of_other_names_say_nothing_about_a_directory() {
    let scratch = scene(&["--ids", "row"]);
    scratch.output(&["store", "create", "store", "-k", "3"]);
    scratch.output(&["store", "ingest", "store", "one.hamdex"]);
    let manifest = fs::read_to_string(scratch.path("hash.shards/manifest")).unwrap();
    // The manifest of a set of shards, and an object without fields.
    for text in [manifest.as_str(), "{}"] {
        scratch.write("store/shards.json", text);
        scratch.write("store/shards", text);
        let found = scratch.output(&["dump", "store", "--fingerprints", "--ids"]);
        assert_eq!(
            sorted(&found),
            sorted(&scratch.output(&["dump", "one.hamdex", "--fingerprints", "--ids"]))
        );
        scratch.output(&["verify", "store"]);
    }
    // A set is no store, and a store no set, though both have a file of that name.
    let (code, said) = scratch.failure(&["store", "stats", "hash.shards"]);
    assert!(code == 3 && said.contains("not a store"), "{said}");
    let (code, said) = scratch.failure(&["shards", "add", "store", "one.hamdex"]);
    assert!(code == 3 && said.contains("not a set of shards"), "{said}");
}
