//! Each kind of failure has its status, and a message that says what happened. No panic crosses to C: each function
//! does its work in `Caller::run`, which catches it.

use std::path::Path;
use std::ptr;

use hamdex::Fingerprint;
use syn::visit::Visit;

use super::c::{Failed, Given, Set, build, call, path_of, sized};
use crate::build::{HAMDEX_OVERWRITE, hamdex_build_options};
use crate::edge::Caller;
use crate::options::HAMDEX_MAP_KEYS;
use crate::set::{
    HAMDEX_FILE, hamdex_description, hamdex_set_describe, hamdex_set_metadata, hamdex_set_verify,
};
use crate::status::{
    HAMDEX_DAMAGED, HAMDEX_EXISTS, HAMDEX_FORMAT, HAMDEX_INPUT, HAMDEX_INTERNAL, HAMDEX_OK, HAMDEX_SYSTEM,
    HAMDEX_USAGE,
};
use crate::{hamdex_abi_version, hamdex_version};

fn built(path: &Path) {
    build(path, &Given::new(&[1_u64, 2, 3]), &sized()).unwrap();
}

fn verify(set: &Set) -> Result<(), Failed> {
    // SAFETY: the set is open.
    call(|error| unsafe { hamdex_set_verify(set.0, ptr::null(), error) })
}

#[test]
fn each_category_has_its_status_and_says_the_file() {
    const NO_SUCH_FILE: i32 = 2;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("news.hamdex");
    let refused = |result: Result<Set, Failed>| result.err().expect("a failure");

    let missing = refused(Set::open(&path));
    assert_eq!((missing.status, missing.os_code), (HAMDEX_SYSTEM, NO_SUCH_FILE), "{missing:?}");
    assert!(missing.message.contains("news.hamdex"), "{missing:?}");
    std::fs::write(&path, "a text, and much more than the header of a file, so that it is no short one")
        .unwrap();
    assert_eq!(refused(Set::open(&path)).status, HAMDEX_FORMAT);
    let exists = build(&path, &Given::new(&[1_u64]), &sized()).unwrap_err();
    assert_eq!(exists.status, HAMDEX_EXISTS, "{exists:?}");
    let overwrite = hamdex_build_options { flags: HAMDEX_OVERWRITE, ..sized() };
    build(&path, &Given::new(&[1_u64, 2, 3]), &overwrite).unwrap();

    let mut bytes = std::fs::read(&path).unwrap();
    verify(&Set::open(&path).unwrap()).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    std::fs::write(directory.path().join("cut.hamdex"), &bytes).unwrap();
    assert_eq!(refused(Set::open(&directory.path().join("cut.hamdex"))).status, HAMDEX_DAMAGED);
    assert_eq!(refused(Set::open(directory.path())).status, HAMDEX_FORMAT, "a directory that is no store");
}

#[test]
fn a_flipped_bit_is_damage_to_queries_or_to_verify() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("news.hamdex");
    built(&path);
    let bytes = std::fs::read(&path).unwrap();
    for place in (0..bytes.len()).step_by(97) {
        let mut bytes = bytes.clone();
        bytes[place] ^= 0x10;
        let damaged = directory.path().join("damaged.hamdex");
        std::fs::write(&damaged, bytes).unwrap();
        let outcome = Set::open(&damaged).and_then(|set| verify(&set));
        let status = outcome.expect_err("every byte is covered").status;
        assert!([HAMDEX_DAMAGED, HAMDEX_FORMAT].contains(&status), "byte {place}: {status}");
    }
}

#[test]
fn queries_and_options_of_another_kind_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("news.hamdex");
    built(&path);
    let set = Set::open(&path).unwrap();
    let failed = set.searcher().query(1_u128, 3, 0, 0).unwrap_err();
    assert_eq!(failed.status, HAMDEX_INPUT);
    assert!(failed.message.contains("16 bytes") && failed.message.contains("have 8"), "{failed:?}");
    assert_eq!(set.batch(&[1_u128], 3, 0, 0).unwrap_err().status, HAMDEX_INPUT);
    assert_eq!(set.searcher().query(1_u64, 3, 0, 4).unwrap_err().status, HAMDEX_USAGE);
    let codec = "zip";
    let options = hamdex_build_options { codec: codec.as_ptr().cast(), codec_length: codec.len(), ..sized() };
    let failed = build(&directory.path().join("other"), &Given::new(&[1_u64]), &options).unwrap_err();
    assert_eq!(failed.status, HAMDEX_USAGE);
    assert!(failed.message.contains("zip") && failed.message.contains("elias-fano"), "{failed:?}");
    assert!(!directory.path().join("other").exists());
}

