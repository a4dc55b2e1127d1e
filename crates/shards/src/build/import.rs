//! Sets of existing index files.

#[cfg(unix)]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use hamdex::{Fingerprint, OpenOptions, VerifyOptions};
use hamdex_atomic_file::{link_or_copy, sync_directory};

use crate::build::Target;
use crate::error::Error;
use crate::manifest::{self, Layout, MANIFEST, MAX_SHARDS, Manifest, ShardEntry};
use crate::set::{id_type, ids_of, recipe, shingles_of};

/// Creates a set of layout [`Layout::Hash`] from index files, which must have the same width, distance, recipe, kind of
/// ids and shingles. Each file is read and verified first. Files are not rebuilt: the directory has hard links to them,
/// or copies if they are on another file system. The directory appears when it is complete; with `overwrite` it
/// replaces a set of that name.
///
/// Returns the manifest.
///
/// # Errors
/// When there is no file; when files differ, are given twice, cannot be read or are damaged; when the directory exists
/// and may not be replaced, or cannot be created.
pub fn create<P: AsRef<Path>>(
    directory: impl AsRef<Path>,
    files: &[P],
    overwrite: bool,
    options: &VerifyOptions,
) -> Result<Manifest, Error> {
    let target = Target::new(directory.as_ref(), overwrite)?;
    files.iter().try_for_each(|file| target.check_input(file.as_ref()))?;
    let Some(first) = files.first() else {
        let expected = "at least 1: a set has the width, distance and recipe of its first file".to_owned();
        return Err(Error::Option { option: "the number of files", given: 0, expected });
    };
    let mut manifest = Candidate::open(first.as_ref(), None)?.kind;
    let added = join(&mut manifest, files, options)?;
    let made = target.start()?;
    for (entry, path) in &added {
        made.link(&entry.file, path)?;
    }
    target.publish(made, &manifest)?;
    Ok(manifest)
}

/// Adds index files to a set of layout [`Layout::Hash`]: see [`create`]. All of them join it atomically, when the
/// manifest is replaced. Only one process at a time can add files.
///
/// Returns the new manifest.
///
/// # Errors
/// When the set has families, another process adds to it, or it cannot be written; when files differ from those of the
/// set, are in it already, cannot be read or are damaged. The set is unchanged then, unless the error says that the
/// output is in place.
pub fn add<P: AsRef<Path>>(
    directory: impl AsRef<Path>,
    files: &[P],
    options: &VerifyOptions,
) -> Result<Manifest, Error> {
    let directory = directory.as_ref();
    if directory.exists() && !directory.is_dir() {
        // Opening a pipe would block.
        manifest::read(directory)?;
    }
    // Locked before the manifest is read, so that no other process replaces it in between.
    let _lock = lock(directory)?;
    let mut manifest = manifest::read(directory)?;
    if manifest.layout == Layout::Families {
        return Err(Error::Families { path: directory.to_owned() });
    }
    let added = join(&mut manifest, files, options)?;
    let mut named = Named { directory, names: Vec::new() };
    for (entry, path) in &added {
        let name = directory.join(&entry.file);
        if is_same_name(path, &name) {
            // The file is in the directory already, under this name.
            continue;
        }
        // A file left by an earlier attempt, in no manifest.
        if let Err(error) = std::fs::remove_file(&name)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(Error::io("remove it", name)(error));
        }
        link_or_copy(path, &name)?;
        named.names.push(name);
    }
    // The directory is synced before the manifest is replaced, so that a crash leaves no manifest with lost files.
    sync_directory(directory).map_err(Error::io("sync it to disk", directory))?;
    let written = manifest::write(&directory.join(MANIFEST), &manifest)?.publish();
    if written.as_ref().err().is_none_or(hamdex::OutputError::is_in_place) {
        named.names.clear();
    }
    written?;
    Ok(manifest)
}

/// Returns whether two paths are the same name of a file.
fn is_same_name(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Files linked into the directory of a set, removed again unless the manifest has them.
struct Named<'d> {
    directory: &'d Path,
    names: Vec<PathBuf>,
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        for name in &self.names {
            // A file that remains is not part of the set.
            let _ = std::fs::remove_file(name);
        }
        if !self.names.is_empty() {
            let _ = sync_directory(self.directory);
        }
    }
}

