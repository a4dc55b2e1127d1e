//! Queries by text of sets that keep the shingles of their documents: the answers are those of `hamdex dedup`.

use hamdex_simhash::Shingler;
use serde_json::{Value, json};

use crate::common::{Scratch, altered, json_line, json_lines, story};

/// Texts that crowd: copies, a footer in each, one within another, one of other characters, a short and a blank one.
fn texts() -> Vec<(String, String)> {
    let footer = "all rights reserved by the publisher of this site and its friends";
    let mut texts: Vec<String> = (0..6).map(|number| format!("{} {footer}", story(number))).collect();
    texts.push(altered(&texts[1]));
    texts.push(format!("{} {} {}", story(20), story(1), story(21)));
    texts.push(footer.to_owned());
    texts.push("一二三四五六七八九十一二三四五六七八九十".to_owned());
    texts.push("two words".to_owned());
    texts.push("   ".to_owned());
    texts.into_iter().enumerate().map(|(number, text)| (format!("page {number}"), text)).collect()
}

fn with_sets() -> Scratch {
    let scratch = Scratch::new();
    let lines: String = texts().iter().map(|(id, text)| json_line(id, text)).collect();
    scratch.write("in.jsonl", lines);
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "--shingles", "in.jsonl"]);
    scratch.output(&["store", "create", "a.store", "--documents", "--shingles"]);
    scratch.output(&["store", "insert", "a.store", "--documents", "in.jsonl"]);
    scratch
}

/// The documents that meet a condition with a text, the most similar first, then in the order of the documents.
fn expected(text: &str, share: impl Fn(usize, usize, usize) -> f64, least: f64) -> Vec<(String, f64)> {
    let mut shingler = Shingler::new(5.try_into().unwrap());
    let query = shingler.shingles(text);
    let mut found: Vec<(String, f64)> = Vec::new();
    for (id, stored) in texts() {
        let stored = shingler.shingles(&stored);
        let shared =
            query.hashes().iter().filter(|&hash| stored.hashes().binary_search(hash).is_ok()).count();
        let share = share(shared, query.hashes().len(), stored.hashes().len());
        if shared > 0 && share >= least {
            found.push((id, share));
        }
    }
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found
}

type Share = fn(usize, usize, usize) -> f64;

const SHARES: [(&str, Share); 3] = [
    ("--similar", |shared, query, stored| shared as f64 / (query + stored - shared) as f64),
    ("--containing", |shared, query, _| shared as f64 / query as f64),
    ("--contained", |shared, _, stored| shared as f64 / stored as f64),
];

fn found(text: &str) -> Vec<(String, f64)> {
    let pair = |line: Value| (line["id"].as_str().unwrap().to_owned(), line["similarity"].as_f64().unwrap());
    json_lines(text).into_iter().map(pair).collect()
}

#[test]
fn documents_are_found_as_they_are_defined() {
    let scratch = with_sets();
    let mut queries: Vec<String> = texts().into_iter().map(|(_, text)| text).collect();
    queries.retain(|text| !text.trim().is_empty());
    queries.push(story(1).split(' ').take(30).collect::<Vec<_>>().join(" "));
    queries.push(story(99));
    for set in ["a.hamdex", "a.store"] {
        for text in &queries {
            for (option, share) in SHARES {
                for least in ["0.05", "0.5", "0.7", "1"] {
                    let asked = ["query", set, option, least, "--text", text, "--json"];
                    let expected = expected(text, share, least.parse().unwrap());
                    let found = found(&scratch.output(&asked));
                    // A number is not read to the last digit here.
                    let is_same = |(one, other): (&(String, f64), &(String, f64))| {
                        one.0 == other.0 && (one.1 - other.1).abs() < 1e-12
                    };
                    let are_same = found.len() == expected.len() && found.iter().zip(&expected).all(is_same);
                    assert!(are_same, "{set} {option} {least} {text}: {found:?} {expected:?}");
                }
            }
        }
    }
}

