//! What a program reads, so that it does not write there.

use std::path::{Path, PathBuf};

use crate::identity::Identity;

/// What messages call standard input.
const STANDARD_INPUT: &str = "(standard input)";

/// The inputs of a program: no output is written over one of them.
///
/// A directory stands for all files in it and below. A new file in such a directory is not refused: it is
/// no input.
#[derive(Debug, Default)]
pub struct Inputs {
    files: Vec<(Identity, PathBuf)>,
    directories: Vec<(Identity, PathBuf)>,
}

impl Inputs {
    /// No inputs yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Files and directories.
    #[must_use]
    pub fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut inputs = Self::new();
        paths.into_iter().for_each(|path| inputs.add(path));
        inputs
    }

    /// Adds a file or a directory. One that does not exist or cannot be looked at is left to the code that
    /// reads it.
    pub fn add(&mut self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        if let Ok(identity) = Identity::of_path(path) {
            let known = if path.is_dir() { &mut self.directories } else { &mut self.files };
            known.push((identity, path.to_owned()));
        }
    }

    /// Adds what standard input is redirected from.
    pub fn add_standard_input(&mut self) {
        if let Ok(identity) = Identity::of_standard_input() {
            self.files.push((identity, PathBuf::from(STANDARD_INPUT)));
        }
    }

    /// Returns the input that this existing file is, as it was named.
    pub(crate) fn find(&self, path: &Path) -> Option<&Path> {
        let identity = Identity::of_path(path).ok()?;
        self.find_file(&identity).or_else(|| self.find_directory(path))
    }

    pub(crate) fn find_file(&self, identity: &Identity) -> Option<&Path> {
        self.files.iter().find(|(known, _)| known == identity).map(|(_, name)| name.as_path())
    }

    /// The directory being read in which a file lies. Other names of the file (hard links) in such a
    /// directory are not searched for: replacing a name leaves the others as they are.
    fn find_directory(&self, path: &Path) -> Option<&Path> {
        if self.directories.is_empty() {
            return None;
        }
        let path = path.canonicalize().ok()?;
        path.ancestors().skip(1).find_map(|ancestor| {
            let identity = Identity::of_path(ancestor).ok()?;
            let found = self.directories.iter().find(|(known, _)| *known == identity);
            found.map(|(_, name)| name.as_path())
        })
    }
}
