//! The commands in the pages of the book: each is run, page by page, and what it prints is compared.
//!
//! In a block `console`, a line after `$ ` is a command, lines after `> ` or indented go on with it, and all others are
//! what it prints, where `[...]` stands for anything. A block `sh` is run as a script, which succeeds. The comment
//! `<!-- not run here: REASON -->` before a block says why it is not, and which other test runs it; a page of nothing
//! but such blocks says `<!-- no command of this page is run here: REASON -->`.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The end of what a command prints, followed by its exit code.
const END: &str = "\u{1e}end of output ";

/// The port of the service in the pages. The tests take a free one.
const PORT: &str = "7700";

#[derive(Debug)]
struct Block {
    line: usize,
    kind: String,
    text: String,
    is_run: bool,
}

/// Returns the blocks of commands of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut not_run = None;
    let none_is_run = page.contains("<!-- no command of this page is run here: ");
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(reason) = line.strip_prefix("<!-- not run here: ") {
            assert!(reason.ends_with(" -->"), "line {}: the comment ends in its line", number + 1);
            not_run = Some(number);
        } else if let Some(kind) = line.strip_prefix("```") {
            let text: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
            if ["sh", "console", "bash", "shell"].contains(&kind) {
                let text = text.join("\n") + "\n";
                let is_run = not_run.take().is_none() && !none_is_run;
                found.push(Block { line: number + 1, kind: kind.to_owned(), text, is_run });
            }
        } else if !line.trim().is_empty() {
            assert!(not_run.is_none(), "line {}: the comment belongs to no block of commands", number + 1);
        }
    }
    found
}

/// Splits a session into commands and what they print.
fn session(text: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), String::new()));
            continue;
        }
        let (command, printed) = commands.last_mut().expect("a session begins with a command");
        let more = line.strip_prefix("> ").or_else(|| (command.ends_with('\\')).then_some(line));
        match more {
            Some(more) if printed.is_empty() => *command += &format!("\n{more}"),
            _ => *printed += &format!("{line}\n"),
        }
    }
    commands
}

