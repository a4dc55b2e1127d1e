//! The manifest: the shards of the set, and the distribution of fingerprints over them.
//!
//! As text it is a line of JSON for the set, a line per shard, and a line with the checksums of all these, in the form of
//! [`hamdex_manifest`].

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use hamdex_atomic_file::{AtomicFile, SealedFile, sync_directory};
use hamdex_manifest::{Form, TextError, check_same, line, seal};

/// The name of the manifest in the directory of its set.
pub const MANIFEST: &str = hamdex_manifest::MANIFEST;

/// The version of the format that this program writes and reads.
pub const VERSION: u64 = 1;

/// The maximum number of shards of a set, all families together: a process may have about twice as many mappings by
/// default.
pub const MAX_SHARDS: usize = 1 << 15;

/// The maximum of a count of a shard: sums over all shards fit into 64 bits, and every reader of JSON represents them
/// exactly.
const MAX_COUNT: u64 = 1 << 48;

/// The distribution of fingerprints over the shards of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layout {
    /// Any fingerprint may be in any shard, or in several. A query searches all shards.
    Hash,
    /// There are distance + 1 families of shards. Each family has every fingerprint once, distributed by a group of its
    /// bits. A query within the distance searches one shard of each family.
    Families,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hash => "hash",
            Self::Families => "families",
        })
    }
}

/// The kind of the ids of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdType {
    /// Numbers, with the same meaning in all shards.
    Numbers,
    /// Names: the number of a name is local to its shard.
    Names,
}

impl fmt::Display for IdType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numbers => "numbers",
            Self::Names => "names",
        })
    }
}

/// The manifest entry of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardEntry {
    /// The name of its file, in the directory of the set.
    pub file: String,
    /// Number of fingerprints.
    pub fingerprints: u64,
    /// Number of ids; 0 in a set without ids.
    pub ids: u64,
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// The file id of its file: 32 lower-case hexadecimal digits.
    pub file_id: String,
}

/// The manifest of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The distribution of fingerprints over the shards.
    pub layout: Layout,
    /// The width of the fingerprints, in bits: 64 or 128.
    pub width: u32,
    /// The distance, in bits, for which the shards and families are built.
    pub distance: u32,
    /// The recipe of the fingerprints, if they are fingerprints of texts.
    pub recipe: Option<String>,
    /// The kind of the ids; `None` without ids.
    pub id_type: Option<IdType>,
    /// The definition of the shingles that the shards of the first family keep; `None` without shingles.
    pub shingles: Option<String>,
    /// The shards; in a set of families, ordered by family and then by number within the family.
    pub shards: Vec<ShardEntry>,
}

impl Manifest {
    /// Returns the number of families; 1 in layout `hash`.
    #[must_use]
    pub fn families(&self) -> usize {
        match self.layout {
            Layout::Hash => 1,
            Layout::Families => self.distance as usize + 1,
        }
    }

    /// Returns shards that together have every fingerprint: all shards in layout `hash`, otherwise the first family.
    #[must_use]
    pub fn first_family(&self) -> &[ShardEntry] {
        &self.shards[..self.shards.len() / self.families()]
    }

    /// Returns the number of fingerprints; in layout `hash` an upper bound, since one may be in several shards.
    #[must_use]
    pub fn fingerprints(&self) -> u64 {
        self.first_family().iter().map(|shard| shard.fingerprints).sum()
    }

    /// Returns the number of (fingerprint, id) pairs; in layout `hash` an upper bound.
    #[must_use]
    pub fn ids(&self) -> u64 {
        self.first_family().iter().map(|shard| shard.ids).sum()
    }

    /// Returns the size of all shards, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes).sum()
    }

    /// Checks that its values are consistent; returns the contradiction otherwise.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !matches!(self.width, 64 | 128) {
            return Err(format!("unsupported width of {} bits", self.width));
        }
        let most = if self.layout == Layout::Families { self.width - 1 } else { self.width };
        if self.distance > most {
            return Err(format!("impossible distance of {} bits", self.distance));
        }
        if self.shards.is_empty() || self.shards.len() > MAX_SHARDS {
            return Err(format!("{} shards instead of 1 to {MAX_SHARDS}", self.shards.len()));
        }
        if !self.shards.len().is_multiple_of(self.families()) {
            return Err(format!("{} shards for {} families", self.shards.len(), self.families()));
        }
        if self.shingles.is_some() && self.id_type.is_none() {
            return Err("shingles without ids".to_owned());
        }
        let mut names = HashSet::new();
        for shard in &self.shards {
            shard.check(self.id_type).map_err(|what| format!("shard {:?}: {what}", shard.file))?;
            if !names.insert(&shard.file) {
                return Err(format!("shard {:?} is named twice", shard.file));
            }
        }
        let counts = |family: &[ShardEntry]| {
            family.iter().fold((0u64, 0u64), |sums, one| (sums.0 + one.fingerprints, sums.1 + one.ids))
        };
        let mut families = self.shards.chunks(self.shards.len() / self.families()).map(counts);
        let first = families.next();
        if families.any(|family| Some(family) != first) {
            return Err("families with different contents".to_owned());
        }
        Ok(())
    }
}

