//! One rule for whatever a command writes: never over an input, nothing without --force, whole or not at all.

use std::fs;

use predicates::prelude::*;

use crate::common::{LINES, Scratch, altered, json_line, story};

/// Documents, fingerprints, and an index of each.
fn scene() -> Scratch {
    let scratch = Scratch::new();
    let documents =
        [json_line("a", &story(1)), json_line("b", &altered(&story(1))), json_line("c", &story(2))];
    scratch.write("documents.jsonl", documents.concat());
    scratch.write("stop.txt", "the\n");
    scratch.write("hex.txt", LINES);
    scratch.output(&["build", "-o", "index.hamdex", "hex.txt"]);
    scratch.output(&["build", "-o", "named.hamdex", "--documents", "documents.jsonl"]);
    scratch
}

/// Every command that writes a file, to be followed by its name.
const WRITERS: [&[&str]; 10] = [
    &["build", "hex.txt", "-o"],
    &["build", "--documents", "documents.jsonl", "--ids", "row", "-o"],
    &["merge", "index.hamdex", "-o"],
    &["pairs", "index.hamdex", "-o"],
    &["query", "index.hamdex", "0xff", "-o"],
    &["dedup", "documents.jsonl", "--out"],
    &["dedup", "documents.jsonl", "--unique", "--out"],
    &["idf", "documents.jsonl", "-o"],
    &["fingerprint", "documents.jsonl", "--parquet"],
    &["dump", "index.hamdex", "--stats", "--html"],
];

/// A refusal in one line, with exit code 1, of a command that changes no file.
fn refused(scratch: &Scratch, args: &[&str], expected: &str) {
    let contents = |name: &String| fs::read(scratch.path(name)).unwrap_or_default();
    let before: Vec<_> = scratch.names().iter().map(|name| (name.clone(), contents(name))).collect();
    let (code, text) = scratch.failure(args);
    assert!(text.contains(expected), "{args:?}: {text}");
    assert_eq!(code, 1, "{args:?}: {text}");
    let after: Vec<_> = scratch.names().iter().map(|name| (name.clone(), contents(name))).collect();
    assert!(before == after, "{args:?}");
}

#[test]
fn an_input_is_never_written_over() {
    let scratch = scene();
    let cases: [&[&str]; 9] = [
        &["build", "hex.txt", "-o", "hex.txt"],
        &["build", "--documents", "documents.jsonl", "-o", "documents.jsonl"],
        &["build", "--documents", "documents.jsonl", "--stop-words", "stop.txt", "-o", "stop.txt"],
        &["merge", "index.hamdex", "-o", "index.hamdex"],
        &["pairs", "index.hamdex", "-o", "index.hamdex"],
        &["dedup", "documents.jsonl", "--out", "documents.jsonl"],
        &["dedup", "documents.jsonl", "--unique", "--out", "documents.jsonl"],
        &["idf", "documents.jsonl", "-o", "documents.jsonl"],
        &["dump", "index.hamdex", "--stats", "--html", "index.hamdex"],
    ];
    for args in cases {
        refused(&scratch, &[args, &["--force"]].concat(), "is the input");
        refused(&scratch, args, "is the input");
    }
}

#[cfg(unix)]
#[test]
fn an_input_is_known_under_other_names_and_as_standard_input() {
    let scratch = scene();
    std::os::unix::fs::symlink("hex.txt", scratch.path("soft")).unwrap();
    fs::hard_link(scratch.path("hex.txt"), scratch.path("hard")).unwrap();
    for output in ["soft", "hard", "./hex.txt"] {
        refused(&scratch, &["build", "hex.txt", "-o", output, "--force"], "is the input hex.txt");
    }
    for args in [&["build", "-o", "hex.txt", "--force"][..], &["idf", "-", "-o", "soft", "--force"]] {
        let input = fs::File::open(scratch.path("hex.txt")).unwrap();
        let program = scratch.hamdex(args).get_program().to_owned();
        let output = std::process::Command::new(program)
            .args(args)
            .current_dir(scratch.path(""))
            .stdin(input)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("is the input (standard input)"), "{text}");
    }
    assert_eq!(fs::read_to_string(scratch.path("hex.txt")).unwrap(), LINES);
}

