//! Making a set: from fingerprints in any order, or from index files that were built before.
//!
//! - [`builder`]: fingerprints in, one directory of shards out
//! - [`import`]: sets of index files that were built one by one
//! - [`spool`]: records spooled for a shard, in memory or in temporary files

mod builder;
mod import;
mod spool;

use std::path::{Path, PathBuf};

pub use builder::{SealedShards, ShardsBuilder, ShardsSummary};
pub use import::{add, create};

use crate::error::Error;
use crate::manifest::{self, MANIFEST, Manifest, ShardEntry, unlisted_files};
use hamdex::{BuildError, SealedIndex, Summary};
use hamdex_atomic_file::AtomicDirectory;

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
            return Err(Error::NotDirectoryName { path: path.to_owned() });
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
        match self.path.symlink_metadata() {
            Ok(_) if !self.overwrite => return Err(hamdex::OutputError::Exists { path: path() }.into()),
            Ok(_) if !self.path.is_dir() => {
                return Err(Error::NotDirectory { path: path() });
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("look at it", &self.path)(error)),
        }
        let manifest = manifest::read(&self.path).map_err(|error| match error {
            Error::NotShards { path, .. } => Error::NotReplaced { path },
            Error::Damaged { .. } | Error::Newer { .. } => Error::UnreadableManifest { path: path() },
            other => other,
        })?;
        if let Some(file) = unlisted_files(&self.path, &manifest)?.first() {
            return Err(Error::OtherFile { path: path(), file: file.clone() });
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
