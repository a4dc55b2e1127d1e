//! Stores of documents, and of fingerprints with names.

use serde_json::json;

use crate::common::{Scratch, altered, json_line, json_lines, story};

fn documents(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(|n| json_line(&format!("page {n}"), &story(n))).collect()
}

fn with_documents(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.output(&[&["store", "create", "s", "--documents"], options].concat());
    scratch.write("in.jsonl", documents(0..6));
    scratch.output(&["store", "insert", "s", "--documents", "in.jsonl"]);
    scratch
}

#[test]
fn documents_are_inserted_found_by_text_and_removed_by_name() {
    for options in [&[][..], &["--width", "128", "--recipe", "default weight=once"]] {
        let scratch = with_documents(options);
        let found = |number: u64| scratch.output(&["query", "s", "--text", &story(number)]);
        assert!(found(3).ends_with("\t0\tpage 3\n"), "{}", found(3));
        for step in ["flush", "compact"] {
            scratch.output(&["store", step, "s"]);
            scratch.write("more.jsonl", documents(if step == "flush" { 6..8 } else { 8..9 }));
            scratch.output(&["store", "insert", "s", "--documents=jsonl", "--batch", "1", "more.jsonl"]);
            assert!(found(1).ends_with("\tpage 1\n") && found(7).ends_with("\tpage 7\n"));
        }
        scratch.write("gone.txt", "page 3\npage 7\nnobody\n");
        let said = scratch.output(&["store", "remove", "s", "--json", "gone.txt"]);
        assert_eq!(json_lines(&said)[0], json!({ "read": 3, "removed": 2 }));
        assert_eq!((found(3), found(7)), (String::new(), String::new()));
        scratch.output(&["store", "purge", "s"]);
        assert!(found(8).ends_with("\tpage 8\n"));
        scratch.output(&["verify", "s"]);
        let listed = scratch.output(&["dump", "s", "--fingerprints", "--names"]);
        let mut names: Vec<&str> = listed.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, [0, 1, 2, 4, 5, 6, 8].map(|n| format!("page {n}")));
    }
}

#[test]
fn what_is_near_is_named() {
    let scratch = with_documents(&["-k", "8"]);
    scratch.write(
        "new.jsonl",
        json_line("copy", &altered(&story(2))) + &documents([9]) + &json_line("x", "short"),
    );
    let args = ["store", "insert", "s", "--documents", "--unless-near", "8", "--acknowledge", "new.jsonl"];
    let printed = scratch.output(&args);
    let near = json_lines(printed.lines().next().unwrap());
    assert_eq!((&near[0]["name"], &near[0]["ids"]), (&json!("copy"), &json!(["page 2"])));
    assert!(printed.ends_with("acknowledged 2\n"), "{printed}");
    assert!(scratch.output(&["query", "s", "--text", &story(9)]).ends_with("\tpage 9\n"));
    let all = scratch.output(&["query", "s", "--documents", "--file", "new.jsonl"]);
    assert!(all.lines().any(|line| line.starts_with("copy\t") && line.ends_with("\tpage 2")), "{all}");
}

#[test]
fn the_recipe_is_that_of_the_store() {
    let scratch = with_documents(&[]);
    let insert = |options: &[&str]| {
        scratch.failure(&[&["store", "insert", "s", "--documents", "in.jsonl"], options].concat())
    };
    let (code, text) = insert(&["--recipe", "simhash-py"]);
    assert!(text.contains("s: was built by the recipe") && code == 2, "{text}");
    scratch.output(&["store", "insert", "s", "--documents", "--recipe", "default", "in.jsonl"]);
    let dump: serde_json::Value = serde_json::from_str(&scratch.output(&["dump", "s", "--json"])).unwrap();
    assert!(dump["recipe"].as_str().unwrap().starts_with("hamdex-simhash/1 width=64 "), "{dump}");
    scratch.output(&["store", "create", "plain"]);
    let (code, text) = scratch.failure(&["store", "insert", "plain", "--documents", "in.jsonl"]);
    assert!(text.contains("plain: is not a store of documents") && code == 2, "{text}");
    let (code, text) = scratch.failure(&["store", "create", "t", "--recipe", "default"]);
    assert!(text.contains("--documents") && code == 2, "{text}");
    let (code, text) = scratch.failure(&["store", "create", "t", "--documents", "--ids", "numbers"]);
    assert!(text.contains("keeps their names") && code == 2, "{text}");
}

