//! Parsers of option values.

use bytesize::ByteSize;

/// Parses a number of bytes.
pub(crate) fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "expected a size such as 512MiB or 2GiB".to_owned())
}

/// Parses a block size in bytes.
pub(crate) fn block_bytes(text: &str) -> Result<u32, String> {
    let bytes =
        text.parse().ok().filter(|bytes: &u32| bytes.is_power_of_two() && (512..=8192).contains(bytes));
    bytes.ok_or_else(|| "expected a power of two from 512 to 8192".to_owned())
}
