//! Files of released format versions, kept for ever: their contents are still read, and what is wrong
//! with the bad ones is still seen. See tests/golden/README.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use crate::common::file::field;
use crate::common::forge::{BLOCKS, Forged, KEYS, name_of};
use crate::common::{
    Numbers, Shape, brute_force, built, built_with_ids, built_with_names, data, id_lists, pairs, queries,
};
use hamdex::inspect::reference::{FieldKind, read_block};
use hamdex::shingles::{BITS, KEY};
use hamdex::similar::{Condition, Measure};
use hamdex::{
    BuildError, BuildOptions, Builder, Codec, Design, FilterChoice, Fingerprint, Index, Merger, ReadError,
    ReadErrorKind, TableDesign,
};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn blessing() -> bool {
    std::env::var_os("HAMDEX_BLESS").is_some()
}

/// Compares with the stored file; with HAMDEX_BLESS set, stores.
fn compare(name: &str, fresh: &[u8]) {
    if blessing() {
        std::fs::write(golden(name), fresh).unwrap();
    }
    let stored = std::fs::read(golden(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(stored == fresh, "{name}: a fresh build gives other bytes; see tests/golden/README.md");
}

fn options<F: Fingerprint>(design: &str, distance: u32) -> BuildOptions<F> {
    BuildOptions::new().design(Design::named(design, distance).unwrap()).block_bytes(512)
}

/// The same with the other codec.
fn other_codec<F: Fingerprint>(design: &str, distance: u32) -> BuildOptions<F> {
    options(design, distance).codec(Codec::EliasFano)
}

/// A line for each fingerprint, ascending: its digits, and its ids after spaces.
fn listing<F: Fingerprint>(contents: &[(F, Vec<u64>)]) -> String {
    let mut text = String::new();
    for (fingerprint, ids) in contents {
        write!(text, "{}", fingerprint.hex()).unwrap();
        ids.iter().for_each(|id| write!(text, " {id}").unwrap());
        text.push('\n');
    }
    text
}

/// The contents of the stored listing.
fn listed<F: Fingerprint>(name: &str) -> Vec<(F, Vec<u64>)> {
    let text = std::fs::read_to_string(golden(&format!("{name}.txt"))).unwrap();
    text.lines()
        .map(|line| {
            let mut words = line.split(' ');
            let fingerprint = F::parse_hex(words.next().unwrap()).unwrap();
            (fingerprint, words.map(|id| id.parse().unwrap()).collect())
        })
        .collect()
}

/// Reads a stored file and holds it against its stored listing. Whatever a later version writes, this
/// stays.
fn check_contents<F: Fingerprint>(name: &str) -> Index<F> {
    let expected = listed::<F>(name);
    let index = Index::<F>::open(golden(&format!("{name}.hamdex"))).unwrap();
    let verified = index.verify().unwrap();
    assert_eq!(verified.fingerprints, expected.len() as u64);
    let fingerprints: Vec<F> = expected.iter().map(|(fingerprint, _)| *fingerprint).collect();
    let mut searcher = index.searcher();
    let mut found: Vec<F> =
        searcher.within(F::ZERO, F::BITS).unwrap().iter().map(|m| m.fingerprint).collect();
    found.sort_unstable();
    assert_eq!(found, fingerprints);
    for (fingerprint, ids) in &expected {
        assert_eq!(&index.ids(*fingerprint).unwrap().collect::<Vec<u64>>(), ids, "{fingerprint:?}");
    }
    let distance = index.design().distance();
    for query in queries(&fingerprints, 30, 5) {
        let expected = brute_force(&fingerprints, query, distance);
        assert_eq!(pairs(searcher.within(query, distance).unwrap()), expected);
    }
    index
}

fn check_plain<F: Fingerprint>(name: &str, input: &[F], options: BuildOptions<F>) -> Index<F> {
    let mut distinct = input.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let contents: Vec<(F, Vec<u64>)> = distinct.into_iter().map(|x| (x, Vec::new())).collect();
    compare(&format!("{name}.txt"), listing(&contents).as_bytes());
    compare(&format!("{name}.hamdex"), &built(input, options));
    check_contents(name)
}

fn check_with_ids<F: Fingerprint>(name: &str, input: &[(F, u64)], options: BuildOptions<F>) -> Index<F> {
    let contents: Vec<(F, Vec<u64>)> = id_lists(input).into_iter().collect();
    compare(&format!("{name}.txt"), listing(&contents).as_bytes());
    compare(&format!("{name}.hamdex"), &built_with_ids(input, options));
    check_contents(name)
}

#[test]
fn empty() {
    let index = check_plain::<u64>("empty", &[], options("halves", 3));
    assert!(index.is_empty() && !index.has_ids());
}

#[test]
fn empty_with_ids() {
    let index = check_with_ids::<u64>("empty-ids", &[], options("halves", 3));
    assert!(index.is_empty() && index.has_ids());
}

/// Filters of both forms, and of 128-bit prefixes none.
#[test]
fn filters() {
    let design = Design::custom(
        "uneven",
        3,
        vec![TableDesign::new(0xffff_ffff_ff00_0000, 1), TableDesign::new(0x00ff_f000, 1)],
    );
    let options = BuildOptions::new().design(design.unwrap()).block_bytes(512);
    let input = data::<u64>(Shape::Mixed, 600, 41);
    let index = check_plain("filters", &input, options.filter(FilterChoice::Bits(9)));
    let forms: Vec<bool> = index.stats().tables.iter().map(|t| t.filter.unwrap().is_bitmap).collect();
    assert_eq!(forms, [false, true]);
}

/// Fingerprints and ids with gaps, and their sets: few shingles and many.
fn with_sets() -> Vec<(u64, u64, BTreeSet<u64>)> {
    let set = |number, id: u64| {
        (0..number * 7).map(|n: u64| (n + id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)).collect()
    };
    (0..40).map(|number| (number << 40, number * number, set(number, number * number))).collect()
}

/// Shingles, and names; with the pairs by which they are searched.
#[test]
fn shingle_pairs() {
    let options = options("halves", 3).names(true).shingles(true).metadata(KEY, "words:5");
    let mut builder = Builder::in_memory(options).unwrap();
    let stored = with_sets();
    let pairs: Vec<(u64, u64)> = stored.iter().map(|&(fingerprint, id, _)| (fingerprint, id)).collect();
    let names = pairs.iter().map(|&(_, id)| (id, format!("document {id}").into_bytes())).collect();
    for (fingerprint, id, set) in &stored {
        builder.push_with_id(*fingerprint, *id).unwrap();
        builder.push_shingles(*id, &set.iter().copied().collect::<Vec<_>>()).unwrap();
    }
    push_names(&mut builder, &names);
    compare_listings("shingle-pairs", &pairs, &names);
    compare("shingle-pairs.sets.txt", sets_listing(&stored).as_bytes());
    compare("shingle-pairs.hamdex", &builder.into_inner().unwrap().0);
    let index = check_sets("shingle-pairs");
    for measure in [Measure::Resemblance, Measure::Containing, Measure::Contained] {
        let condition = Condition::new(measure, 0.3).unwrap();
        for (_, _, query) in &stored {
            let mut expected: Vec<(u64, f64)> = Vec::new();
            for (_, id, set) in &stored {
                let shared = set.intersection(query).count();
                if condition.is_met(shared, query.len(), set.len()) {
                    expected.push((*id, condition.share(shared, query.len(), set.len())));
                }
            }
            expected.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
            let query: Vec<u64> = query.iter().copied().collect();
            let found = index.searcher().similar(&query, &condition, usize::MAX).unwrap();
            assert!(found.iter().map(|found| (found.id.id, found.similarity)).eq(expected));
        }
    }
}

/// The same from before there were pairs: it says so wherever its shingles are wanted, and is an index otherwise.
#[test]
fn shingles() {
    let index = check_contents::<u64>("shingles");
    assert!(index.has_shingles());
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    let refused = index.searcher().similar(&[1], &condition, 1).unwrap_err();
    assert!(matches!(refused.kind(), ReadErrorKind::OldShingles), "{refused}");
    let refused = index.shingles().unwrap_err();
    assert!(matches!(refused.kind(), ReadErrorKind::OldShingles), "{refused}");
    // Nothing is lost in silence.
    let refused = Merger::new([&index]).unwrap().write_to(&mut Vec::new()).unwrap_err();
    let is_old = |error: &ReadError| matches!(error.kind(), ReadErrorKind::OldShingles);
    assert!(matches!(&refused, BuildError::Input(error) if is_old(error)), "{refused}");
    // Verified none the less: each byte has a checksum, or is zero.
    index.verify().unwrap();
    let whole = std::fs::read(golden("shingles.hamdex")).unwrap();
    for at in (4096..whole.len()).step_by(13) {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        let verified = Index::<u64>::from_bytes(damaged).and_then(|index| index.verify());
        assert!(verified.is_err(), "byte {at}");
    }
}

/// A line for each set: its id, and its shingles after spaces.
fn sets_listing(stored: &[(u64, u64, BTreeSet<u64>)]) -> String {
    let mut text = String::new();
    for (_, id, set) in stored {
        write!(text, "{id}").unwrap();
        set.iter().for_each(|shingle| write!(text, " {shingle}").unwrap());
        text.push('\n');
    }
    text
}

/// Opens a stored file, whose sets are those of its listing.
fn check_sets(name: &str) -> Index<u64> {
    let index = check_contents::<u64>(name);
    let stored = index.shingles().unwrap().unwrap();
    let listing = std::fs::read_to_string(golden(&format!("{name}.sets.txt"))).unwrap();
    assert_eq!(listing, sets_listing(&with_sets()));
    assert_eq!(stored.len(), 40);
    let mut expected = with_sets().into_iter().map(|(_, id, set)| (id, Vec::from_iter(set)));
    for part in stored.parts(1000).unwrap() {
        let flow = stored.for_each_while(part, &|| Ok(()), |id, set| {
            assert_eq!(expected.next(), Some((id, set.to_vec())));
            Ok::<_, ReadError>(())
        });
        flow.unwrap();
    }
    assert_eq!(expected.next(), None);
    index
}

/// Look-ups, of ids with gaps and with several fingerprints, and of names that several ids have.
#[test]
fn lookups() {
    let mut builder = Builder::in_memory(options("halves", 3).names(true).lookups(true)).unwrap();
    let pairs: Vec<(u64, u64)> = (0..150).map(|number| (number << 40, number * number / 3)).collect();
    let names = pairs.iter().map(|&(_, id)| (id, format!("document {}", id / 2).into_bytes())).collect();
    pairs.iter().for_each(|&(fingerprint, id)| builder.push_with_id(fingerprint, id).unwrap());
    push_names(&mut builder, &names);
    compare_listings("lookups", &pairs, &names);
    compare("lookups.hamdex", &builder.into_inner().unwrap().0);
    let index = check_contents::<u64>("lookups");
    let lookups = index.lookups().unwrap().unwrap();
    assert_eq!(lookups.fingerprints_of(0).unwrap(), [0, 1 << 40]);
    assert_eq!(lookups.fingerprints_of(7400).unwrap(), [149 << 40]);
    assert_eq!(lookups.ids_of_name(b"document 0").unwrap(), [0, 1]);
    assert_eq!(lookups.ids_of_name(b"document").unwrap(), [0; 0]);
}

/// Sections of length 0: those of an empty set.
#[test]
fn empty_with_lookups() {
    let index = check_with_ids::<u64>("lookups-empty", &[], options("halves", 3).lookups(true));
    assert_eq!(index.lookups().unwrap().unwrap().fingerprints_of(0).unwrap(), [0; 0]);
}

#[test]
fn one() {
    let index = check_with_ids::<u64>("one", &[(u64::MAX, u64::MAX)], options("single", 3));
    assert_eq!(index.len(), 1);
}

/// Some fingerprints have one id, some several, some hundreds; pairs come twice.
fn several_ids() -> Vec<(u64, u64)> {
    let mut numbers = Numbers(11);
    let stored: Vec<u64> = data(Shape::Mixed, 160, 3);
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    for fingerprint in stored {
        let count = [1, 1, 1, 2, 5][numbers.below(5) as usize];
        pairs.extend((0..count).map(|_| (fingerprint, 1_000_000 + numbers.below(3000))));
    }
    pairs.extend((0..300).map(|_| (0, 1_000_000 + numbers.below(3000))));
    pairs.extend_from_within(..20);
    pairs
}

#[test]
fn halves_with_ids_and_metadata() {
    let options = options("halves", 3).metadata("recipe", "words, 3").metadata("", [0, 255].as_slice());
    let index = check_with_ids("halves-ids", &several_ids(), options);
    assert_eq!(index.metadata().len(), 2);
    assert_eq!(index.metadata()["recipe"], b"words, 3");
    assert_eq!(index.metadata()[""], [0, 255]);
}

/// 128 bits; one id each, so that there are no marks.
#[test]
fn wide() {
    let mut input: Vec<u128> = data(Shape::Mixed, 200, 7);
    input.sort_unstable();
    input.dedup();
    let input: Vec<(u128, u64)> = input.into_iter().rev().zip(0..).collect();
    check_with_ids("wide", &input, options("halves", 4));
}

/// Names of 0 bytes and of two pages, invalid UTF-8, equal names, and an id of no fingerprint.
fn some_names(pairs: &[(u64, u64)], gap: u64) -> BTreeMap<u64, Vec<u8>> {
    let mut names: BTreeMap<u64, Vec<u8>> =
        pairs.iter().map(|&(_, id)| (id, format!("page {}", id / 2).into_bytes())).collect();
    let ids: Vec<u64> = names.keys().copied().collect();
    names.insert(ids[3], Vec::new());
    names.insert(ids[5], (0..5000).map(|byte| byte as u8).collect());
    names.insert(ids[8], "zwölf".into());
    names.insert(ids[ids.len() - 1] + gap, b"of nothing".to_vec());
    names
}

fn push_names<W: std::io::Write + Send>(builder: &mut Builder<u64, W>, names: &BTreeMap<u64, Vec<u8>>) {
    names.iter().for_each(|(&id, name)| builder.push_name(id, name).unwrap());
}

/// Compares the listings of a file with names.
fn compare_listings(name: &str, pairs: &[(u64, u64)], names: &BTreeMap<u64, Vec<u8>>) {
    let mut listed = String::new();
    for (id, bytes) in names {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(listed, "{id} {digits}").unwrap();
    }
    compare(&format!("{name}.txt"), listing(&id_lists(pairs).into_iter().collect::<Vec<_>>()).as_bytes());
    compare(&format!("{name}.names.txt"), listed.as_bytes());
}

fn check_names(name: &str, pairs: &[(u64, u64)], gap: u64) -> Index<u64> {
    let names = some_names(pairs, gap);
    compare_listings(name, pairs, &names);
    compare(&format!("{name}.hamdex"), &built_with_names(pairs, &names, options("single", 3)));
    let index = check_contents::<u64>(name);
    let stored = index.names().unwrap().unwrap();
    let read = stored.iter().map(|name| name.map(|(id, name)| (id, name.to_vec())));
    assert_eq!(read.collect::<Result<BTreeMap<_, _>, _>>().unwrap(), names);
    assert!(names.iter().all(|(&id, name)| stored.get(id).unwrap() == Some(name)));
    index
}

#[test]
fn names_of_consecutive_ids() {
    let stored: Vec<u64> = data(Shape::Clustered, 60, 21);
    let pairs: Vec<(u64, u64)> = stored.into_iter().zip(100..).collect();
    check_names("names", &pairs, 1);
}

#[test]
fn names_of_ids_with_gaps() {
    check_names("names-with-gaps", &several_ids(), 1000);
}

/// So many tables that the footer has two pages.
#[test]
fn eight_tables() {
    let index = check_plain::<u64>("eight-tables", &data(Shape::Clustered, 100, 9), options("cover-8", 3));
    assert_eq!(index.design().tables().len(), 8);
}

/// So many ids, of all 64 bits, that their section has several pages.
#[test]
fn many_ids() {
    let mut numbers = Numbers(17);
    let stored: [u64; 3] = [0, 7, u64::MAX];
    let mut pairs: Vec<(u64, u64)> =
        (0..1100).map(|_| (stored[numbers.below(2) as usize], numbers.word())).collect();
    pairs.extend([(u64::MAX, 0), (u64::MAX, u64::MAX)]);
    let index = check_with_ids("many-ids", &pairs, options("single", 2));
    assert_eq!(index.stats().ids.unwrap().bits, 64);
}

/// Blocks of hundreds of entries.
#[test]
fn dense() {
    let mut input: Vec<u64> = data(Shape::Runs, 900, 13);
    input.extend(0..600);
    let index = check_plain("dense", &input, options("halves", 2).block_bytes(1024));
    let stats = index.stats();
    assert!(index.len() > stats.tables[0].blocks * 300, "{stats:?}");
}

/// The values of l in the blocks of a table, from 0 on.
fn low_bits<F: Fingerprint>(index: &Index<F>, table: usize) -> Vec<u8> {
    let stats = index.stats();
    let mut all: Vec<u8> = (0..stats.tables[table].blocks)
        .flat_map(|block| {
            let block = index.raw_block(table, block).unwrap();
            read_block::<F>(block.bytes, stats.coding(table).unwrap()).unwrap()
        })
        .filter_map(|field| match field.kind {
            FieldKind::LowBits(bits) => Some(bits),
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all
}

/// The other codec, from blocks without low fields to those whose low fields are as long as can be.
#[test]
fn elias_fano() {
    let mut input: Vec<u64> = data(Shape::Runs, 900, 13);
    input.extend(0..2100);
    input.extend(data::<u64>(Shape::Mixed, 400, 14));
    let index = check_plain("elias-fano", &input, other_codec("halves", 2));
    let (natural, turned) = (low_bits(&index, 0), low_bits(&index, 1));
    assert_eq!((natural.first(), natural.last()), (Some(&0), Some(&56)), "{natural:?}");
    assert!(turned.last() > Some(&40), "{turned:?}");
}

#[test]
fn elias_fano_with_ids() {
    let options = other_codec("cover-5", 3).metadata("recipe", "words, 3");
    let index = check_with_ids("elias-fano-ids", &several_ids(), options);
    assert_eq!(index.design().tables().len(), 5);
}

#[test]
fn elias_fano_wide() {
    let mut input: Vec<u128> = data(Shape::Mixed, 300, 8);
    input.extend(0..2100);
    let index = check_plain("elias-fano-wide", &input, other_codec("halves", 4));
    let low_bits = low_bits(&index, 0);
    assert_eq!((low_bits.first(), low_bits.last()), (Some(&0), Some(&120)), "{low_bits:?}");
}

/// A name, the error that a reader gives, and how the file comes from a good one.
type Bad = (&'static str, &'static str, fn(&mut Forged));

const BAD: &[Bad] = &[
    ("not-ours", "NotHamdex", |f| f.bytes = b"fingerprint,id\n00ff00ff00ff00ff,7\n".to_vec()),
    ("newer-major", "TooNew", |f| {
        f.put(8, &[2, 0]);
        f.seal();
    }),
    ("older-major", "TooOld", |f| {
        f.put(8, &[0, 0]);
        f.seal();
    }),
    ("unknown-feature", "UnknownFeatures", |f| {
        f.put(16, &[0x20]);
        f.seal();
    }),
    ("third-width", "UnknownFeatures", |f| {
        // As a later version with fingerprints of 256 bits must say it, format-spec.md, section 21.
        f.put_footer(field::WIDTH, &256u32.to_le_bytes());
        f.put(16, &[1]);
        f.seal();
    }),
    ("truncated", "Truncated", |f| f.bytes.truncate(f.bytes.len() - 100)),
    ("flipped-header", "Damaged, Header", |f| f.bytes[40] ^= 0x10),
    ("flipped-padding", "Damaged, Padding", |f| f.bytes[1000] ^= 0x10),
    ("flipped-block", "Damaged, Block", |f| f.flip_at(f.block(1, 1).start + 200)),
    ("swapped-blocks", "Damaged, Block", |f| f.swap(f.block(0, 0), f.block(0, 1))),
    ("block-of-other-table", "Damaged, Block", |f| f.swap(f.block(0, 0), f.block(1, 0))),
    ("flipped-keys", "Damaged, Keys", |f| f.flip(KEYS)),
    ("flipped-footer", "Damaged, Footer", |f| f.flip_at(f.footer.offset + 16)),
    ("uncovered", "Damaged, Footer", |f| {
        f.put_footer(f.table_record(1) + 16, &[0]);
        f.seal();
    }),
    ("unknown-codec", "Damaged, Footer", |f| {
        f.put_footer(4, &[3]);
        f.seal();
    }),
    ("swapped-order", "Damaged, Block", |f| {
        // Right checksums, but blocks that do not belong to their keys.
        f.swap(f.block(0, 0), f.block(0, 1));
        f.seal();
    }),
    ("block-of-other-file", "Damaged, Block", |f| {
        let other = Forged::new(built::<u64>(&[], options("halves", 3)));
        let block = f.block(0, 0);
        let mut forged = Forged::new(f.bytes.clone());
        // As a file of another id has it.
        forged.put(32, &other.bytes[32..48]);
        forged.seal();
        f.put(block.start, &forged.bytes[block]);
    }),
];

fn refuse(name: &str) -> ReadError {
    match Index::<u64>::open(golden(&format!("bad/{name}.hamdex"))) {
        Err(error) => error,
        Ok(index) => index.verify().expect_err(name),
    }
}

#[test]
fn bad_files_are_refused_for_what_is_wrong_with_them() {
    let good = built_with_ids(&several_ids(), options("halves", 3));
    for (name, expected, change) in BAD {
        let mut file = Forged::new(good.clone());
        assert!(file.section(BLOCKS, 0).length >= 1024, "two blocks to swap");
        change(&mut file);
        compare(&format!("bad/{name}.hamdex"), &file.bytes);
        let error = refuse(name);
        assert_eq!(name_of(&error), *expected, "{name}: {error}");
    }
}

#[test]
fn every_stored_file_has_a_test() {
    let names = |directory: &str| -> Vec<String> {
        let entries = std::fs::read_dir(golden(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter_map(|n| n.strip_suffix(".hamdex").map(str::to_owned)).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(
        names("."),
        [
            "dense",
            "eight-tables",
            "elias-fano",
            "elias-fano-ids",
            "elias-fano-wide",
            "empty",
            "empty-ids",
            "filters",
            "halves-ids",
            "lookups",
            "lookups-empty",
            "many-ids",
            "names",
            "names-with-gaps",
            "one",
            "shingle-pairs",
            "shingles",
            "wide"
        ]
    );
    let mut tested: Vec<&str> = BAD.iter().map(|(name, ..)| *name).collect();
    tested.sort_unstable();
    assert_eq!(names("bad"), tested);
}
