//! Hard links to complete files, or copies.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::file::AtomicFile;

/// Links a file that is never changed in place under another name, and syncs its contents; copies it if it cannot be
/// linked, as to another file system. The directory of the name is not synced.
///
/// # Errors
/// When the name is taken, or the file cannot be linked, read, copied or synced; there is no new name then.
pub fn link_or_copy(file: &Path, name: &Path) -> Result<(), Error> {
    // Link the file itself, not a symbolic link to it.
    let file = file.canonicalize().map_err(Error::io("read it", file))?;
    match std::fs::hard_link(&file, name) {
        Ok(()) => {
            let synced = File::open(&file).and_then(|file| file.sync_all());
            synced.map_err(|error| {
                let _ = std::fs::remove_file(name);
                Error::io("sync it to disk", &file)(error)
            })
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::Exists { path: name.to_owned() })
        }
        Err(_) => {
            let mut from = File::open(&file).map_err(Error::io("read it", &file))?;
            let mut copy = AtomicFile::options().create(name)?;
            let failed = copy.failed();
            io::copy(&mut from, &mut copy).map_err(failed)?;
            copy.seal()?.publish_as(name)
        }
    }
}
