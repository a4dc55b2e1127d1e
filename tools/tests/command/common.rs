//! Helpers of the command tests: a directory of their own and the command in it.

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), contents).unwrap();
        self.path(name)
    }

    /// The command, run in this directory.
    pub(crate) fn hamdex(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("hamdex").unwrap();
        command.current_dir(self.0.path()).args(args);
        command
    }

    /// Returns the output of the command, which succeeds.
    pub(crate) fn output(&self, args: &[&str]) -> String {
        let output = self.hamdex(args).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    }

    /// The one line with which the command fails, and its exit code.
    pub(crate) fn failure(&self, args: &[&str]) -> (i32, String) {
        let output = self.hamdex(args).assert().failure();
        let output = output.get_output();
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "one line: {text}");
        assert!(text.starts_with("hamdex: "), "{text}");
        (output.status.code().unwrap(), text)
    }

    /// Returns the output of the command, which fails with this exit code.
    pub(crate) fn output_before(&self, code: i32, args: &[&str]) -> String {
        let output = self.hamdex(args).assert().code(code);
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) const LINES: &str = "\
00000000000000ff
00000000000001ff
abcdef0123456789
ffffffffffffffff
00000000000000ff
";

/// A text of 120 words, each its own; the same for the same number.
pub(crate) fn story(number: u64) -> String {
    let word =
        |place: u64| format!("w{:x}", (number * 1000 + place).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
    (0..120).map(word).collect::<Vec<_>>().join(" ")
}

/// The same with one word changed.
pub(crate) fn altered(text: &str) -> String {
    text.replacen(' ', " altered ", 1)
}

/// A line of JSON Lines.
pub(crate) fn json_line(id: &str, text: &str) -> String {
    format!("{}\n", serde_json::json!({ "id": id, "text": text }))
}

/// A file of the data kept beside the project; `None`, and a message, where there is none.
pub(crate) fn shared_data(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no {name} in ../shared/data beside the project");
    None
}

/// A directory with an index in it.
pub(crate) fn with_index(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("in.txt", LINES);
    scratch.output(&[&["build", "-o", "index.hamdex", "in.txt"], options].concat());
    scratch
}

pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// CRC-32, a bit at a time.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}