/// Tells whether `printed` is `expected`, in which `[...]` stands for anything.
fn is_as_expected(printed: &str, expected: &str) -> bool {
    let mut pieces = expected.split("[...]");
    let Some(mut rest) = printed.strip_prefix(pieces.next().unwrap()) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// A shell in a directory of its own. What it has started ends with it.
struct Shell {
    bash: Child,
    output: BufReader<std::process::ChildStdout>,
    directory: tempfile::TempDir,
}

impl Shell {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let hamdex = Path::new(env!("CARGO_BIN_EXE_hamdex")).parent().unwrap();
        let path = format!("{}:{}", hamdex.display(), std::env::var("PATH").unwrap());
        // Without a terminal, curl shows a meter.
        std::fs::write(directory.path().join(".curlrc"), "silent\nshow-error\n").unwrap();
        let mut bash = Command::new("bash")
            .args(["--norc", "-s"])
            .current_dir(directory.path())
            .env("PATH", path)
            .env("HOME", directory.path())
            .env("LC_ALL", "C")
            .env_remove("HAMDEX_LISTEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("bash runs the pages");
        let output = BufReader::new(bash.stdout.take().unwrap());
        bash.stdin.as_ref().unwrap().write_all(b"exec 2>&1\n").unwrap();
        Self { bash, output, directory }
    }

    /// Runs a command; returns what it prints, and whether it succeeds.
    fn run(&mut self, command: &str) -> (String, bool) {
        let mut input = self.bash.stdin.as_ref().unwrap();
        // The input of the command is not the rest of the session.
        write!(input, "{{ {command}\n}} </dev/null\nprintf '\\036end of output %s\\n' $?\n").unwrap();
        let mut printed = String::new();
        loop {
            let before = printed.len();
            assert!(self.output.read_line(&mut printed).unwrap() > 0, "the shell ended: {printed}");
            if let Some(at) = printed[before..].find(END) {
                let ok = printed[before + at + END.len()..].trim_end() == "0";
                printed.truncate(before + at);
                return (printed, ok);
            }
        }
    }

    /// Starts a command that goes on; returns the first lines that it prints.
    fn start(&mut self, command: &str, lines: usize) -> String {
        let log = self.directory.path().join(".background");
        // One that was started before has left its lines there.
        let _ = std::fs::remove_file(&log);
        self.run(&format!("{command} >.background 2>&1 &"));
        let start = Instant::now();
        loop {
            let printed = std::fs::read_to_string(&log).unwrap_or_default();
            if printed.lines().count() >= lines || start.elapsed() > Duration::from_secs(60) {
                return printed;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.bash.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.bash.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the pages of the book, by their paths in the repository.
fn pages() -> Vec<PathBuf> {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let links = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    links
        .map(|link| root().join("docs").join(link).canonicalize().unwrap_or_else(|_| panic!("{link}")))
        .collect()
}

fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// The files of which `docs/commands.md` speaks.
const FILES: &str = r#"
mkdir corpus src notes
text() { seq -s ' ' "$1" "$2"; }
for number in 1 2 3; do
    text 1 $((60 + number)) | tee corpus/$number.txt notes/$number.txt >src/$number.rs
done
printf 'id,date,text\n1,2024,%s\n2,2025,%s\n' "$(text 1 60)" "$(text 1 61)" | tee pages.csv >today.csv
printf '{"id":"a","text":"%s"}\n{"id":"b","text":"%s"}\n' "$(text 1 60)" "$(text 200 260)" | tee articles.jsonl >today.jsonl
text 1 60 >draft.txt
text 1 61 >published.txt
text 10 40 >quote.txt
printf '0123456789abcdef\n0123456789abcdee\nffffffffffffffff\n' | tee fingerprints.txt queries.txt questions web.txt >/dev/null
printf '0123456789abcdef 17\n' >new.txt
printf '\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0' >web.u64
printf '00000000000000ff\ta.html\nff000000000000ff\tb.html\n' >crawled.tsv
hamdex build --quiet -o monday.hamdex --ids row web.txt
hamdex build --quiet -o tuesday.hamdex --ids pairs new.txt
"#;

/// Runs the commands of a page; returns how many.
fn check(page: &Path) -> usize {
    let port = free_port();
    let text = std::fs::read_to_string(page).unwrap();
    let mut shell = Shell::new();
    if page.ends_with("docs/commands.md") {
        let (printed, ok) = shell.run(FILES);
        assert!(ok, "the files of the page: {printed}");
    }
    let mut commands = 0;
    for block in blocks(&text) {
        let place = format!("{}:{}", page.display(), block.line);
        if !block.is_run {
            continue;
        }
        let text = block.text.replace(PORT, &port);
        if block.kind != "console" {
            assert_eq!(block.kind, "sh", "{place}: sessions are `console`, scripts `sh`");
            let script = shell.directory.path().join(".script");
            std::fs::write(&script, &text).unwrap();
            let (printed, ok) = shell.run(&format!("HAMDEX_LISTEN=127.0.0.1:{port} bash -eu .script"));
            assert!(ok, "{place}: the script fails: {printed}");
            std::fs::remove_file(script).unwrap();
            commands += 1;
            continue;
        }
        for (command, expected) in session(&text) {
            let printed = match command.strip_suffix(" &") {
                Some(command) => shell
                    .start(&format!("HAMDEX_LISTEN=127.0.0.1:{port} {command}"), expected.lines().count()),
                None => {
                    let (printed, ok) = shell.run(&command);
                    assert!(ok, "{place}: {command}\nfails: {printed}");
                    printed
                }
            };
            // Answers of the service end without a line end.
            let (printed, expected) = (printed.trim_end_matches('\n'), expected.trim_end_matches('\n'));
            assert!(
                is_as_expected(printed, expected),
                "{place}: {command}\nprints\n{printed}\nand not\n{expected}"
            );
            commands += 1;
        }
    }
    commands
}

#[test]
fn every_command_of_the_book_runs() {
    if !root().join("docs/SUMMARY.md").exists() {
        eprintln!("the pages are not part of the package: left out");
        return;
    }
    let (mut commands, mut not_run) = (0, 0);
    for page in pages() {
        let others = blocks(&std::fs::read_to_string(&page).unwrap());
        not_run += others.iter().filter(|block| !block.is_run).count();
        commands += check(&page);
    }
    println!("{commands} commands of {} pages; {not_run} blocks are not run here", pages().len());
    assert!(commands > 40, "{commands}");
}

#[test]
fn the_unit_of_the_package_is_that_of_the_page() {
    let (page, unit) = (root().join("docs/serve.md"), root().join("packaging/debian/hamdex.service"));
    if page.exists() {
        let page = std::fs::read_to_string(page).unwrap();
        let (_, after) = page.split_once("```ini\n").expect("the page shows the unit");
        assert_eq!(after.split_once("```").unwrap().0, std::fs::read_to_string(unit).unwrap());
    }
}

#[test]
fn anything_stands_for_any_text() {
    assert!(is_as_expected("a b\nc", "a [...]c"));
    assert!(is_as_expected("a", "a"));
    assert!(is_as_expected("a 1 b 2", "a [...] b [...]"));
    assert!(!is_as_expected("a b", "a"));
    assert!(!is_as_expected("ab", "a[...]c"));
    assert!(!is_as_expected("xa", "a[...]"));
}
