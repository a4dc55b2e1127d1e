//! The names of sets, and their places.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::problem::Problem;

/// The most bytes of the name of a new store.
const MAX_NAME: usize = 128;

/// Returns the name of a set: that of its file or directory.
pub(super) fn name_of(path: &Path) -> Result<String, Failure> {
    // `.` and `a/..` have no name of their own.
    let absolute = if path.file_name().is_none() { path.canonicalize().ok() } else { None };
    let name = absolute.as_deref().unwrap_or(path).file_name().and_then(|name| name.to_str());
    name.map(str::to_owned)
        .ok_or_else(|| Failure::input(path, "its name is not UTF-8, so no request can name it"))
}

/// Refuses names of new stores that are not portable, or hidden.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.len() <= MAX_NAME && name.bytes().all(is_plain) {
        return Ok(());
    }
    let detail = format!(
        "the name of a set begins with a letter or digit, and has at most {MAX_NAME} letters, digits, dots, hyphens and \
         underscores"
    );
    Err(Problem::unprocessable("bad_name", detail))
}

/// Whether a new store can have this path: nothing lies there, or an empty directory, which a rename replaces.
pub(super) fn is_free(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) => found.is_dir() && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        Err(_) => true,
    }
}

/// Whether PUT can make a store of this path.
pub(super) fn may_be_made(path: &Path) -> bool {
    name_of(path).is_ok_and(|name| check_name(&name).is_ok()) && is_free(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_directory() {
        for name in ["a", "A.b-c_d", "0", "pages.store"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(129);
        for name in ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a b", "ä", "-a", "a\0", &long] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
