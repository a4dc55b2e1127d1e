//! Files that were read before, under another name or path.

use std::collections::HashSet;
use std::path::Path;

use hamdex_atomic_file::Identity;

use crate::input::input_name;
use crate::problem::{Place, Problem, SomeNames};

/// The regular files that are read, and the first names of repeated ones.
#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    known: HashSet<Identity>,
    names: SomeNames,
}

impl KnownFiles {
    /// Returns whether a file is known already; otherwise it is from now on. Streams never are.
    pub(crate) fn is_repeated(&mut self, path: &Path) -> bool {
        let is_repeated = identity(path).is_some_and(|identity| !self.known.insert(identity));
        if is_repeated {
            self.names.add(&input_name(path));
        }
        is_repeated
    }

    /// Forgets a file that was not read after all.
    pub(crate) fn forget(&mut self, path: &Path) {
        if let Some(identity) = identity(path) {
            self.known.remove(&identity);
        }
    }

    /// Returns the notice of all repeated files, if there are any.
    pub(crate) fn notice(&self) -> Option<(Place, Problem)> {
        let first = self.names.first()?;
        Some((Place::whole(first), Problem::RepeatedFile { names: self.names.clone() }))
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let is_file = path.as_os_str() != "-" && path.is_file();
    if is_file { Identity::of_path(path).ok() } else { None }
}
