//! Limits of the system: little address space, and so no room for threads.

use std::fmt::Write;
use std::process::{Command, Output};

use crate::common::{Scratch, json_line, story};

/// Runs the command in a shell that has limited its address space.
fn within(scratch: &Scratch, address_space_kib: u32, args: &[&str]) -> Output {
    Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {address_space_kib}; exec \"$0\" \"$@\""))
        .arg(scratch.hamdex(args).get_program())
        .args(args)
        .current_dir(scratch.path(""))
        .output()
        .unwrap()
}

/// Address space, in KiB, in which the program starts, and has no room beside it. It grows, so that is found out.
#[cfg(target_os = "linux")]
fn hardly_starts(scratch: &Scratch) -> u32 {
    let (mut too_little, mut starts) = (10_000_u32, 400_000);
    while starts - too_little > 500 {
        let middle = too_little.midpoint(starts);
        if within(scratch, middle, &["--version"]).status.success() {
            starts = middle;
        } else {
            too_little = middle;
        }
    }
    starts
}

/// Address space, in KiB, in which a build beside the program itself has hardly more room than the 56 MiB that it takes
/// at least.
#[cfg(target_os = "linux")]
fn hardly_enough(scratch: &Scratch) -> u32 {
    const ROOM_KIB: u32 = 64_500;
    hardly_starts(scratch) + ROOM_KIB
}

#[cfg(target_os = "linux")]
#[test]
fn little_address_space_changes_no_byte_and_is_no_error() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    (0..60_000u64).for_each(|i| writeln!(lines, "{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap());
    scratch.write("in.txt", lines);
    scratch.output(&["build", "--ids", "row", "-o", "free.hamdex", "in.txt"]);
    for limit in [500_000, 200_000] {
        let name = format!("{limit}.hamdex");
        let args = ["build", "--ids", "row", "--threads", "2", "-o", &name, "in.txt"];
        let output = within(&scratch, limit, &args);
        assert!(output.status.success(), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("memory"), "{output:?}");
        let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
        assert!(bytes(&name) == bytes("free.hamdex"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_lowers_the_memory_that_is_used_by_default() {
    let scratch = Scratch::new();
    // A quarter of this limit is not enough to sort all of them in memory: they go through temporary files.
    let bytes: Vec<u8> =
        (0..1_500_000u64).flat_map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    scratch.write("in.u64", bytes);
    let args = ["build", "--ids", "row", "--format", "u64le", "--design", "halves", "--threads", "1"];
    let named = |name| [&args[..], &["-o", name, "in.u64"]].concat();
    let output = within(&scratch, hardly_enough(&scratch), &named("little.hamdex"));
    assert!(output.status.success(), "{output:?}");
    scratch.output(&named("free.hamdex"));
    let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    assert!(bytes("little.hamdex") == bytes("free.hamdex"));
}

/// Half a million fingerprints, as a file of them: `in.u64`.
#[cfg(target_os = "linux")]
fn with_fingerprints() -> Scratch {
    let scratch = Scratch::new();
    let bytes: Vec<u8> =
        (0..500_000u64).flat_map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    scratch.write("in.u64", bytes);
    scratch
}

#[cfg(target_os = "linux")]
#[test]
fn threads_without_address_space_are_done_without() {
    let scratch = with_fingerprints();
    scratch.output(&["build", "--design", "halves", "-o", "free.hamdex", "in.u64"]);
    let free = std::fs::read(scratch.path("free.hamdex")).unwrap();
    for limit in [hardly_enough(&scratch), 200_000, 400_000] {
        for threads in ["0", "8", "64", "1024"] {
            let args = [
                "build",
                "--design",
                "halves",
                "--threads",
                threads,
                "--force",
                "-o",
                "out.hamdex",
                "in.u64",
            ];
            let output = within(&scratch, limit, &args);
            assert!(output.status.success(), "{limit}, {threads}: {output:?}");
            assert!(std::fs::read(scratch.path("out.hamdex")).unwrap() == free, "{limit}, {threads}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn little_address_space_changes_no_answer() {
    let scratch = with_fingerprints();
    scratch.output(&["build", "--design", "halves", "-o", "index.hamdex", "in.u64"]);
    let queries: Vec<u8> = std::fs::read(scratch.path("in.u64")).unwrap()[..400_000].to_vec();
    scratch.write("queries.u64", queries);
    let documents: String = (0..400).map(|n| json_line(&n.to_string(), &story(n / 2))).collect();
    scratch.write("documents.jsonl", documents);
    let commands: [&[&str]; 4] = [
        &["pairs", "index.hamdex"],
        &["query", "index.hamdex", "--file", "queries.u64"],
        &["verify", "index.hamdex", "--json"],
        &["dedup", "documents.jsonl", "--json"],
    ];
    // For what a self-join takes beside the program, which grows.
    let little = hardly_starts(&scratch) + 115_000;
    for args in commands {
        let free = scratch.output(args);
        for limit in [little, 300_000] {
            for threads in ["0", "8", "64"] {
                let output = within(&scratch, limit, &[args, &["--threads", threads]].concat());
                assert!(output.status.success(), "{args:?}, {limit}, {threads}: {output:?}");
                assert!(output.stdout == free.as_bytes(), "{args:?}, {limit}, {threads}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn whatever_address_space_there_is_a_failed_allocation_ends_no_work() {
    let scratch = with_fingerprints();
    scratch.output(&["build", "--design", "halves", "-o", "index.hamdex", "in.u64"]);
    scratch.write("queries.u64", &std::fs::read(scratch.path("in.u64")).unwrap()[..800_000]);
    let commands: [&[&str]; 3] = [
        &["build", "--threads", "8", "--force", "-o", "none.hamdex", "in.u64"],
        &["pairs", "index.hamdex"],
        &["query", "index.hamdex", "--file", "queries.u64"],
    ];
    let starts = hardly_starts(&scratch);
    for args in commands {
        let free = scratch.output(args);
        let built = scratch.path("none.hamdex");
        let whole = built.exists().then(|| std::fs::read(&built).unwrap());
        // Up to room for several threads, and so for any amount of memory that a batch may take for itself.
        for limit in (0..16).map(|step| starts + 6_000 + step * 30_011) {
            let output = within(&scratch, limit, args);
            let text = String::from_utf8(output.stderr).unwrap();
            match output.status.code() {
                Some(0) => {
                    assert!(output.stdout == free.as_bytes(), "{args:?}, {limit}");
                    let left = built.exists().then(|| std::fs::read(&built).unwrap());
                    assert!(left == whole, "{args:?}, {limit}");
                }
                Some(1) => assert!(text.lines().last().unwrap().contains("memory"), "{args:?}: {text}"),
                _ => panic!("{args:?}, {limit}: {:?}, {text}", output.status),
            }
        }
    }
    assert_eq!(scratch.names(), ["in.u64", "index.hamdex", "none.hamdex", "queries.u64"]);
}
