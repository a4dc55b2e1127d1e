//! The commands of `docs/commands.md`, in their order, as they stand.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{LINES, Scratch, json_line, story};

/// The files that the page takes for given.
fn with_files() -> Scratch {
    let scratch = Scratch::new();
    for folder in ["corpus", "notes", "src"] {
        std::fs::create_dir(scratch.path(folder)).unwrap();
        for (name, text) in [("one", story(1)), ("two", story(2)), ("copy", story(1))] {
            scratch.write(&format!("{folder}/{name}.rs"), &text);
            scratch.write(&format!("{folder}/{name}.txt"), text);
        }
    }
    let pages =
        format!("id,date,text\n1,2024-01-01,{0}\n2,2024-02-01,{0}\n3,2024-03-01,{1}\n", story(1), story(2));
    scratch.write("pages.csv", &pages);
    scratch.write("today.csv", pages);
    let articles = [json_line("first", &story(1)), json_line("second", &story(3))].concat();
    scratch.write("articles.jsonl", &articles);
    scratch.write("today.jsonl", articles);
    scratch.write("draft.txt", story(4));
    scratch.write("quote.txt", story(1).split_inclusive(' ').take(40).collect::<String>());
    scratch.write("published.txt", story(4).replacen(' ', " edited ", 1));
    for name in ["fingerprints.txt", "queries.txt", "questions", "web.txt"] {
        scratch.write(name, LINES);
    }
    scratch.write("web.u64", (0..64u64).flat_map(|number| (number << 50).to_le_bytes()).collect::<Vec<u8>>());
    scratch.write("new.txt", "00000000000000ff 1\n00000000000000fe 2\nff000000000000ff 3\n");
    scratch.write("crawled.tsv", "00000000000000ff\ta.html\nff000000000000ff\tb.html\n");
    scratch.write("later.txt", "0000000000000abc\n");
    for (name, input) in [("monday.hamdex", "fingerprints.txt"), ("tuesday.hamdex", "later.txt")] {
        scratch.output(&["build", "-o", name, input]);
    }
    scratch
}

#[test]
fn the_commands_of_the_page_run_in_their_order() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/commands.md")).unwrap();
    let blocks: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("a block ends"))
        .filter(|block| block.contains("hamdex dedup "))
        .collect();
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    let commands = blocks[0];
    assert!(commands.lines().count() > 30, "{commands}");
    let scratch = with_files();
    scratch.write("commands", format!("set -e -o pipefail\n{commands}"));
    let directory: PathBuf = assert_cmd::cargo::cargo_bin("hamdex").parent().unwrap().into();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(directory).chain(std::env::split_paths(&path));
    let run = Command::new("bash")
        .args(["-x", "commands"])
        .env("PATH", std::env::join_paths(paths).unwrap())
        .current_dir(scratch.path("."))
        .output();
    let Ok(output) = run else {
        println!("skipped: no bash");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    for expected in ["known", "abcdef0123456789", "similarity\t", "duplicate"] {
        assert!(printed.contains(expected), "no {expected}: {printed}\n{errors}");
    }
    assert!(scratch.path("dups.html").exists() && scratch.path("articles.store").is_dir());
}
