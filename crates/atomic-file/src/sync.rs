//! Durable names.

#[cfg(unix)]
use std::fs::File;
use std::io;
use std::path::Path;

/// Makes the names in a directory durable: every file created, renamed or removed in it before.
///
/// File systems that cannot sync directories, and Windows, succeed without doing anything.
///
/// # Errors
/// When the directory cannot be opened or synced.
#[cfg(unix)]
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        // A file system that cannot sync a directory has nothing more to offer.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        outcome => outcome,
    }
}

/// Makes the names in a directory durable: every file created, renamed or removed in it before.
///
/// File systems that cannot sync directories, and Windows, succeed without doing anything.
///
/// # Errors
/// When the directory cannot be opened or synced.
#[cfg(not(unix))]
pub fn sync_directory(_directory: &Path) -> io::Result<()> {
    // Directories cannot be opened for that here; the rename itself is journaled.
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_synced_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        sync_directory(directory.path()).unwrap();
        if cfg!(unix) {
            assert!(sync_directory(&directory.path().join("missing")).is_err());
        }
    }
}