#[test]
fn a_text_without_options_is_asked_for_as_dedup_compares() {
    let scratch = with_sets();
    let text = altered(&texts()[2].1);
    let by_default = scratch.output(&["query", "a.hamdex", "--text", &text]);
    assert_eq!(by_default, scratch.output(&["query", "a.hamdex", "--similar", "0.7", "--text", &text]));
    assert!(by_default.starts_with("0.") && by_default.ends_with("\tpage 2\n"), "{by_default}");
    // What has an option of fingerprints is asked for by fingerprint.
    let near = scratch.output(&["query", "a.hamdex", "-k", "20", "--text", &text]);
    assert_eq!(near.lines().next().unwrap().split('\t').count(), 4, "{near}");
    scratch.write("new.jsonl", json_line("new", &text) + &json_line("other", &story(77)));
    let known = scratch.output(&["dedup", "new.jsonl", "--against", "a.hamdex", "--print", "kept"]);
    let asked = scratch.output(&["query", "a.hamdex", "--documents", "--file", "new.jsonl", "--json"]);
    let lines = json_lines(&asked);
    assert_eq!((lines.len(), &lines[0]["document"], &lines[0]["id"]), (1, &json!("new"), &json!("page 2")));
    assert_eq!(known, "other\n");
    let rows = scratch.output(&["query", "a.hamdex", "--documents", "--file", "new.jsonl", "--each"]);
    let counts: Vec<_> = rows.lines().map(|row| row.split('\t').take(2).collect::<Vec<_>>()).collect();
    assert_eq!(counts, [["new", "1"], ["other", "0"]]);
}

#[test]
fn the_most_similar_come_first_and_no_more_than_are_wanted() {
    let scratch = with_sets();
    let text = &texts()[1].1;
    let all = found(&scratch.output(&["query", "a.store", "--similar", "0.01", "--text", text, "--json"]));
    assert!(all.len() > 5 && all[0] == ("page 1".to_owned(), 1.0), "{all:?}");
    for limit in [&["--limit", "2"][..], &["--nearest", "2"]] {
        let asked = [&["query", "a.store", "--similar", "0.01", "--text", text, "--json"], limit].concat();
        assert_eq!(found(&scratch.output(&asked)), all[..2]);
    }
    let nearest = scratch.output(&["query", "a.store", "--nearest", "100", "--text", text, "--json"]);
    assert_eq!(found(&nearest), all);
    let first = scratch.output(&["query", "a.store", "--similar", "--first", "--text", text, "--json"]);
    assert_eq!(found(&first), all[..1]);
    scratch.output(&["query", "a.store", "--similar", "0.01", "--text", text, "-o", "found.csv"]);
    let table = std::fs::read_to_string(scratch.path("found.csv")).unwrap();
    assert_eq!(table.lines().count(), all.len() + 1, "{table}");
    assert!(table.starts_with("document,similarity,id\n,1.0,page 1\n"), "{table}");
}

#[test]
fn blank_texts_and_sets_without_shingles_are_errors() {
    let scratch = with_sets();
    let (code, line) = scratch.failure(&["query", "a.hamdex", "--similar", "--text", "   "]);
    assert_eq!((code, line.contains("--text: it is blank")), (1, true), "{line}");
    scratch.write("mixed.jsonl", json_line("a", &texts()[3].1) + &json_line("b", " "));
    let each = scratch.output(&["query", "a.hamdex", "--documents", "--file", "mixed.jsonl", "--each"]);
    assert_eq!(each.lines().last(), Some("b\t-"), "{each}");
    scratch.output(&["build", "-o", "plain.hamdex", "--documents", "in.jsonl"]);
    let (code, line) = scratch.failure(&["query", "plain.hamdex", "--similar", "--text", &story(1)]);
    assert!(
        code == 2 && line.contains("plain.hamdex: keeps no shingles") && line.contains("--shingles"),
        "{line}"
    );
    let (code, line) = scratch.failure(&["query", "a.hamdex", "--similar", "0.5", "0123456789abcdef"]);
    assert!(code == 2 && line.contains("--text, --document or --documents"), "{line}");
    let with_recipe = ["query", "a.hamdex", "--similar", "0.5", "--text", "a", "--recipe", "default"];
    let (code, line) = scratch.failure(&with_recipe);
    assert!(code == 2 && line.contains("leave them out"), "{line}");
    for wrong in ["0", "1.5", "x", "-0.5"] {
        let query = ["query", "a.hamdex", "--similar", wrong, "--text", "a"];
        let insert = ["store", "insert", "a.store", "--documents", "--unless-similar", wrong, "in.jsonl"];
        let dedup = ["dedup", "--similarity", wrong, "in.jsonl"];
        for command in [&query[..], &insert, &dedup] {
            let (code, line) = scratch.failure(command);
            assert!(code == 2 && line.contains(wrong) && line.contains("above 0"), "{line}");
        }
    }
    let (code, _) = scratch.failure(&["query", "a.hamdex", "--similar", "0.5", "-k", "3", "--text", "a"]);
    assert_eq!(code, 2);
}