#[test]
fn distances_that_fingerprints_cannot_have_are_refused() {
    fn check<F: Fingerprint>(path: &Path, one: F) {
        let width = F::BITS;
        let too_far = hamdex_build_options { distance: width + 1, ..sized() };
        let failed = build(path, &Given::new(&[one]), &too_far).unwrap_err();
        assert_eq!(failed.status, HAMDEX_USAGE, "{failed:?}");
        build(path, &Given::new(&[one, !one]), &sized()).unwrap();
        let set = Set::open(path).unwrap();
        let searcher = set.searcher();
        assert_eq!(searcher.query(one, width, 0, 0).unwrap().len(), 2);
        assert!(searcher.first(one, width).unwrap().is_some());
        assert_eq!(set.batch(&[one], width, 0, 0).unwrap()[0].len(), 2);
        assert_eq!(set.pairs::<F>(width).unwrap().len(), 1);
        for distance in [width + 1, u32::MAX] {
            let refused = [
                searcher.query(one, distance, 0, 0).unwrap_err(),
                searcher.first(one, distance).unwrap_err(),
                set.batch(&[one], distance, 0, 0).unwrap_err(),
                set.pairs::<F>(distance).unwrap_err(),
            ];
            for failed in refused {
                assert_eq!(failed.status, HAMDEX_USAGE, "{failed:?}");
                assert!(failed.message.contains(&format!("at most {width}")), "{failed:?}");
            }
        }
        // A refused query leaves the searcher as it was.
        assert_eq!(searcher.nearest(one, 9).len(), 2);
    }

    let directory = tempfile::tempdir().unwrap();
    check(&directory.path().join("narrow.hamdex"), 5_u64);
    check(&directory.path().join("wide.hamdex"), 5_u128);
}

#[test]
fn a_set_describes_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("news.hamdex");
    let (design, codec) = ("halves", "elias-fano");
    let options = hamdex_build_options {
        distance: 4,
        design: design.as_ptr().cast(),
        design_length: design.len(),
        codec: codec.as_ptr().cast(),
        codec_length: codec.len(),
        ..sized()
    };
    build(&path, &Given::new(&[5_u128, 6]).ids(&[1, 2]), &options).unwrap();
    let set = Set::open(&path).unwrap();
    let mut told: hamdex_description = sized();
    // SAFETY: the set is open.
    call(|error| unsafe { hamdex_set_describe(set.0, &raw mut told, error) }).unwrap();
    assert_eq!((told.kind, told.width, told.distance, told.fingerprints), (HAMDEX_FILE, 128, 4, 2));
    assert_eq!((told.is_counted, told.has_ids, told.has_names), (true, true, false));
    // SAFETY: texts of the set, as long as it says.
    let text = |text: *const std::ffi::c_char, length: u64| unsafe {
        std::str::from_utf8(std::slice::from_raw_parts(text.cast(), length as usize)).unwrap()
    };
    assert_eq!((text(told.design, told.design_length), text(told.codec, told.codec_length)), (design, codec));

    let (name, mut value, mut length) = ("hamdex.recipe", ptr::dangling(), 7);
    // SAFETY: the set is open.
    call(|error| unsafe {
        let name_text = name.as_ptr().cast();
        hamdex_set_metadata(set.0, name_text, name.len(), &raw mut value, &raw mut length, error)
    })
    .unwrap();
    assert!(value.is_null() && length == 0);
}

#[test]
fn metadata_of_a_set_is_read_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("news.hamdex");
    let options = hamdex::BuildOptions::<u64>::new().metadata("mine", vec![1, 0, 255]);
    hamdex::Builder::with_options(&path, options).unwrap().finish().unwrap();
    let set = Set::open(&path).unwrap();
    let (mut value, mut length) = (ptr::null(), 0);
    // SAFETY: the set is open.
    call(|error| unsafe {
        hamdex_set_metadata(set.0, "mine".as_ptr().cast(), 4, &raw mut value, &raw mut length, error)
    })
    .unwrap();
    // SAFETY: as long as it says, and the set is open.
    assert_eq!(unsafe { std::slice::from_raw_parts(value, length as usize) }, [1, 0, 255]);
}

