//! Reading and writing the manifest, and the files next to it that it does not name.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use hamdex_atomic_file::{AtomicFile, SealedFile};
use hamdex_manifest::TextError;

use super::text::{FORM, parse, to_text};
use super::{MANIFEST, Manifest, VERSION};
use crate::error::Error;

/// Returns whether a directory is a set of shards, in any version, by the beginning of its manifest. The manifest of a
/// store has the same file name and another beginning.
///
/// # Errors
/// When the manifest cannot be read.
pub fn is_set(directory: impl AsRef<Path>) -> Result<bool, Error> {
    let first = read_first(directory.as_ref(), FORM.beginning_bytes())?;
    Ok(first.is_some_and(|first| FORM.begins(&first)))
}

/// Reads the manifest of a set.
///
/// # Errors
/// When there is none, it is damaged or has a later version, or it cannot be read.
pub fn read(directory: impl AsRef<Path>) -> Result<Manifest, Error> {
    let directory = directory.as_ref();
    let not_shards = || {
        let missing = directory.metadata().err().filter(|error| error.kind() == io::ErrorKind::NotFound);
        Error::NotShards { path: directory.to_owned(), source: missing }
    };
    let text = read_first(directory, FORM.bytes_to_read())?.ok_or_else(not_shards)?;
    let path = directory.join(MANIFEST);
    parse(&text).map_err(|error| match error {
        TextError::NotAManifest => not_shards(),
        TextError::Newer(found) => Error::Newer { path, found, supported: VERSION },
        TextError::Damaged { offset, what } => Error::damaged(path, format!("byte {offset}: {what}")),
    })
}

/// Returns the first bytes of the manifest in a directory; `None` if there is no such file.
fn read_first(directory: &Path, bytes: usize) -> Result<Option<Vec<u8>>, Error> {
    let path = directory.join(MANIFEST);
    match is_regular(&path) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(Error::io("look at it", path)(error)),
    }
    let mut first = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(bytes as u64).read_to_end(&mut first));
    read.map_err(Error::io("read it", &path))?;
    Ok(Some(first))
}

/// Returns whether a path is a regular file. Opening a pipe would block.
fn is_regular(path: &Path) -> io::Result<bool> {
    Ok(path.metadata()?.is_file())
}

/// Writes a manifest to an unpublished file that will replace the one at this path.
pub(crate) fn write(path: &Path, manifest: &Manifest) -> Result<SealedFile, Error> {
    debug_assert_eq!(manifest.check(), Ok(()));
    let mut file = AtomicFile::options().overwrite(true).create(path)?;
    let failed = file.failed();
    file.write_all(to_text(manifest).as_bytes()).map_err(failed)?;
    Ok(file.seal()?)
}

/// Returns the names of files in the directory of a set that are not in its manifest, sorted.
pub(crate) fn unlisted_files(directory: &Path, manifest: &Manifest) -> Result<Vec<String>, Error> {
    let known: HashSet<&str> = manifest.shards.iter().map(|shard| shard.file.as_str()).collect();
    let failed = || Error::io("list it", directory);
    let mut unlisted_files = Vec::new();
    for entry in directory.read_dir().map_err(failed())? {
        let name = entry.map_err(failed())?.file_name();
        match name.to_str() {
            Some(name) if name == MANIFEST || known.contains(name) => {}
            _ => unlisted_files.push(name.to_string_lossy().into_owned()),
        }
    }
    unlisted_files.sort();
    Ok(unlisted_files)
}
