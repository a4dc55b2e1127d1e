//! The output of a build: nothing under its name until it is whole and durable.
//!
//! On Linux the file has no name at all until then, so that a killed build leaves nothing. Where that
//! cannot be had, it has a temporary name beside the target, which is removed unless the process is
//! killed outright.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::BuildError;

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 20;

/// A file that is being written.
pub(super) struct Output {
    file: io::BufWriter<Unfinished>,
    written: u64,
    target: PathBuf,
    overwrite: bool,
}

enum Unfinished {
    #[cfg(target_os = "linux")]
    Nameless(File),
    Named(NamedTempFile),
}

impl Unfinished {
    fn create(directory: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::create(directory) {
            return Ok(Self::Nameless(file));
        }
        let mut options = tempfile::Builder::new();
        options.prefix(".").suffix(".hamdex.tmp");
        #[cfg(unix)]
        let options = {
            // As any new file: what the user's mask leaves of it.
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
            options.permissions(permissions)
        };
        options.tempfile_in(directory).map(Self::Named)
    }

    fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Output {
    /// Checks that the target may be written, and starts a file beside it.
    pub(super) fn create(target: &Path, overwrite: bool) -> Result<Self, BuildError> {
        let failed = |doing| {
            let path = target.to_owned();
            move |source| BuildError::Io { doing, path, source }
        };
        match target.symlink_metadata() {
            // A directory, a device, a pipe, a link: what is no plain file is never replaced by one.
            Ok(metadata) if !metadata.is_file() => {
                let refusal = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
                return Err(failed("replace it")(refusal));
            }
            Ok(_) if !overwrite => return Err(BuildError::OutputExists { path: target.to_owned() }),
            _ => {}
        }
        let file = Unfinished::create(directory_of(target)).map_err(failed("create it"))?;
        let file = io::BufWriter::with_capacity(GATHER_BYTES, file);
        Ok(Self { file, written: 0, target: target.to_owned(), overwrite })
    }

    /// How many bytes have been written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Says of an I/O error that it happened to this file.
    pub(super) fn failed(&self, source: io::Error) -> BuildError {
        BuildError::Io { doing: "write it", path: self.target.clone(), source }
    }

    /// Makes everything durable, and only then gives it its name.
    pub(super) fn persist(mut self) -> Result<(), BuildError> {
        let failed = |doing| {
            let path = self.target.clone();
            move |source| BuildError::Io { doing, path, source }
        };
        self.file.flush().map_err(failed("write it"))?;
        let unfinished = self.file.into_inner().map_err(|error| failed("write it")(error.into_error()))?;
        unfinished.file().sync_all().map_err(failed("make it durable"))?;
        let named = match unfinished {
            #[cfg(target_os = "linux")]
            Unfinished::Nameless(file) => nameless::name(&file, &self.target, self.overwrite),
            Unfinished::Named(file) if self.overwrite => {
                file.persist(&self.target).map(drop).map_err(|error| error.error)
            }
            Unfinished::Named(file) => {
                file.persist_noclobber(&self.target).map(drop).map_err(|error| error.error)
            }
        };
        named.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => BuildError::OutputExists { path: self.target.clone() },
            _ => failed("give it its name")(error),
        })?;
        sync_directory(directory_of(&self.target)).map_err(failed("make its name durable"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The directory in which a file lies or will lie.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    // Directories cannot be opened for that here; the rename itself is journaled.
    Ok(())
}

#[cfg(target_os = "linux")]
mod nameless {
    //! Files without a name: `O_TMPFILE`, and a link when they are whole.

    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};

    /// `None` where the file system has no such files, or there is no way to link them later.
    pub(super) fn create(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        let file = File::from(openat(CWD, directory, flags, mode).ok()?);
        path_of(&file).exists().then_some(file)
    }

    /// The name under which the system itself knows the file.
    fn path_of(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    fn link(file: &File, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Gives the file its name; replaces what has it, if that is allowed.
    pub(super) fn name(file: &File, target: &Path, overwrite: bool) -> io::Result<()> {
        match link(file, target) {
            Err(error) if overwrite && error.kind() == io::ErrorKind::AlreadyExists => {
                // A link cannot replace; a rename can. The other name lasts for that instant only.
                tempfile::Builder::new()
                    .prefix(".")
                    .suffix(".hamdex.tmp")
                    .make_in(super::directory_of(target), |name| link(file, name))?
                    .into_temp_path()
                    .persist(target)
                    .map_err(|error| error.error)
            }
            outcome => outcome,
        }
    }
}

/// Bytes on their way into a section that is not due yet.
pub(super) fn spool(temp_dir: &Path) -> Result<io::BufWriter<File>, BuildError> {
    match tempfile::tempfile_in(temp_dir) {
        Ok(file) => Ok(io::BufWriter::with_capacity(GATHER_BYTES, file)),
        Err(source) => {
            Err(BuildError::Io { doing: "make a temporary file", path: temp_dir.to_owned(), source })
        }
    }
}

/// Turns a spool round, for reading.
pub(super) fn rewind(spool: io::BufWriter<File>) -> io::Result<io::BufReader<File>> {
    let mut file = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(io::BufReader::with_capacity(GATHER_BYTES, file))
}
