//! The scripts that run the command from a clone: `tools/build` and `tools/dump`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::Scratch;

const SCRIPTS: [&str; 2] = ["build", "dump"];

/// A `cargo` that prints each of its arguments on a line, and exits with 7.
const STUB: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 7\n";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Runs a script in `directory`, with the stub in place of cargo.
fn run(name: &str, directory: &Scratch, args: &[&str]) -> Output {
    let stub = directory.write("cargo", STUB);
    fs::set_permissions(&stub, Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", directory.path("").display());
    Command::new(script(name)).args(args).current_dir(directory.path("")).env("PATH", path).output().unwrap()
}

fn lines(output: &Output) -> Vec<&str> {
    std::str::from_utf8(&output.stdout).unwrap().lines().collect()
}

#[test]
fn scripts_are_executable() {
    for name in SCRIPTS {
        let mode = fs::metadata(script(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name}: {mode:o}");
    }
}

#[test]
fn scripts_run_their_subcommand_with_all_arguments() {
    let args = ["--codec", "elias-fano", "-o", "two words.hamdex", "", "*", "--", "-"];
    for name in SCRIPTS {
        let scratch = Scratch::new();
        let output = run(name, &scratch, &args);
        assert_eq!(output.status.code(), Some(7), "the exit code of the command: {output:?}");
        let printed = lines(&output);
        let end = printed.iter().position(|line| *line == "--").expect("cargo's own options come first");
        let (of_cargo, of_hamdex) = (&printed[..end], &printed[end + 1..]);
        assert_eq!(of_hamdex, [&[name], &args[..]].concat(), "{name}");
        assert_eq!(of_cargo[0], "run", "{name}");
        assert!(of_cargo.contains(&"--release"), "{name}: {of_cargo:?}");
        assert!(
            of_cargo.windows(2).any(|pair| pair == ["--package", "hamdex-tools"]),
            "{name}: {of_cargo:?}"
        );
        // Whatever the current directory is.
        let manifest = of_cargo.windows(2).find(|pair| pair[0] == "--manifest-path").expect("a manifest")[1];
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(fs::canonicalize(manifest).unwrap(), clone.canonicalize().unwrap().join("Cargo.toml"));
    }
}

/// `cargo run` from a clone, as the README has it, names no program.
#[test]
fn the_program_that_cargo_runs_from_a_clone_is_hamdex() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo describes it");
    let defaults = metadata["workspace_default_members"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let run: Vec<&str> = packages
        .filter(|package| defaults.contains(&package["id"]))
        .filter_map(|package| package["default_run"].as_str())
        .collect();
    assert_eq!(run, ["hamdex"]);
}
