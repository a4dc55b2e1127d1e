//! The target of an output's path; the directory of temporary files, and reading them.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::{env, io};

use crate::Error;

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

/// Returns the directory for temporary files that may become as large as an output: the directory of the output, with
/// symbolic links followed. Without an output, or if it is a stream, it is the system's place for large files: `TMPDIR`
/// if it is set, else `/var/tmp` on Unix, since `/tmp` often is memory.
#[must_use]
pub fn temporary_directory(output: Option<&Path>) -> PathBuf {
    match output.map(Target::of) {
        Some(Ok(Target::File(name) | Target::New(name))) => directory_of(&name).to_owned(),
        _ => system_directory(),
    }
}

fn system_directory() -> PathBuf {
    let large = Path::new("/var/tmp");
    let is_free_choice = cfg!(unix) && env::var_os("TMPDIR").is_none();
    if is_free_choice && large.is_dir() { large.to_owned() } else { env::temp_dir() }
}

/// Fills a buffer with the bytes of a file at an offset. Several threads can read one file at a time. On Windows it
/// moves the file's own position.
///
/// # Errors
/// When the file cannot be read; [`io::ErrorKind::UnexpectedEof`] if it ends before the buffer is full.
#[cfg(unix)]
pub fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// Fills a buffer with the bytes of a file at an offset. Several threads can read one file at a time. On Windows it
/// moves the file's own position.
///
/// # Errors
/// When the file cannot be read; [`io::ErrorKind::UnexpectedEof`] if it ends before the buffer is full.
#[cfg(windows)]
pub fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
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

    #[test]
    fn temporary_files_are_next_to_the_output_or_in_a_place_for_large_files() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out");
        assert_eq!(temporary_directory(Some(&output)), directory.path());
        assert_eq!(temporary_directory(Some(Path::new("out"))), Path::new("."));
        let system = temporary_directory(None);
        assert!(system.is_dir());
        assert_eq!(temporary_directory(Some(directory.path())), system);
        #[cfg(unix)]
        {
            std::fs::create_dir(directory.path().join("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere/target", &output).unwrap();
            assert_eq!(temporary_directory(Some(&output)), directory.path().join("elsewhere"));
            assert_eq!(temporary_directory(Some(Path::new("/dev/null"))), system);
            assert_eq!(temporary_directory(Some(Path::new("/dev/stdout"))), system);
        }
    }

    #[test]
    fn bytes_are_read_from_any_place_and_not_beyond_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = File::open(path).unwrap();
        let mut buffer = [0; 4];
        for offset in [6, 0, 3] {
            read_exact_at(&file, &mut buffer, offset).unwrap();
            assert_eq!(buffer[0], b'0' + offset as u8);
            assert_eq!(buffer[3], b'3' + offset as u8);
        }
        let error = read_exact_at(&file, &mut buffer, 7).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        read_exact_at(&file, &mut [], 99).unwrap();
    }
}
