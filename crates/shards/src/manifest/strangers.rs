//! Files in the directory of a set that are no part of it.

use std::collections::HashSet;
use std::path::Path;

use super::{MANIFEST, Manifest};
use crate::error::Error;

/// The names of all files in the directory of a set that its manifest does not name, in order.
pub(crate) fn strangers(directory: &Path, manifest: &Manifest) -> Result<Vec<String>, Error> {
    let known: HashSet<&str> = manifest.shards.iter().map(|shard| shard.file.as_str()).collect();
    let failed = || Error::io("list it", directory);
    let mut strangers = Vec::new();
    for entry in directory.read_dir().map_err(failed())? {
        let name = entry.map_err(failed())?.file_name();
        match name.to_str() {
            Some(name) if name == MANIFEST || known.contains(name) => {}
            _ => strangers.push(name.to_string_lossy().into_owned()),
        }
    }
    strangers.sort();
    Ok(strangers)
}
