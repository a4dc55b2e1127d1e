//! Unpublished files, anonymous or with a temporary name; and durable names.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// The mode of a new file, before the process's mask.
const FILE_MODE: u32 = 0o666;

/// An unpublished file.
#[derive(Debug)]
pub(crate) enum Unfinished {
    #[cfg(target_os = "linux")]
    Anonymous(File),
    Named(NamedTempFile),
}

impl Unfinished {
    /// Creates a file in this directory.
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = anonymous::create(directory) {
            return Ok(Self::Anonymous(file));
        }
        Self::named(directory)
    }

    fn named(directory: &Path) -> io::Result<Self> {
        temporary_names(FILE_MODE).tempfile_in(directory).map(Self::Named).map_err(without_name)
    }

    pub(crate) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Anonymous(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Publishes the file at this path; with `overwrite`, replaces an existing file.
    pub(crate) fn name(self, target: &Path, overwrite: bool) -> io::Result<()> {
        let named = match self {
            #[cfg(target_os = "linux")]
            Self::Anonymous(file) => return anonymous::name(&file, target, overwrite),
            Self::Named(file) if overwrite => file.persist(target),
            Self::Named(file) => file.persist_noclobber(target),
        };
        named.map(drop).map_err(|error| error.error)
    }

    /// Copies the permissions of the file to be replaced.
    #[cfg(unix)]
    pub(crate) fn take_permissions(&self, of: &Metadata) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let file = self.file();
        let has_group = fchown(file, None, Some(of.gid())).is_ok();
        let has_owner = fchown(file, Some(of.uid()), None).is_ok();
        let mut mode = of.mode() & if has_group && has_owner { 0o7777 } else { 0o777 };
        if !has_group {
            // The permissions of another group do not apply to ours: it gets those of others.
            mode = mode & !0o070 | (mode & 0o007) << 3;
        }
        file.set_permissions(std::fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    pub(crate) fn take_permissions(&self, _of: &Metadata) -> io::Result<()> {
        // A read-only file cannot be replaced on this system, and there are no other modes.
        Ok(())
    }
}

/// Removes the temporary name that tempfile adds to an error, which is meaningless to a user.
fn without_name(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what.to_owned()),
        None => error,
    }
}

/// Returns a builder of hidden, recognisable temporary names, for files or directories with this mode on Unix, less the
/// process's mask.
pub(crate) fn temporary_names(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".hamdex-").suffix(".tmp");
    #[cfg(unix)]
    names.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    names
}

#[cfg(target_os = "linux")]
mod anonymous {
    //! Anonymous files: `O_TMPFILE`, and a link when they are complete.

    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};

    use crate::target::directory_of;

    /// Creates an anonymous file; `None` if the file system does not support them, or they could not be linked later.
    pub(super) fn create(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        let file = File::from(openat(CWD, directory, flags, mode).ok()?);
        path_of(&file).exists().then_some(file)
    }

    /// Returns the path of the file under `/proc`.
    fn path_of(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    fn link(file: &File, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Publishes the file at this path; with `overwrite`, replaces an existing file.
    pub(super) fn name(file: &File, target: &Path, overwrite: bool) -> io::Result<()> {
        match link(file, target) {
            Err(error) if overwrite && error.kind() == io::ErrorKind::AlreadyExists => {
                // A link cannot replace a file, but a rename can. The temporary name exists for that instant only.
                super::temporary_names(super::FILE_MODE)
                    .make_in(directory_of(target), |name| link(file, name))?
                    .into_temp_path()
                    .persist(target)
                    .map_err(|error| error.error)
            }
            outcome => outcome,
        }
    }
}

/// Makes the names in a directory durable: every file created, renamed or removed in it before.
///
/// File systems that cannot sync directories, and Windows, succeed without doing anything.
///
/// # Errors
/// When the directory cannot be opened or synced.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    // Elsewhere directories cannot be opened for that; the rename itself is journaled.
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(directory)?.sync_all() {
        // A file system that cannot sync a directory has nothing more to offer.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names_in(directory: &Path) -> Vec<std::ffi::OsString> {
        directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn with_a_temporary_name_it_is_as_without_one() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("out");
        for (contents, overwrite) in [("first", false), ("second", true)] {
            let file = Unfinished::named(directory.path()).unwrap();
            file.file().write_all(contents.as_bytes()).unwrap();
            file.name(&target, overwrite).unwrap();
            assert_eq!(std::fs::read_to_string(&target).unwrap(), contents);
        }
        let refused = Unfinished::named(directory.path()).unwrap().name(&target, false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        drop(Unfinished::named(directory.path()).unwrap());
        assert_eq!(names_in(directory.path()), ["out"]);
    }

    #[test]
    fn errors_name_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = Unfinished::named(&directory.path().join("missing")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(".tmp"), "{error}");
    }

    #[test]
    fn a_directory_that_cannot_be_synced_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        sync_directory(directory.path()).unwrap();
        if cfg!(unix) {
            assert!(sync_directory(&directory.path().join("missing")).is_err());
        }
    }
}
