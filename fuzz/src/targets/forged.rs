//! A good file with a few bytes changed where they matter, its checksums made right.
//!
//! The input is short: which file, then changes. So a fuzzer spends nothing on padding.

use std::sync::LazyLock;

use arbitrary::Unstructured;

use crate::check;
use crate::choose::{below, flag};
use crate::common::file::{self, BLOCKS};
use crate::seal::seal;
use crate::targets::index;

static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(index::seeds);

/// Makes the file that the input describes, and asks it.
pub fn run(input: &[u8]) {
    check::file(&forged(input));
}

/// The file that an input describes.
#[must_use]
pub fn forged(input: &[u8]) -> Vec<u8> {
    let mut bytes = Unstructured::new(input);
    let mut file = FILES[below(&mut bytes, FILES.len())].clone();
    let sections: Vec<_> = file::sections(&file).into_iter().filter(|section| section.length > 0).collect();
    let (footer, footer_length) = file::footer(&file);
    let block_bytes = file::block_bytes(&file);
    for _ in 0..8 {
        if bytes.is_empty() {
            break;
        }
        let (start, length) = match below(&mut bytes, 8) {
            0 => (0, file::HEADER_BYTES),
            1 => (file.len() - file::TRAILER_BYTES, file::TRAILER_BYTES),
            // The fields, then what follows them.
            2 => (footer, file::field::TABLE),
            3 => (footer, footer_length),
            4 if below(&mut bytes, 8) == 0 => (0, file.len()),
            _ => {
                let section = sections[below(&mut bytes, sections.len())];
                let count = if section.kind == BLOCKS { 40.min(section.length) } else { section.length };
                // The start of a block decides most; the rest of it comes in its turn.
                if section.kind == BLOCKS && flag(&mut bytes) {
                    (section.offset + below(&mut bytes, section.length / block_bytes) * block_bytes, count)
                } else {
                    (section.offset, section.length)
                }
            }
        };
        let at = start + below(&mut bytes, length);
        let change: [u8; 8] = bytes.arbitrary().unwrap_or_default();
        let end = (at + [1, 1, 2, 4, 8][below(&mut bytes, 5)]).min(file.len());
        if flag(&mut bytes) {
            file[at..end].copy_from_slice(&change[..end - at]);
        } else {
            file[at] = file[at].wrapping_add(change[0] % 5).wrapping_sub(2);
        }
    }
    seal(&mut file);
    file
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(24, 40)
}
