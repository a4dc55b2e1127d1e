//! Programs in C, Go and Python use the library as it is installed.
#![cfg(unix)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Installed, both, built, has, in_crate, run};

/// The lines that the example prints in every language.
const EXPECTED: &str = "\
3 fingerprints of 64 bits
query 0: id 17 at 0 id 18 at 1
query 0: id 17 at 0
query 1: id 18 at 0
query 2: id 19 at 0
pair: 0123456789abcdee 0123456789abcdef, 1 apart
pairs: status 10 after 1 call
inserted 1
query 0:
query 1: id 1 at 1
removed 1
missing: status 7, system 2
";

/// The programs in C, and the lines that each prints.
const PROGRAMS: [(&str, &str); 2] = [
    ("near", EXPECTED),
    (
        "similar",
        "\
inserted 2
query 0:
query 1: whale 0.80
query 2:
query 0: whale 0.67
status 1: the least similarity cannot be 1.5: above 0 and at most 1
status 2: the shingles do not ascend, or exceed 48 bits
",
    ),
];

fn has_c() -> bool {
    has("cc", &["--version"]) && has("pkg-config", &["--version"])
}

/// Runs an example in a directory of its own.
fn prints(command: &mut Command, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(command.arg(directory.path())), expected);
}

/// The source of a program in C.
fn example(name: &str) -> PathBuf {
    in_crate(&format!("examples/{name}.c"))
}

#[test]
fn a_program_in_c_compiles_without_warnings_and_runs() {
    if !has_c() {
        return;
    }
    let installed = Installed::new();
    for (name, expected) in PROGRAMS {
        let program = installed.compile(&example(name), name, &[]);
        prints(&mut installed.command(&program), expected);
    }
    // With all of it in the program, which then needs no shared library.
    let mut linked = installed.flags(&["--cflags", "--libs", "--static"]);
    linked.iter_mut().filter(|flag| *flag == "-lhamdex").for_each(|flag| "-l:libhamdex.a".clone_into(flag));
    let program = installed.prefix.path().join("static");
    run(installed.command("cc").arg(example("near")).args(linked).arg("-o").arg(&program));
    prints(&mut Command::new(&program), EXPECTED);
}

#[test]
fn a_program_in_c_has_no_errors_of_memory() {
    if !has_c() {
        return;
    }
    let installed = Installed::new();
    let empty = installed.prefix.path().join("empty.c");
    std::fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let sanitize = "-fsanitize=address,undefined";
    let mut try_it = Command::new("cc");
    try_it.args([sanitize, "-o"]).arg(installed.prefix.path().join("empty")).arg(&empty);
    if try_it.output().is_ok_and(|output| output.status.success()) {
        for (name, expected) in PROGRAMS {
            let flags = [sanitize, "-fno-sanitize-recover=all"];
            let program = installed.compile(&example(name), &format!("{name}-sanitized"), &flags);
            prints(&mut installed.command(&program), expected);
        }
        // The sanitizer sees errors across the border: freed memory of the library that a program reads.
        let wrong = installed.prefix.path().join("wrong.c");
        std::fs::write(&wrong, READS_FREED_MEMORY).unwrap();
        let program = installed.compile(&wrong, "wrong", &[sanitize]);
        let path = installed.prefix.path().join("wrong.hamdex");
        let output = installed.command(&program).arg(path).output().unwrap();
        assert!(both(&output).contains("AddressSanitizer: heap-use-after-free"), "{}", both(&output));
    } else {
        eprintln!("no AddressSanitizer: left out");
    }
    if has("valgrind", &["--version"]) {
        let suppressions = format!("--suppressions={}", in_crate("tests/valgrind.supp").display());
        // Threads that run when the program ends are "possible" leaks.
        let kinds = "definite,indirect";
        let leaks = [format!("--show-leak-kinds={kinds}"), format!("--errors-for-leak-kinds={kinds}")];
        let options = ["--quiet", "--error-exitcode=9", "--leak-check=full", suppressions.as_str()];
        for (name, expected) in PROGRAMS {
            let program = installed.compile(&example(name), name, &[]);
            prints(installed.command("valgrind").args(options).args(&leaks).arg(&program), expected);
        }
    }
}

