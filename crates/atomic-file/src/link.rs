//! Another name of a complete file, or a copy of it.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::file::AtomicFile;

/// Gives a file that is never changed in place another name, and its contents durability; where it cannot have one, as
/// on another file system, copies it. The name is not synced.
///
/// # Errors
/// When the name is taken or cannot be given, or the file cannot be read, copied or synced: there is no new name then.
pub fn link_or_copy(file: &Path, name: &Path) -> Result<(), Error> {
    // Of the file itself, where a symbolic link leads to it.
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
            copy.seal()?.name_it(name)
        }
    }
}
