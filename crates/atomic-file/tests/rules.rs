//! Every rule for outputs, from outside.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use hamdex_atomic_file::{AtomicFile, Error, Inputs};
use tempfile::TempDir;

fn write(path: &Path, contents: &str, overwrite: bool) -> Result<(), Error> {
    let mut file = AtomicFile::options().overwrite(overwrite).create(path)?;
    file.write_all(contents.as_bytes()).map_err(file.failed())?;
    file.finish()
}

fn scratch() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_owned();
    (directory, move |name| root.join(name))
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_has_its_name_when_it_is_whole() {
    let (directory, path) = scratch();
    let mut file = AtomicFile::options().create(path("out")).unwrap();
    file.write_all(b"contents").unwrap();
    assert_eq!((file.written_bytes(), file.is_stream()), (8, false));
    if cfg!(target_os = "linux") {
        assert_eq!(names_in(directory.path()), [""; 0]);
    }
    file.finish().unwrap();
    assert_eq!(fs::read_to_string(path("out")).unwrap(), "contents");
    assert_eq!(names_in(directory.path()), ["out"]);
}

#[test]
fn a_file_that_is_not_finished_leaves_nothing() {
    let (directory, path) = scratch();
    let mut file = AtomicFile::options().create(path("out")).unwrap();
    file.write_all(&vec![7; 1 << 20]).unwrap();
    drop(file);
    assert_eq!(names_in(directory.path()), [""; 0]);
}

#[test]
fn nothing_is_replaced_without_permission() {
    let (directory, path) = scratch();
    write(&path("out"), "first", false).unwrap();
    let refused = write(&path("out"), "second", false).unwrap_err();
    assert!(matches!(&refused, Error::Exists { path: named } if *named == path("out")), "{refused}");
    assert_eq!(fs::read_to_string(path("out")).unwrap(), "first");
    write(&path("out"), "second", true).unwrap();
    assert_eq!(fs::read_to_string(path("out")).unwrap(), "second");
    assert_eq!(names_in(directory.path()), ["out"]);
}

#[test]
fn what_comes_to_exist_meanwhile_is_not_replaced_either() {
    let (directory, path) = scratch();
    let file = AtomicFile::options().create(path("out")).unwrap();
    fs::write(path("out"), "another's").unwrap();
    assert!(matches!(file.finish().unwrap_err(), Error::Exists { .. }));
    assert_eq!(fs::read_to_string(path("out")).unwrap(), "another's");
    assert_eq!(names_in(directory.path()), ["out"]);
}