/// A program that reads matches after it has freed them.
const READS_FREED_MEMORY: &str = r#"
#include <hamdex.h>
#include <string.h>
int main(int count, char **arguments)
{
    uint8_t bytes[8] = {0};
    const char *path = arguments[count - 1];
    size_t length = strlen(path);
    hamdex_records records = {.size = sizeof records, .count = 1, .fingerprints = bytes, .fingerprint_bytes = 8};
    hamdex_set *set;
    const hamdex_matches *matches;
    if (hamdex_build(path, length, &records, NULL, NULL, NULL) || hamdex_open(path, length, 0, &set, NULL)
        || hamdex_set_batch(set, bytes, 8, 1, 3, 0, 0, NULL, &matches, NULL)) {
        return 1;
    }
    const uint32_t *distances = matches->distances;
    hamdex_matches_free(matches);
    return (int)distances[0];
}
"#;

#[test]
fn the_program_of_the_guide_does_what_the_guide_says() {
    let guide = in_crate("../../docs/c.md");
    if !guide.exists() || !has_c() {
        return;
    }
    let guide = std::fs::read_to_string(guide).unwrap();
    let block = |kind: &str| {
        let (_, after) = guide.split_once(&format!("```{kind}\n")).expect("the guide has such a block");
        after.split_once("\n```").expect("it ends").0.to_owned() + "\n"
    };
    let installed = Installed::new();
    let source = installed.prefix.path().join("guide.c");
    std::fs::write(&source, block("c")).unwrap();
    let program = installed.compile(&source, "guide", &[]);
    let directory = tempfile::tempdir().unwrap();
    let printed = run(installed.command(&program).current_dir(directory.path()));
    assert_eq!(printed, block("text"));
    // A second time, the file is there.
    assert!(!installed.command(&program).current_dir(directory.path()).status().unwrap().success());
}

#[test]
fn the_header_is_one_for_cplusplus() {
    if has("c++", &["--version"]) {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("twice.cpp");
        std::fs::write(
            &source,
            "#include <hamdex.h>\n#include <hamdex.h>\nint main() { return hamdex_version() == nullptr; }\n",
        )
        .unwrap();
        let flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"];
        run(Command::new("c++").args(flags).arg(in_crate("include")).arg(source));
    }
}

#[test]
fn a_program_in_go_runs() {
    if !has_c() || !has("go", &["version"]) {
        return;
    }
    let installed = Installed::new();
    let program = installed.prefix.path().join("near-go");
    let mut build = installed.command("go");
    build.current_dir(in_crate("examples/go")).env("GOCACHE", installed.prefix.path().join("cache"));
    run(build.args(["build", "-o"]).arg(&program).arg("."));
    prints(&mut installed.command(&program), EXPECTED);
}

#[test]
fn a_program_in_python_runs() {
    if has("python3", &["--version"]) {
        let installed = Installed::new();
        let mut python = installed.command("python3");
        python.env("HAMDEX_LIBRARY", installed.lib().join("libhamdex.so"));
        prints(python.arg(in_crate("examples/near.py")), EXPECTED);
    }
}

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let listing = std::fs::read_to_string(in_crate("include/hamdex.abi")).unwrap();
    let functions = listing.lines().filter(|line| !line.starts_with("typedef") && !line.starts_with('#'));
    let name = |line: &str| {
        let before = line.split('(').next().unwrap_or_default();
        before.rsplit([' ', '*']).next().unwrap_or_default().to_owned()
    };
    functions.map(name).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn the_library_exports_the_functions_of_the_header_and_no_others() {
    if !has("nm", &["--version"]) || !has("readelf", &["--version"]) {
        return;
    }
    let library = built().join("libhamdex.so");
    let symbols = run(Command::new("nm").args(["--dynamic", "--defined-only"]).arg(&library));
    let exported: BTreeSet<String> =
        symbols.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect();
    assert!(declared().len() > 25);
    assert_eq!(exported, declared());
    let named = run(Command::new("readelf").arg("--dynamic").arg(&library));
    assert!(named.contains("soname: [libhamdex.so.2]"), "{named}");
}

#[test]
fn what_is_installed_is_found_by_pkg_config() {
    if !has_c() {
        return;
    }
    let installed = Installed::new();
    let version = run(installed.command("pkg-config").args(["--modversion", "hamdex"]));
    assert_eq!(version.trim(), env!("CARGO_PKG_VERSION"));
    let link = std::fs::read_link(installed.lib().join("libhamdex.so")).unwrap();
    assert_eq!(link, Path::new("libhamdex.so.2"));
    // Under a directory that is packed later, the paths are those of the prefix.
    let staged = tempfile::tempdir().unwrap();
    let mut install = Command::new(in_crate("install"));
    run(install.args(["--prefix", "/usr", "--destdir"]).arg(staged.path()).arg("--no-build").arg(built()));
    let text = std::fs::read_to_string(staged.path().join("usr/lib/pkgconfig/hamdex.pc")).unwrap();
    assert!(text.starts_with("prefix=/usr\n"), "{text}");
}
