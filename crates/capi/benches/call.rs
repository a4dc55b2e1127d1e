//! The cost of a call through the C library beyond that of the same call through the Rust interface: the shared library is
//! loaded as any program loads it, and both ask the same queries of the same files in turn.
//!
//! `cargo bench -p hamdex-capi --bench call`

use std::ffi::{CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::ptr;
use std::time::Instant;

use hamdex::{BuildOptions, Builder, Codec, Design};
use hamdex_any::AnyFingerprint;

/// Rounds, in each of which both ways ask all queries. The best of each is compared, which other programs on the
/// machine disturb least.
const ROUNDS: usize = 501;
const QUERIES: usize = 2_000;

type Status = i32;
type Open = unsafe extern "C" fn(*const c_char, usize, u32, *mut *mut c_void, *mut *mut c_void) -> Status;
type OpenSearcher = unsafe extern "C" fn(*const c_void, *mut *mut c_void, *mut *mut c_void) -> Status;
type Query = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    u32,
    u64,
    u32,
    *mut *const u64,
    *mut *mut c_void,
) -> Status;

#[expect(unsafe_code, reason = "the loader of the system")]
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// A function of the loaded library.
#[expect(unsafe_code, reason = "the loader knows no types")]
fn symbol<F: Copy>(library: *mut c_void, name: &str) -> F {
    let name = CString::new(name).expect("no zero byte");
    // SAFETY: the library stays loaded, and F is the type that the header says; a pointer is as large as one to a function.
    unsafe {
        let found = dlsym(library, name.as_ptr());
        assert!(!found.is_null(), "the library lacks {name:?}");
        assert_eq!(size_of::<F>(), size_of_val(&found));
        std::mem::transmute_copy(&found)
    }
}

/// Loads the library, built as it is released.
#[expect(unsafe_code, reason = "the loader of the system")]
fn load() -> *mut c_void {
    const NOW: c_int = 2;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = [
        "build",
        "--quiet",
        "--release",
        "--lib",
        "--manifest-path",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ];
    assert!(Command::new(cargo).args(build).status().expect("cargo").success());
    let own = std::env::current_exe().expect("a program has a file");
    let folder = own.parent().and_then(Path::parent).expect("it lies in target/release/deps");
    let path = CString::new(folder.join("libhamdex.so").to_str().expect("UTF-8")).expect("no zero byte");
    // SAFETY: a library of this project, which does nothing when it is loaded.
    let library = unsafe { dlopen(path.as_ptr(), NOW) };
    assert!(!library.is_null(), "{path:?} cannot be loaded");
    library
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Nanoseconds of a query through the Rust interface, and through C.
#[expect(unsafe_code, reason = "calls of C")]
fn compare(library: *mut c_void, path: &Path, queries: &[u64]) -> (f64, f64) {
    let text = path.to_str().expect("UTF-8");
    let open: Open = symbol(library, "hamdex_open");
    let open_searcher: OpenSearcher = symbol(library, "hamdex_searcher_open");
    let query: Query = symbol(library, "hamdex_searcher_query");
    let (mut set, mut in_c, error) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: as the header says.
    unsafe {
        assert_eq!(open(text.as_ptr().cast(), text.len(), 0, &raw mut set, error), 0);
        assert_eq!(open_searcher(set, &raw mut in_c, error), 0);
    }
    let any = hamdex_any::open(path).expect("it was built");
    let mut in_rust = any.searcher();

    let mut through_rust = || {
        let (start, mut found) = (Instant::now(), 0);
        for &query in queries {
            let matches = in_rust.nearest_within(AnyFingerprint::from(query), usize::MAX, 3);
            found += black_box(matches.expect("a good file")).len() as u64;
        }
        (start.elapsed().as_nanos() as f64 / queries.len() as f64, found)
    };
    let through_c = || {
        let (start, mut found) = (Instant::now(), 0);
        let (mut matches, mut error): (*const u64, *mut c_void) = (ptr::null(), ptr::null_mut());
        for &number in queries {
            let bytes = number.to_be_bytes();
            // SAFETY: as the header says; the second number of the matches is their count.
            unsafe {
                let status = query(in_c, bytes.as_ptr(), 8, 3, 0, 0, &raw mut matches, &raw mut error);
                assert_eq!(status, 0);
                found += *black_box(matches).add(1);
            }
        }
        (start.elapsed().as_nanos() as f64 / queries.len() as f64, found)
    };
    let (mut rust, mut c) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Each goes first every other time.
        let ((of_rust, found), (of_c, same)) = if round % 2 == 0 {
            (through_rust(), through_c())
        } else {
            let of_c = through_c();
            (through_rust(), of_c)
        };
        assert_eq!(found, same, "both find the same");
        rust.push(of_rust);
        c.push(of_c);
    }
    (least(&rust), least(&c))
}

fn main() {
    let library = load();
    let directory = tempfile::tempdir().expect("a temporary directory");
    println!(
        "fingerprints  ns in Rust  ns in C  ns more in C (the best of {ROUNDS} rounds of {QUERIES} queries, distance 3)"
    );
    for count in [100, 10_000, 1_000_000] {
        let path = directory.path().join(format!("{count}.hamdex"));
        let design = Design::<u64>::named("cover-6", 3).expect("a design of the catalogue");
        let options = BuildOptions::new().design(design).codec(Codec::EliasFano);
        let mut builder = Builder::with_options(&path, options).expect("a new file");
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let stored: Vec<u64> = (0..count).map(|_| next(&mut state)).collect();
        stored.iter().for_each(|&fingerprint| builder.push(fingerprint).expect("memory"));
        builder.finish().expect("a file");
        // Each is a bit away from a stored one, so that every query has a match to hand over.
        let near = |place: usize| stored[place * 7919 % stored.len()] ^ 1 << (place % 64);
        let queries: Vec<u64> = (0..QUERIES).map(near).collect();
        let (rust, c) = compare(library, &path, &queries);
        println!("{count:>12}  {rust:>10.0}  {c:>7.0}  {:>12.0}", c - rust);
    }
}
