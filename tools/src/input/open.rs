//! Opens files and standard input, and decompresses them.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use hamdex_documents::Input;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::input::Source;
use crate::messages;

/// An input, ready to be read.
pub(super) struct Opened {
    pub(super) source: Source,
    pub(super) input: Input,
    /// The name, without the ending of a compressed file; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// The length, if it is a regular file that is not compressed.
    pub(super) bytes: Option<u64>,
}

/// Opens a file, or standard input for `-`.
pub(super) fn open(path: &Path, bar: &ProgressBar) -> Result<Opened, Failure> {
    announce_terminal_input([path]);
    refuse_directory(path)?;
    let bar = bar.clone();
    Ok(Opened::new(path, Input::open_reporting(path, move |bytes| bar.inc(bytes))?))
}

/// Fails if the path names a directory.
pub(super) fn refuse_directory(path: &Path) -> Result<(), Failure> {
    if is_standard_input(path) || !path.is_dir() {
        return Ok(());
    }
    let source = Source { name: path.display().to_string() };
    Err(source.complaint("is a directory; name the files in it"))
}

impl Opened {
    /// An input at this path.
    pub(super) fn new(path: &Path, input: Input) -> Self {
        let source = Source { name: input.name().to_owned() };
        let metadata = if is_standard_input(path) { None } else { path.metadata().ok() };
        let bytes = metadata.filter(|metadata| metadata.is_file() && !input.is_compressed());
        let path = match path {
            path if is_standard_input(path) => None,
            path if input.is_compressed() => Some(path.with_extension("")),
            path => Some(path.to_owned()),
        };
        Self { source, input, path, bytes: bytes.map(|metadata| metadata.len()) }
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Prints that the command reads from the terminal, if standard input is one and about to be read.
pub(crate) fn announce_terminal_input<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) {
    if paths.into_iter().any(|path| is_standard_input(path.as_ref())) && io::stdin().is_terminal() {
        messages::notice("reading from the terminal; end with Ctrl-D");
    }
}

/// Returns the bytes of all inputs, if all are plain files.
pub(crate) fn total_bytes(paths: &[PathBuf]) -> Option<u64> {
    paths.iter().map(|path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len())).sum()
}
