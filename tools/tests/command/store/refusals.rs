//! Bad input.

use crate::common::{LINES, Scratch, json_line, story};
use crate::store::{dumped, with_store};

#[test]
fn a_directory_that_is_no_store_is_named() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("d")).unwrap();
    scratch.write("d/manifest", "{}\n");
    scratch.write("file", LINES);
    let commands: [&[&str]; 10] = [
        &["query", "d", "0xff"],
        &["pairs", "d"],
        &["dump", "d"],
        &["verify", "d"],
        &["store", "insert", "d", "file"],
        &["store", "remove", "d", "file"],
        &["store", "stats", "d"],
        &["store", "repair", "d"],
        &["store", "backup", "d", "copy"],
        &["store", "checkpoint", "d", "copy"],
    ];
    for command in commands {
        let (code, text) = scratch.failure(command);
        let expected =
            "hamdex: d: not a store: it has no manifest of one; make one with `hamdex store create`\n";
        assert_eq!((code, &*text), (3, expected), "{command:?}");
    }
    std::fs::write(scratch.path("d/manifest"), "{}\n").unwrap();
    let (code, text) = scratch.failure(&["store", "create", "d"]);
    assert!(code == 1 && text.contains("d: exists already, and is not an empty directory"), "{text}");
    assert_eq!(scratch.names(), ["d", "file"]);
}

#[test]
fn a_missing_path_is_an_unreadable_input_in_every_command() {
    let scratch = Scratch::new();
    scratch.write("file", LINES);
    let commands: [&[&str]; 20] = [
        &["query", "missing", "0xff"],
        &["pairs", "missing"],
        &["dump", "missing"],
        &["verify", "missing"],
        &["dedup", "file", "--against", "missing"],
        &["merge", "missing", "-o", "new"],
        &["shards", "add", "missing", "file"],
        &["store", "insert", "missing", "file"],
        &["store", "insert", "missing", "--documents", "file"],
        &["store", "remove", "missing", "file"],
        &["store", "ingest", "missing", "file"],
        &["store", "flush", "missing"],
        &["store", "compact", "missing"],
        &["store", "purge", "missing"],
        &["store", "stats", "missing"],
        &["store", "stats", "missing", "--json"],
        &["store", "repair", "missing"],
        &["store", "repair", "missing", "--json"],
        &["store", "backup", "missing", "copy"],
        &["store", "checkpoint", "missing", "copy"],
    ];
    for command in commands {
        let (code, text) = scratch.failure(command);
        assert_eq!(code, 1, "{command:?}: {text}");
        assert!(text.starts_with("hamdex: missing: ") && text.lines().count() == 1, "{command:?}: {text}");
        assert!(text.contains("No such file or directory"), "{command:?}: {text}");
    }
    assert_eq!(scratch.names(), ["file"]);
}

#[test]
fn documents_that_are_read_as_fingerprints_are_told_their_option() {
    let scratch = with_store(&["--ids", "names"]);
    scratch.write("docs.jsonl", json_line("a", &story(1)));
    scratch.output(&["store", "create", "d", "--documents"]);
    scratch.output(&["store", "insert", "d", "--documents", "docs.jsonl"]);
    let told = |args: &[&str]| {
        let (code, text) = scratch.failure(args);
        assert!(code == 1 && text.contains("docs.jsonl:1: expected "), "{args:?}: {code}: {text}");
        text.contains("--documents reads documents")
    };
    assert!(told(&["store", "insert", "d", "docs.jsonl"]));
    assert!(told(&["query", "d", "--file", "docs.jsonl"]));
    assert!(!told(&["store", "insert", "s", "docs.jsonl"]), "a store without a recipe");
    assert!(!told(&["query", "s", "--file", "docs.jsonl"]), "a store without a recipe");
    let (_, text) = scratch.failure(&["query", "d", "--file", "missing"]);
    assert!(!text.contains("--documents"), "{text}");
}

