//! The target of an output's path.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The name of standard output, on every system.
pub const STANDARD_OUTPUT: &str = "/dev/stdout";

/// The greatest number of symbolic links followed, as in Linux.
const MAX_LINKS: usize = 40;

/// The target of an output's path, with symbolic links followed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An open descriptor of this process.
    Descriptor(Descriptor),
    /// A character device or FIFO.
    #[cfg_attr(not(unix), expect(dead_code, reason = "such files exist on Unix only"))]
    Stream,
    /// A block device.
    #[cfg_attr(not(unix), expect(dead_code, reason = "such files exist on Unix only"))]
    BlockDevice,
    /// A regular file, to be replaced at this path.
    File(PathBuf),
    /// A free path.
    New(PathBuf),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Descriptor {
    StandardOutput,
    StandardError,
    /// Any other, by the path under which the system opens it.
    Other(PathBuf),
}

impl Target {
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let refused = |what| Err(Error::NotAFile { path: path.to_owned(), what });
        let is_named = path.file_name().is_some();
        if !is_named
            || path.as_os_str().as_encoded_bytes().ends_with(std::path::MAIN_SEPARATOR_STR.as_bytes())
        {
            return refused("is the name of a directory");
        }
        let end = follow(path).map_err(Error::io("look at it", path))?;
        if let Some(descriptor) = Descriptor::of(&end) {
            return Ok(Self::Descriptor(descriptor));
        }
        let kind = match end.metadata() {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::New(end)),
            Err(error) => return Err(Error::io("look at it", path)(error)),
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            if kind.is_fifo() || kind.is_char_device() {
                return Ok(Self::Stream);
            }
            if kind.is_block_device() {
                return Ok(Self::BlockDevice);
            }
        }
        if kind.is_dir() {
            return refused("is a directory");
        }
        if kind.is_file() { Ok(Self::File(end)) } else { refused("is neither a file nor a stream") }
    }
}

/// Follows symbolic links at the end of a path, also dangling ones, up to a descriptor.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if Descriptor::of(&path).is_some() {
            return Ok(path);
        }
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                let target = path.read_link()?;
                path = directory_of(&path).join(target);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

impl Descriptor {
    /// Returns the descriptor that a path names. It is not followed further: the file behind it is to be written at the
    /// descriptor's position, not replaced.
    fn of(path: &Path) -> Option<Self> {
        let own = format!("/proc/{}/fd", std::process::id());
        let text = path.to_str()?;
        let number = match text {
            STANDARD_OUTPUT => "1",
            "/dev/stderr" => "2",
            _ => ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd", &own]
                .iter()
                .find_map(|directory| text.strip_prefix(directory)?.strip_prefix('/'))?,
        };
        match number.parse::<u32>().ok()? {
            1 => Some(Self::StandardOutput),
            2 => Some(Self::StandardError),
            _ => Some(Self::Other(path.to_owned())),
        }
    }

    pub(crate) fn open(&self) -> io::Result<File> {
        match self {
            // Appending is safe for descriptors that other processes write to as well.
            Self::Other(path) => OpenOptions::new().append(true).open(path),
            Self::StandardOutput => duplicate(io::stdout()),
            Self::StandardError => duplicate(io::stderr()),
        }
    }
}

#[cfg(unix)]
fn duplicate(stream: impl std::os::fd::AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn duplicate(stream: impl std::os::windows::io::AsHandle) -> io::Result<File> {
    stream.as_handle().try_clone_to_owned().map(File::from)
}

/// Returns the directory of a file, existing or not.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_known_by_name() {
        let of = |path: &str| Descriptor::of(Path::new(path));
        assert_eq!(of(STANDARD_OUTPUT), Some(Descriptor::StandardOutput));
        assert_eq!(of("/dev/fd/1"), Some(Descriptor::StandardOutput));
        assert_eq!(of("/proc/self/fd/2"), Some(Descriptor::StandardError));
        assert_eq!(of("/dev/fd/63"), Some(Descriptor::Other("/dev/fd/63".into())));
        assert_eq!(of(&format!("/proc/{}/fd/1", std::process::id())), Some(Descriptor::StandardOutput));
        assert_eq!(of("/dev/fd/one"), None);
        assert_eq!(of("/dev/fdx"), None);
        assert_eq!(of("dev/fd/1"), None);
    }

    #[test]
    fn names_of_directories_are_no_files() {
        for path in ["", "/", "..", "some/"] {
            assert!(matches!(Target::of(Path::new(path)), Err(Error::NotAFile { .. })), "{path}");
        }
    }
}
