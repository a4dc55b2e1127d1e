//! The identity of a file, independent of its name.

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

        pub(crate) fn of_standard_input() -> io::Result<Self> {
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

        pub(crate) fn of_standard_input() -> io::Result<Self> {
            Handle::stdin().map(Self)
        }
    }
}

pub use system::Identity;
