//! Every row of format-spec.md's table of what a reader must reject, each tested with files in which
//! nothing else is wrong.
//!
//! - [`ends`]: header, trailer and padding
//! - [`footer`]: the footer, field by field
//! - [`contents`]: keys, metadata, and the parts common to all blocks and tables
//! - [`filters`]: filters, and other optional sections
//! - [`huffman`], [`elias_fano`]: blocks of either codec
//! - [`ids`]: ids, marks and directory
//! - [`names`]: names and their directory
//! - [`lookups`]: look-ups by id and by name
//! - [`shingles`]: shingles and their directory

mod contents;
mod elias_fano;
mod ends;
mod filters;
mod footer;
mod huffman;
mod ids;
mod lookups;
mod names;
mod shingles;

use std::collections::BTreeSet;

use crate::common::forge::{Forged, METADATA, name_of};
use crate::common::{Shape, built, data};
use hamdex::similar::{Condition, Measure};
use hamdex::{BuildOptions, Codec, Design, FilterChoice, Index, OpenOptions, ReadError};

/// When a reader must refuse at the latest: before it answers anything, when it reads the unit in
/// question, or when it verifies the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Open,
    Use,
    Verify,
}

/// A way to spoil a file.
struct Spoil {
    change: fn(&mut Forged),
    /// Whether all checksums are computed again.
    seal: bool,
    /// A part of the error's text, so that no other check is mistaken for the intended one.
    says: &'static str,
    /// The file to spoil, if it is not the row's.
    base: Option<fn() -> Vec<u8>>,
}

impl Spoil {
    /// The same, done to another file.
    const fn of(mut self, base: fn() -> Vec<u8>) -> Self {
        self.base = Some(base);
        self
    }
}

/// With the checksums that the intact file had.
const fn raw(says: &'static str, change: fn(&mut Forged)) -> Spoil {
    Spoil { change, seal: false, says, base: None }
}

/// With checksums that fit.
const fn sealed(says: &'static str, change: fn(&mut Forged)) -> Spoil {
    Spoil { change, seal: true, says, base: None }
}

/// A row of the table.
struct Refusal {
    name: &'static str,
    when: When,
    error: &'static str,
    base: fn() -> Vec<u8>,
    spoils: &'static [Spoil],
}

fn refusals() -> impl Iterator<Item = &'static Refusal> {
    [
        ends::HEADER,
        ends::TRAILER,
        footer::REFUSALS,
        contents::SECTIONS,
        filters::REFUSALS,
        contents::BLOCKS,
        huffman::REFUSALS,
        elias_fano::REFUSALS,
        contents::TABLES,
        ids::REFUSALS,
        names::REFUSALS,
        shingles::REFUSALS,
        lookups::REFUSALS,
        ends::PADDING,
    ]
    .into_iter()
    .flatten()
}

fn options() -> BuildOptions<u64> {
    let design = Design::named("halves", 3).unwrap();
    BuildOptions::new().design(design).block_bytes(512).metadata("a", "first").metadata("b", "second")
}

/// Two tables, several blocks in each, no ids.
fn plain() -> Vec<u8> {
    built(&stored(), options())
}

/// The same, by the other codec.
fn plain_elias_fano() -> Vec<u8> {
    built(&stored(), options().codec(Codec::EliasFano))
}

/// Two tables, of which each has a filter.
fn filtered() -> Vec<u8> {
    built(&stored(), options().filter(FilterChoice::Bits(16)))
}

/// Hundreds of entries in each block.
fn dense() -> Vec<u8> {
    built(&(0..900).collect::<Vec<u64>>(), options())
}

fn stored() -> Vec<u64> {
    data(Shape::Uniform, 300, 1)
}

/// Reads every block of table 0 and of the pairs of shingles, the ids of every fingerprint, and their names.
fn use_all(index: &Index<u64>) -> Result<(), ReadError> {
    index.searcher().within(0, 64)?;
    stored().into_iter().try_for_each(|x| index.searcher().within(x, 3).map(drop))?;
    stored().into_iter().try_for_each(|x| index.ids(x).map(drop))?;
    if let Some(shingles) = index.shingles()? {
        let mut all = BTreeSet::new();
        for part in shingles.parts(1 << 12)? {
            shingles.for_each_while(part, &|| Ok(()), |_, set| {
                all.extend(set);
                Ok::<_, ReadError>(())
            })?;
        }
        // Every list is read, and the number of shingles of every document.
        let condition = Condition::new(Measure::Contained, 0.001).unwrap();
        index.searcher().similar(&Vec::from_iter(all), &condition, usize::MAX)?;
    }
    if let Some(lookups) = index.lookups()? {
        (0..300).try_for_each(|id| lookups.fingerprints_of(id).map(drop))?;
    }
    let Some(names) = index.names()? else { return Ok(()) };
    stored().into_iter().try_for_each(|x| index.ids(x)?.try_for_each(|id| names.get(id).map(drop)))
}

