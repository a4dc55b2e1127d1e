//! A directory of files that appears atomically.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Error;
use crate::file::{AtomicFile, SealedFile};
use crate::inputs::Inputs;
use crate::target::directory_of;
use crate::unfinished::{sync_directory, temporary_names};

/// An unpublished directory of files that appear together or not at all.
///
/// It is created under a temporary name next to its own when its files are complete ([`SealedFile`]), so a process
/// leaves it behind only if it is killed while the files get their names; or before files that are too many to be open at
/// once ([`AtomicDirectory::create_file`]). Dropped, it is removed.
///
/// ```
/// use std::io::Write;
/// use hamdex_atomic_file::{AtomicDirectory, AtomicFile};
///
/// let parent = tempfile::tempdir()?;
/// let mut file = AtomicFile::options().create(parent.path().join("one"))?;
/// file.write_all(b"contents")?;
/// let sealed = file.seal()?;
///
/// let path = parent.path().join("set");
/// let directory = AtomicDirectory::create(&path)?;
/// directory.take("first", sealed)?;
/// assert!(!path.exists());
/// directory.publish()?;
/// assert_eq!(std::fs::read(path.join("first"))?, b"contents");
/// assert!(!parent.path().join("one").exists());
/// assert!(AtomicDirectory::create(&path)?.publish().is_err(), "it exists");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a directory that is not published is gone"]
pub struct AtomicDirectory {
    /// The path as given.
    path: PathBuf,
    /// The path with symbolic links followed.
    target: PathBuf,
    temporary: TempDir,
}

/// The mode of a new directory, before the process's mask.
const DIRECTORY_MODE: u32 = 0o777;

impl AtomicDirectory {
    /// Checks that a new directory may get this path, without creating anything: nothing has it but an empty directory
    /// ([`AtomicDirectory::publish_over_empty`]), and it is in no directory of the inputs.
    ///
    /// # Errors
    /// When it may not, or cannot be inspected.
    pub fn check(path: impl AsRef<Path>, inputs: &Inputs) -> Result<(), Error> {
        let path = path.as_ref();
        let failed = || Error::io("create it", path);
        let is_free = match path.read_dir() {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.symlink_metadata().is_err(),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => false,
            Err(error) => return Err(failed()(error)),
        };
        if !is_free {
            return Err(Error::Exists { path: path.to_owned() });
        }
        let place = path.canonicalize().or_else(|_| directory_of(path).canonicalize()).map_err(failed())?;
        match inputs.directory_around(&place) {
            Some(input) => Err(Error::InInput { path: path.to_owned(), input: input.to_owned() }),
            None => Ok(()),
        }
    }

