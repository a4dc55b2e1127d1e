//! The names beside an index: what is refused, and how it is said.

use std::path::{Path, PathBuf};

use hamdex::{BuildOptions, Builder, FileId, Index};
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::{Error, NAMES_KEY, NAMES_VERSION, Names, NamesWriter, names_path};

/// An index with one fingerprint for each id, which says that its ids are numbers of names.
fn index(directory: &Path, ids: &[u64], version: &str) -> (PathBuf, Index<u64>) {
    let path = directory.join("index.hamdex");
    let options = BuildOptions::new().ids(true).metadata(NAMES_KEY, version);
    let mut builder = Builder::<u64>::with_options(&path, options).unwrap();
    for (fingerprint, &id) in (1..).zip(ids) {
        builder.push_with_id(fingerprint, id).unwrap();
    }
    builder.finish().unwrap();
    let index = Index::open(&path).unwrap();
    (path, index)
}

fn write_names(index: &Path, file_id: FileId, names: &[&str]) {
    let mut writer = NamesWriter::new(index.parent().unwrap()).unwrap();
    for (number, name) in (0..).zip(names) {
        assert_eq!(writer.push(name).unwrap(), number);
    }
    writer.finish(AtomicFile::options().create(names_path(index)).unwrap(), file_id).unwrap();
}

#[test]
fn every_id_of_an_index_must_have_a_name() {
    for (ids, unnamed) in [(&[0, 1][..], None), (&[1, 0, 2], Some(2)), (&[u64::MAX], Some(u64::MAX))] {
        let directory = tempfile::tempdir().unwrap();
        let (path, index) = index(directory.path(), ids, NAMES_VERSION);
        write_names(&path, index.file_id(), &["one", "two"]);
        let mut names = Names::of(&path, &index).unwrap().unwrap();
        let outcome = names.verify(&index);
        let Some(unnamed) = unnamed else {
            assert_eq!(outcome.unwrap(), 2);
            continue;
        };
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains("index.hamdex.ids: it has 2 names"), "{text}");
        assert!(text.ends_with(&format!("the id {unnamed}")), "{text}");
        assert!(matches!(names.get(unnamed), Err(Error::Names { .. })));
    }
}

#[test]
fn an_index_whose_names_are_of_an_unknown_version_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (path, index) = index(directory.path(), &[0], "2");
    write_names(&path, index.file_id(), &["one"]);
    let error = Names::of(&path, &index).unwrap_err();
    assert!(matches!(error, Error::Names { .. }), "{error:?}");
    assert!(error.to_string().contains("version \"2\""), "{error}");
}

#[test]
fn a_file_of_names_of_an_unknown_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (path, index) = index(directory.path(), &[0], NAMES_VERSION);
    write_names(&path, index.file_id(), &["one"]);
    let mut bytes = std::fs::read(names_path(&path)).unwrap();
    bytes[8] = 2;
    let checksum = crc32fast::hash(&bytes[..48]).to_le_bytes();
    bytes[48..52].copy_from_slice(&checksum);
    std::fs::write(names_path(&path), bytes).unwrap();
    let error = Names::of(&path, &index).unwrap_err();
    assert!(matches!(error, Error::Names { .. }), "{error:?}");
    assert!(error.to_string().contains("another version"), "{error}");
}

#[test]
fn an_index_without_names_has_none_and_one_that_lost_them_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (path, named) = index(directory.path(), &[0], NAMES_VERSION);
    assert!(matches!(Names::of(&path, &named), Err(Error::NamesMissing { .. })));
    let path = directory.path().join("bare.hamdex");
    let mut builder = Builder::<u64>::new(&path).unwrap();
    builder.push(7).unwrap();
    builder.finish().unwrap();
    assert!(Names::of(&path, &Index::<u64>::open(&path).unwrap()).unwrap().is_none());
}
