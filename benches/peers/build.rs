//! Tells the program which compiler made it: figures are worth little without.

use std::env;
use std::process::Command;

fn main() {
    let compiler = env::var_os("RUSTC").expect("cargo sets it");
    let output = Command::new(compiler).arg("--version").output().expect("the compiler has just been used");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=RUSTC_VERSION={}", version.trim());
    println!("cargo::rerun-if-changed=build.rs");
}
