//! The library as it is installed, and the programs that use it.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of the crate.
pub(crate) fn in_crate(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a program that has to succeed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, both(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// Everything that a program has written.
pub(crate) fn both(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Whether a program is there. The gate leaves out what it lacks; with `HAMDEX_CALLERS=all`, as before a release, all
/// have to be there.
pub(crate) fn has(program: &str, arguments: &[&str]) -> bool {
    let is_there = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("no {program}: what needs it is left out");
        assert!(
            std::env::var("HAMDEX_CALLERS").as_deref() != Ok("all"),
            "HAMDEX_CALLERS=all, and no {program}"
        );
    }
    is_there
}

/// The folder of the library, built in the profile of the tests. Cargo builds no shared library for them by itself.
pub(crate) fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let profile = std::env::current_exe().expect("a test has a file");
        let profile = profile.parent().and_then(Path::parent).expect("it lies in target/PROFILE/deps");
        let target = profile.parent().expect("it lies in target/PROFILE/deps");
        let name = if profile.ends_with("release") { "release" } else { "dev" };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--profile", name, "-p", "hamdex-capi", "--lib", "--target-dir"]);
        build.arg(target).current_dir(in_crate(""));
        if name == "dev" {
            // With the features of the gate's tests, so that the engine is not compiled again: those of development
            // count if a test is built too. A release has the features of a release.
            build.args(["-p", "hamdex-test-features", "--test", "callers"]);
        }
        run(&mut build);
        profile.to_owned()
    })
}

/// The library, installed under a prefix.
pub(crate) struct Installed {
    pub(crate) prefix: tempfile::TempDir,
}

impl Installed {
    pub(crate) fn new() -> Self {
        let prefix = tempfile::tempdir().unwrap();
        run(Command::new(in_crate("install"))
            .arg("--prefix")
            .arg(prefix.path())
            .arg("--no-build")
            .arg(built()));
        Self { prefix }
    }

    pub(crate) fn lib(&self) -> PathBuf {
        self.prefix.path().join("lib")
    }

    /// A command that finds the library.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.lib()).env("PKG_CONFIG_PATH", self.lib().join("pkgconfig"));
        command
    }

    /// The flags that pkg-config says.
    pub(crate) fn flags(&self, arguments: &[&str]) -> Vec<String> {
        let flags = run(self.command("pkg-config").args(arguments).arg("hamdex"));
        flags.split_whitespace().map(str::to_owned).collect()
    }

    /// Compiles a program in C, with all warnings as errors.
    pub(crate) fn compile(&self, source: &Path, output: &str, flags: &[&str]) -> PathBuf {
        let output = self.prefix.path().join(output);
        let strict = ["-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wstrict-prototypes"];
        let linked = self.flags(&["--cflags", "--libs"]);
        run(self.command("cc").args(strict).args(flags).arg(source).args(linked).arg("-o").arg(&output));
        output
    }
}