#[test]
fn removed_and_replaced_documents_are_not_found() {
    let scratch = Scratch::new();
    scratch.output(&["store", "create", "b.store", "--documents", "--shingles", "--lookups"]);
    let page = |id: &str, number| json_line(id, &story(number));
    scratch.write("one.jsonl", page("a", 1) + &page("b", 2) + &page("c", 3));
    scratch.output(&["store", "insert", "b.store", "--documents", "one.jsonl"]);
    scratch.write("two.jsonl", page("b", 4));
    scratch.output(&["store", "insert", "b.store", "--documents", "--replace", "two.jsonl"]);
    scratch.write("gone", "c\n");
    scratch.output(&["store", "remove", "b.store", "gone"]);
    for compacted in [false, true] {
        for (number, expected) in [(1, "1.000\ta\n"), (2, ""), (3, ""), (4, "1.000\tb\n")] {
            let text = story(number);
            assert_eq!(scratch.output(&["query", "b.store", "--text", &text]), expected, "{compacted}");
        }
        scratch.output(&["store", "compact", "b.store"]);
    }
    let insert =
        ["store", "insert", "b.store", "--documents", "--unless-similar", "0.7", "--each", "again.jsonl"];
    scratch.write("again.jsonl", page("d", 1) + &page("e", 3) + &page("f", 3));
    let lines = json_lines(&scratch.output(&insert));
    let fates: Vec<_> = lines.iter().map(|line| (&line["inserted"], &line["similar"])).collect();
    assert_eq!(
        fates,
        [(&json!(false), &json!("a")), (&json!(true), &Value::Null), (&json!(false), &json!("e"))]
    );
}

#[test]
fn dump_shows_the_table_of_shingles() {
    let scratch = with_sets();
    let mut shingler = Shingler::new(5.try_into().unwrap());
    let mut expected: Vec<(String, String)> = Vec::new();
    for (name, text) in texts() {
        let set = shingler.shingles(&text);
        expected.extend(set.hashes().iter().map(|hash| (format!("{hash:012x}"), name.clone())));
    }
    let overview = scratch.output(&["dump", "a.hamdex"]);
    let line = format!("shingles        {} ", expected.len());
    assert!(overview.replace(',', "").contains(&line), "{overview}");
    let keys = json_lines(&scratch.output(&["dump", "a.hamdex", "--shingles", "--json"]));
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let args = ["dump", "a.hamdex", "--shingles", "--block", &number.to_string()];
        let block: Value = serde_json::from_str(&scratch.output(&[&args[..], &["--json"]].concat())).unwrap();
        let entries = block["entries"].as_array().unwrap();
        let text_of = |pair: &Value, name: &str| pair[name].as_str().unwrap().to_owned();
        pairs.extend(entries.iter().map(|pair| (text_of(pair, "shingle"), text_of(pair, "document"))));
        let last = entries.last().unwrap();
        assert_eq!((&last["shingle"], &last["document"]), (&key["shingle"], &key["document"]));
        assert_eq!(scratch.output(&args).lines().count(), entries.len() + 2);
        let bits = scratch.output(&[&args[..], &["--bits"]].concat());
        assert!(bits.contains(&format!("{} entries", entries.len())), "{bits}");
    }
    assert!(pairs.iter().map(|(shingle, _)| shingle).is_sorted());
    pairs.sort();
    expected.sort();
    assert_eq!(pairs, expected);
    let blocks = keys.len().to_string();
    assert_eq!(scratch.failure(&["dump", "a.hamdex", "--shingles", "--block", &blocks]).0, 2);
    assert_eq!(scratch.failure(&["dump", "a.hamdex", "--shingles", "--table", "0"]).0, 2);
    scratch.write("one.txt", "0000000000000001\n");
    scratch.output(&["build", "-o", "none.hamdex", "one.txt"]);
    let (code, message) = scratch.failure(&["dump", "none.hamdex", "--shingles"]);
    assert!(code == 2 && message.contains("keeps no shingles"), "{code} {message}");
}

#[test]
fn a_damaged_list_is_damage_in_every_container() {
    let scratch = with_sets();
    scratch.output(&["store", "compact", "a.store"]);
    let segments = std::fs::read_dir(scratch.path("a.store/segments")).unwrap();
    let segment = segments.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    let segment = segment.to_str().unwrap();
    for (set, file) in [("a.hamdex", "a.hamdex"), ("a.store", segment)] {
        let args = ["dump", file, "--shingles", "--block", "0", "--json"];
        let block: Value = serde_json::from_str(&scratch.output(&args)).unwrap();
        let at = block["offset"].as_u64().unwrap() as usize + 100;
        let path = scratch.path(file);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let (code, message) = scratch.failure(&["query", set, "--similar", "0.5", "--text", &texts()[1].1]);
        assert!(code == 3 && message.contains("damaged"), "{set}: {code} {message}");
        let (code, message) = scratch.failure(&args);
        assert!(code == 3 && message.contains("block 0 of the table of shingles"), "{code} {message}");
    }
}
