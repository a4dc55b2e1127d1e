//! Outputs: replaced files, and the leftovers of failed builds.

use std::fs;
use std::path::Path;

use super::names_in;
use crate::common::{Scratch, Shape, data};
use hamdex::{BuildError, BuildOptions, Builder, Index, OutputError};

#[test]
fn an_output_that_exists_is_left_untouched() {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    fs::write(&path, "precious").unwrap();
    let refused = Builder::<u64>::new(&path).err().unwrap();
    let BuildError::Output(OutputError::Exists { path: named }) = &refused else { panic!("{refused}") };
    assert_eq!((named, refused.is_in_place()), (&path, false));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    // A file created during the build is not replaced either.
    let path = scratch.path("later.hamdex");
    let mut builder = Builder::<u64>::new(&path).unwrap();
    builder.push(1).unwrap();
    fs::write(&path, "came first").unwrap();
    assert!(matches!(builder.finish(), Err(BuildError::Output(OutputError::Exists { .. }))));
    assert_eq!(fs::read(&path).unwrap(), b"came first");
    assert_eq!(names_in(scratch.directory.path()).len(), 2);
}

#[test]
fn an_output_that_may_be_replaced_is_replaced_when_the_new_one_is_whole() {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    let build = |fingerprint: u64| {
        let mut builder = Builder::with_options(&path, BuildOptions::new().overwrite(true)).unwrap();
        builder.push(fingerprint).unwrap();
        builder
    };
    build(1).finish().unwrap();
    let old = Index::<u64>::open(&path).unwrap();
    let builder = build(2);
    assert!(Index::<u64>::open(&path).unwrap().contains(1).unwrap(), "nothing has changed so far");
    builder.finish().unwrap();
    assert!(Index::<u64>::open(&path).unwrap().contains(2).unwrap());
    assert!(old.contains(1).unwrap() && !old.contains(2).unwrap(), "who has it open keeps the old one");
    old.verify().unwrap();
    assert_eq!(names_in(scratch.directory.path()), ["index.hamdex"]);
}

#[test]
fn a_directory_is_never_replaced() {
    let scratch = Scratch::new();
    let path = scratch.path("directory");
    fs::create_dir(&path).unwrap();
    for overwrite in [false, true] {
        let refused =
            Builder::<u64>::with_options(&path, BuildOptions::new().overwrite(overwrite)).err().unwrap();
        assert!(matches!(&refused, BuildError::Output(OutputError::NotAFile { .. })), "{refused}");
    }
    assert!(path.is_dir());
}

#[test]
fn a_target_directory_that_is_missing_is_told() {
    let scratch = Scratch::new();
    let path = scratch.path("missing").join("index.hamdex");
    let refused = Builder::<u64>::new(&path).err().unwrap();
    let BuildError::Output(OutputError::Io { path: estimated, source, .. }) = &refused else {
        panic!("{refused}")
    };
    assert_eq!((estimated, source.kind()), (&path, std::io::ErrorKind::NotFound));
    assert_eq!(names_in(scratch.directory.path()), [""; 0]);
}

#[test]
fn a_builder_that_is_dropped_leaves_nothing() {
    let scratch = Scratch::new();
    let mut builder = Builder::<u64>::new(scratch.path("index.hamdex")).unwrap();
    (0..1000).try_for_each(|x| builder.push(x)).unwrap();
    drop(builder);
    assert_eq!(names_in(scratch.directory.path()), [""; 0]);
}

#[test]
fn a_temporary_directory_that_is_missing_is_noticed_before_the_first_fingerprint() {
    let scratch = Scratch::new();
    let missing = scratch.path("missing");
    for ids in [false, true] {
        let options = BuildOptions::new().temp_dir(&missing).ids(ids);
        let refused = Builder::<u64>::with_options(scratch.path("index.hamdex"), options).err().unwrap();
        assert!(matches!(&refused, BuildError::Io { path, .. } if *path == missing), "{refused}");
        assert!(refused.to_string().contains("temporary file"), "{refused}");
        assert_eq!(names_in(scratch.directory.path()), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_a_link_to_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new();
    let (path, link) = (scratch.path("index.hamdex"), scratch.path("link.hamdex"));
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("index.hamdex", &link).unwrap();
    let mut builder = Builder::<u64>::with_options(&link, BuildOptions::new().overwrite(true)).unwrap();
    builder.push(1).unwrap();
    builder.finish().unwrap();
    assert!(Index::<u64>::open(&path).unwrap().contains(1).unwrap());
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_fifo_takes_the_bytes_of_the_index() {
    let scratch = Scratch::new();
    let (fifo, path) = (scratch.path("fifo"), scratch.path("index.hamdex"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let build = |path: &Path| {
        let mut builder = Builder::<u64>::with_options(path, BuildOptions::new().ids(true)).unwrap();
        (0..5000).try_for_each(|x| builder.push_with_id(x * x, x)).unwrap();
        builder.finish().unwrap();
    };
    let received = std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&fifo).unwrap());
        build(&fifo);
        reader.join().unwrap()
    });
    build(&path);
    assert_eq!(received, fs::read(&path).unwrap());
}

#[test]
fn a_writer_that_fails_is_the_error_of_the_build() {
    /// The number of bytes accepted.
    struct Full(usize);

    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    for room in [0, 4096, 10_000] {
        let mut builder = Builder::to_writer(Full(room), BuildOptions::new()).unwrap();
        data::<u64>(Shape::Uniform, 5000, 21).into_iter().try_for_each(|x| builder.push(x)).unwrap();
        let refused = builder.into_inner().err().unwrap();
        let BuildError::Write { source } = &refused else { panic!("{refused}") };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
        assert!(!refused.is_in_place());
    }
}
