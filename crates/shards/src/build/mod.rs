//! Making a set: from fingerprints in any order, or from index files that were built before.
//!
//! - [`builder`]: fingerprints in, one directory of shards out
//! - [`spool`]: records spooled for a shard, in memory or in temporary files
//!
//! This file has sets of index files that were built one by one, and what both ways have in common.

mod builder;
mod spool;

#[cfg(unix)]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use hamdex::{BuildError, Fingerprint, OpenOptions, SealedIndex, Summary, VerifyOptions, for_width};
use hamdex_atomic_file::{AtomicDirectory, link_or_copy, sync_directory};

pub use builder::{SealedShards, ShardsBuilder, ShardsSummary};

use crate::error::Error;
use crate::manifest::{self, Layout, MANIFEST, MAX_SHARDS, Manifest, ShardEntry, unlisted_files};
use crate::set::{id_type, ids_of, recipe, shingles_of};

/// Open files of a process in addition to the shards that it builds, at most.
const OTHER_FILES: u64 = 64;

/// The path of a set to be created, and the permission to replace a set.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    overwrite: bool,
}

impl Target {
    /// Checks that the directory may be written, before any work.
    pub(crate) fn new(path: &Path, overwrite: bool) -> Result<Self, Error> {
        if path.file_name().is_none() {
            let what = "not the name of a directory".to_owned();
            return Err(Error::NotReplaced { path: path.to_owned(), what });
        }
        let target = Self { path: path.to_owned(), overwrite };
        target.replaced()?;
        // Otherwise the first shard would fail, with a path that the caller did not name.
        target.parent().metadata().map_err(Error::io("create it", path))?;
        Ok(target)
    }

    /// Returns the names of the files to be replaced; `None` if the directory does not exist.
    fn replaced(&self) -> Result<Option<Vec<String>>, Error> {
        let path = || self.path.clone();
        let refused = |what: &str| Error::NotReplaced { path: path(), what: what.to_owned() };
        match self.path.symlink_metadata() {
            Ok(_) if !self.overwrite => return Err(hamdex::OutputError::Exists { path: path() }.into()),
            Ok(_) if !self.path.is_dir() => return Err(refused("not a directory")),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("look at it", &self.path)(error)),
        }
        let manifest = manifest::read(&self.path).map_err(|error| match error {
            Error::NotShards { .. } => refused("not a set of shards"),
            Error::Damaged { .. } | Error::Newer { .. } => refused("its manifest cannot be read"),
            other => other,
        })?;
        if let Some(file) = unlisted_files(&self.path, &manifest)?.first() {
            return Err(refused(&format!("has {file} in it")));
        }
        let shards = manifest.shards.into_iter().map(|shard| shard.file);
        Ok(Some(shards.chain([MANIFEST.to_owned()]).collect()))
    }

    /// Fails if an input is inside the directory to be replaced.
    fn check_input(&self, input: &Path) -> Result<(), Error> {
        let is_inside = self
            .path
            .canonicalize()
            .is_ok_and(|target| input.canonicalize().is_ok_and(|input| input.starts_with(target)));
        if is_inside {
            let (path, input) = (self.path.clone(), input.to_owned());
            return Err(hamdex::OutputError::IsInput { path, input }.into());
        }
        Ok(())
    }

    /// Returns the parent directory, for temporary and unpublished files.
    fn parent(&self) -> PathBuf {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    /// Returns the path for which a shard is built, used in error messages; the published file has another one.
    pub(crate) fn shard(&self, file: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(file);
        self.parent().join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the directory under a temporary name.
    pub(crate) fn start(&self) -> Result<AtomicDirectory, Error> {
        Ok(AtomicDirectory::create(&self.path)?)
    }

    /// Writes the manifest into a directory that has its shards, and publishes it.
    fn publish(&self, directory: AtomicDirectory, manifest: &Manifest) -> Result<(), Error> {
        directory.take(MANIFEST, manifest::write(&self.shard(MANIFEST), manifest)?)?;
        match self.replaced()? {
            None => directory.publish()?,
            Some(files) => directory.replace(&files.iter().map(String::as_str).collect::<Vec<_>>())?,
        }
        Ok(())
    }
}

/// Fails if more shards are wanted than files can be open: each is an anonymous file until all are complete, so that a
/// killed process leaves nothing.
fn check_open_files(wanted: usize) -> Result<(), Error> {
    #[cfg(unix)]
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        let possible = limit.saturating_sub(OTHER_FILES);
        if wanted as u64 > possible {
            return Err(Error::OpenFiles { wanted: wanted as u64, possible });
        }
    }
    #[cfg(not(unix))]
    let _ = (wanted, OTHER_FILES);
    Ok(())
}

/// Moves a shard into the directory; returns its manifest entry.
fn put(directory: &AtomicDirectory, file: String, sealed: SealedIndex) -> Result<ShardEntry, BuildError> {
    let file_id = sealed.file_id().to_string();
    let Summary { fingerprints, ids, bytes, .. } = sealed.put_into(directory, &file)?;
    Ok(ShardEntry { file, fingerprints, ids, bytes, file_id })
}

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
    let replaced = manifest::replace(directory, &manifest);
    let is_in_place = match &replaced {
        Err(Error::Output(error)) => error.is_in_place(),
        other => other.is_ok(),
    };
    if is_in_place {
        named.names.clear();
    }
    replaced?;
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
        for_width!(hamdex::width(path)?, F => Self::of::<F>(path, verify))
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
