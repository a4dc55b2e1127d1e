//! Where temporary files go.

use std::env;
use std::path::{Path, PathBuf};

use crate::target::{Target, directory_of};

/// Returns the directory for temporary files that may become as large as an output: that of the output,
/// symbolic links followed. Without an output, or where it is a stream, it is the system's place for large
/// files: `TMPDIR` if it is set, else `/var/tmp` on Unix, since `/tmp` often is memory.
#[must_use]
pub fn temporary_directory(output: Option<&Path>) -> PathBuf {
    match output.map(Target::of) {
        Some(Ok(Target::File(name) | Target::New(name))) => directory_of(&name).to_owned(),
        _ => system_directory(),
    }
}

fn system_directory() -> PathBuf {
    let large = Path::new("/var/tmp");
    let is_free_choice = cfg!(unix) && env::var_os("TMPDIR").is_none();
    if is_free_choice && large.is_dir() { large.to_owned() } else { env::temp_dir() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_lie_beside_the_output_or_in_a_place_for_large_files() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out");
        assert_eq!(temporary_directory(Some(&output)), directory.path());
        assert_eq!(temporary_directory(Some(Path::new("out"))), Path::new("."));
        let system = temporary_directory(None);
        assert!(system.is_dir());
        assert_eq!(temporary_directory(Some(directory.path())), system);
        #[cfg(unix)]
        {
            std::fs::create_dir(directory.path().join("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere/target", &output).unwrap();
            assert_eq!(temporary_directory(Some(&output)), directory.path().join("elsewhere"));
            assert_eq!(temporary_directory(Some(Path::new("/dev/null"))), system);
            assert_eq!(temporary_directory(Some(Path::new("/dev/stdout"))), system);
        }
    }
}
