//! Conventions of all commands: help, messages, exit codes, standard streams.

use std::process::{Command, Output, Stdio};

use predicates::prelude::*;

use crate::common::{LINES, Scratch, with_index};

const COMMANDS: [&str; 16] = [
    "dedup",
    "fingerprint",
    "idf",
    "build",
    "merge",
    "query",
    "pairs",
    "dump",
    "verify",
    "store",
    "shards",
    "designs",
    "distance",
    "demo",
    "completions",
    "man",
];

/// Those of `hamdex store`.
const OF_STORE: [&str; 11] = [
    "create",
    "insert",
    "remove",
    "flush",
    "compact",
    "purge",
    "backup",
    "checkpoint",
    "ingest",
    "stats",
    "repair",
];

/// Those of `hamdex shards`.
const OF_SHARDS: [&str; 2] = ["create", "add"];

#[test]
fn the_short_help_of_dedup_opens_with_its_common_uses() {
    let scratch = Scratch::new();
    let (short, long) = (scratch.output(&["dedup", "-h"]), scratch.output(&["dedup", "--help"]));
    let uses =
        |help: &str| help.lines().skip(1).take_while(|line| line.starts_with("  hamdex dedup ")).count();
    for help in [&short, &long] {
        assert!(help.starts_with("Common uses:\n"), "{help}");
        assert_eq!(uses(help), 4, "{help}");
    }
    for (option, is_common) in
        [("--unique", true), ("--similarity", true), ("--quoting", false), ("--temp-dir", false)]
    {
        assert_eq!(short.contains(option), is_common, "{option}");
        assert!(long.contains(option), "{option}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = scratch.output(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert!(scratch.output(&["man"]).contains(".TH hamdex"));
    scratch.output(&["man", "pages/man1"]);
    let of_store = OF_STORE.map(|command| format!("store-{command}"));
    let of_shards = OF_SHARDS.map(|command| format!("shards-{command}"));
    for command in COMMANDS.map(str::to_owned).into_iter().chain(of_store).chain(of_shards) {
        let page = std::fs::read_to_string(scratch.path(&format!("pages/man1/hamdex-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Example"), "{command}");
    }
}

#[test]
fn manual_pages_are_replaced_only_by_force_and_then_all() {
    let scratch = Scratch::new();
    scratch.write("hamdex-pairs.1", "a page of another program");
    let (code, text) = scratch.failure(&["man", "."]);
    assert!(text.contains("hamdex-pairs.1: exists already") && text.contains("--force"), "{text}");
    assert_eq!((code, scratch.names()), (1, vec!["hamdex-pairs.1".to_owned()]));
    scratch.output(&["man", ".", "--force"]);
    assert!(std::fs::read_to_string(scratch.path("hamdex-pairs.1")).unwrap().contains(".TH"));
    assert_eq!(scratch.names().len(), COMMANDS.len() + OF_STORE.len() + OF_SHARDS.len() + 1);
}

#[test]
fn results_and_an_index_are_not_mixed_on_standard_output() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    for command in ["build", "idf"] {
        for output in ["-", "/dev/stdout"] {
            let (code, text) = scratch.failure(&[command, "--json", "-o", output, "in.txt"]);
            assert!(text.contains("--json and the output cannot both go to standard output"), "{text}");
            assert_eq!(code, 2);
        }
    }
}

#[test]
fn help_fits_a_narrow_terminal_without_broken_words() {
    let scratch = Scratch::new();
    let commands = COMMANDS.iter().map(|command| vec![*command]);
    let of_store = OF_STORE.map(|command| vec!["store", command]);
    let of_shards = OF_SHARDS.map(|command| vec!["shards", command]);
    for command in commands.chain(of_store).chain(of_shards) {
        for option in ["--help", "-h"] {
            let help =
                scratch.hamdex(&[&command[..], &[option]].concat()).env("COLUMNS", "80").assert().success();
            let help = String::from_utf8(help.get_output().stdout.clone()).unwrap();
            // Where the common uses come first, the short help ends without examples.
            let examples = help.find("Example:").unwrap_or(help.len());
            assert!(examples < help.len() || help.starts_with("Common uses:\n"), "{command:?} {option}");
            for example in help[examples..].lines().skip(1) {
                assert!(
                    example.contains("hamdex "),
                    "{command:?}: wrapped, so that it cannot be copied: {example}"
                );
            }
            // Usage has no place to break.
            for line in help[..examples].lines().filter(|line| !line.starts_with("Usage: ")) {
                assert!(line.chars().count() <= 80, "{command:?} {option}: {line}");
            }
        }
    }
}

#[test]
fn errors_of_the_command_line_are_one_line() {
    let scratch = with_index(&[]);
    let cases: [(&[&str], &str); 8] = [
        (&["bild"], "unrecognized subcommand 'bild'; tip: "),
        (&["build", "in.txt"], "--output <OUT>; see 'hamdex build --help'"),
        (&["build", "-o", "x", "--memory", "lots"], "expected a size such as 512MiB or 2GiB"),
        (&["build", "-o", "x", "--distance", "x"], "expected a number"),
        (&["query", "index.hamdex", "0x1", "--limit", "-x"], "'-x'"),
        (&["query", "index.hamdex", "0x1", "--threads", "many"], "expected a number from 0 (all) to 1024"),
        (&["build", "-o", "x", "--filter", "65"], "use auto, none or 1 to 64 bits per fingerprint"),
        (&["designs", "--block-size", "x"], "expected a power of two from 512 to 8192"),
    ];
    for (args, expected) in cases {
        let (code, text) = scratch.failure(args);
        assert!(text.contains(expected), "{args:?}: {text}");
        assert!(!text.contains("invalid digit") && !text.contains("ByteSize"), "{text}");
        assert_eq!(code, 2, "{args:?}");
    }
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    let scratch = with_index(&["--ids", "row"]);
    scratch.write("words.txt", "word\n");
    scratch.write("in.jsonl", "{}\n");
    scratch.output(&["store", "create", "ids.store"]);
    scratch.output(&["store", "create", "texts.store", "--documents"]);
    let of_documents: [&[&str]; 15] = [
        &["--text-field", "body"],
        &["--max-document", "1KiB"],
        &["--join"],
        &["--no-header"],
        &["--delimiter", ";"],
        &["--quoting", "none"],
        &["--encoding", "latin1"],
        &["--include", "*.txt"],
        &["--exclude", "*.txt"],
        &["--respect-gitignore"],
        &["--strict"],
        &["--skip-unreadable"],
        &["--stop-words", "words.txt"],
        &["--recipe", "default"],
        &["--id-field", "name"],
    ];
    let of_fingerprints: [&[&str]; 4] = [
        &["build", "-o", "x.hamdex", "in.txt"],
        &["query", "index.hamdex", "--file", "in.txt"],
        &["store", "insert", "ids.store", "in.txt"],
        &["dedup", "--fingerprints", "in.txt"],
    ];
    let (id_field, others) = of_documents.split_last().unwrap();
    let mut cases = Vec::new();
    for option in others {
        cases.extend(of_fingerprints.map(|command| (command, *option)));
    }
    // Features are made by a recipe, and have no ids.
    let with_features = others.iter().filter(|option| option[0] != "--recipe").chain([id_field]);
    cases.extend(with_features.map(|option| (&["fingerprint", "--features", "in.txt"][..], *option)));
    let field: &[&str] = &["--fingerprint-field", "hash"];
    cases.extend([
        (&["fingerprint", "--features", "in.txt"][..], &["--format", "csv"][..]),
        (&["build", "--documents", "-o", "x.hamdex", "in.jsonl"], field),
        (&["query", "index.hamdex", "--documents", "--file", "in.jsonl"], field),
        (&["store", "insert", "texts.store", "--documents", "in.jsonl"], field),
        (&["store", "remove", "texts.store", "in.txt"], field),
        (&["store", "remove", "texts.store", "in.txt"], id_field),
        (&["store", "remove", "ids.store", "--ids", "only", "in.txt"], id_field),
        (&["store", "remove", "ids.store", "--ids", "none", "in.txt"], id_field),
        (&["store", "insert", "ids.store", "--ids", "row", "in.txt"], id_field),
        (&["build", "-o", "x.hamdex", "in.txt"], id_field),
        (&["build", "-o", "x.hamdex", "--ids", "row", "in.txt"], id_field),
        (&["dedup", "--fingerprints", "--ids", "row", "in.txt"], id_field),
        (&["query", "index.hamdex", "--text", "word"], id_field),
        (&["query", "index.hamdex", "--document", "words.txt"], field),
        (&["idf", "-o", "x.idf", "in.jsonl"], &["--idf", "words.txt"]),
    ]);
    for (command, option) in cases {
        let (code, text) = scratch.failure(&[command, option].concat());
        assert!(code == 2 && text.contains(option[0]), "{command:?} {option:?}: {code} {text}");
    }
    assert!(!scratch.path("x.hamdex").exists() && !scratch.path("x.idf").exists());
}

#[test]
fn quiet_leaves_errors_only() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    for flag in ["--quiet", "-q"] {
        let args = ["build", flag, "-o", "x.hamdex", "--force", "in.txt"];
        scratch.hamdex(&args).assert().success().stdout("").stderr("");
        scratch.hamdex(&["pairs", flag, "x.hamdex"]).assert().success().stderr("");
        scratch.failure(&[flag, "build", "-o", "x.hamdex", "in.txt"]);
    }
}

#[test]
fn color_is_a_choice() {
    let scratch = with_index(&[]);
    let bits = ["dump", "index.hamdex", "--table", "0", "--block", "0", "--bits"];
    let has_color = |args: &[&str]| scratch.output(&[&bits, args].concat()).contains('\u{1b}');
    assert!(!has_color(&[]) && !has_color(&["--color", "never"]));
    assert!(has_color(&["--color", "always"]));
    assert!(scratch.output(&["--color", "always", "--help"]).contains('\u{1b}'));
    assert!(!scratch.output(&["--help"]).contains('\u{1b}'));
}

#[test]
fn summaries_are_on_standard_error_and_results_on_standard_output() {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    let built = ["build", "-o", "x.hamdex", "in.txt"];
    let summary = "hamdex: x.hamdex: 5 fingerprints read, 4 distinct";
    scratch.hamdex(&built).assert().success().stdout("").stderr(predicate::str::starts_with(summary));
    let built = ["build", "--json", "--force", "-o", "x.hamdex", "in.txt"];
    let json: serde_json::Value = serde_json::from_str(&scratch.output(&built)).unwrap();
    assert_eq!((&json["read"], &json["fingerprints"]), (&5.into(), &4.into()));
    assert_eq!(json["output"], "x.hamdex");
}

/// Runs a command line of the shell.
#[cfg(unix)]
fn shell(scratch: &Scratch, line: &str) -> Output {
    let program = assert_cmd::cargo::cargo_bin!("hamdex");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    Command::new("sh")
        .args(["-c", line])
        .env("PATH", std::env::join_paths(path).unwrap())
        .current_dir(scratch.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn the_version_says_how_the_command_was_built() {
    let output = shell(&Scratch::new(), "hamdex -V; hamdex --version");
    let text = String::from_utf8(output.stdout).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.starts_with(&format!("hamdex {version}\nhamdex {version} (")), "{text}");
    assert!(text.ends_with(" Parquet and Arrow)\n"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let scratch = Scratch::new();
    for args in ["--help", "--version", "build --help", "man", "completions bash"] {
        let output = shell(&scratch, &format!("hamdex {args} > /dev/full"));
        assert_eq!(output.status.code(), Some(1), "{args}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("hamdex: cannot write to standard output: "), "{args}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn standard_error_that_cannot_be_written_changes_no_exit_code() {
    let scratch = with_index(&[]);
    for closed in ["2>/dev/full", "2>&-"] {
        let code = |line: &str| shell(&scratch, &format!("{line} {closed}")).status.code();
        assert_eq!(code("hamdex build --force -o y.hamdex in.txt"), Some(0), "{closed}");
        assert_eq!(code("hamdex pairs index.hamdex"), Some(0), "{closed}");
        assert_eq!(code("hamdex verify missing.hamdex"), Some(1), "{closed}");
        assert_eq!(code("hamdex verify in.txt"), Some(3), "{closed}");
        assert_eq!(code("hamdex query index.hamdex xyz"), Some(2), "{closed}");
        assert_eq!(code("hamdex bild"), Some(2), "{closed}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_is_no_failure() {
    let scratch = Scratch::new();
    let lines: String = (0..50_000u64).map(|i| format!("{:016x}\n", i << 20)).collect();
    scratch.write("in.txt", lines);
    scratch.output(&["build", "-o", "x.hamdex", "in.txt"]);
    for command in ["dump x.hamdex --fingerprints", "query x.hamdex --file in.txt", "pairs x.hamdex --quiet"]
    {
        let output = shell(&scratch, &format!("(hamdex {command}; echo $? > code) | head -n 1"));
        assert_eq!(std::fs::read_to_string(scratch.path("code")).unwrap(), "0\n", "{command}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn fewer_threads_do_where_the_system_refuses_more() {
    let scratch = with_index(&[]);
    // The stacks of 1,024 threads do not fit.
    for command in ["query index.hamdex 0xff --threads 1024", "verify index.hamdex --threads 1024"] {
        let output = shell(&scratch, &format!("ulimit -v 400000; exec hamdex {command}"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{command}: {text}");
        assert!(text.contains("refuses 1024 threads; going on with "), "{command}: {text}");
    }
}