#[test]
fn a_file_in_a_directory_that_is_read_is_an_input() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("notes/deep")).unwrap();
    let old = format!("text\n{}\n", story(1));
    scratch.write("notes/deep/old.csv", &old);
    let output = ["dedup", "notes", "--force", "--out", "notes/deep/old.csv"];
    refused(&scratch, &output, "is the input notes");
    assert_eq!(fs::read_to_string(scratch.path("notes/deep/old.csv")).unwrap(), old);
    scratch.output(&["dedup", "notes", "--out", "notes/new.csv"]);
}

#[test]
fn nothing_is_replaced_without_force() {
    let scratch = scene();
    for (number, args) in WRITERS.iter().enumerate() {
        let name = format!("out-{number}.{}", if args[0] == "fingerprint" { "parquet" } else { "jsonl" });
        scratch.write(&name, "precious");
        let args = [args, &[name.as_str()][..]].concat();
        refused(&scratch, &args, &format!("{name}: exists already; --force replaces it"));
        let before = scratch.names();
        scratch.output(&[&args[..], &["--force"]].concat());
        assert_ne!(fs::read(scratch.path(&name)).unwrap(), b"precious", "{args:?}");
        assert_eq!(scratch.names(), before, "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn modes_are_kept_and_links_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = scene();
    for (number, args) in WRITERS.iter().enumerate() {
        let ending = if args[0] == "fingerprint" { "parquet" } else { "csv" };
        // Documents of other formats than JSON Lines are written by id and text.
        let (target, link) = (format!("target-{number}.{ending}"), format!("link-{number}.{ending}"));
        symlink(&target, scratch.path(&link)).unwrap();
        // First a dangling one, which creates what it leads to.
        scratch.output(&[args, &[link.as_str()][..]].concat());
        let created = fs::read(scratch.path(&target)).unwrap();
        fs::write(scratch.path(&target), "old").unwrap();
        fs::set_permissions(scratch.path(&target), fs::Permissions::from_mode(0o640)).unwrap();
        scratch.output(&[args, &[link.as_str(), "--force"][..]].concat());
        assert!(fs::read(scratch.path(&target)).unwrap() == created, "{args:?}");
        let mode = scratch.path(&target).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640, "{args:?}");
        assert!(scratch.path(&link).is_symlink(), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_and_stay_devices() {
    let scratch = scene();
    for args in WRITERS.iter().filter(|args| args[0] != "dedup") {
        scratch.output(&[args, &["/dev/null"][..]].concat());
        let (code, text) = scratch.failure(&[args, &["/dev/full"][..]].concat());
        assert!(text.contains("/dev/full: cannot write to it"), "{args:?}: {text}");
        assert_eq!(code, 1);
    }
    use std::os::unix::fs::FileTypeExt;
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    refused(
        &scratch,
        &["build", "--documents", "documents.jsonl", "--ids", "numbers", "-o", "."],
        "directory",
    );
    // Names go where the index goes.
    scratch.output(&["build", "--documents", "documents.jsonl", "-o", "/dev/null"]);
}

#[test]
fn a_dash_is_standard_output() {
    let scratch = scene();
    for args in WRITERS.iter().filter(|args| !args.contains(&"--svg")) {
        let ending = if args[0] == "fingerprint" { "parquet" } else { "jsonl" };
        let name = format!("out.{ending}");
        scratch.output(&[args, &[name.as_str(), "--force"][..]].concat());
        let output = scratch.hamdex(&[args, &["-"][..]].concat()).assert().success().get_output().clone();
        assert!(output.stdout == fs::read(scratch.path(&name)).unwrap(), "{args:?}");
    }
    assert!(!scratch.path("-").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_synced_is_reported_with_the_file_in_place() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let scratch = scene();
    let everybody = |name: &str, mode| {
        fs::set_permissions(scratch.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    // Files can be made in it, but it cannot be opened, except by root.
    fs::create_dir(scratch.path("drop")).unwrap();
    everybody("drop", 0o333);
    everybody("", 0o755);
    let program = scratch.path("program");
    fs::copy(scratch.hamdex(&[]).get_program(), &program).unwrap();
    let is_root = std::os::unix::fs::MetadataExt::uid(&scratch.path("").metadata().unwrap()) == 0;
    for (number, args) in WRITERS.iter().enumerate() {
        let name =
            format!("drop/out-{number}.{}", if args[0] == "fingerprint" { "parquet" } else { "jsonl" });
        let mut command = std::process::Command::new(&program);
        command.args(*args).arg(&name).args(["--threads", "1"].iter().filter(|_| args[0] == "build"));
        command.current_dir(scratch.path(""));
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        let output = loop {
            match command.output() {
                // Another test's child, between its fork and its exec, still has the copy open for writing.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::yield_now();
                }
                output => break output.unwrap(),
            }
        };
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("is complete and in place, but its directory cannot be synced"), "{text}");
        assert_eq!(output.status.code(), Some(4), "{args:?}: {text}");
        assert!(scratch.path(&name).metadata().unwrap().len() > 0, "{args:?}");
    }
    everybody("drop", 0o755);
    scratch.output(&["verify", "drop/out-0.jsonl"]);
}

/// The summary is not the output: an index whose summary cannot be printed is an index, and exit code 4 says so.
#[cfg(target_os = "linux")]
#[test]
fn a_summary_that_cannot_be_printed_is_reported_with_the_file_in_place() {
    let scratch = scene();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let args = ["build", "hex.txt", "--json", "-o", "summed.hamdex"];
    let output = std::process::Command::new(scratch.hamdex(&args).get_program())
        .args(args)
        .current_dir(scratch.path(""))
        .stdout(full)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(
        text.starts_with(
            "hamdex: summed.hamdex: is complete and in place, but something failed after that: cannot"
        ),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
    scratch.output(&["verify", "summed.hamdex"]);
}

#[test]
fn temporary_files_lie_beside_the_output_by_default() {
    let scratch = scene();
    let cases: [&[&str]; 3] = [
        &["build", "hex.txt", "--ids", "row", "-o", "rows.hamdex"],
        &["build", "--documents", "documents.jsonl", "-o", "names.hamdex"],
        &["dedup", "documents.jsonl", "--unique", "--check", "jaccard=0.5", "--out", "unique.csv"],
    ];
    for args in cases {
        scratch.hamdex(args).env("TMPDIR", scratch.path("missing")).assert().success();
        let args = [args, &["--force", "--temp-dir", "missing"]].concat();
        refused(&scratch, &args, "missing: cannot create a");
        // It is known before anything is read.
        let args: Vec<&str> = args.iter().map(|arg| if arg.contains("hex") { "-" } else { *arg }).collect();
        let waiting = scratch.hamdex(&args).write_stdin(vec![b'x'; 1 << 20]).assert().failure().code(1);
        waiting.stderr(predicate::str::contains("missing: cannot create a"));
    }
}

#[cfg(target_os = "linux")]
mod killed {
    use std::io::Write;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn start(scratch: &Scratch, args: &[&str]) -> Child {
        Command::new(scratch.hamdex(args).get_program())
            .args(args)
            .current_dir(scratch.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Whether it has a file open that has no name.
    fn has_started_its_output(child: &Child) -> bool {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", child.id()));
        let mut links =
            descriptors.into_iter().flatten().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.any(|link| link.to_string_lossy().ends_with(" (deleted)"))
    }

    #[test]
    fn a_command_that_is_killed_while_it_reads_leaves_nothing() {
        let scratch = scene();
        let before = scratch.names();
        let cases: [&[&str]; 4] = [
            &["build", "-o", "out.hamdex", "-"],
            &["dedup", "--format", "jsonl", "--out", "out.csv", "-"],
            &["idf", "--format", "jsonl", "-o", "out.idf", "-"],
            &["build", "--documents=jsonl", "-o", "out.hamdex", "-"],
        ];
        for args in cases {
            let mut child = start(&scratch, args);
            // Its input stays open, so it cannot come to its end.
            let mut input = child.stdin.take().unwrap();
            let line = if args.contains(&"out.hamdex") && args[2] == "out.hamdex" && args[1] == "-o" {
                LINES.to_owned()
            } else {
                json_line("a", &story(1))
            };
            input.write_all(line.as_bytes()).unwrap();
            while !has_started_its_output(&child) {
                assert!(child.try_wait().unwrap().is_none(), "{args:?} waits for more");
                std::thread::yield_now();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(scratch.names(), before, "{args:?}");
        }
    }

    /// Builds over an index of documents, and is killed at any time, or finds the disk full: there is the old index or
    /// the new one, whole and with its names; or the old one, and beside it the new one under a temporary name.
    fn builds_of_documents_are_killed(times: u64) {
        let scratch = Scratch::new();
        let lines = |first: u64| -> String {
            (first..first + 300).map(|n| json_line(&format!("page {n}"), &story(n))).collect()
        };
        scratch.write("old.jsonl", lines(0));
        scratch.write("new.jsonl", lines(1000));
        let build = ["build", "--force", "--documents", "new.jsonl", "-o", "news.hamdex"];
        let started = std::time::Instant::now();
        scratch.output(&build);
        let whole = started.elapsed();
        let new = fs::read(scratch.path("news.hamdex")).unwrap();
        scratch.output(&["build", "--documents", "old.jsonl", "-o", "old.hamdex"]);
        let old = fs::read(scratch.path("old.hamdex")).unwrap();
        let names = scratch.names();
        let (mut kept, mut refused) = (0, 0);
        for number in 0..times {
            fs::write(scratch.path("news.hamdex"), &old).unwrap();
            if number % 2 == 1 {
                // A disk that takes so much and no more of any file.
                let blocks = number * (new.len() as u64 / 512 + 2) / times;
                let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
                let program = scratch.hamdex(&build).get_program().to_owned();
                let mut shell = Command::new("sh");
                shell.args(["-c", &limited]).arg(program).args(build).current_dir(scratch.path(""));
                let status = shell.stderr(Stdio::null()).status().unwrap();
                let left = fs::read(scratch.path("news.hamdex")).unwrap();
                assert!(
                    left == if status.success() { &new[..] } else { &old },
                    "full disk {number}: {status}"
                );
                assert_eq!(scratch.names(), names);
                refused += u64::from(!status.success());
                continue;
            }
            let mut child = start(&scratch, &build);
            // From the start until a little after the end.
            std::thread::sleep(whole * (number % 97) as u32 / 80);
            let _ = child.kill();
            child.wait().unwrap();
            let left = fs::read(scratch.path("news.hamdex")).unwrap();
            assert!(left == old || left == new, "kill {number}");
            // A command that is killed between two calls of the system, by which a file replaces another, is whole and has
            // another name yet. A busy system makes that instant longer.
            for other in scratch.names().into_iter().filter(|name| !names.contains(name)) {
                assert!(other.starts_with(".hamdex-") && other.ends_with(".tmp"), "kill {number}: {other}");
                assert!(
                    left == old && fs::read(scratch.path(&other)).unwrap() == new,
                    "kill {number}: {other}"
                );
                fs::remove_file(scratch.path(&other)).unwrap();
            }
            assert_eq!(scratch.names(), names);
            kept += u64::from(left == old);
        }
        assert!(kept > 0 && refused > 0, "some come before the end");
        scratch.output(&["verify", "news.hamdex"]);
    }

    #[test]
    fn builds_of_documents_that_are_killed_lose_neither_index_nor_names() {
        // Half of them are killed, the others meet a full disk. `.ci/campaign` asks for a thousand.
        let times = std::env::var("HAMDEX_KILLS").map_or(40, |times| times.parse().unwrap());
        builds_of_documents_are_killed(times);
    }

    #[test]
    fn pairs_that_are_killed_leave_nothing_or_a_whole_file() {
        let scratch = Scratch::new();
        let lines: String = (0..400).map(|n| format!("{n:016x}\n")).collect();
        scratch.write("hex.txt", lines);
        scratch.output(&["build", "-o", "index.hamdex", "hex.txt"]);
        scratch.output(&["pairs", "index.hamdex", "-o", "whole.csv"]);
        let whole = fs::read(scratch.path("whole.csv")).unwrap();
        for _ in 0..8 {
            let mut child = start(&scratch, &["pairs", "index.hamdex", "-o", "out.csv"]);
            while !has_started_its_output(&child) && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            let _ = child.kill();
            child.wait().unwrap();
            let names = scratch.names();
            if names.contains(&"out.csv".to_owned()) {
                assert!(fs::read(scratch.path("out.csv")).unwrap() == whole);
                fs::remove_file(scratch.path("out.csv")).unwrap();
            }
            assert_eq!(scratch.names(), ["hex.txt", "index.hamdex", "whole.csv"]);
        }
    }
}

#[test]
fn errors_name_no_temporary_file() {
    let scratch = scene();
    let args = ["build", "--documents", "documents.jsonl", "-o", "missing/x.hamdex"];
    let (code, text) = scratch.failure(&args);
    assert_eq!(code, 1, "{text}");
    assert!(!text.contains(".tmp") && !text.contains(".hamdex-"), "a temporary name: {text}");
}