#[cfg(unix)]
fn lock(directory: &Path) -> Result<File, Error> {
    let file = File::open(directory).map_err(Error::io("open it", directory))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::InUse { path: directory.to_owned() }),
        Err(std::fs::TryLockError::Error(error)) => Err(Error::io("lock it", directory)(error)),
    }
}

#[cfg(not(unix))]
fn lock(_: &Path) -> Result<(), Error> {
    // Directories cannot be opened on this system.
    Ok(())
}

/// An index file to be added to a set.
struct Candidate {
    /// Its properties as a manifest without shards.
    kind: Manifest,
    entry: ShardEntry,
}

impl Candidate {
    /// Opens a file, and verifies it with these options.
    fn open(path: &Path, verify: Option<&VerifyOptions>) -> Result<Self, Error> {
        match hamdex::width(path)? {
            128 => Self::of::<u128>(path, verify),
            _ => Self::of::<u64>(path, verify),
        }
    }

    fn of<F: Fingerprint>(path: &Path, verify: Option<&VerifyOptions>) -> Result<Self, Error> {
        let index = OpenOptions::new().open::<F>(path)?;
        if let Some(options) = verify {
            index.verify_with(options)?;
        }
        let file_id = index.file_id().to_string();
        let kind = Manifest {
            layout: Layout::Hash,
            width: F::BITS,
            distance: index.design().distance(),
            recipe: recipe(&index, path)?,
            id_type: id_type(&index),
            shingles: shingles_of(&index, path)?,
            shards: Vec::new(),
        };
        let entry = ShardEntry {
            file: format!("{file_id}.hamdex"),
            fingerprints: index.len(),
            ids: ids_of(&index),
            bytes: index.stats().file_bytes,
            file_id,
        };
        Ok(Self { kind, entry })
    }
}

/// Adds files to a manifest; returns their entries and paths.
fn join<P: AsRef<Path>>(
    manifest: &mut Manifest,
    files: &[P],
    options: &VerifyOptions,
) -> Result<Vec<(ShardEntry, PathBuf)>, Error> {
    let mut added = Vec::with_capacity(files.len());
    for path in files {
        let path = path.as_ref();
        let Candidate { kind, entry } = Candidate::open(path, Some(options))?;
        check_alike(path, &kind, manifest)?;
        if let Some(existing) = manifest.shards.iter().find(|shard| shard.is_like(&entry)) {
            return Err(Error::Twice { path: path.to_owned(), file: existing.file.clone() });
        }
        if manifest.shards.len() == MAX_SHARDS {
            let expected = format!("at most {MAX_SHARDS}");
            let given = MAX_SHARDS as u64 + 1;
            return Err(Error::Option { option: "the number of shards", given, expected });
        }
        manifest.shards.push(entry.clone());
        added.push((entry, path.to_owned()));
    }
    Ok(added)
}

fn check_alike(path: &Path, kind: &Manifest, set: &Manifest) -> Result<(), Error> {
    let ids = |of: &Manifest| match of.id_type {
        Some(kind) => format!("ids that are {kind}"),
        None => "no ids".to_owned(),
    };
    let recipe = |of: &Manifest| match &of.recipe {
        Some(recipe) => format!("the recipe {recipe:?}"),
        None => "no recipe".to_owned(),
    };
    let shingles = |of: &Manifest| match &of.shingles {
        Some(definition) => format!("the shingles {definition:?}"),
        None => "no shingles".to_owned(),
    };
    let width = |of: &Manifest| format!("fingerprints of {} bits", of.width);
    let distance = |of: &Manifest| format!("a design for distance {}", of.distance);
    for of in [&width as &dyn Fn(&Manifest) -> String, &distance, &recipe, &ids, &shingles] {
        let (found, expected) = (of(kind), of(set));
        if found != expected {
            return Err(Error::Unlike { path: path.to_owned(), found, expected });
        }
    }
    Ok(())
}