    /// Starts a directory for this path, which may exist: see [`AtomicDirectory::replace`].
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        let names = temporary_names(DIRECTORY_MODE);
        let temporary = names.tempdir_in(directory_of(&target)).map_err(Error::io("create it", &path))?;
        Ok(Self { path, target, temporary })
    }

    /// Starts a file of this directory, whose name may have directories, which are created. It is in the directory when
    /// it is finished.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create_file(&self, name: impl AsRef<Path>) -> Result<AtomicFile, Error> {
        let (path, file) = (self.path.join(&name), self.temporary.path().join(&name));
        std::fs::create_dir_all(directory_of(&file)).map_err(Error::io("create its directory", &path))?;
        AtomicFile::create_as(path, file)
    }

    /// Moves a complete file into this directory under this name. Its original path must be on the same file system.
    ///
    /// # Errors
    /// When the name is taken, or the file cannot be moved.
    pub fn take(&self, name: impl AsRef<Path>, file: SealedFile) -> Result<(), Error> {
        file.publish_as(&self.temporary.path().join(name))
    }

    /// Adds a hard link to an existing file, or a copy if it cannot be linked.
    ///
    /// # Errors
    /// When the name is taken, or the file cannot be linked, read, copied or synced.
    pub fn link(&self, name: impl AsRef<Path>, file: impl AsRef<Path>) -> Result<(), Error> {
        crate::file::link_or_copy(file.as_ref(), &self.temporary.path().join(name))
    }

    /// Publishes the directory under its name.
    ///
    /// # Errors
    /// When the name is taken, or the directory cannot be renamed; there is no new directory then, except with
    /// [`Error::NotDurable`].
    pub fn publish(self) -> Result<(), Error> {
        self.publish_by(rename::to_free_name)
    }

    /// Publishes the directory under its name, which may be that of an empty directory.
    ///
    /// # Errors
    /// As for [`AtomicDirectory::publish`].
    pub fn publish_over_empty(self) -> Result<(), Error> {
        self.publish_by(|from, to| std::fs::rename(from, to))
    }

    fn publish_by(self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> Result<(), Error> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::NotADirectory => Error::Exists { path: self.path.clone() },
            _ => Error::io("give it its name", &self.path)(error),
        };
        sync_tree(self.temporary.path()).map_err(failed)?;
        rename(self.temporary.path(), &self.target).map_err(failed)?;
        // The temporary name is gone, so there is nothing to remove.
        let _ = self.temporary.keep();
        sync_directory(directory_of(&self.target))
            .map_err(|source| Error::NotDurable { path: self.path, source })
    }

    /// Publishes the directory in place of an existing one, whose files with these names are removed afterwards. On
    /// systems that can exchange names, such as Linux, the name always exists.
    ///
    /// # Errors
    /// As for [`AtomicDirectory::publish`]. [`Error::Kept`] when the new directory is in place and not known to be
    /// durable, so the old one is kept. [`Error::NotRemoved`] when the new directory is in place and the old one cannot
    /// be removed because it has other files.
    pub fn replace(self, files: &[&str]) -> Result<(), Error> {
        let failed = || Error::io("give it its name", &self.path);
        sync_directory(self.temporary.path()).map_err(failed())?;
        let old = rename::exchange(self.temporary.path(), &self.target).map_err(failed())?;
        let _ = self.temporary.keep();
        if let Err(source) = sync_directory(directory_of(&self.target)) {
            return Err(Error::Kept { path: self.path, old, source });
        }
        let removed = files.iter().try_for_each(|name| match std::fs::remove_file(old.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        });
        removed.and_then(|()| std::fs::remove_dir(&old)).map_err(|source| Error::NotRemoved {
            path: self.path,
            old,
            source,
        })
    }
}

/// Makes the names in a directory and below it durable.
fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in directory.read_dir()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        }
    }
    sync_directory(directory)
}

mod rename {
    //! Renaming and exchanging directories.

    use std::io;
    use std::path::{Path, PathBuf};

    #[cfg(target_os = "linux")]
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    #[cfg(target_os = "linux")]
    use rustix::io::Errno;

