//! The files of a set on their way to their names, and the directory that they appear in.

use std::path::{Path, PathBuf};

use hamdex::{BuildError, SealedIndex, Summary};
use hamdex_atomic_file::AtomicDirectory;

use crate::error::Error;
use crate::manifest::{self, MANIFEST, Manifest, ShardEntry, strangers};

/// Files that a process has open beside the shards that it builds, at most.
const OTHER_FILES: u64 = 64;

/// The directory of a set that is to be made, and what it may replace.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    overwrite: bool,
}

impl Target {
    /// Refuses what may not be written, before there is any work.
    pub(crate) fn new(path: &Path, overwrite: bool) -> Result<Self, Error> {
        if path.file_name().is_none() {
            let what = "the name of no directory".to_owned();
            return Err(Error::NotReplaced { path: path.to_owned(), what });
        }
        let target = Self { path: path.to_owned(), overwrite };
        target.replaced()?;
        // Otherwise an error of the first shard would say so, of a file that nobody has named.
        target.beside().metadata().map_err(Error::io("create it", path))?;
        Ok(target)
    }

    /// The names of the files that it is to replace; `None` where there is nothing of that name.
    fn replaced(&self) -> Result<Option<Vec<String>>, Error> {
        let path = || self.path.clone();
        match self.path.symlink_metadata() {
            Ok(_) if !self.overwrite => return Err(hamdex::OutputError::Exists { path: path() }.into()),
            Ok(_) if !self.path.is_dir() => {
                return Err(Error::NotReplaced { path: path(), what: "not a directory".to_owned() });
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("look at it", &self.path)(error)),
        }
        let manifest = manifest::read(&self.path).map_err(|error| match error {
            Error::NotShards { path } => Error::NotReplaced { path, what: "not a set of shards".to_owned() },
            Error::Damaged { .. } | Error::Newer { .. } => {
                Error::NotReplaced { path: path(), what: "its manifest cannot be read".to_owned() }
            }
            other => other,
        })?;
        if let Some(stranger) = strangers(&self.path, &manifest)?.first() {
            return Err(Error::NotReplaced { path: path(), what: format!("has {stranger} in it") });
        }
        let shards = manifest.shards.into_iter().map(|shard| shard.file);
        Ok(Some(shards.chain([MANIFEST.to_owned()]).collect()))
    }

    /// Refuses an input that would go with what is replaced.
    pub(crate) fn check_input(&self, input: &Path) -> Result<(), Error> {
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

    /// Where temporary files go, and files that have no name yet: beside the directory.
    pub(crate) fn beside(&self) -> PathBuf {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    /// The name for which a shard is built, and in error messages: the file gets another one in the end.
    pub(crate) fn shard(&self, file: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(file);
        self.beside().join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the directory.
    pub(crate) fn start(&self) -> Result<AtomicDirectory, Error> {
        Ok(AtomicDirectory::create(&self.path)?)
    }

    /// Writes the manifest of a directory whose shards are in it, and gives it its name.
    pub(crate) fn publish(&self, directory: AtomicDirectory, manifest: &Manifest) -> Result<(), Error> {
        directory.take(MANIFEST, manifest::write(&self.shard(MANIFEST), manifest)?)?;
        match self.replaced()? {
            None => directory.publish()?,
            Some(files) => directory.replace(&files.iter().map(String::as_str).collect::<Vec<_>>())?,
        }
        Ok(())
    }
}

/// Refuses more shards than can be open at once: each is a file without a name until all are complete, so that a killed
/// process leaves nothing.
pub(super) fn check_open_files(wanted: usize) -> Result<(), Error> {
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

/// Gives a shard its name in the directory; returns what the manifest says of it.
pub(super) fn put(
    directory: &AtomicDirectory,
    file: String,
    sealed: SealedIndex,
) -> Result<ShardEntry, BuildError> {
    let file_id = sealed.file_id().to_string();
    let Summary { fingerprints, ids, bytes, .. } = sealed.put_into(directory, &file)?;
    Ok(ShardEntry { file, fingerprints, ids, bytes, file_id })
}
