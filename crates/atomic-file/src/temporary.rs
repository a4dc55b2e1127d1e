//! The directory of temporary files, and reading them.

use std::env;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::target::{Target, directory_of};

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
