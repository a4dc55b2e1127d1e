//! Tables of any masks and radii: a design that is made covers its distance, one that is refused misses what it says,
//! and an index of it finds everything.

use arbitrary::Unstructured;
use hamdex::{BuildOptions, Codec, Design, DesignError, Fingerprint, Index, TableDesign};

use crate::check::agrees;
use crate::choose::{below, flag, one_of, set};
use crate::common::Numbers;
use crate::targets::built_in_memory;

/// Makes the design that the input describes.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    if flag(&mut bytes) { of_width::<u128>(bytes) } else { of_width::<u64>(bytes) }
}

fn of_width<F: Fingerprint>(mut bytes: Unstructured<'_>) {
    let distance = one_of(&mut bytes, &[0, 1, 2, 3, 3, 4, 5, 8, 64, F::BITS + 1]);
    // Good tables, of which some are changed, or any.
    let mut tables = match Design::<F>::named("halves", distance.min(4)) {
        Ok(design) if flag(&mut bytes) => design.tables().to_vec(),
        _ => Vec::new(),
    };
    let most = one_of(&mut bytes, &[0, 1, 2, 4, 8, 65]);
    while tables.len() < most && !bytes.is_empty() {
        let leading = F::prefix_mask(below(&mut bytes, F::BITS as usize + 1) as u32);
        let mask = match below(&mut bytes, 4) {
            _ if tables.is_empty() && below(&mut bytes, 8) > 0 => leading,
            0 => F::truncate(bytes.arbitrary().unwrap_or(0)),
            1 => !leading,
            2 => leading & !F::prefix_mask(below(&mut bytes, F::BITS as usize) as u32),
            _ => leading,
        };
        tables.push(TableDesign::new(mask, below(&mut bytes, 6) as u32));
    }
    if let (true, false) = (flag(&mut bytes), tables.is_empty()) {
        let at = below(&mut bytes, tables.len());
        tables[at].radius = bytes.arbitrary().unwrap_or(0);
    }
    match Design::custom("any", distance, tables.clone()) {
        Ok(design) => {
            assert_covers(&design, bytes.arbitrary().unwrap_or(1));
            search(&mut bytes, design);
        }
        Err(DesignError::NotCovering { missed, .. }) => {
            let missed = F::parse(&missed).expect("hexadecimal digits");
            assert!(missed.count_ones() <= distance);
            assert!(tables.iter().all(|table| (missed & table.mask).count_ones() > table.radius));
        }
        Err(_) => {}
    }
}

/// Errors by chance, and runs of them, lie within the reach of some table. Which ones is the input's choice.
fn assert_covers<F: Fingerprint>(design: &Design<F>, seed: u64) {
    let mut numbers = Numbers(seed);
    for _ in 0..200 {
        let mut errors = F::ZERO;
        let start = numbers.below(u64::from(F::BITS));
        let spread = 1 + numbers.below(u64::from(F::BITS));
        for _ in 0..design.distance() {
            errors = errors | F::bit(((start + numbers.below(spread)) % u64::from(F::BITS)) as u32);
        }
        let is_admitted =
            design.tables().iter().any(|table| (errors & table.mask).count_ones() <= table.radius);
        assert!(is_admitted, "{design:?} misses {}", errors.hex());
    }
}

fn search<F: Fingerprint>(bytes: &mut Unstructured<'_>, design: Design<F>) {
    let mut set: Vec<F> = set(bytes);
    set.truncate(60);
    let pairs: Vec<(F, u64)> = set.into_iter().map(|fingerprint| (fingerprint, 0)).collect();
    let options =
        BuildOptions::new().design(design).codec(one_of(bytes, &Codec::ALL)).block_bytes(512).threads(1);
    let file = built_in_memory(&pairs, false, None, options);
    agrees(&Index::<F>::from_bytes(file.as_slice()).expect("what was built"), &file);
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(24, 120)
}
