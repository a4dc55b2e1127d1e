//! The rules of ARCHITECTURE.md about modules, checked against the code: no import cycles, no layer that imports from one
//! above it, and one module that divides work among threads.
//!
//! - [`modules`]: the files of a crate and the names that each takes from the others
//! - [`circles`]: files that import each other in a loop

mod circles;
mod modules;

use std::path::{Path, PathBuf};

use modules::Modules;

/// The source folder of each crate, from the root of the project.
const CRATES: &[&str] = &[
    "src",
    "crates/*/src",
    "tools/src",
    "benches/peers/src",
    "benches/similarity/src",
    "tests/simulated-disk/src",
];

/// The layers of the engine, the lowest first. Each may import from those above it in this list, but for what
/// [`APART`] says.
const LAYERS: &[&str] = &[
    "bits",
    "widths",
    "progress",
    "sorted_union",
    "category",
    "memory",
    "threads",
    "sorting",
    "mapping",
    "metadata",
    "digest",
    "arch",
    "permutation",
    "codec",
    "filter_bits",
    "design",
    "error",
    "format",
    "lookup",
    "ids",
    "names",
    "table",
    "shingles",
    "writer",
    "index",
    "inspect",
    "verify",
    "batch",
    "join",
    "multi",
    "merge",
    "salvage",
    "set",
];

/// Layers that know nothing of each other, though one comes before the other in the list.
const APART: &[(&str, &str)] =
    &[("codec", "permutation"), ("ids", "design"), ("table", "ids"), ("index", "writer"), ("join", "batch")];

fn crates() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for pattern in CRATES {
        match pattern.split_once('*') {
            None => found.push(root.join(pattern)),
            Some((before, after)) => {
                let folders = std::fs::read_dir(root.join(before)).expect("the folder of the crates");
                found.extend(folders.map(|folder| {
                    folder.expect("a crate's folder").path().join(after.trim_start_matches('/'))
                }));
            }
        }
    }
    // The published package of the engine has no other crates next to it.
    found.retain(|folder| folder.is_dir());
    found.sort();
    found
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut report = String::new();
    for folder in crates() {
        let modules = Modules::read(&folder);
        for circle in circles::find(&modules) {
            report += &format!("{}:\n{circle}", folder.display());
        }
    }
    assert!(report.is_empty(), "import circles:\n{report}");
}

#[test]
fn each_layer_of_the_engine_knows_only_those_below_it() {
    let modules = Modules::read(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src"));
    let height = |layer: &str| {
        LAYERS.iter().position(|name| *name == layer).unwrap_or_else(|| panic!("src/{layer} is no layer yet"))
    };
    let mut wrong = Vec::new();
    for (from, to, names) in modules.imports() {
        let (Some(upper), Some(lower)) = (modules.layer(from), modules.layer(to)) else { continue };
        if height(upper) < height(lower) || APART.contains(&(upper, lower)) {
            wrong.push(format!("{} imports {names:?} from {}", modules.name(from), modules.name(to)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_crate_that_is_published_has_both_licences() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    // The published package of the engine has no other crates next to it.
    let crates = std::fs::read_dir(root.join("crates")).into_iter().flatten();
    for folder in crates.map(|folder| folder.expect("a crate's folder").path()).chain([root.join("tools")]) {
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let text = |folder: &Path| std::fs::read_to_string(folder.join(name)).ok();
            assert!(!folder.is_dir() || text(&folder) == text(&root), "{} of {}", name, folder.display());
        }
    }
}

/// Rayon's generic functions are compiled again for each of their callers.
#[test]
fn only_one_module_of_the_engine_divides_work_among_threads() {
    let mut others = Vec::new();
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of the engine") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("src/threads.rs") {
                let code = std::fs::read_to_string(&path).expect("a source file");
                let is_allowed = |used: &str| {
                    ["current_num_threads", "ThreadPoolBuilder"].iter().any(|name| used.starts_with(name))
                };
                if !code.split("rayon::").skip(1).all(is_allowed) {
                    others.push(path);
                }
            }
        }
    }
    assert!(others.is_empty(), "{others:?}; see src/threads.rs");
}

#[test]
fn circles_are_found_through_reexports_and_not_between_parent_and_child() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, code: &str| std::fs::write(folder.path().join(name), code).unwrap();
    write("lib.rs", "mod a; mod b; mod c; pub use b::B;");
    write("a.rs", "use crate::B; pub struct A(B);");
    write("b.rs", "pub struct B; fn f() { let _ = crate::a::A; }");
    write("c.rs", "use crate::a::A; #[cfg(test)] mod tests { use crate::c; }");
    let modules = Modules::read(folder.path());
    let circles = circles::find(&modules);
    assert_eq!(circles.len(), 1, "{circles:?}");
    assert!(
        circles[0].contains("a.rs -> b.rs: {\"B\"}") && circles[0].contains("b.rs -> a.rs"),
        "{circles:?}"
    );
    assert!(!circles[0].contains("c.rs"), "{circles:?}");

    std::fs::create_dir(folder.path().join("d")).unwrap();
    write("d/mod.rs", "mod e; pub struct D; fn f() { e::g() }");
    write("d/e.rs", "use crate::d::D; pub fn g() {}");
    write("lib.rs", "mod d;");
    write("b.rs", "pub struct B;");
    assert!(circles::find(&Modules::read(folder.path())).is_empty());
}
