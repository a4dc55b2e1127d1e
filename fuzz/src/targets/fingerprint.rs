//! The text of a fingerprint: what is read is what a second reader reads, and what is written is read again.

use hamdex::Fingerprint;

/// Reads the input as a fingerprint of both widths.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    of_width::<u64>(&text);
    of_width::<u128>(&text);
}

fn of_width<F: Fingerprint>(text: &str) {
    let digits = F::BYTES * 2;
    let is_hex = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
    let after = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match after {
        Some(after) => is_hex(after).then(|| number(after, 16)).flatten(),
        None if text.chars().count() == digits && is_hex(text) => number(text, 16),
        None if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) => number(text, 10),
        None => None,
    };
    let expected = number.filter(|&number| F::truncate(number).to_u128() == number).map(F::truncate);
    let found = F::parse(text);
    assert_eq!(found.ok(), expected, "{text:?}");
    if let Some(fingerprint) = expected {
        assert_eq!(F::parse(&fingerprint.hex().to_string()), Ok(fingerprint));
        assert_eq!(F::parse_hex(&format!("0x{fingerprint:x}")), Ok(fingerprint));
        assert_eq!(F::parse_decimal(&fingerprint.to_string()), Ok(fingerprint));
    }
}

/// The number that these digits write, if it has at most 128 bits.
fn number(digits: &str, base: u128) -> Option<u128> {
    digits.chars().try_fold(0u128, |number, digit| {
        number.checked_mul(base)?.checked_add(digit.to_digit(base as u32)?.into())
    })
}

/// Numbers in all notations.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "0",
        "0123456789abcdef",
        "0x",
        "0xFF",
        "0X00000000000000000000000000000000000000001",
        "18446744073709551615",
        "18446744073709551616",
        "1234567890123456",
        "340282366920938463463374607431768211455",
        "340282366920938463463374607431768211456",
        "ffffffffffffffffffffffffffffffff",
        "+1",
        "-1",
        " 1",
        "\u{661}",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