impl ShardEntry {
    /// Returns whether it is the same file, or has the same name.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.file_id == other.file_id || self.file == other.file
    }

    fn check(&self, id_type: Option<IdType>) -> Result<(), &'static str> {
        let is_plain = |name: &str| {
            !matches!(name, "" | "." | ".." | MANIFEST)
                && !name.contains(['/', '\\', ':'])
                && !name.contains(char::is_control)
        };
        if !is_plain(&self.file) {
            return Err("its name is not a plain file name");
        }
        if self.file_id.len() != 32 || !self.file_id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err("its file id is not valid");
        }
        if [self.fingerprints, self.ids, self.bytes].into_iter().any(|count| count > MAX_COUNT) {
            return Err("an impossible count");
        }
        let are_possible = match id_type {
            None => self.ids == 0,
            Some(_) => self.ids >= self.fingerprints && (self.fingerprints > 0 || self.ids == 0),
        };
        if are_possible { Ok(()) } else { Err("an impossible number of ids") }
    }
}

/// The form of the manifest: its first field, version and maximum size.
const FORM: Form = Form::new("hamdex_shards", VERSION, 1 << 25);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetLine {
    hamdex_shards: u64,
    layout: Layout,
    width: u32,
    distance: u32,
    recipe: Option<String>,
    id_type: Option<IdType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shingles: Option<String>,
}

/// Encodes a manifest.
fn to_text(manifest: &Manifest) -> String {
    let mut text = line(&SetLine {
        hamdex_shards: VERSION,
        layout: manifest.layout,
        width: manifest.width,
        distance: manifest.distance,
        recipe: manifest.recipe.clone(),
        id_type: manifest.id_type,
        shingles: manifest.shingles.clone(),
    });
    for entry in &manifest.shards {
        text += &line(entry);
    }
    seal(text)
}

/// Decodes and checks a manifest.
fn parse(text: &[u8]) -> Result<Manifest, TextError> {
    let mut lines = FORM.check(text)?;
    let SetLine { layout, width, distance, recipe, id_type, shingles, .. } = lines.require()?;
    let mut manifest = Manifest { layout, width, distance, recipe, id_type, shingles, shards: Vec::new() };
    while let Some(entry) = lines.read::<ShardEntry>()? {
        manifest.shards.push(entry);
    }
    manifest.check().map_err(|what| TextError::damaged(0, what))?;
    check_same(&to_text(&manifest), text)?;
    Ok(manifest)
}

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

/// Replaces the manifest of a set, or makes its first one. The shards must lie in the directory, which is synced first, so
/// that a crash leaves no manifest with lost files. Only one process at a time may do so.
///
/// # Errors
/// [`Error::Damaged`] if this manifest contradicts itself; and when it cannot be written. The one before is in place then,
/// unless the error says that the output is.
pub fn replace(directory: impl AsRef<Path>, manifest: &Manifest) -> Result<(), Error> {
    let directory = directory.as_ref();
    let path = directory.join(MANIFEST);
    manifest.check().map_err(|what| Error::damaged(&path, what))?;
    sync_directory(directory).map_err(Error::io("sync it to disk", directory))?;
    Ok(write(&path, manifest)?.publish()?)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: &str, fingerprints: u64) -> ShardEntry {
        let file_id = format!("{fingerprints:032x}");
        ShardEntry { file: file.to_owned(), fingerprints, ids: fingerprints, bytes: 4928, file_id }
    }

    fn manifest() -> Manifest {
        Manifest {
            layout: Layout::Families,
            width: 64,
            distance: 1,
            recipe: Some("a = \"ä\"".to_owned()),
            id_type: Some(IdType::Names),
            shingles: None,
            shards: vec![entry("a", 3), entry("b", 4), entry("c", 7), entry("d", 0)],
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        for (recipe, id_type, layout) in [
            (None, None, Layout::Hash),
            (Some("x\u{1}\u{7f}\n\"".to_owned()), Some(IdType::Numbers), Layout::Hash),
            (None, Some(IdType::Names), Layout::Families),
        ] {
            let mut manifest = Manifest { recipe, id_type, layout, ..manifest() };
            manifest.shards[0].file = "a \"name\" ü".to_owned();
            if id_type.is_none() {
                manifest.shards.iter_mut().for_each(|shard| shard.ids = 0);
            }
            assert_eq!(parse(to_text(&manifest).as_bytes()), Ok(manifest.clone()));
            // Shingles belong to ids.
            manifest.shingles = Some("runs of 5 words".to_owned());
            assert_eq!(parse(to_text(&manifest).as_bytes()).is_ok(), id_type.is_some());
        }
    }

    #[test]
    fn a_manifest_is_replaced_by_a_consistent_one_only() {
        let directory = tempfile::tempdir().unwrap();
        replace(&directory, &manifest()).unwrap();
        let wrong = Manifest { width: 65, ..manifest() };
        assert!(matches!(replace(&directory, &wrong), Err(Error::Damaged { .. })));
        assert_eq!(read(&directory).unwrap(), manifest());
        let hash = Manifest { layout: Layout::Hash, ..manifest() };
        replace(&directory, &hash).unwrap();
        assert_eq!(read(&directory).unwrap(), hash);
    }

    #[test]
    fn every_changed_byte_and_every_shorter_text_is_found() {
        let manifest = Manifest { shards: vec![entry("a", 3), entry("b", 3)], ..manifest() };
        let text = to_text(&manifest).into_bytes();
        assert_eq!(parse(&text), Ok(manifest));
        for place in 0..text.len() {
            for change in [1, 0x20, 0x80] {
                let mut changed = text.clone();
                changed[place] ^= change;
                assert!(parse(&changed).is_err(), "byte {place}");
            }
            assert!(parse(&text[..place]).is_err(), "{place} bytes");
        }
        assert!(parse(&[&text[..], b"\n"].concat()).is_err());
    }
}
