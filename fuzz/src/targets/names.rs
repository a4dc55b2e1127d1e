//! Names and their directory, of any bytes, read by the engine and by a second reader, written from format-spec.md
//! section 15 alone.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use byteorder::{ByteOrder, LittleEndian as Le};
use hamdex::{BuildOptions, Index, VerifyOptions};

use crate::choose::{below, flag};
use crate::common::built_with_names;
use crate::common::file::Parts;

const HEADER: usize = 24;

/// Files of up to seven ids, every third number, whose names are as long.
static FILES: LazyLock<Vec<Parts>> = LazyLock::new(|| {
    let file = |ids| {
        let pairs: Vec<(u64, u64)> = (0..ids).map(|id| (id << 40, 3 * id)).collect();
        let named = pairs.iter().map(|&(_, id)| (id, vec![b'x'; id as usize])).collect();
        Parts::read(&built_with_names(&pairs, &named, BuildOptions::new().threads(1)))
    };
    (0..8).map(file).collect()
});

/// Puts a directory and names into a file.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    let ids = below(&mut bytes, 8) as u64;
    let mut parts = FILES[ids as usize].clone();
    let [directory, names] = parts.names.as_mut().expect("it has names");
    match below(&mut bytes, 3) {
        // Bytes of the right ones are changed.
        0 => {
            while !bytes.is_empty() {
                let section = if flag(&mut bytes) { &mut *names } else { &mut *directory };
                let at = below(&mut bytes, section.len().max(1));
                if let Some(byte) = section.get_mut(at) {
                    *byte = bytes.arbitrary().unwrap_or(0);
                }
            }
        }
        // Any fields, and a length that fits them or not.
        1 => {
            let count = below(&mut bytes, 40);
            let (id_bits, end_bits) = (below(&mut bytes, 66) as u8, below(&mut bytes, 66) as u8);
            directory.clear();
            directory.extend((count as u64).to_le_bytes());
            directory.extend(bytes.arbitrary::<u64>().unwrap_or(0).to_le_bytes());
            directory.extend([id_bits, end_bits, 0, 0, 0, 0, 0, 0]);
            let length = [id_bits, end_bits].map(|bits| (count * usize::from(bits)).div_ceil(8));
            *names = bytes.arbitrary::<&[u8]>().unwrap_or_default().to_vec();
            let rest = bytes.take_rest();
            directory.extend(rest.iter().copied().chain(std::iter::repeat(0)).take(length[0] + length[1]));
        }
        _ => {
            *directory = bytes.arbitrary::<&[u8]>().unwrap_or_default().to_vec();
            *names = bytes.take_rest().to_vec();
        }
    }
    let expected = read(directory, names);
    let is_complete = |all: &[(u64, Vec<u8>)]| (0..ids).all(|id| all.iter().any(|name| name.0 == 3 * id));
    let is_right = expected.as_ref().is_some_and(|all| is_complete(all));
    let file = parts.bytes();
    let index = match Index::<u64>::from_bytes(file.as_slice()) {
        Ok(index) => index,
        Err(error) => return assert!(!is_right, "{error}"),
    };
    let verified = index.verify_with(&VerifyOptions::new().threads(1));
    assert_eq!(verified.is_ok(), is_right, "{verified:?}");
    let Ok(found) = index.names() else { return assert!(expected.is_none()) };
    let found = found.expect("it has names");
    match expected {
        Some(all) => {
            let read = found.iter().map(|name| name.expect("all is right")).collect::<Vec<_>>();
            assert!(read.iter().map(|&(id, name)| (id, name.to_vec())).eq(all.iter().cloned()));
            for (id, name) in &all {
                assert_eq!(found.get(*id).expect("all is right"), Some(name.as_slice()));
                let next = id.wrapping_add(1);
                let expected = all.iter().find(|name| name.0 == next).map(|name| name.1.as_slice());
                assert_eq!(found.get(next).expect("all is right"), expected);
            }
        }
        None => {
            for id in [0, 1, 3, 5, u64::MAX] {
                let _ = found.get(id);
            }
            let _ = (found.iter().take(100).count(), found.last_id());
        }
    }
}

/// All names by ascending id, if everything is as the specification has it.
fn read(directory: &[u8], names: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
    let header = directory.get(..HEADER)?;
    let (count, first) = (Le::read_u64(header), Le::read_u64(&header[8..]));
    let (id_bits, end_bits) = (u32::from(header[16]), u32::from(header[17]));
    if id_bits > 64 || end_bits > 64 || header[18..].iter().any(|&byte| byte != 0) {
        return None;
    }
    if count == 0 {
        let is_empty = first == 0 && id_bits == 0 && end_bits == 0;
        return (is_empty && directory.len() == HEADER && names.is_empty()).then(Vec::new);
    }
    if end_bits == 0 {
        return None;
    }
    let bytes = |bits: u32| u128::from(count) * u128::from(bits);
    let id_bytes = bytes(id_bits).div_ceil(8);
    if directory.len() as u128 != HEADER as u128 + id_bytes + bytes(end_bits).div_ceil(8) {
        return None;
    }
    let (ids, ends) = directory[HEADER..].split_at(id_bytes as usize);
    let ids = match id_bits {
        0 => (0..count).collect(),
        bits => numbers(ids, count, bits)?,
    };
    let ends = numbers(ends, count, end_bits)?;
    if ids[0] != 0 || !ids.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut start = 0;
    let mut all = Vec::new();
    for (number, &end) in ids.iter().zip(&ends) {
        let name = usize::try_from(end).ok().and_then(|end| names.get(start..end))?;
        start = end as usize;
        all.push((first.checked_add(*number)?, name.to_vec()));
    }
    (start == names.len()).then_some(all)
}

/// Numbers of a bit string, the most significant bit first; none if a bit behind them is set.
fn numbers(bytes: &[u8], count: u64, bits: u32) -> Option<Vec<u64>> {
    let mut all = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let numbers = (0..count)
        .map(|_| all.by_ref().take(bits as usize).fold(0, |number, bit| number << 1 | u64::from(bit)))
        .collect();
    all.all(|bit| bit == 0).then_some(numbers)
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(24, 80)
}