fn check(refusal: &Refusal, spoil: &Spoil) {
    let name = refusal.name;
    let mut file = Forged::new(spoil.base.unwrap_or(refusal.base)());
    (spoil.change)(&mut file);
    if spoil.seal {
        file.seal();
    }
    // Parts that may be read late are read late.
    let error = match OpenOptions::new().map_keys(true).from_bytes::<u64>(file.bytes) {
        Err(error) => {
            assert_eq!(refusal.when, When::Open, "{name}: {error}");
            error
        }
        Ok(index) => {
            assert_ne!(refusal.when, When::Open, "{name}: it opens");
            if refusal.when == When::Use {
                let error = use_all(&index).expect_err(name);
                assert_eq!(name_of(&error), refusal.error, "{name}: {error}");
            }
            index.verify().expect_err(name)
        }
    };
    assert_eq!(name_of(&error), refusal.error, "{name}: {error}");
    assert!(error.to_string().contains(spoil.says), "{name}: {error}");
}

#[test]
fn every_refusal_of_the_specification_is_met() {
    for refusal in refusals() {
        assert!(!refusal.spoils.is_empty());
        refusal.spoils.iter().for_each(|spoil| check(refusal, spoil));
    }
}

/// The name of an error in the specification.
fn report_of(error: &str) -> &str {
    match error {
        "NotHamdex" => "not hamdex",
        "Truncated" => "truncated",
        "TooNew" => "too new",
        "TooOld" => "too old",
        "UnknownFeatures" => "unknown features",
        "Width" => "another width",
        damaged if damaged.starts_with("Damaged, ") => "damaged",
        other => panic!("{other} is not in format-spec.md"),
    }
}

/// The rows between the markers are those tested: same names, times and reports, in the same order.
#[test]
fn the_specification_lists_these_refusals() {
    let spec = include_str!("../../../format-spec.md");
    let (_, rest) = spec.split_once("<!-- refusals -->").expect("the table's beginning");
    let (table, _) = rest.split_once("<!-- end of refusals -->").expect("the table's end");
    let listed: Vec<[String; 3]> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            [cells[0], cells[2], cells[3]].map(|cell| cell.replace('`', ""))
        })
        .collect();
    let tested: Vec<[String; 3]> = refusals()
        .map(|r| [r.name.to_owned(), format!("{:?}", r.when).to_lowercase(), report_of(r.error).to_owned()])
        .collect();
    assert_eq!(listed, tested);
    let names: BTreeSet<&str> = refusals().map(|r| r.name).collect();
    assert_eq!(names.len(), tested.len(), "names are unique");
}

#[test]
fn unspoilt_files_are_accepted_even_when_sealed_anew() {
    for bytes in
        [plain(), plain_elias_fano(), elias_fano::close(), dense(), ids::with_ids(), names::with_names()]
    {
        let mut file = Forged::new(bytes.clone());
        file.seal();
        assert!(file.bytes == bytes, "sealing changes nothing");
        let metadata = file.contents(METADATA, 0).to_vec();
        file.replace_metadata(&metadata);
        assert!(file.bytes == bytes, "replacing metadata by itself changes nothing");
        Index::<u64>::from_bytes(file.bytes).unwrap().verify().unwrap();
    }
}

#[test]
fn optional_features_and_newer_minor_versions_are_accepted() {
    for (at, byte) in [(10, 9), (11, 1), (24, 1), (31, 0x80)] {
        let mut file = Forged::new(plain());
        file.put(at, &[byte]);
        file.seal();
        Index::<u64>::from_bytes(file.bytes).unwrap().verify().unwrap();
    }
}

/// UTF-8 is that of RFC 3629, and metadata has no special characters: values are read back unchanged.
#[test]
fn any_utf8_is_a_name_of_metadata_and_comes_back_unchanged() {
    let names = ["", "\0", "a\nb", "\u{7f}", "\u{d7ff}", "\u{e000}", "\u{feff}", "\u{feff}a", "\u{10ffff}"];
    assert!(names.is_sorted(), "as the format wants them");
    let entries = names.iter().flat_map(|name| {
        let lengths = [name.len() as u32, 1].map(u32::to_le_bytes).concat();
        [lengths, name.as_bytes().to_vec(), vec![0xff]].concat()
    });
    let entries: Vec<u8> = entries.collect();
    let mut file = Forged::new(plain());
    file.replace_metadata(&entries);
    let index = Index::<u64>::from_bytes(file.bytes).unwrap();
    index.verify().unwrap();
    assert!(index.metadata().keys().map(String::as_str).eq(names));
    assert!(index.metadata().values().all(|value| value == &[0xff]));
}

/// The name of a design is text without control characters; a byte order mark is no control character.
#[test]
fn a_byte_order_mark_stays_in_the_name_of_a_design() {
    let mut file = Forged::new(plain());
    file.put_footer(48, "\u{feff}abc".as_bytes());
    file.seal();
    let index = Index::<u64>::from_bytes(file.bytes).unwrap();
    assert_eq!(index.design().name(), "\u{feff}abc");
}

/// Metadata of reserved names makes no file invalid.
#[test]
fn reserved_names_of_metadata_are_no_reason_to_reject() {
    for name in ["hamdex.", "hamdex.names", "hamdex.recipe"] {
        let bytes = built(&stored(), options().metadata(name, [0xff]));
        let index = Index::<u64>::from_bytes(bytes).unwrap();
        index.verify().unwrap();
        use_all(&index).unwrap();
    }
}
