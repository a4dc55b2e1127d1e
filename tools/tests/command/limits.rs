//! Limits of the system: little address space.

use std::fmt::Write;
use std::process::{Command, Output};

use crate::common::Scratch;

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

#[cfg(target_os = "linux")]
#[test]
fn little_address_space_changes_no_byte_and_needs_no_word() {
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
    // A quarter of this limit is not enough to sort so many in memory: they go through temporary files.
    let bytes: Vec<u8> =
        (0..1_500_000u64).flat_map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    scratch.write("in.u64", bytes);
    let args = ["build", "--ids", "row", "--format", "u64le", "--design", "halves", "--threads", "1"];
    let named = |name| [&args[..], &["-o", name, "in.u64"]].concat();
    let output = within(&scratch, 110_000, &named("little.hamdex"));
    assert!(output.status.success(), "{output:?}");
    scratch.output(&named("free.hamdex"));
    let bytes = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    assert!(bytes("little.hamdex") == bytes("free.hamdex"));
}
