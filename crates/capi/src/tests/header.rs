//! The header is that of the sources, and the interface that it declares is that of the ABI listing.

use std::path::{Path, PathBuf};

use crate::HAMDEX_ABI_VERSION;

fn in_crate(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn is_blessing() -> bool {
    std::env::var_os("HAMDEX_BLESS").is_some()
}

fn generated_header() -> String {
    let config = cbindgen::Config::from_file(in_crate("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new().with_crate(in_crate("")).with_config(config).generate();
    let mut text = Vec::new();
    bindings.expect("the sources can be read").write(&mut text);
    let text = String::from_utf8(text).expect("a header in UTF-8");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn the_header_is_the_one_of_the_sources() {
    let (path, generated) = (in_crate("include/hamdex.h"), generated_header());
    if is_blessing() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        committed == generated,
        "include/hamdex.h is not that of the sources: HAMDEX_BLESS=1 writes it anew"
    );
}

#[test]
fn the_header_has_not_changed_incompatibly() {
    let path = in_crate("include/hamdex.abi");
    let header = listing(&std::fs::read_to_string(in_crate("include/hamdex.h")).unwrap());
    let version = format!("#define HAMDEX_ABI_VERSION {HAMDEX_ABI_VERSION}");
    assert!(header.contains(&version), "the header says no version");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let committed: Vec<String> = text.lines().map(str::to_owned).collect();
    match compare(&committed, &header) {
        Verdict::Same => {}
        Verdict::Compatible(_) | Verdict::NewVersion if is_blessing() => {
            std::fs::write(&path, header.join("\n") + "\n").unwrap();
        }
        Verdict::Compatible(added) => {
            panic!("HAMDEX_BLESS=1 adds these to include/hamdex.abi:\n{}", added.join("\n"));
        }
        Verdict::NewVersion => {
            panic!("HAMDEX_BLESS=1 writes include/hamdex.abi for the new HAMDEX_ABI_VERSION")
        }
        Verdict::Incompatible(gone) => panic!(
            "programs that were compiled with the header use these, which have changed or gone; keep them, or raise \
             HAMDEX_ABI_VERSION in src/lib.rs:\n{}",
            gone.join("\n")
        ),
    }
}

#[test]
fn the_example_header_shows_each_kind_of_incompatible_change() {
    let header = listing(&std::fs::read_to_string(in_crate("include/hamdex.h")).unwrap());
    let changed = |from: &str, to: &str| {
        let text = header.join("\n");
        assert!(text.contains(from), "{from}");
        compare(&header, &listing(&text.replace(from, to)))
    };
    let is_incompatible = |verdict: Verdict| matches!(verdict, Verdict::Incompatible(_));
    assert!(matches!(compare(&header, &header), Verdict::Same));
    // A function that is gone, an argument of another type, one argument less, another result.
    assert!(is_incompatible(changed("hamdex_set_close(", "hamdex_set_close_now(")));
    assert!(is_incompatible(changed(
        "uint32_t distance, uint64_t limit",
        "uint64_t distance, uint64_t limit"
    )));
    assert!(is_incompatible(changed("uint32_t distance, uint64_t limit", "uint32_t distance")));
    assert!(is_incompatible(changed("uint32_t hamdex_abi_version", "uint64_t hamdex_abi_version")));
    // A field that is gone, of another type, before another one, in between.
    assert!(is_incompatible(changed("uint64_t queries; uint64_t count;", "uint64_t count;")));
    assert!(is_incompatible(changed(
        "uint64_t queries; uint64_t count;",
        "uint64_t count; uint64_t queries;"
    )));
    assert!(is_incompatible(changed("uint64_t queries;", "uint32_t queries;")));
    assert!(is_incompatible(changed("uint64_t queries;", "uint64_t queries; uint64_t more;")));
    // A structure that says its size may get fields behind the others, and nowhere else.
    let last = "uint64_t ids_limit; } hamdex_work;";
    assert!(matches!(
        changed(last, "uint64_t ids_limit; uint64_t more; } hamdex_work;"),
        Verdict::Compatible(added) if added.len() == 1
    ));
    assert!(is_incompatible(changed(last, "uint64_t more; uint64_t ids_limit; } hamdex_work;")));
    assert!(is_incompatible(changed(
        "uint32_t reserved; } hamdex_matches;",
        "uint32_t reserved; uint64_t more; } hamdex_matches;"
    )));
    // A constant of another value; a callback with another argument.
    assert!(is_incompatible(changed("#define HAMDEX_DAMAGED 5", "#define HAMDEX_DAMAGED 6")));
    assert!(is_incompatible(changed("uint64_t done, uint64_t total)", "uint64_t done)")));
    // The same with another version is a new interface; a further function is none.
    assert!(matches!(
        changed("#define HAMDEX_ABI_VERSION 2", "#define HAMDEX_ABI_VERSION 3"),
        Verdict::NewVersion
    ));
    let more = [&header[..], &["hamdex_status hamdex_more(void);".to_owned()]].concat();
    assert!(
        matches!(compare(&header, &listing(&more.join("\n"))), Verdict::Compatible(added) if added.len() == 1)
    );
}

#[test]
fn every_function_says_its_errors_threads_and_ownership() {
    let header = std::fs::read_to_string(in_crate("include/hamdex.h")).unwrap();
    let functions: Vec<&str> =
        header.split("/**").filter(|part| part.contains("\nhamdex_status hamdex_")).collect();
    assert!(functions.len() > 20, "{}", functions.len());
    for function in functions {
        assert!(function.contains("hreads"), "{function}");
        assert!(function.contains("rrors:"), "{function}");
        let gives =
            function.contains("**set") || function.contains("**store") || function.contains("**matches");
        assert!(!gives || function.contains("Ownership"), "{function}");
    }
}

/// How an interface differs from an earlier one.
enum Verdict {
    Same,
    /// With further declarations.
    Compatible(Vec<String>),
    /// Of another version.
    NewVersion,
    /// Declarations have changed or are gone.
    Incompatible(Vec<String>),
}

/// The declarations of a header, one per line, sorted, in a form that comments and white space do not change.
fn listing(header: &str) -> Vec<String> {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    let mut declarations = Vec::new();
    let mut text = String::new();
    for line in code.lines() {
        let line = line.split_once("//").map_or(line, |(code, _)| code);
        match line.trim() {
            define if define.starts_with("#define HAMDEX_") => {
                let words: Vec<&str> = define.split_whitespace().collect();
                // The include guard has no value.
                if words.len() == 3 {
                    declarations.push(words.join(" "));
                }
            }
            directive if directive.starts_with('#') => {}
            line => {
                text.push_str(line);
                text.push(' ');
            }
        }
    }
    declarations.extend(statements(&text));
    declarations.sort();
    declarations.dedup();
    declarations
}

/// Declarations that end outside of braces; functions with a body are left out, since programs have them compiled in.
fn statements(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let (mut statement, mut depth) = (String::new(), 0);
    for character in text.chars() {
        statement.push(character);
        match character {
            // Only that of `extern "C"` is not closed on the way.
            '{' if statement.contains("extern \"C\"") => statement.clear(),
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth <= 0 && !statement.trim_start().starts_with("typedef") {
                    (depth, _) = (0, statement.clear());
                }
            }
            ';' if depth == 0 => {
                let words: Vec<&str> = statement.split_whitespace().collect();
                statements.push(words.join(" ").replace("( ", "(").replace(" )", ")"));
                statement.clear();
            }
            _ => {}
        }
    }
    statements
}

fn version(listing: &[String]) -> Option<&String> {
    listing.iter().find(|line| line.starts_with("#define HAMDEX_ABI_VERSION "))
}

/// Whether a structure that states its size has new fields behind its old ones. None of these structures ends with
/// padding, in which a field would not be seen by its size.
fn is_extension(earlier: &str, now: &str) -> bool {
    let Some((fields, name)) = earlier.rsplit_once("} ") else { return false };
    let says_size = fields.starts_with("typedef struct ") && fields.contains(" { size_t size; ");
    says_size && now.starts_with(fields) && now.ends_with(&format!("}} {name}"))
}

/// Compares an interface with an earlier one.
fn compare(earlier: &[String], now: &[String]) -> Verdict {
    if version(earlier) != version(now) {
        return Verdict::NewVersion;
    }
    let lacking = |of: &[String], from: &[String]| -> Vec<String> {
        of.iter().filter(|line| !from.contains(line)).cloned().collect()
    };
    let (mut gone, added) = (lacking(earlier, now), lacking(now, earlier));
    gone.retain(|line| !added.iter().any(|longer| is_extension(line, longer)));
    if !gone.is_empty() {
        Verdict::Incompatible(gone)
    } else if !added.is_empty() {
        Verdict::Compatible(added)
    } else {
        Verdict::Same
    }
}
