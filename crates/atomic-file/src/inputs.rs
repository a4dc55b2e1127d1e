//! The inputs of a program, which no output overwrites, known by the identity of a file, independent of its name.

use std::path::{Path, PathBuf};

pub use system::Identity;

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "(standard input)";

/// The inputs of a program: no output is written over one of them.
///
/// A directory stands for all files in it and below. New files in such a directory are permitted: they are not inputs.
#[derive(Debug, Default)]
pub struct Inputs {
    files: Vec<(Identity, PathBuf)>,
    directories: Vec<(Identity, PathBuf)>,
}

impl Inputs {
    /// Creates an empty set of inputs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates inputs from files and directories.
    #[must_use]
    pub fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut inputs = Self::new();
        paths.into_iter().for_each(|path| inputs.add(path));
        inputs
    }

    /// Adds a file or a directory. A path that does not exist or cannot be inspected is ignored; reading it will fail.
    pub fn add(&mut self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        if let Ok(identity) = Identity::of_path(path) {
            let known = if path.is_dir() { &mut self.directories } else { &mut self.files };
            known.push((identity, path.to_owned()));
        }
    }

    /// Adds the file from which standard input is redirected.
    pub fn add_standard_input(&mut self) {
        if let Ok(identity) = Identity::of_standard_input() {
            self.files.push((identity, PathBuf::from(STANDARD_INPUT)));
        }
    }

    /// Returns the input that is the same file, by its given name.
    pub(crate) fn find(&self, path: &Path) -> Option<&Path> {
        let identity = Identity::of_path(path).ok()?;
        self.find_file(&identity).or_else(|| self.find_directory(path))
    }

    pub(crate) fn find_file(&self, identity: &Identity) -> Option<&Path> {
        self.files.iter().find(|(known, _)| known == identity).map(|(_, name)| name.as_path())
    }

    /// Returns the input directory that contains a file. Hard links to the file in such a directory are not searched
    /// for: replacing one name leaves the others unchanged.
    fn find_directory(&self, path: &Path) -> Option<&Path> {
        if self.directories.is_empty() {
            return None;
        }
        self.directory_around(path.canonicalize().ok()?.parent()?)
    }

    /// Returns the input directory that is this directory, or contains it.
    pub(crate) fn directory_around(&self, path: &Path) -> Option<&Path> {
        path.ancestors().find_map(|ancestor| {
            let identity = Identity::of_path(ancestor).ok()?;
            let found = self.directories.iter().find(|(known, _)| *known == identity);
            found.map(|(_, name)| name.as_path())
        })
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// The identity of a file: device and inode. The `same-file` crate opens what it compares, and opening a FIFO blocks.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub struct Identity {
        device: u64,
        inode: u64,
    }

    impl Identity {
        /// Returns the identity of the file that a path leads to.
        ///
        /// # Errors
        /// When the operating system refuses it.
        pub fn of_path(path: &Path) -> io::Result<Self> {
            Ok(Self::of_metadata(&path.metadata()?))
        }

        pub(crate) fn of_file(file: &File) -> io::Result<Self> {
            Ok(Self::of_metadata(&file.metadata()?))
        }

        pub(super) fn of_standard_input() -> io::Result<Self> {
            Self::of_file(&File::from(io::stdin().as_fd().try_clone_to_owned()?))
        }

        fn of_metadata(metadata: &Metadata) -> Self {
            Self { device: metadata.dev(), inode: metadata.ino() }
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use same_file::Handle;

    /// The identity of a file: volume and file number.
    #[derive(Debug, PartialEq, Eq, Hash)]
    pub struct Identity(Handle);

    impl Identity {
        /// Returns the identity of the file that a path leads to.
        ///
        /// # Errors
        /// When the operating system refuses it.
        pub fn of_path(path: &Path) -> io::Result<Self> {
            Handle::from_path(path).map(Self)
        }

        pub(crate) fn of_file(file: &File) -> io::Result<Self> {
            Handle::from_file(file.try_clone()?).map(Self)
        }

        pub(super) fn of_standard_input() -> io::Result<Self> {
            Handle::stdin().map(Self)
        }
    }
}
