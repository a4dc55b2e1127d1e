//! Files that were read before, under another name or path.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::Path;
#[cfg(not(unix))]
use std::path::PathBuf;

use crate::input::input_name;
use crate::problem::{Place, Problem, SomeNames};

/// The identity of a file on its system.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    #[cfg(unix)]
    Inode { device: u64, inode: u64 },
    #[cfg(not(unix))]
    Path(PathBuf),
}

/// The regular files that are read, and the first names of repeated ones.
#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    known: HashSet<Identity>,
    names: SomeNames,
}

impl KnownFiles {
    /// Returns whether a file is known already; otherwise it is from now on. Streams never are.
    pub(crate) fn is_repeated(&mut self, path: &Path) -> bool {
        if path.as_os_str() == "-" {
            return false;
        }
        let Some(metadata) = path.metadata().ok().filter(Metadata::is_file) else { return false };
        let is_repeated = identity(path, &metadata).is_some_and(|identity| !self.known.insert(identity));
        if is_repeated {
            self.names.add(&input_name(path));
        }
        is_repeated
    }

    /// Returns the notice of all repeated files, if there are any.
    pub(crate) fn notice(&self) -> Option<(Place, Problem)> {
        let first = self.names.first()?;
        Some((Place::whole(first), Problem::RepeatedFile { names: self.names.clone() }))
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems may refuse")]
fn identity(_: &Path, metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some(Identity::Inode { device: metadata.dev(), inode: metadata.ino() })
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> Option<Identity> {
    path.canonicalize().ok().map(Identity::Path)
}
