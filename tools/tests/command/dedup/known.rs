//! Several sets and documents that are known, against the same in one set and against brute force.

use std::collections::HashSet;

use serde_json::Value;

use crate::common::{Scratch, json_line, json_lines, story};

/// A known document: its id, those of the nearest, the distance, and the similarity to 9 digits.
type Row = (String, Vec<String>, Option<u32>, Option<String>);

/// Returns the known documents that the command prints.
fn known(scratch: &Scratch, sets: &[&str], options: &[&str]) -> Vec<Row> {
    let mut args = vec!["dedup", "new.jsonl", "--json"];
    sets.iter().for_each(|set| args.extend(["--against", set]));
    args.extend(options);
    let lines = json_lines(&scratch.output(&args));
    let rows = lines.iter().filter(|line| !line["known"].is_null());
    let text = |id: &Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    rows.map(|row| {
        (
            text(&row["id"]),
            row["known"].as_array().unwrap().iter().map(text).collect(),
            row["distance"].as_u64().map(|distance| distance as u32),
            row["similarity"].as_f64().map(|similarity| format!("{similarity:.9}")),
        )
    })
    .collect()
}

/// Returns a story with some words at its end changed.
fn changed(number: u64, words: usize) -> String {
    let text = story(number);
    let mut all: Vec<&str> = text.split(' ').collect();
    let len = all.len();
    all[len - words..].fill("other");
    all.join(" ")
}

fn documents(name: &str, stories: &[(u64, usize)]) -> Vec<(String, String)> {
    let documents = (0..).zip(stories);
    documents.map(|(number, &(story, words))| (format!("{name}{number}"), changed(story, words))).collect()
}

fn lines(documents: &[(String, String)]) -> String {
    documents.iter().map(|(id, text)| json_line(id, text)).collect()
}

/// Makes an index, shards and a store, each of documents of its own, and one index of all.
fn with_sets() -> (Scratch, Vec<(String, String)>) {
    let scratch = Scratch::new();
    let of_sets = [
        ("index", documents("a", &[(1, 0), (2, 5), (3, 0), (3, 0), (9, 1)])),
        ("shards", documents("b", &[(2, 0), (3, 0), (4, 3), (5, 9)])),
        ("store", documents("c", &[(1, 0), (5, 0), (6, 7), (7, 0)])),
        ("files", documents("d", &[(7, 2), (7, 0), (8, 0), (9, 0)])),
    ];
    for (name, documents) in &of_sets {
        scratch.write(&format!("{name}.jsonl"), lines(documents));
    }
    let all = of_sets.into_iter().flat_map(|(_, documents)| documents).collect::<Vec<_>>();
    scratch.write("all.jsonl", lines(&all));
    let with = ["--documents", "--shingles", "--force"];
    scratch.output(&[&["build", "-o", "index", "index.jsonl"], &with[..]].concat());
    scratch.output(&[&["build", "-o", "shards", "--shards", "3", "shards.jsonl"], &with[..]].concat());
    scratch.output(&["store", "create", "store", "--documents", "--shingles"]);
    scratch.output(&["store", "insert", "store", "--documents", "store.jsonl"]);
    scratch.output(&[&["build", "-o", "all", "all.jsonl"], &with[..]].concat());
    let new: Vec<(u64, usize)> = (1..12).flat_map(|story| [(story, 0), (story, 1), (story, 6)]).collect();
    let new = documents("", &new);
    scratch.write("new.jsonl", lines(&new));
    (scratch, all)
}

/// Returns the rows without the paths of sets.
fn without_sets(rows: &[Row]) -> Vec<Row> {
    let bare = |id: &String| id.rsplit(':').next().unwrap().to_owned();
    rows.iter().cloned().map(|row| (row.0, row.1.iter().map(bare).collect(), row.2, row.3)).collect()
}

