//! A build that is killed leaves nothing, or a whole file, whatever the moment.
//!
//! In a separate test binary, since it starts its own executable again and kills it.
#![cfg(unix)]

mod common;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Numbers, Scratch};
use hamdex::{BuildOptions, Builder, Design, Index};

/// Set in a child process: the file that it is to build.
const TARGET: &str = "HAMDEX_TEST_CRASH_TARGET";

/// Fingerprints that identify the builder of a file.
const PARENT: u64 = 0x01d0_01d0_01d0_01d0;
const CHILD: u64 = 0xc0de_c0de_c0de_c0de;

fn build(target: &Path, who: u64, count: u64, overwrite: bool) {
    let options = BuildOptions::new()
        .design(Design::named("halves", 3).unwrap())
        .temp_dir(target.parent().unwrap().with_file_name("temporary"))
        .overwrite(overwrite)
        .ids(true)
        .threads(1);
    let mut builder = Builder::<u64>::with_options(target, options).unwrap();
    let mut numbers = Numbers(who);
    builder.push_with_id(who, 0).unwrap();
    (0..count).try_for_each(|id| builder.push_with_id(numbers.word(), id)).unwrap();
    builder.finish().unwrap();
}

/// The moment at which a build is killed.
struct Scene {
    scratch: Scratch,
    target: PathBuf,
}

/// The files left by a killed build.
struct Left {
    /// The builder of the target, which is complete if it exists.
    built_by: Option<u64>,
    /// Other names in its directory.
    others: Vec<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("temporary")).unwrap();
        fs::create_dir(scratch.path("output")).unwrap();
        let target = scratch.path("output").join("index.hamdex");
        Self { scratch, target }
    }

    /// Starts this very program again, to run one test as a child.
    fn start(&self, test: &str) -> Killed {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(TARGET, &self.target)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Killed(child.unwrap())
    }

    /// Inspects the remaining files, all of which must be complete.
    fn left(&self) -> Left {
        let temporary = fs::read_dir(self.scratch.path("temporary")).unwrap();
        assert_eq!(temporary.count(), 0, "temporary files have no names");
        let output = fs::read_dir(self.target.parent().unwrap()).unwrap();
        let (found, others): (Vec<PathBuf>, Vec<PathBuf>) =
            output.map(|entry| entry.unwrap().path()).partition(|path| *path == self.target);
        Left { built_by: found.first().map(|path| builder_of(path)), others }
    }
}

/// Returns the builder of a file, which must be complete.
fn builder_of(path: &Path) -> u64 {
    let index = Index::<u64>::open(path).unwrap();
    index.verify().unwrap();
    let (child, parent) = (index.contains(CHILD).unwrap(), index.contains(PARENT).unwrap());
    assert!(child != parent);
    if child { CHILD } else { PARENT }
}

/// A child that does not outlive its test.
struct Killed(Child);

impl Killed {
    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn kill(mut self) {
        assert!(self.is_alive(), "a child builds, or waits, until it is killed");
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// As a child: waits to be killed, but no longer than its parent lives.
fn wait() {
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_killed_build_leaves_nothing_or_a_whole_file() {
    if let Some(target) = std::env::var_os(TARGET) {
        build(Path::new(&target), CHILD, 60_000, false);
        return wait();
    }
    for step in 0..24 {
        let scene = Scene::new();
        let child = scene.start("a_killed_build_leaves_nothing_or_a_whole_file");
        std::thread::sleep(Duration::from_millis(step * 7));
        child.kill();
        let left = scene.left();
        assert!(left.built_by.is_none_or(|who| who == CHILD));
        if cfg!(target_os = "linux") {
            assert_eq!(left.others, [""; 0].map(PathBuf::from));
        }
    }
    // The moment at which it gets its name.
    for _ in 0..8 {
        let scene = Scene::new();
        let mut child = scene.start("a_killed_build_leaves_nothing_or_a_whole_file");
        while !scene.target.exists() {
            assert!(child.is_alive(), "a child builds until it has built");
        }
        child.kill();
        let left = scene.left();
        assert_eq!((left.built_by, left.others.len()), (Some(CHILD), 0));
    }
}

#[test]
fn a_killed_replacement_leaves_the_old_file_or_the_new_one_whole() {
    if let Some(target) = std::env::var_os(TARGET) {
        // Small builds follow the first one fast, so that many moments lie near a replacement.
        build(Path::new(&target), CHILD, 30_000, true);
        while Path::new(&target).exists() {
            build(Path::new(&target), CHILD, 100, true);
        }
        return;
    }
    let mut replaced = 0;
    for step in 0..40 {
        let scene = Scene::new();
        build(&scene.target, PARENT, 200, true);
        let old = fs::read(&scene.target).unwrap();
        let mut child = scene.start("a_killed_replacement_leaves_the_old_file_or_the_new_one_whole");
        while step % 2 == 1 && fs::read(&scene.target).unwrap() == old {
            assert!(child.is_alive(), "a child builds until it is killed");
        }
        std::thread::sleep(Duration::from_millis(step));
        child.kill();
        let left = scene.left();
        replaced += usize::from(left.built_by == Some(CHILD));
        assert!(left.built_by.is_some(), "there is one at any moment");
        assert!(step % 2 == 0 || left.built_by == Some(CHILD));
        assert!(left.built_by == Some(CHILD) || fs::read(&scene.target).unwrap() == old);
        // On its way to replace another, a file has a second name for an instant: it is whole then.
        if cfg!(target_os = "linux") {
            assert!(left.others.len() <= 1, "{:?}", left.others);
            left.others.iter().for_each(|path| assert_eq!(builder_of(path), CHILD));
        }
    }
    assert!(replaced >= 20);
}
