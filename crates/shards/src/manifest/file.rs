//! Reading and writing the manifest.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use hamdex_atomic_file::{AtomicFile, SealedFile};

use super::text::{TextError, parse, to_text};
use super::{MANIFEST, Manifest, VERSION};
use crate::error::Error;

/// More than any manifest has.
const MAX_MANIFEST_BYTES: u64 = 1 << 25;

/// Reads the manifest of a set.
///
/// # Errors
/// When there is none, it is damaged or of a later version, or the operating system refuses something.
pub fn read(directory: impl AsRef<Path>) -> Result<Manifest, Error> {
    let directory = directory.as_ref();
    let path = directory.join(MANIFEST);
    let not_shards = || Error::NotShards { path: directory.to_owned() };
    let mut text = Vec::new();
    match is_regular(&path) {
        Ok(true) => {}
        Ok(false) => return Err(not_shards()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(not_shards());
        }
        Err(error) => return Err(Error::io("read it", path)(error)),
    }
    let file = File::open(&path).map_err(Error::io("read it", &path))?;
    file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut text).map_err(Error::io("read it", &path))?;
    if text.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(Error::damaged(path, "it is too long"));
    }
    parse(&text).map_err(|error| match error {
        TextError::NotAManifest => not_shards(),
        TextError::Newer(found) => Error::Newer { path, found, supported: VERSION },
        TextError::Damaged(what) => Error::damaged(path, what),
    })
}

/// Whether a path is that of a regular file: to open a pipe would wait for a writer.
fn is_regular(path: &Path) -> io::Result<bool> {
    Ok(path.metadata()?.is_file())
}

/// Writes a manifest that has no name yet, in place of the one of that path, if there is one.
pub(crate) fn write(path: &Path, manifest: &Manifest) -> Result<SealedFile, Error> {
    debug_assert_eq!(manifest.check(), Ok(()));
    let mut file = AtomicFile::options().overwrite(true).create(path)?;
    let failed = file.failed();
    file.write_all(to_text(manifest).as_bytes()).map_err(failed)?;
    Ok(file.seal()?)
}