#[test]
fn texts_are_compared_with_several_sets_and_documents_as_with_one() {
    let (scratch, all) = with_sets();
    let shingles = |text: &str| -> HashSet<String> {
        text.split(' ').collect::<Vec<_>>().windows(5).map(|words| words.join(" ")).collect()
    };
    let all: Vec<(String, HashSet<String>)> =
        all.iter().map(|(id, text)| (id.clone(), shingles(text))).collect();
    for least in [0.5, 0.7, 0.95, 1.0] {
        let mut expected = Vec::new();
        for line in json_lines(&std::fs::read_to_string(scratch.path("new.jsonl")).unwrap()) {
            let new = shingles(line["text"].as_str().unwrap());
            let (mut nearest, mut most) = (None, 0.0);
            for (id, known) in &all {
                let shared = new.intersection(known).count();
                let similarity = shared as f64 / (new.len() + known.len() - shared) as f64;
                if similarity >= least && similarity > most {
                    (nearest, most) = (Some(id.clone()), similarity);
                }
            }
            let id = line["id"].as_str().unwrap().to_owned();
            expected.extend(nearest.map(|nearest| (id, vec![nearest], None, Some(format!("{most:.9}")))));
        }
        assert!(expected.len() > 5, "{least}");
        let options = ["--similarity", &least.to_string()];
        let found = known(&scratch, &["index", "shards", "store", "files.jsonl"], &options);
        assert_eq!(without_sets(&found), expected, "{least}");
        assert_eq!(known(&scratch, &["all"], &options), expected, "{least}");
        for (_, names, ..) in found {
            let set = match &names[0].rsplit(':').next().unwrap()[..1] {
                "a" => "index:",
                "b" => "shards:",
                "c" => "store:",
                _ => "",
            };
            assert!(names[0].starts_with(set) && names[0].contains(':') != set.is_empty(), "{names:?}");
        }
    }
    // What remains is the same, too; and the path of a set is in front where lines are printed.
    let kept = |sets: &[&str]| {
        let against = sets.iter().flat_map(|set| ["--against", set]);
        scratch.output(&["dedup", "new.jsonl", "--unique"].into_iter().chain(against).collect::<Vec<_>>())
    };
    assert_eq!(kept(&["files.jsonl", "store", "shards", "index"]), kept(&["all"]));
    let args = ["dedup", "new.jsonl", "--against", "index", "--against", "files.jsonl"];
    let text = scratch.output(&args);
    assert!(text.contains("\t0\tindex:a0\n") && text.contains("\td2\n"), "{text}");
    // A set that is named twice is one.
    assert_eq!(known(&scratch, &["all", "./all"], &[]), known(&scratch, &["all"], &[]));
}

#[test]
fn fingerprints_are_compared_with_several_sets_as_with_one() {
    let (scratch, all) = with_sets();
    let prints = |file: &str| -> Vec<(u64, String)> {
        let text = scratch.output(&["fingerprint", file]);
        let fields = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        fields.map(|f| (u64::from_str_radix(f[0], 16).unwrap(), f[1].to_owned())).collect()
    };
    let (new, mut stored) = (prints("new.jsonl"), prints("all.jsonl"));
    assert_eq!(stored.len(), all.len());
    stored.retain(|(_, id)| !id.starts_with('d'));
    scratch.output(&["build", "-o", "of-store", "--documents", "--shingles", "store.jsonl"]);
    scratch.output(&["build", "-o", "of-shards", "--documents", "--shingles", "shards.jsonl"]);
    scratch.output(&["merge", "-o", "merged", "index", "of-shards", "of-store"]);
    for distance in [0, 3, 8, 16] {
        let mut expected = Vec::new();
        for (query, id) in &new {
            let near = stored.iter().map(|&(stored, _)| ((stored ^ query).count_ones(), stored));
            let Some((bits, nearest)) = near.min().filter(|near| near.0 <= distance) else { continue };
            let ids = stored.iter().filter(|(stored, _)| *stored == nearest).map(|(_, id)| id.clone());
            expected.push((id.clone(), ids.collect(), Some(bits), None));
        }
        assert!(expected.len() > 5, "{distance}");
        let options = ["-k", &distance.to_string()];
        assert_eq!(known(&scratch, &["merged"], &options), expected, "{distance}");
        let found = known(&scratch, &["index", "shards", "store"], &options);
        assert_eq!(without_sets(&found), expected, "{distance}");
        let names: HashSet<&String> = found.iter().flat_map(|row| &row.1).collect();
        assert!(names.iter().any(|name| *name == "index:a0") && names.iter().all(|name| name.contains(':')));
    }
}

