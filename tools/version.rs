//! The part of `hamdex --version` in brackets: the commit, if it is known, and the features.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=version.rs");
    println!("cargo::rerun-if-env-changed=HAMDEX_COMMIT");
    let parquet = if std::env::var_os("CARGO_FEATURE_PARQUET").is_some() { "with" } else { "without" };
    let features = format!("{parquet} Parquet and Arrow");
    let build = match commit() {
        Some(commit) => format!("{commit}, {features}"),
        None => features,
    };
    println!("cargo::rustc-env=HAMDEX_BUILD={build}");
}

/// Returns the commit from the environment, the packaged sources or git.
fn commit() -> Option<String> {
    let given = std::env::var("HAMDEX_COMMIT").ok().filter(|commit| !commit.is_empty());
    given.or_else(packaged).or_else(by_git)
}

/// Returns the commit that `cargo package` recorded.
fn packaged() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let sha = text.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    Some(sha.get(..12)?.to_owned())
}

/// Returns the commit that is checked out, for release builds only: a development build would be repeated after every
/// commit. Without git's log of HEAD there is none either, as cargo could not tell when it changes: a missing file
/// counts as changed in every build.
fn by_git() -> Option<String> {
    if std::env::var("PROFILE").ok()? != "release" || !Path::new("../.git").exists() {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists())?;
    println!("cargo::rerun-if-changed={log}");
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
