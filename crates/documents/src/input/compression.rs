//! The compression of an input, by its first bytes and its name.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

/// Gzip with its one method, deflate.
pub(super) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 8];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
const LZ4_MAGIC: &[u8] = &[0x04, 0x22, 0x4d, 0x18];

/// `BZh`, a level, and the start of a block or the end of the stream.
const BZIP2_START: &[u8] = b"BZh";
const BZIP2_BLOCKS: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];

const ENDINGS: [&str; 11] =
    ["gz", "gzip", "zst", "zstd", "xz", "bz2", "bzip2", "lz4", "bgz", "bz", BROTLI_ENDING];

/// Brotli has no signature: only its name tells it.
pub(super) const BROTLI_ENDING: &str = "br";

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Lz4,
    Brotli,
}

/// The result of inspecting the first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Is(Compression),
    IsNone,
    /// More bytes are needed.
    Undecided,
}

fn verdict(start: &[u8]) -> Verdict {
    let magics = [
        (GZIP_MAGIC, Compression::Gzip),
        (ZSTD_MAGIC, Compression::Zstd),
        (XZ_MAGIC, Compression::Xz),
        (LZ4_MAGIC, Compression::Lz4),
    ];
    for (magic, compression) in magics {
        if start.starts_with(magic) {
            return Verdict::Is(compression);
        }
        if magic.starts_with(start) {
            return Verdict::Undecided;
        }
    }
    bzip2_verdict(start)
}

fn bzip2_verdict(start: &[u8]) -> Verdict {
    let (Some(rest), level) = (start.strip_prefix(BZIP2_START), start.get(3)) else {
        return if BZIP2_START.starts_with(start) { Verdict::Undecided } else { Verdict::IsNone };
    };
    let block = rest.get(1..).unwrap_or_default();
    match level {
        None => Verdict::Undecided,
        Some(b'1'..=b'9') if BZIP2_BLOCKS.iter().any(|mark| block.starts_with(mark)) => {
            Verdict::Is(Compression::Bzip2)
        }
        Some(b'1'..=b'9') if BZIP2_BLOCKS.iter().any(|mark| mark.starts_with(block)) => Verdict::Undecided,
        Some(_) => Verdict::IsNone,
    }
}

/// Inspects the first bytes. Returns them too if they were consumed, which happens if the buffered bytes do not decide,
/// since a pipe may deliver them one by one. No more bytes are consumed than needed.
pub(super) fn inspect(reader: &mut impl BufRead) -> io::Result<(Verdict, Vec<u8>)> {
    let buffered = reader.fill_buf()?;
    match verdict(buffered) {
        Verdict::Undecided if !buffered.is_empty() => {}
        known => return Ok((known, Vec::new())),
    }
    let mut start = Vec::new();
    while verdict(&start) == Verdict::Undecided {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((verdict(&start), start))
}

/// Returns the name without the extension of a compressed file: `pages.csv` for `pages.csv.gz`.
pub(crate) fn inner_name(path: &Path) -> PathBuf {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ENDINGS.contains(&ending.as_str()) { path.with_extension("") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_of_a_compressed_file_is_removed() {
        assert_eq!(inner_name(Path::new("a/pages.csv.gz")), Path::new("a/pages.csv"));
        assert_eq!(inner_name(Path::new("pages.jsonl.ZST")), Path::new("pages.jsonl"));
        assert_eq!(inner_name(Path::new("pages.csv")), Path::new("pages.csv"));
    }
}