#[test]
fn a_crowd_in_each_of_several_sets_is_found_and_counted() {
    let scratch = Scratch::new();
    let crowd: String = (0..1000).map(|number| json_line(&number.to_string(), &story(1))).collect();
    scratch.write("crowd.jsonl", &crowd);
    scratch.write("new.jsonl", crowd + &json_line("else", &story(2)));
    let build = ["build", "--documents", "--shingles", "crowd.jsonl"];
    scratch.output(&[&build[..], &["-o", "a", "--ids", "names"]].concat());
    scratch.output(&[&build[..], &["-o", "b", "--ids", "row", "--shards", "2", "--layout", "hash"]].concat());
    let sets = ["--against", "b", "--against", "a"];
    let args = [&["dedup", "new.jsonl"], &sets[..]].concat();
    let text = scratch.output(&args);
    assert_eq!(text.matches("\tknown\t-\t1.000\t").count(), 1000, "{text}");
    assert!(text.lines().all(|line| line.ends_with("\tb:0")), "{text}");
    assert_eq!(scratch.output(&[&args[..], &["--print", "kept"]].concat()), "else\n");
    let text = scratch.output(&[&args[..], &["-k", "3"]].concat());
    let ids: Vec<String> = (0..10).map(|number| format!("b:{number}")).collect();
    let end = format!("\t{},+1990", ids.join(","));
    assert_eq!(text.lines().filter(|line| line.ends_with(&end)).count(), 1000, "{text}");
}

#[test]
fn sets_that_cannot_be_compared_with_together_are_refused() {
    let scratch = Scratch::new();
    scratch.write("old.jsonl", json_line("old", &story(1)));
    scratch.write("new.jsonl", json_line("new", &story(2)));
    for (name, options) in [
        ("usual", &["--shingles"][..]),
        ("wide", &["--shingles", "--width", "128"]),
        ("once", &["--shingles", "--recipe", "default weight=once"]),
        ("other", &["--shingles=4"]),
        ("none", &[]),
    ] {
        scratch.output(&[&["build", "--documents", "old.jsonl", "-o", name], options].concat());
    }
    let refused = |args: &[&str]| {
        let (code, text) = scratch.failure(&[&["dedup", "new.jsonl", "--against", "usual"], args].concat());
        assert_eq!(code, 2, "{text}");
        text
    };
    let text = refused(&["--against", "wide", "-k", "3"]);
    assert!(text.contains("usual and wide have different widths, 64 bits and 128 bits"), "{text}");
    for by in [&["-k", "3"][..], &["--similarity", "0.7"]] {
        let text = refused(&[&["--against", "once"], by].concat());
        assert!(
            text.contains("usual and once have different recipes, \"") && text.contains(" weight=once "),
            "{text}"
        );
    }
    let text = refused(&["--against", "other"]);
    assert!(text.contains("other: its shingles are made in another way"), "{text}");
    assert!(refused(&["--against", "none"]).contains("none keeps no shingles"));
    let text = refused(&["--against", "old.jsonl", "-k", "3"]);
    assert!(text.contains("old.jsonl: -k compares with indexes") && text.contains("--similarity"), "{text}");
}

