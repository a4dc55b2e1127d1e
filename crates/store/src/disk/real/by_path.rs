//! A directory whose files are addressed by path, where the system has no handles of directories.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hamdex_atomic_file::sync_directory;

use super::Access;

/// A directory.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
}

/// The identity of a file, which is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity;

impl Identity {
    pub(super) fn of(_: &File) -> io::Result<Self> {
        Ok(Self)
    }
}

impl Directory {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn opened_anew(&self) -> Self {
        Self::new(&self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn join(&self, name: &str) -> PathBuf {
        // Joining nothing would add a separator.
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    pub(super) fn create_directory(&self, name: &str) -> io::Result<()> {
        let path = self.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            outcome => outcome?,
        }
        sync_directory(&self.path)
    }

    pub(super) fn open(&self, name: &str, access: Access) -> io::Result<File> {
        let (mut options, path) = (File::options(), self.join(name));
        match access {
            // That of a pipe would wait for a writer.
            Access::Read if !path.metadata()?.is_file() => return Err(super::not_regular()),
            Access::Read => options.read(true),
            Access::Write => options.write(true),
            Access::CreateNew => options.write(true).create_new(true),
            Access::Lock => options.read(true).write(true).create(true).truncate(false),
        };
        options.open(path)
    }

    pub(super) fn sync(&self, name: &str) -> io::Result<()> {
        sync_directory(&self.join(name))
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.join(from), self.join(to))
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.join(name))
    }

    pub(super) fn link(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        fs::hard_link(self.join(name), to.join(to_name))
    }

    /// Returns the names of the directories, or of the other files, in a directory.
    pub(super) fn names(&self, directory: &str, are_directories: bool) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.join(directory))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() == are_directories {
                // A name that is not UTF-8 is foreign, and only shown.
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    pub(super) fn is_link(&self, name: &str) -> bool {
        fs::symlink_metadata(self.join(name)).is_ok_and(|metadata| metadata.is_symlink())
    }

    pub(super) fn length(&self, name: &str) -> io::Result<u64> {
        fs::metadata(self.join(name)).map(|metadata| metadata.len())
    }

    pub(super) fn set_locked(&self, _: Option<(String, Identity)>) {}

    pub(super) fn leads_to(&self, name: &str, _: Identity) -> io::Result<bool> {
        self.join(name).try_exists()
    }

    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as where directories have handles")]
    pub(super) fn check_held(&self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn check_file(&self, _: &str, _: Identity) -> io::Result<()> {
        self.check_held()
    }
}
