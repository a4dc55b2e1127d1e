//! The command on a terminal, tried on a pseudo-terminal.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::common::{Scratch, with_index};

/// Ends what is typed.
const CTRL_D: &str = "\u{4}";

/// Runs the command with a terminal as standard input, on which this is typed.
fn typed(scratch: &Scratch, args: &[&str], text: &str) -> Output {
    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, Vec::new()).unwrap();
    let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let child = Command::new(assert_cmd::cargo::cargo_bin!("hamdex"))
        .args(args)
        .current_dir(scratch.path(""))
        .stdin(terminal)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keyboard = File::from(keyboard);
    keyboard.write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(keyboard);
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn one_end_of_input_ends_it_and_a_word_says_that_it_waits() {
    let scratch = with_index(&[]);
    // Input after the first end would be read by a command that reads on.
    let keys = format!("00000000000000ff\n{CTRL_D}ffffffffffffffff\n{CTRL_D}");
    let queried = typed(&scratch, &["query", "index.hamdex", "--file", "-", "-k", "0"], &keys);
    assert_eq!(text(&queried.stdout), "00000000000000ff\t00000000000000ff\t0\n");
    assert_eq!(text(&queried.stderr), "hamdex: reading from the terminal; end with Ctrl-D\n");

    let built = typed(&scratch, &["build", "-o", "typed.hamdex"], &keys);
    assert!(built.status.success());
    assert!(text(&built.stderr).starts_with("hamdex: reading from the terminal; end with Ctrl-D\n"));
    assert_eq!(scratch.output(&["dump", "typed.hamdex", "--fingerprints"]), "00000000000000ff\n");
}

#[test]
fn documents_end_with_one_end_too() {
    let scratch = Scratch::new();
    let keys = format!("a {}\n{CTRL_D}b second\n{CTRL_D}", crate::common::story(1));
    let output = typed(&scratch, &["fingerprint", "-"], &keys);
    assert_eq!(text(&output.stdout).lines().count(), 1);
    let error = text(&output.stderr);
    assert!(error.starts_with("hamdex: reading from the terminal; end with Ctrl-D\n"), "{error}");
    assert!(error.contains("hamdex: 1 document"), "{error}");
}

#[test]
fn a_document_that_is_typed_is_waited_for_with_a_word() {
    let scratch = Scratch::new();
    let story = crate::common::story(1);
    scratch.write("in.jsonl", crate::common::json_line("one", &story));
    scratch.output(&["build", "-o", "x.hamdex", "--documents", "in.jsonl"]);
    // A terminal takes lines of less than 4,096 bytes.
    let queried = typed(&scratch, &["query", "x.hamdex", "--document", "-"], &format!("{story}\n{CTRL_D}"));
    assert_eq!(text(&queried.stderr), "hamdex: reading from the terminal; end with Ctrl-D\n");
    assert!(text(&queried.stdout).ends_with("\t0\tone\n"));
}

#[test]
fn a_bare_command_shows_its_help_instead_of_waiting() {
    let scratch = Scratch::new();
    for command in ["dedup", "fingerprint"] {
        let output = typed(&scratch, &[command], "");
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(text(&output.stderr).contains(&format!("Usage: hamdex {command}")), "{command}");
    }
}

/// Runs the command with a terminal as standard error, and returns its outcome and what the terminal shows.
fn shown(scratch: &Scratch, args: &[&str]) -> (Output, String) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("hamdex"));
    command.args(args).current_dir(scratch.path("")).stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.stderr(terminal).env("TERM", "xterm").spawn().unwrap();
    // The terminal is closed here, so that reading ends with the process.
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A terminal that is closed by its last writer is an error to read.
        let _ = File::from(screen).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    (child.wait_with_output().unwrap(), reader.join().unwrap())
}

#[test]
fn maintenance_of_a_store_shows_its_progress_on_a_terminal_only() {
    let scratch = with_index(&["--ids", "row"]);
    scratch.output(&["store", "create", "a.store"]);
    let (output, screen) = shown(&scratch, &["store", "ingest", "a.store", "index.hamdex"]);
    assert!(output.status.success(), "{screen}");
    let phases = ["Copying ", "Verifying blocks"];
    assert!(phases.iter().any(|phase| screen.contains(phase)), "{screen:?}");
    scratch.write("gone.txt", "00000000000001ff\t1\n");
    scratch.output(&["store", "remove", "a.store", "gone.txt"]);
    let (output, screen) = shown(&scratch, &["store", "purge", "a.store"]);
    assert!(output.status.success(), "{screen}");
    // A bar is drawn some twenty times a second, so a phase may be over before.
    let phases = ["Sorting table ", "Writing table "];
    assert!(phases.iter().any(|phase| screen.contains(phase)), "{screen:?}");
    let piped = scratch.hamdex(&["store", "ingest", "a.store", "index.hamdex"]).assert().success();
    assert_eq!(text(&piped.get_output().stderr), "hamdex: a.store: 1 file added\n");
}