    /// Renames a directory to a free name.
    pub(super) fn to_free_name(from: &Path, to: &Path) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system does not support it.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            outcome => return Ok(outcome?),
        }
        if to.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        std::fs::rename(from, to)
    }

    /// Gives a directory the name of another one; returns the new name of the latter.
    pub(super) fn exchange(from: &Path, to: &Path) -> io::Result<PathBuf> {
        #[cfg(target_os = "linux")]
        match renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS) => {}
            outcome => {
                outcome?;
                return Ok(from.to_owned());
            }
        }
        let mut name = from.as_os_str().to_owned();
        name.push(".old");
        let old = PathBuf::from(name);
        std::fs::rename(to, &old)?;
        std::fs::rename(from, to).inspect_err(|_| {
            // Restore the old directory; if that fails too, it keeps the other name.
            let _ = std::fs::rename(&old, to);
        })?;
        Ok(old)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;

    use super::*;
    use crate::file::AtomicFile;

    fn sealed(parent: &Path, contents: &str) -> SealedFile {
        let mut file = AtomicFile::options().create(parent.join("somewhere")).unwrap();
        file.write_all(contents.as_bytes()).unwrap();
        file.seal().unwrap()
    }

    /// All files below a directory, with their contents.
    fn files(directory: &Path) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(files(&path));
            } else {
                found.insert(path.clone(), std::fs::read_to_string(&path).unwrap());
            }
        }
        found
    }

    #[test]
    fn it_replaces_only_on_request_and_removes_only_what_it_knows() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("set");
        let with = |contents| {
            let directory = AtomicDirectory::create(&path).unwrap();
            directory.take("a", sealed(parent.path(), contents)).unwrap();
            directory
        };
        with("one").publish().unwrap();
        let error = with("two").publish().unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{error}");
        assert_eq!(files(parent.path()), BTreeMap::from([(path.join("a"), "one".to_owned())]));
        with("three").replace(&["a", "not there"]).unwrap();
        assert_eq!(files(parent.path()), BTreeMap::from([(path.join("a"), "three".to_owned())]));
        std::fs::write(path.join("mine"), "mine").unwrap();
        let error = with("four").replace(&["a"]).unwrap_err();
        assert!(error.is_in_place() && matches!(error, Error::NotRemoved { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "four");
        assert!(files(parent.path()).values().any(|contents| contents == "mine"));
    }

    #[test]
    fn files_lie_at_any_depth_and_an_empty_directory_is_filled() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("set");
        std::fs::create_dir(&path).unwrap();
        let inputs = Inputs::of([parent.path().join("set")]);
        let error = AtomicDirectory::check(&path, &inputs).unwrap_err();
        assert!(matches!(error, Error::InInput { .. }), "{error}");
        assert!(AtomicDirectory::check(path.join("new"), &inputs).is_err());
        assert!(AtomicDirectory::check(parent.path().join("missing/new"), &inputs).is_err());
        AtomicDirectory::check(parent.path().join("other"), &inputs).unwrap();
        AtomicDirectory::check(&path, &Inputs::new()).unwrap();
        let filled = |text: &str| {
            let directory = AtomicDirectory::create(&path).unwrap();
            let mut file = directory.create_file("a/b/c").unwrap();
            assert_eq!(file.path(), path.join("a/b/c"));
            file.write_all(text.as_bytes()).unwrap();
            file.finish().unwrap();
            let taken = directory.create_file("a/b/c").unwrap().finish().unwrap_err();
            assert!(matches!(taken, Error::Exists { .. }), "{taken}");
            directory
        };
        filled("one").publish_over_empty().unwrap();
        let expected = BTreeMap::from([(path.join("a/b/c"), "one".to_owned())]);
        assert_eq!(files(parent.path()), expected);
        assert!(matches!(AtomicDirectory::check(&path, &Inputs::new()), Err(Error::Exists { .. })));
        assert!(matches!(filled("two").publish_over_empty(), Err(Error::Exists { .. })));
        assert_eq!(files(parent.path()), expected);
        assert!(AtomicDirectory::check(path.join("a/b/c"), &Inputs::new()).is_err(), "a file");
    }

    #[test]
    fn dropped_it_leaves_nothing_and_links_are_followed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("set");
        let directory = AtomicDirectory::create(&path).unwrap();
        directory.take("a", sealed(parent.path(), "x")).unwrap();
        assert!(directory.take("a", sealed(parent.path(), "y")).is_err(), "the name is taken");
        drop(directory);
        assert!(files(parent.path()).is_empty());
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
        #[cfg(unix)]
        {
            std::fs::create_dir(parent.path().join("real")).unwrap();
            std::os::unix::fs::symlink("real", &path).unwrap();
            assert!(AtomicDirectory::create(&path).unwrap().publish().is_err());
            let directory = AtomicDirectory::create(&path).unwrap();
            directory.take("a", sealed(parent.path(), "x")).unwrap();
            directory.replace(&[]).unwrap();
            assert!(path.is_symlink() && parent.path().join("real/a").exists());
        }
    }
}
