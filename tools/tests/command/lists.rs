//! Lists of fingerprints with names: a new one is compared with a known one, and rows may lack their fingerprint.

use serde_json::json;

use crate::common::{Scratch, json_lines};

/// An index of two pictures.
fn with_known() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("known.tsv", "00000000000000ff\told/a.jpg\nabcdef0123456789\told/b.jpg\n");
    scratch.output(&["build", "-o", "known.hamdex", "--ids", "names", "known.tsv"]);
    scratch
}

const NEW: [(&str, &str); 3] = [
    ("new 1.jpg", "00000000000001ff"),
    ("caf\u{e9}, 2.jpg", "ffffffffffffffff"),
    ("3.jpg", "abcdef0123456788"),
];

/// The same list in each form.
fn forms() -> [(&'static str, String, &'static [&'static str]); 5] {
    let lines = |line: fn(&str, &str) -> String| NEW.map(|(name, hash)| line(name, hash)).concat();
    [
        ("lines.txt", lines(|name, hash| format!("{hash}\t{name}\n")), &[]),
        ("in.csv", "id,fingerprint\n".to_owned() + &lines(|name, hash| format!("\"{name}\",{hash}\n")), &[]),
        (
            "in.tsv",
            "fingerprint\tsize\tid\n".to_owned() + &lines(|name, hash| format!("{hash}\t9\t{name}\n")),
            &[],
        ),
        (
            "other.csv",
            "path,phash\n".to_owned() + &lines(|name, hash| format!("\"{name}\",{hash}\n")),
            &["--id-field", "path", "--fingerprint-field", "phash"],
        ),
        (
            "decimal.csv",
            "fingerprint,id\n".to_owned()
                + &lines(|name, hash| format!("{},\"{name}\"\n", u64::from_str_radix(hash, 16).unwrap())),
            &[],
        ),
    ]
}

#[test]
fn a_match_says_the_new_name_the_stored_name_and_the_distance() {
    let scratch = with_known();
    for (file, contents, options) in forms() {
        scratch.write(file, contents);
        let query = [&["query", "known.hamdex", "--file", file], options].concat();
        assert_eq!(
            scratch.output(&query),
            "new 1.jpg\t00000000000000ff\t1\told/a.jpg\n3.jpg\tabcdef0123456789\t1\told/b.jpg\n",
            "{file}"
        );
        assert_eq!(
            scratch.output(&[&query[..], &["--each"]].concat()),
            "new 1.jpg\t1\t00000000000000ff\t1\told/a.jpg\ncaf\u{e9}, 2.jpg\t0\n\
             3.jpg\t1\tabcdef0123456789\t1\told/b.jpg\n",
            "{file}"
        );
        let found = json_lines(&scratch.output(&[&query[..], &["--json", "--first"]].concat()));
        let first = json!({
            "document": "new 1.jpg", "query": "00000000000001ff",
            "fingerprint": "00000000000000ff", "distance": 1, "ids": ["old/a.jpg"],
        });
        assert_eq!((found.len(), &found[0]), (2, &first), "{file}");
        // A pipe has no name to go by.
        let mut piped = scratch.hamdex(&[&["query", "known.hamdex", "--file", "-"], options].concat());
        let contents = std::fs::read(scratch.path(file)).unwrap();
        piped.write_stdin(contents).assert().success().stdout(scratch.output(&query));
    }
}

#[test]
fn a_list_without_names_shows_its_fingerprints() {
    let scratch = with_known();
    scratch.write("in.csv", "fingerprint,size\n00000000000001ff,7\n");
    scratch.write("in.txt", "00000000000001ff\t\n00000000000000ff\tb\n00000000000000ff\n");
    let query = ["query", "known.hamdex", "-k", "1", "--no-ids", "--file"];
    assert_eq!(
        scratch.output(&[&query[..], &["in.csv"]].concat()),
        "00000000000001ff\t00000000000000ff\t1\n"
    );
    let lines = scratch.output(&[&query[..], &["in.txt"]].concat());
    let starts: Vec<_> = lines.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(starts, ["00000000000001ff", "b", "00000000000000ff"]);
    // A column that is asked for has to be there.
    let (code, text) = scratch.failure(&[&query[..], &["in.csv", "--id-field", "id"]].concat());
    assert!(text.contains("no column is named \"id\" (--id-field)"), "{text}");
    assert_eq!(code, 1);
}

/// Lists of four rows, the second and third of which have no fingerprint.
fn gaps() -> [(&'static str, &'static str); 4] {
    [
        ("gaps.csv", "id,fingerprint\n7,00000000000000ff\n8,\n9\n10,abcdef0123456789\n"),
        ("first.csv", "fingerprint,id\n,8\n \t,9\n00000000000000ff,7\nabcdef0123456789,10\n"),
        ("gaps.txt", "00000000000000ff\t7\n\t8\n,9\nabcdef0123456789\t10\n"),
        ("decimal.txt", "255\t7\n\t8\n\t00000000000000ff\n12379813738877118345\t10\n"),
    ]
}

/// Returns what the command prints, and what it says on standard error.
fn both(scratch: &Scratch, args: &[&str]) -> (String, String) {
    let output = scratch.hamdex(args).assert().success().get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn rows_without_a_fingerprint_are_left_out_and_counted() {
    let scratch = with_known();
    for (file, contents) in gaps() {
        scratch.write(file, contents);
        let said = format!("hamdex: {file}: 2 rows have no fingerprint: left out\n");
        for ids in ["names", "pairs"] {
            let (_, text) = both(&scratch, &["build", "--force", "-o", "x.hamdex", "--ids", ids, file]);
            assert!(text.contains(&said), "{file}: {text}");
            let stored = scratch.output(&["query", "x.hamdex", "-k", "0", "0xff", "0xabcdef0123456789"]);
            let ids: Vec<&str> = stored.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
            assert_eq!(ids, ["7", "10"], "{file}");
        }
        let (found, text) = both(&scratch, &["query", "known.hamdex", "-k", "0", "--file", file]);
        let expected = "7\t00000000000000ff\t0\told/a.jpg\n10\tabcdef0123456789\t0\told/b.jpg\n";
        assert_eq!((found.as_str(), text.as_str()), (expected, said.as_str()), "{file}");
        let dedup = ["dedup", "--fingerprints", "--print", "kept", file];
        let (found, text) = both(&scratch, &dedup);
        assert!(text.contains(&said), "{file}: {text}");
        assert_eq!(found, "7\n10\n", "{file}");
        let (code, text) = scratch.failure(&["query", "known.hamdex", "--each", "--file", file]);
        assert!(
            text.contains("it has no fingerprint, and --each has a line for every row"),
            "{file}: {text}"
        );
        assert_eq!(code, 1, "{file}");
        scratch.output(&["store", "create", "s.store", "--ids", "names"]);
        let (_, text) = both(&scratch, &["store", "insert", "s.store", file]);
        assert!(text.contains(&said) && text.contains("2 records read"), "{file}: {text}");
        std::fs::remove_dir_all(scratch.path("s.store")).unwrap();
    }
}

#[test]
fn row_numbers_count_rows_without_a_fingerprint() {
    let scratch = Scratch::new();
    for (file, contents) in &gaps()[..2] {
        scratch.write(file, contents);
        scratch.output(&["build", "--force", "-o", "x.hamdex", "--ids", "row", file]);
        let stored = scratch.output(&["query", "x.hamdex", "-k", "0", "0xff", "0xabcdef0123456789"]);
        let rows: Vec<&str> = stored.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
        assert_eq!(rows, if *file == "gaps.csv" { ["0", "3"] } else { ["2", "3"] });
    }
}

#[test]
fn a_list_without_any_fingerprint_is_an_error() {
    let scratch = Scratch::new();
    for (file, contents) in [("in.csv", "id,fingerprint\n7,\n8,\n"), ("in.txt", "\ta\n\tb\n")] {
        scratch.write(file, contents);
        let build = ["build", "-o", "x.hamdex", "--ids", "names", file];
        let output = scratch.hamdex(&build).assert().code(1).get_output().clone();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.ends_with("hamdex: no row has a fingerprint\n"), "{text}");
        assert!(!scratch.path("x.hamdex").exists());
    }
}

/// Writes the matches of a new list to a file, and returns the summary that `--json` prints.
fn written(scratch: &Scratch, file: &str) -> serde_json::Value {
    scratch.write("new.tsv", NEW.map(|(name, hash)| format!("{hash}\t{name}\n")).concat());
    let query = ["query", "known.hamdex", "--file", "new.tsv", "--force", "--json", "-o", file];
    serde_json::from_str(&scratch.output(&query)).unwrap()
}

#[test]
fn matches_go_to_a_file_in_the_format_of_its_ending() {
    let scratch = with_known();
    let rows = [
        ["new 1.jpg", "00000000000001ff", "00000000000000ff", "1", "old/a.jpg", "1"],
        ["3.jpg", "abcdef0123456788", "abcdef0123456789", "1", "old/b.jpg", "1"],
    ];
    let header = ["document", "query", "fingerprint", "distance", "id", "ids_count"];
    for (file, delimiter) in [("near.csv", ","), ("near.tsv", "\t")] {
        assert_eq!(written(&scratch, file), json!({ "queries": 3, "matches": 2 }), "{file}");
        let expected: String = [header].iter().chain(&rows).map(|row| row.join(delimiter) + "\n").collect();
        assert_eq!(std::fs::read_to_string(scratch.path(file)).unwrap(), expected);
    }
    written(&scratch, "near.jsonl");
    let lines = json_lines(&std::fs::read_to_string(scratch.path("near.jsonl")).unwrap());
    assert_eq!((lines.len(), &lines[1]["id"], &lines[1]["distance"]), (2, &json!("old/b.jpg"), &json!(1)));
    // A set whose ids are numbers, several of a fingerprint.
    scratch.write("in.txt", "00000000000000ff 7\n00000000000000ff 9\n");
    scratch.output(&["build", "-o", "numbers.hamdex", "--ids", "pairs", "in.txt"]);
    for (options, expected) in [
        (&[][..], ",00000000000000ff,00000000000000ff,0,7,2\n,00000000000000ff,00000000000000ff,0,9,2\n"),
        (&["--ids-limit", "1"], ",00000000000000ff,00000000000000ff,0,7,2\n"),
        (&["--ids-limit", "0"], ",00000000000000ff,00000000000000ff,0\n"),
        (&["--no-ids"], ",00000000000000ff,00000000000000ff,0\n"),
    ] {
        scratch.output(&[&["query", "numbers.hamdex", "0xff", "--force", "-o", "x.csv"], options].concat());
        let text = std::fs::read_to_string(scratch.path("x.csv")).unwrap();
        assert_eq!(text.split_once('\n').unwrap().1, expected, "{options:?}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn matches_in_columns_are_read_back() {
    let scratch = with_known();
    for file in ["near.parquet", "near.arrow", "near.csv"] {
        assert_eq!(written(&scratch, file), json!({ "queries": 3, "matches": 2 }), "{file}");
        let fields = ["--id-field", "document", "--fingerprint-field", "query"];
        let query = [&["query", "known.hamdex", "--no-ids", "--file", file], &fields[..]].concat();
        let lines = scratch.output(&query);
        assert_eq!(lines, "new 1.jpg\t00000000000000ff\t1\n3.jpg\tabcdef0123456789\t1\n", "{file}");
    }
}

#[test]
fn pairs_and_clusters_go_to_a_file_in_the_format_of_its_ending() {
    let scratch = Scratch::new();
    scratch.write("in.tsv", "00000000000000ff\ta\n00000000000000ff\tb, c\n00000000000001ff\td\n");
    scratch.output(&["build", "-o", "x.hamdex", "--ids", "names", "in.tsv"]);
    let pairs = ["pairs", "x.hamdex", "--ids", "--json", "-o", "pairs.csv"];
    let summary: serde_json::Value = serde_json::from_str(&scratch.output(&pairs)).unwrap();
    assert_eq!((&summary["pairs"], &summary["fingerprints"]), (&json!(1), &json!(2)));
    let pair = "00000000000000ff,00000000000001ff,1";
    assert_eq!(
        std::fs::read_to_string(scratch.path("pairs.csv")).unwrap(),
        format!("a,b,distance,a_id,a_ids_count,b_id,b_ids_count\n{pair},a,2,d,1\n{pair},\"b, c\",2,d,1\n")
    );
    for (options, expected) in [
        (&[][..], format!("a\tb\tdistance\n{}\n", pair.replace(',', "\t"))),
        (&["--count", "-k", "1"], "distance\tpairs\n1\t1\n".to_owned()),
        (&["--ids", "--ids-limit", "0"], format!("a\tb\tdistance\n{}\n", pair.replace(',', "\t"))),
    ] {
        scratch.output(&[&["pairs", "x.hamdex", "--force", "-o", "x.tsv"], options].concat());
        assert_eq!(std::fs::read_to_string(scratch.path("x.tsv")).unwrap(), expected, "{options:?}");
    }
    let dedup = ["dedup", "--fingerprints", "in.tsv", "--json", "--out"];
    let numbers = [("documents", 3), ("clusters", 1), ("duplicates", 2), ("rows", 1)];
    for (output, count) in [(&["clusters.csv"][..], 3), (&["unique.csv", "--unique"], 4)] {
        let summary: serde_json::Value =
            serde_json::from_str(&scratch.output(&[&dedup[..], output].concat())).unwrap();
        for (name, number) in &numbers[..count] {
            assert_eq!(summary[name], *number, "{output:?}: {name}");
        }
        assert!(scratch.path(output[0]).exists());
    }
    let (code, text) = scratch.failure(&[&dedup[..], &["-"]].concat());
    assert!(text.contains("--json and the output cannot both go to standard output"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn an_ending_that_no_table_has_is_refused_before_any_work() {
    let scratch = with_known();
    for args in [&["pairs", "known.hamdex", "-o"][..], &["query", "known.hamdex", "0xff", "-o"]] {
        let (_, text) = scratch.failure(&[args, &["x.txt"]].concat());
        assert!(text.contains("x.txt") && text.contains(".parquet"), "{text}");
        assert!(!scratch.path("x.txt").exists());
    }
}
