//! The inputs of a program, which no output overwrites.

use std::path::{Path, PathBuf};

use crate::identity::Identity;

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "(standard input)";

/// The inputs of a program: no output is written over one of them.
///
/// A directory stands for all files in it and below. New files in such a directory are permitted: they are not inputs.
#[derive(Debug, Default)]
pub struct Inputs {
    files: Vec<(Identity, PathBuf)>,
    directories: Vec<(Identity, PathBuf)>,
}

impl Inputs {
    /// Creates an empty set of inputs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates inputs from files and directories.
    #[must_use]
    pub fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut inputs = Self::new();
        paths.into_iter().for_each(|path| inputs.add(path));
        inputs
    }

    /// Adds a file or a directory. A path that does not exist or cannot be inspected is ignored; reading it will fail.
    pub fn add(&mut self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        if let Ok(identity) = Identity::of_path(path) {
            let known = if path.is_dir() { &mut self.directories } else { &mut self.files };
            known.push((identity, path.to_owned()));
        }
    }

    /// Adds the file from which standard input is redirected.
    pub fn add_standard_input(&mut self) {
        if let Ok(identity) = Identity::of_standard_input() {
            self.files.push((identity, PathBuf::from(STANDARD_INPUT)));
        }
    }

    /// Returns the input that is the same file, by its given name.
    pub(crate) fn find(&self, path: &Path) -> Option<&Path> {
        let identity = Identity::of_path(path).ok()?;
        self.find_file(&identity).or_else(|| self.find_directory(path))
    }

    pub(crate) fn find_file(&self, identity: &Identity) -> Option<&Path> {
        self.files.iter().find(|(known, _)| known == identity).map(|(_, name)| name.as_path())
    }

    /// Returns the input directory that contains a file. Hard links to the file in such a directory are not searched
    /// for: replacing one name leaves the others unchanged.
    fn find_directory(&self, path: &Path) -> Option<&Path> {
        if self.directories.is_empty() {
            return None;
        }
        self.directory_around(path.canonicalize().ok()?.parent()?)
    }

    /// Returns the input directory that is this directory, or contains it.
    pub(crate) fn directory_around(&self, path: &Path) -> Option<&Path> {
        path.ancestors().find_map(|ancestor| {
            let identity = Identity::of_path(ancestor).ok()?;
            let found = self.directories.iter().find(|(known, _)| *known == identity);
            found.map(|(_, name)| name.as_path())
        })
    }
}