/// Runs the command. Returns its exit code, and all that it says.
fn said(scratch: &Scratch, args: &[&str]) -> (i32, String) {
    let run = scratch.hamdex(args).output().unwrap();
    (run.status.code().unwrap(), String::from_utf8([run.stderr, run.stdout].concat()).unwrap())
}

/// Nothing would be known, in silence: what holds no document, and what is left of a set.
#[test]
fn known_documents_that_hold_none_are_refused() {
    let (scratch, _) = with_sets();
    for directory in ["empty", "folder", "segments"] {
        std::fs::create_dir(scratch.path(directory)).unwrap();
    }
    std::fs::copy(scratch.path("index"), scratch.path("folder/known.hamdex")).unwrap();
    scratch.output(&["store", "flush", "store"]);
    std::fs::copy(scratch.path("store/segments/000001.hamdex"), scratch.path("segments/1.hamdex")).unwrap();
    scratch.output(&["store", "backup", "store", "broken"]);
    for manifest in ["broken/manifest", "broken/manifest.copy"] {
        std::fs::remove_file(scratch.path(manifest)).unwrap();
    }
    let (code, text) = said(&scratch, &["dedup", "new.jsonl", "--against", "broken"]);
    assert!(code == 3 && text.contains("broken/manifest"), "{code}: {text}");
    for known in ["empty", "folder", "segments"] {
        let (code, text) = said(&scratch, &["dedup", "new.jsonl", "--against", known]);
        assert!(code == 1 && text.contains("no known document was found"), "{known}: {code}: {text}");
    }
    // As a backup leaves it that was killed.
    std::fs::create_dir(scratch.path("backup")).unwrap();
    scratch.write("backup/backup.new", "this copy of a store is not whole; back it up again\n");
    let (code, text) = said(&scratch, &["dedup", "new.jsonl", "--against", "backup"]);
    assert!(code == 1 && text.contains("an unfinished copy of a hamdex store"), "{code}: {text}");
    scratch.write("cut.hamdex", "");
    scratch.write("zeros.hamdex", [0; 4096]);
    for known in ["cut.hamdex", "zeros.hamdex"] {
        for others in [&[][..], &["--against", "files.jsonl"]] {
            let args = [&["dedup", "new.jsonl", "--against", known], others].concat();
            let (code, text) = scratch.failure(&args);
            assert!(code == 3 && text.contains(known), "{known}: {code}: {text}");
        }
    }
    // A file that is whole and has no document is no mistake: the archive of the first day.
    scratch.write("first.jsonl", "");
    let all = scratch.output(&["dedup", "new.jsonl", "--print", "kept"]);
    assert_eq!(scratch.output(&["dedup", "new.jsonl", "--against", "first.jsonl", "--print", "kept"]), all);
}

#[test]
fn a_store_or_a_set_of_shards_is_no_folder_of_documents() {
    let (scratch, _) = with_sets();
    for (set, name) in [("store", "a hamdex store"), ("shards", "a set of hamdex shards")] {
        for args in [
            &["dedup", set][..],
            &["dedup", "new.jsonl", set, "--unique"],
            &["store", "insert", "store", "--documents", set],
            &["build", "-o", "other", "--documents", "--shingles", set],
        ] {
            let (code, text) = said(&scratch, args);
            assert!(code == 1 && text.contains(name), "{args:?}: {code}: {text}");
        }
    }
    // Below a folder, it is left out with a message.
    std::fs::create_dir(scratch.path("folder")).unwrap();
    scratch.write("folder/a.txt", story(1));
    scratch.write("folder/z.txt", story(1));
    std::fs::rename(scratch.path("store"), scratch.path("folder/store")).unwrap();
    let (code, text) = said(&scratch, &["dedup", "folder", "--json"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("a hamdex store") && text.contains("2 documents"), "{text}");
    assert!(!text.contains("manifest") && !text.contains("lock"), "{text}");
}