#[test]
fn fingerprints_made_elsewhere_keep_their_names() {
    let scratch = Scratch::new();
    scratch.output(&["store", "create", "s", "--ids", "names"]);
    scratch.write("phash.txt", "00000000000000ff\timg 1.png\nffffffffffffffff\ta,b.png\n");
    scratch.output(&["store", "insert", "s", "phash.txt"]);
    let near = json_lines(&scratch.output(&["query", "s", "00000000000000fe", "--json"]));
    assert_eq!(near[0]["ids"], json!(["img 1.png"]));
    scratch.write("pairs.txt", "0000000000000001\n");
    let (code, text) = scratch.failure(&["store", "insert", "s", "pairs.txt"]);
    assert!(text.contains("a tab and a name") && code == 1, "{text}");
    let (code, text) = scratch.failure(&["store", "insert", "s", "--ids", "row", "pairs.txt"]);
    assert!(text.contains("assigns the ids") && code == 2, "{text}");
    scratch.output(&["build", "-o", "named.hamdex", "--ids", "names", "phash.txt"]);
    scratch.output(&["store", "create", "plain"]);
    let (code, text) = scratch.failure(&["store", "ingest", "plain", "named.hamdex"]);
    assert!(text.contains("named.hamdex: has names, and the store has none") && code == 1, "{text}");
    scratch.write("numbers.txt", "00000000000000ff 7\n");
    scratch.output(&["build", "-o", "bare.hamdex", "--ids", "pairs", "numbers.txt"]);
    let (code, text) = scratch.failure(&["store", "ingest", "s", "bare.hamdex"]);
    assert!(text.contains("bare.hamdex: has no names, and the store has") && code == 1, "{text}");
    scratch.output(&["store", "ingest", "s", "named.hamdex"]);
    let near = json_lines(&scratch.output(&["query", "s", "00000000000000fe", "--json"]));
    assert_eq!(near[0]["ids"], json!(["img 1.png", "img 1.png"]));
    let listed = scratch.output(&["dump", "s", "--fingerprints", "--ids"]);
    assert_eq!(
        listed,
        "00000000000000ff\t0\n00000000000000ff\t2\nffffffffffffffff\t1\nffffffffffffffff\t3\n"
    );
    scratch.write("twice.txt", "00000000000000ff\t2\nffffffffffffffff\t3\n");
    scratch.output(&["store", "remove", "s", "--ids", "pairs", "twice.txt"]);
    // Pairs go by number as well.
    let listed = scratch.output(&["dump", "s", "--fingerprints", "--ids"]);
    assert_eq!(listed, "00000000000000ff\t0\nffffffffffffffff\t1\n");
    scratch.write("pair.txt", "00000000000000ff\t0\n");
    scratch.output(&["store", "remove", "s", "--ids", "pairs", "pair.txt"]);
    assert_eq!(scratch.output(&["dump", "s", "--fingerprints", "--names"]), "ffffffffffffffff\ta,b.png\n");
}

#[test]
fn documents_are_new_unless_their_texts_are_similar() {
    let scratch = Scratch::new();
    scratch.output(&["store", "create", "s", "--documents", "--shingles"]);
    let insert = |name: &str, documents: String| {
        scratch.write(name, documents);
        scratch.output(&["store", "insert", "s", "--documents", "--unless-similar", "0.7", name])
    };
    let again = json_line("1 again", &altered(&story(1)));
    let first =
        insert("a.jsonl", documents(0..6) + &again + &json_line("blank", " ") + &json_line("short", "Ok."));
    let lines = json_lines(&first);
    assert_eq!(
        (lines.len(), &lines[0]["name"], &lines[0]["similar"]),
        (1, &"1 again".into(), &"page 1".into())
    );
    assert!(lines[0]["similarity"].as_f64().unwrap() > 0.7, "{first}");
    scratch.write("blank.jsonl", json_line("blank", " "));
    let blank = ["store", "insert", "s", "--documents", "--unless-similar", "0.7", "blank.jsonl", "--json"];
    let blank = &json_lines(&scratch.output(&blank))[0];
    assert_eq!((&blank["read"], &blank["inserted"]), (&0.into(), &0.into()), "{blank}");
    for step in ["flush", "compact", "purge", "verify"] {
        let args: &[&str] = if step == "verify" { &["verify", "s"] } else { &["store", step, "s"] };
        scratch.output(args);
        let second = insert("b.jsonl", json_line("copy", &altered(&story(5))) + &json_line("ok", "OK!"));
        let lines = json_lines(&second);
        let similar: Vec<_> = lines.iter().map(|line| line["similar"].as_str().unwrap()).collect();
        assert_eq!(similar, ["page 5", "short"], "{step}");
    }
    // The daily run, without inserting.
    let known = scratch.output(&["dedup", "b.jsonl", "--against", "s"]);
    assert!(known.contains("\tcopy\tpage 5\n") && known.contains("\tok\tshort\n"), "{known}");
    // A removed document is new again.
    scratch.write("gone.txt", "page 5\n");
    scratch.output(&["store", "remove", "s", "gone.txt"]);
    assert_eq!(scratch.output(&["dedup", "b.jsonl", "--against", "s", "--print", "kept"]), "copy\n");
    assert_eq!(json_lines(&insert("b.jsonl", json_line("copy", &altered(&story(5))))).len(), 0);
    // A file with the same shingles is taken in, another one is not.
    scratch.write("more.jsonl", documents(20..22));
    scratch.output(&["build", "-o", "more.hamdex", "--documents", "--shingles", "more.jsonl"]);
    scratch.output(&["store", "ingest", "s", "more.hamdex"]);
    let known = scratch.output(&["dedup", "more.jsonl", "--against", "s"]);
    assert_eq!(known.matches("\tknown\t-\t1.000\t").count(), 2, "{known}");
    for (options, reason) in [(&["--shingles=3"][..], "made in another way"), (&[], "keeps no shingles")] {
        let build =
            [&["build", "-o", "x.hamdex", "--force", "--documents"], options, &["more.jsonl"]].concat();
        scratch.output(&build);
        let (code, text) = scratch.failure(&["store", "ingest", "s", "x.hamdex"]);
        assert!(text.contains(reason) && code == 1, "{code} {text}");
    }
    let other = with_documents(&[]);
    let args = ["store", "insert", "s", "--documents", "--unless-similar", "0.7", "in.jsonl"];
    let (code, text) = other.failure(&args);
    assert!(text.contains("keeps no shingles") && text.contains("--shingles") && code == 2, "{text}");
}
