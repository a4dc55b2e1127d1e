//! Pipes, two processes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::common::Scratch;
use crate::store::{dumped, with_store};

/// A process that inserts what comes down its pipe.
struct Inserting {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Inserting {
    fn start(scratch: &Scratch, options: &[&str]) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("hamdex"))
            .args(["store", "insert", "s", "--acknowledge"])
            .args(options)
            .current_dir(scratch.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn write(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn each_record_of_a_pipe_is_acknowledged_before_the_next_is_sent() {
    let scratch = with_store(&[]);
    let mut inserting = Inserting::start(&scratch, &["--unless-near", "3"]);
    inserting.write("00000000000000ff 1\n");
    assert_eq!(inserting.line(), "acknowledged 1\n");
    inserting.write("00000000000001ff 2\n");
    let near = "{\"fingerprint\":\"00000000000001ff\",\"id\":2,\"near\":\"00000000000000ff\",\"distance\":1,\"ids\":[1]}\n";
    assert_eq!(inserting.line(), near);
    assert_eq!(inserting.line(), "acknowledged 2\n");
    inserting.end();
    assert_eq!(dumped(&scratch, "s"), "00000000000000ff\t1\n");
}

#[test]
fn while_one_process_writes_others_read_and_none_writes() {
    let scratch = with_store(&[]);
    let mut inserting = Inserting::start(&scratch, &[]);
    inserting.write("00000000000000ff 1\n");
    assert_eq!(inserting.line(), "acknowledged 1\n");
    // Acknowledged pairs are seen, and reading changes nothing.
    assert_eq!(scratch.output(&["query", "s", "0xff"]), "00000000000000ff\t00000000000000ff\t0\t1\n");
    assert_eq!(dumped(&scratch, "s"), "00000000000000ff\t1\n");
    scratch.output(&["verify", "s"]);
    scratch.output(&["pairs", "s"]);
    scratch.output(&["store", "stats", "s"]);
    let holder = format!("s: in use by process {} on ", inserting.child.id());
    let commands: [&[&str]; 3] = [&["insert", "s"], &["compact", "s"], &["repair", "s"]];
    for command in commands {
        let (code, text) = scratch.failure(&[&["store"], command].concat());
        assert!(text.contains(&holder), "{command:?}: {text}");
        assert_eq!(code, 1);
    }
    assert_eq!(scratch.names(), ["s"]);
    // A copy needs no lock.
    scratch.output(&["store", "backup", "s", "copy"]);
    assert_eq!(dumped(&scratch, "copy"), "00000000000000ff\t1\n");
    scratch.output(&["verify", "copy"]);
    inserting.end();
    scratch.output(&["store", "compact", "s"]);
}

#[test]
fn a_reader_of_acknowledgements_that_goes_is_an_error_that_says_what_was_inserted() {
    let scratch = with_store(&[]);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("hamdex"))
        .args(["store", "insert", "s", "--acknowledge"])
        .current_dir(scratch.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"00000000000000ff 1\n").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.ends_with("; 1 record inserted before that\n"), "{text}");
    assert_eq!(dumped(&scratch, "s"), "00000000000000ff\t1\n");
}