#[test]
fn options_that_do_not_fit_are_usage() {
    let scratch = with_store(&["--ids", "none"]);
    scratch.write("in.txt", LINES);
    let cases: [(&[&str], &str); 10] = [
        (&["store", "insert", "s", "--ids", "row", "in.txt"], "s: the store has no ids; leave --ids out"),
        (&["store", "remove", "s", "--ids", "pairs", "in.txt"], "s: the store has no ids"),
        (&["store", "remove", "s", "--ids", "only", "in.txt"], "s: the store has no ids"),
        (&["store", "insert", "s", "--batch", "0", "in.txt"], "--batch"),
        (&["store", "insert", "s", "--durability", "soon", "in.txt"], "use sync, none, or interval=T"),
        (&["store", "create", "t", "--design", "nonsense"], "nonsense"),
        (&["store", "create", "t", "--distance", "65"], "65"),
        (&["dump", "s", "--table", "0"], "s: a store"),
        (&["dump", "s", "--fingerprints", "--ids"], "holds no ids"),
        (&["store", "ingest", "s"], "<FILE>"),
    ];
    for (args, expected) in cases {
        let (code, text) = scratch.failure(args);
        assert!(text.contains(expected), "{args:?}: {text}");
        assert_eq!(code, 2, "{args:?}: {text}");
    }
    assert_eq!(scratch.names(), ["in.txt", "s"]);
    let (code, text) = scratch.failure(&["query", "s", "--text", "a text"]);
    assert!(code == 2 && text.contains("holds no recipe"), "{text}");
    let (code, text) = scratch.failure(&["pairs", "s", "--ids"]);
    assert!(code == 2 && text.contains("holds no ids"), "{text}");
}

#[test]
fn an_id_missing_or_too_many_is_named_with_its_line_and_what_was_inserted() {
    let scratch = with_store(&[]);
    scratch.write("in.txt", "00000000000000ff 1\n00000000000001ff\n00000000000002ff 2\n");
    let (code, text) = scratch.failure(&["store", "insert", "s", "in.txt"]);
    assert!(text.contains("in.txt:2: expected a fingerprint and a decimal id"), "{text}");
    assert!(text.ends_with("; 1 record inserted before that\n"), "{text}");
    assert_eq!((code, dumped(&scratch, "s")), (1, "00000000000000ff\t1\n".to_owned()));

    let bare = with_store(&["--ids", "none"]);
    bare.write("in.txt", "00000000000000ff\n00000000000001ff 7\n");
    let (code, text) = bare.failure(&["store", "insert", "s", "in.txt"]);
    assert!(text.contains("in.txt:2: expected one fingerprint"), "{text}");
    assert_eq!(code, 1);

    scratch.write("ids.txt", "1\n-1\n");
    let (code, text) = scratch.failure(&["store", "remove", "s", "--ids", "only", "ids.txt"]);
    assert!(text.contains("ids.txt:2: expected a decimal id; found \"-1\""), "{text}");
    assert_eq!((code, dumped(&scratch, "s")), (1, "00000000000000ff\t1\n".to_owned()));
}

#[test]
fn fingerprints_of_another_width_are_refused() {
    let scratch = with_store(&["--width", "128"]);
    scratch.write("in.txt", "00000000000000ff 1\n");
    let (code, text) = scratch.failure(&["store", "insert", "s", "--format", "hex", "in.txt"]);
    assert!(text.contains("in.txt:1: expected 32 hexadecimal digits"), "{text}");
    assert_eq!(code, 1);
    scratch.write("in.u64", [0; 32]);
    let (code, text) = scratch.failure(&["store", "insert", "s", "--format", "u64le", "in.u64"]);
    assert!(text.contains("--format u64le") && code == 2, "{text}");
}

#[test]
fn a_file_that_does_not_fit_is_not_taken_in() {
    let scratch = with_store(&[]);
    scratch.write("pairs.txt", "000000000000000000000000000000ff 1\n");
    scratch.write("in.txt", LINES);
    scratch.output(&["build", "-o", "wide.hamdex", "--width", "128", "--ids", "pairs", "pairs.txt"]);
    scratch.output(&["build", "-o", "bare.hamdex", "in.txt"]);
    scratch.output(&["build", "-o", "good.hamdex", "--ids", "row", "in.txt"]);
    let mut bytes = std::fs::read(scratch.path("good.hamdex")).unwrap();
    bytes[4096 + 20] ^= 1;
    scratch.write("flipped.hamdex", bytes);
    let before = dumped(&scratch, "s");
    let cases = [
        ("wide.hamdex", 1, "wide.hamdex: "),
        ("bare.hamdex", 1, "bare.hamdex: has no ids, and the store has"),
        ("in.txt", 3, "in.txt: not a hamdex file"),
        ("flipped.hamdex", 3, "flipped.hamdex: damaged at table 0"),
        ("missing.hamdex", 1, "missing.hamdex: cannot read it"),
    ];
    for (file, expected_code, expected) in cases {
        let (code, text) = scratch.failure(&["store", "ingest", "s", file]);
        assert!(text.contains(expected), "{file}: {text}");
        assert_eq!(code, expected_code, "{file}: {text}");
        assert!(!text.contains("repair"), "the store is whole: {text}");
        assert_eq!(dumped(&scratch, "s"), before);
    }
    let (_, text) = scratch.failure(&["store", "ingest", "s", "good.hamdex", "bare.hamdex"]);
    assert!(text.ends_with("; 1 file added before it\n"), "{text}");
    assert_eq!(dumped(&scratch, "s").lines().count(), 5);
}
