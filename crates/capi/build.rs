//! Gives the shared library the name under which programs look for it: it changes with the ABI.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lib.rs");
    let source = std::fs::read_to_string("src/lib.rs").expect("the version of the ABI");
    let version = source
        .lines()
        .find_map(|line| line.strip_prefix("pub const HAMDEX_ABI_VERSION: u32 = ")?.strip_suffix(';'))
        .expect("src/lib.rs says the version of the ABI");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libhamdex.{version}.dylib");
        }
        Ok("windows") => {}
        _ => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhamdex.so.{version}"),
    }
}
