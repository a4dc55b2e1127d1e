//! Fingerprints as bytes, the most significant first: those of the hexadecimal text.

use hamdex::Fingerprint;
use hamdex_any::AnyFingerprint;

use crate::failure::Failure;

/// The most bytes that a fingerprint of any width has.
pub(crate) const MAX_BYTES: usize = 32;

/// The fingerprint that these bytes say.
///
/// # Errors
/// If they are not as many as fingerprints of the set have.
pub(crate) fn from_bytes<F: Fingerprint>(bytes: &[u8]) -> Result<F, Failure> {
    check_length(bytes.len(), F::BYTES)?;
    Ok(bytes.iter().fold(F::ZERO, |value, &byte| value << 8 | F::truncate(byte.into())))
}

/// As [`from_bytes`], of whichever width.
pub(crate) fn any_from_bytes(bytes: &[u8], expected: usize) -> Result<AnyFingerprint, Failure> {
    check_length(bytes.len(), expected)?;
    Ok(match bytes.try_into() {
        Ok(bytes) => AnyFingerprint::from(u64::from_be_bytes(bytes)),
        Err(_) => AnyFingerprint::of(from_bytes::<u128>(bytes)?),
    })
}

/// The bytes of a fingerprint of any width: the last of these, as many as the width has.
pub(crate) fn to_bytes(fingerprint: AnyFingerprint) -> [u8; MAX_BYTES] {
    let mut bytes = [0; MAX_BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(fingerprint.words()) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// Refuses fingerprints of another width.
pub(crate) fn check_length(given: usize, expected: usize) -> Result<(), Failure> {
    if given == expected {
        return Ok(());
    }
    Err(Failure::input(format!(
        "fingerprints of {given} bytes were given, and those of the set have {expected}"
    )))
}
