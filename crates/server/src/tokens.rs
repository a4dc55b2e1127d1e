//! Bearer tokens, and what each allows.

use std::fs::{self, Metadata};
use std::path::Path;

use subtle::ConstantTimeEq;

use crate::problem::Failure;

/// The most bytes of a file of tokens.
const MAX_BYTES: u64 = 1 << 16;

/// The rights of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Reading.
    Read,
    /// Everything.
    Full,
}

/// The tokens of the service.
#[derive(Default)]
pub(crate) struct Tokens {
    full: Vec<Vec<u8>>,
    read: Vec<Vec<u8>>,
}

impl Tokens {
    /// Reads the files of tokens.
    ///
    /// # Errors
    /// When a file cannot be read, others than its owner and group can read it, or it has no tokens.
    pub(crate) fn load(full: Option<&Path>, read: Option<&Path>) -> Result<Self, Failure> {
        let load = |path: Option<&Path>| path.map(tokens_of).transpose();
        let tokens = Self { full: load(full)?.unwrap_or_default(), read: load(read)?.unwrap_or_default() };
        if let Some(path) = read
            && tokens.read.iter().any(|token| tokens.full.contains(token))
        {
            return Err(Failure::input(
                path,
                "has a token that the file of full tokens has as well; make another",
            ));
        }
        Ok(tokens)
    }

    /// Whether requests need a token.
    pub(crate) fn are_set(&self) -> bool {
        !self.full.is_empty() || !self.read.is_empty()
    }

    /// Returns what a token allows, in a time that does not depend on how much of a token is right.
    pub(crate) fn access(&self, token: &[u8]) -> Option<Access> {
        let is_one_of = |tokens: &[Vec<u8>]| {
            let equal = tokens.iter().map(|known| known.as_slice().ct_eq(token));
            bool::from(equal.fold(subtle::Choice::from(0), |any, one| any | one))
        };
        let (full, read) = (is_one_of(&self.full), is_one_of(&self.read));
        if full { Some(Access::Full) } else { read.then_some(Access::Read) }
    }
}

fn tokens_of(path: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    let metadata = fs::metadata(path).map_err(Failure::io("read it", path))?;
    check_mode(path, &metadata)?;
    if metadata.len() > MAX_BYTES {
        return Err(Failure::input(path, format!("a file of tokens has at most {MAX_BYTES} bytes")));
    }
    let text = fs::read(path).map_err(Failure::io("read it", path))?;
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let tokens: Vec<Vec<u8>> = lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect();
    if tokens.is_empty() {
        return Err(Failure::input(path, "has no token; write one, such as that of `openssl rand -hex 32`"));
    }
    if let Some(number) = tokens.iter().position(|token| !token.iter().all(u8::is_ascii_graphic)) {
        let what =
            format!("token {} has characters that no request can send; use letters and digits", number + 1);
        return Err(Failure::input(path, what));
    }
    Ok(tokens)
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &Metadata) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(Failure::input(
            path,
            "all users of this machine can use it; allow its owner only, by chmod 600",
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata) -> Result<(), Failure> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_allow_what_their_file_says() {
        let tokens = Tokens { full: vec![b"abc".to_vec()], read: vec![b"abd".to_vec(), b"x".to_vec()] };
        assert_eq!(tokens.access(b"abc"), Some(Access::Full));
        assert_eq!(tokens.access(b"abd"), Some(Access::Read));
        assert_eq!(tokens.access(b"x"), Some(Access::Read));
        for wrong in [&b""[..], b"ab", b"abcd", b"abe", b"ABC"] {
            assert_eq!(tokens.access(wrong), None);
        }
        assert!(tokens.are_set() && !Tokens::default().are_set());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_all_can_read_or_without_a_token_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let load = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Tokens::load(Some(&path), None).map(|tokens| tokens.full.len()).map_err(|error| error.to_string())
        };
        assert_eq!(load("one\n\n two \n", 0o600), Ok(2));
        assert!(load("one\n", 0o644).unwrap_err().contains("chmod 600"));
        assert!(load(" \n", 0o600).unwrap_err().contains("has no token"));
        assert!(load("one two\n", 0o600).unwrap_err().contains("token 1"));
        assert!(Tokens::load(Some(&directory.path().join("none")), None).is_err());
        let (full, read) = (directory.path().join("full"), directory.path().join("read"));
        for path in [&full, &read] {
            fs::write(path, "same\n").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert!(Tokens::load(Some(&full), Some(&read)).is_err());
    }
}