#[test]
fn an_input_is_never_an_output() {
    let (_directory, path) = scratch();
    fs::create_dir_all(path("tree/below")).unwrap();
    fs::write(path("in"), "input").unwrap();
    fs::write(path("tree/below/page"), "input").unwrap();
    fs::hard_link(path("in"), path("hard")).unwrap();
    let inputs = Inputs::of([path("in"), path("tree"), path("missing")]);
    let refused = |name: &str| {
        let refused = AtomicFile::options().inputs(&inputs).overwrite(true).create(path(name)).unwrap_err();
        let Error::IsInput { input, .. } = &refused else { panic!("{name}: {refused}") };
        input.clone()
    };
    for name in ["in", "hard", "tree/../in"] {
        assert_eq!(refused(name), path("in"));
    }
    assert_eq!(refused("tree/below/page"), path("tree"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("in", path("soft")).unwrap();
        std::os::unix::fs::symlink(path("tree/below"), path("other-way")).unwrap();
        assert_eq!(refused("soft"), path("in"));
        assert_eq!(refused("other-way/page"), path("tree"));
    }
    assert_eq!(fs::read_to_string(path("in")).unwrap(), "input");
    // New files, and files next to an input, are permitted.
    fs::write(path("sibling"), "no input").unwrap();
    for name in ["tree/new", "sibling"] {
        AtomicFile::options().inputs(&inputs).overwrite(true).create(path(name)).unwrap().finish().unwrap();
    }
}

#[test]
fn checking_creates_nothing() {
    let (directory, path) = scratch();
    AtomicFile::options().check(path("out")).unwrap();
    assert_eq!(names_in(directory.path()), [""; 0]);
    assert!(matches!(AtomicFile::options().check(directory.path()), Err(Error::NotAFile { .. })));
}

#[test]
fn a_directory_is_no_file_and_a_missing_one_holds_none() {
    let (_directory, path) = scratch();
    fs::create_dir(path("directory")).unwrap();
    for name in ["directory", "directory/", "new/", "directory/.."] {
        let refused = write(&path(name), "", true).unwrap_err();
        assert!(matches!(refused, Error::NotAFile { .. }), "{name}: {refused}");
    }
    let refused = write(&path("missing/out"), "", false).unwrap_err();
    let Error::Io { source, path: named, .. } = &refused else { panic!("{refused}") };
    assert_eq!((source.kind(), named), (std::io::ErrorKind::NotFound, &path("missing/out")));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn a_replaced_file_leaves_its_mode_and_owner() {
        let (_directory, path) = scratch();
        for kept in [0o600, 0o640, 0o755, 0o444] {
            fs::write(path("out"), "first").unwrap();
            fs::set_permissions(path("out"), fs::Permissions::from_mode(kept)).unwrap();
            // Only root may give files away; for all others these are their own.
            let own = path("out").metadata().unwrap();
            let owner = if own.uid() == 0 { (1234, 4321) } else { (own.uid(), own.gid()) };
            std::os::unix::fs::chown(path("out"), Some(owner.0), Some(owner.1)).unwrap();
            write(&path("out"), "second", true).unwrap();
            let new = path("out").metadata().unwrap();
            assert_eq!((new.mode() & 0o7777, new.uid(), new.gid()), (kept, owner.0, owner.1));
            assert_ne!(new.ino(), own.ino(), "it is another file");
            fs::remove_file(path("out")).unwrap();
        }
    }

    #[test]
    fn a_new_file_has_the_mode_of_new_files() {
        let (_directory, path) = scratch();
        fs::write(path("usual"), "").unwrap();
        write(&path("out"), "", false).unwrap();
        assert_eq!(mode(&path("out")), mode(&path("usual")));
    }

    #[test]
    fn a_symbolic_link_is_followed_and_stays() {
        let (directory, path) = scratch();
        fs::create_dir(path("elsewhere")).unwrap();
        symlink("elsewhere/target", path("link")).unwrap();
        symlink("link", path("link-to-link")).unwrap();
        write(&path("link-to-link"), "created", false).unwrap();
        assert_eq!(fs::read_to_string(path("elsewhere/target")).unwrap(), "created");
        assert!(matches!(write(&path("link"), "no", false), Err(Error::Exists { .. })));
        write(&path("link"), "replaced", true).unwrap();
        assert_eq!(fs::read_to_string(path("elsewhere/target")).unwrap(), "replaced");
        assert_eq!(path("link").read_link().unwrap(), Path::new("elsewhere/target"));
        assert_eq!(names_in(directory.path()), ["elsewhere", "link", "link-to-link"]);
        assert_eq!(names_in(&path("elsewhere")), ["target"]);
        symlink("circle", path("circle")).unwrap();
        assert!(matches!(write(&path("circle"), "", true), Err(Error::Io { .. })));
    }

    #[test]
    fn devices_and_fifos_are_written_to() {
        let (directory, path) = scratch();
        write(Path::new("/dev/null"), "gone", false).unwrap();
        let null = Path::new("/dev/null").metadata().unwrap();
        assert!(!null.is_file());
        assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
        let reader = std::thread::spawn({
            let fifo = path("fifo");
            move || fs::read_to_string(fifo).unwrap()
        });
        symlink("fifo", path("link")).unwrap();
        let mut file = AtomicFile::options().create(path("link")).unwrap();
        assert!(file.is_stream());
        file.write_all(b"through").unwrap();
        file.finish().unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert_eq!(names_in(directory.path()), ["fifo", "link"]);
    }

    #[test]
    fn a_full_device_is_an_error() {
        if Path::new("/dev/full").exists() {
            let refused = write(Path::new("/dev/full"), "too much", false).unwrap_err();
            assert!(matches!(&refused, Error::Io { doing: "write to it", .. }), "{refused}");
        }
    }

    #[test]
    fn a_socket_is_refused() {
        let (_directory, path) = scratch();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        assert!(matches!(write(&path("socket"), "", true), Err(Error::NotAFile { .. })));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_descriptor_is_written_where_it_stands() {
        use std::io::Seek;
        use std::os::fd::AsRawFd;
        let (_directory, path) = scratch();
        let mut file =
            fs::File::options().read(true).append(true).create_new(true).open(path("log")).unwrap();
        file.write_all(b"before ").unwrap();
        let name = format!("/dev/fd/{}", file.as_raw_fd());
        write(Path::new(&name), "after", false).unwrap();
        symlink(&name, path("link")).unwrap();
        write(&path("link"), "wards", false).unwrap();
        file.rewind().unwrap();
        let mut contents = String::new();
        file.read_to_string(&mut contents).unwrap();
        assert_eq!(contents, "before afterwards");
        // Behind a descriptor, too, an input is not written to.
        let inputs = Inputs::of([path("log")]);
        let refused = AtomicFile::options().inputs(&inputs).create(&name).unwrap_err();
        assert!(matches!(refused, Error::IsInput { .. }), "{refused}");
    }
}