#[test]
fn no_error_is_made_that_the_caller_does_not_want() {
    let directory = tempfile::tempdir().unwrap();
    let ((path, length), mut set) = (path_of(directory.path()), ptr::dangling_mut());
    // SAFETY: all pointers are to what lives on, or null.
    let status = unsafe { crate::set::hamdex_open(path, length, 0, &raw mut set, ptr::null_mut()) };
    assert!(status != HAMDEX_OK && set.is_null());
}

#[test]
fn the_library_says_its_versions() {
    assert_eq!(hamdex_abi_version(), crate::HAMDEX_ABI_VERSION);
    // SAFETY: a zero byte stands behind it.
    let version = unsafe { std::ffi::CStr::from_ptr(hamdex_version()) };
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_build_has_the_filter_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let fingerprints: Vec<u64> =
        (0..20_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let given = Given::new(&fingerprints);
    let bytes_with = |filter: Option<&str>| {
        let path = directory.path().join(filter.unwrap_or("default"));
        let design = "halves";
        let options = hamdex_build_options {
            design: design.as_ptr().cast(),
            design_length: design.len(),
            filter: filter.map_or(ptr::null(), |filter| filter.as_ptr().cast()),
            filter_length: filter.map_or(0, str::len),
            ..sized()
        };
        build(&path, &given, &options)?;
        // With keys and filters copied, and left in the mapping.
        for flags in [0, HAMDEX_MAP_KEYS] {
            let set = Set::open_with(&path, flags).unwrap();
            assert_eq!(set.searcher().query(fingerprints[7], 0, 0, 0).unwrap().len(), 1);
        }
        Ok::<_, Failed>(std::fs::metadata(&path).unwrap().len())
    };
    let without = bytes_with(Some("none")).unwrap();
    assert!(bytes_with(Some("20")).unwrap() > bytes_with(Some("8")).unwrap());
    assert!(bytes_with(Some("8")).unwrap_err().status == HAMDEX_EXISTS);
    assert_eq!(bytes_with(Some("auto")).unwrap(), bytes_with(None).unwrap());
    assert!(std::fs::metadata(directory.path().join("8")).unwrap().len() > without);
    for wrong in ["", "0", "65", "many", "-1"] {
        let failed = bytes_with(Some(wrong)).unwrap_err();
        assert_eq!(failed.status, HAMDEX_USAGE, "{wrong}: {failed:?}");
    }
}

#[test]
fn a_panic_becomes_a_status_and_a_message() {
    for message in ["as text".to_owned(), "as a \0 byte".to_owned()] {
        let failed = call(|error| {
            // SAFETY: the error lives on.
            unsafe { Caller::new(error) }.run(|_| panic!("{message}"))
        });
        let failed = failed.unwrap_err();
        assert_eq!(failed.status, HAMDEX_INTERNAL);
        assert!(failed.message.contains(&message.replace('\0', "?")), "{failed:?}");
    }
    // SAFETY: no error is wanted.
    let status = unsafe { Caller::new(ptr::null_mut()) }.run(|_| std::panic::panic_any(7));
    assert_eq!(status, HAMDEX_INTERNAL);
    // SAFETY: as above.
    assert_eq!(unsafe { Caller::new(ptr::null_mut()) }.run(|_| Ok(())), HAMDEX_OK);
}

/// Exported functions, and of those the ones that do anything beside making a caller and running work.
#[derive(Default)]
struct Exported {
    all: usize,
    loose: Vec<String>,
}

impl Visit<'_> for Exported {
    fn visit_item_fn(&mut self, function: &syn::ItemFn) {
        let is_exported = function.sig.abi.is_some();
        if !is_exported {
            return;
        }
        self.all += 1;
        let name = function.sig.ident.to_string();
        // These read a constant.
        if ["hamdex_abi_version", "hamdex_version"].contains(&name.as_str()) {
            return;
        }
        let is_run = |statement: &syn::Stmt| match statement {
            syn::Stmt::Expr(syn::Expr::MethodCall(call), None) => {
                let is_caller =
                    matches!(&*call.receiver, syn::Expr::Unsafe(made) if made.block.stmts.len() == 1);
                call.method == "run" && is_caller
            }
            _ => false,
        };
        match function.block.stmts.as_slice() {
            [only] if is_run(only) => {}
            _ => self.loose.push(name),
        }
    }
}

#[test]
fn every_exported_function_catches_panics() {
    let mut exported = Exported::default();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            exported.visit_file(&syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap());
        }
    }
    assert!(exported.all > 25, "{}", exported.all);
    assert!(exported.loose.is_empty(), "{:?}", exported.loose);
}
