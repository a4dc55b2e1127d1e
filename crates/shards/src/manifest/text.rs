//! The manifest as text: a JSON object for people and programs, whose last member is a checksum of all before it.

use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};

use super::{IdType, Layout, Manifest, ShardEntry, VERSION};

/// What every manifest calls itself, in all versions of the format.
const FORMAT: &str = "hamdex shards";

/// What stands before and after the digits of the checksum. Both are of exactly these bytes, so that a changed one is
/// found there too.
const BEFORE_CHECKSUM: &str = "\"checksum\": \"";
const AFTER_CHECKSUM: &str = "\"\n}\n";

/// Hexadecimal digits of the checksum.
const CHECKSUM_DIGITS: usize = 8;

/// Why a text is no manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextError {
    /// It does not call itself one.
    NotAManifest,
    /// It was written by a later version of the format.
    Newer(u64),
    /// Something does not fit.
    Damaged(String),
}

/// What tells a manifest, and its version, from other JSON.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    format: String,
    version: u64,
    layout: Layout,
    width: u32,
    distance: u32,
    recipe: Option<String>,
    id_type: Option<IdType>,
    shards: Vec<ShardEntry>,
    #[serde(skip_serializing)]
    #[expect(dead_code, reason = "it has been compared with the bytes before it")]
    checksum: Option<String>,
}

/// The text of a manifest.
pub(super) fn to_text(manifest: &Manifest) -> String {
    let Manifest { layout, width, distance, recipe, id_type, shards } = manifest.clone();
    let format = FORMAT.to_owned();
    let fields =
        Fields { format, version: VERSION, layout, width, distance, recipe, id_type, shards, checksum: None };
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" "));
    fields.serialize(&mut serializer).expect("numbers and strings are JSON");
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    let covered = text.strip_suffix("\n}").expect("an object ends so").to_owned() + ",\n ";
    let checksum = checksum(covered.as_bytes());
    covered + BEFORE_CHECKSUM + &checksum + AFTER_CHECKSUM
}

fn checksum(covered: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(covered))
}

/// Reads the text of a manifest, and checks all of it.
pub(super) fn parse(text: &[u8]) -> Result<Manifest, TextError> {
    let damaged = |what: &dyn ToString| TextError::Damaged(what.to_string());
    if !text.windows(FORMAT.len()).any(|bytes| bytes == FORMAT.as_bytes()) {
        return Err(TextError::NotAManifest);
    }
    let head: Head = serde_json::from_slice(text).map_err(|error| damaged(&error))?;
    if head.format != FORMAT {
        return Err(TextError::NotAManifest);
    }
    if head.version > VERSION {
        return Err(TextError::Newer(head.version));
    }
    if head.version != VERSION {
        return Err(damaged(&"its version is none"));
    }
    check_checksum(text).map_err(|what| damaged(&what))?;
    let fields: Fields = serde_json::from_slice(text).map_err(|error| damaged(&error))?;
    let Fields { layout, width, distance, recipe, id_type, shards, .. } = fields;
    let manifest = Manifest { layout, width, distance, recipe, id_type, shards };
    manifest.check().map_err(|what| damaged(&what))?;
    Ok(manifest)
}

fn check_checksum(text: &[u8]) -> Result<(), &'static str> {
    let tail = BEFORE_CHECKSUM.len() + CHECKSUM_DIGITS + AFTER_CHECKSUM.len();
    let (covered, tail) = text.split_at_checked(text.len().wrapping_sub(tail)).ok_or("it is too short")?;
    let digits = tail
        .strip_prefix(BEFORE_CHECKSUM.as_bytes())
        .and_then(|rest| rest.strip_suffix(AFTER_CHECKSUM.as_bytes()))
        .ok_or("it does not end with its checksum")?;
    if digits == checksum(covered).as_bytes() { Ok(()) } else { Err("its checksum differs") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: &str, fingerprints: u64) -> ShardEntry {
        let file_id = format!("{fingerprints:032x}");
        ShardEntry { file: file.to_owned(), fingerprints, ids: fingerprints, bytes: 4928, file_id }
    }

    fn manifest() -> Manifest {
        Manifest {
            layout: Layout::Families,
            width: 64,
            distance: 1,
            recipe: Some("a = \"ä\"".to_owned()),
            id_type: Some(IdType::Names),
            shards: vec![entry("a", 3), entry("b", 4), entry("c", 7), entry("d", 0)],
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        for (recipe, id_type, layout) in [
            (None, None, Layout::Hash),
            (Some("x".to_owned()), Some(IdType::Numbers), Layout::Hash),
            (None, Some(IdType::Names), Layout::Families),
        ] {
            let mut manifest = Manifest { recipe, id_type, layout, ..manifest() };
            if id_type.is_none() {
                manifest.shards.iter_mut().for_each(|shard| shard.ids = 0);
            }
            assert_eq!(parse(to_text(&manifest).as_bytes()), Ok(manifest));
        }
    }

    #[test]
    fn every_changed_byte_and_every_shorter_text_is_found() {
        let text = to_text(&manifest()).into_bytes();
        for place in 0..text.len() {
            for change in [1, 0x20, 0x80] {
                let mut changed = text.clone();
                changed[place] ^= change;
                assert!(parse(&changed).is_err(), "byte {place}");
            }
            assert!(parse(&text[..place]).is_err(), "{place} bytes");
        }
        assert!(parse(&[&text[..], b"\n"].concat()).is_err());
    }

    /// The text with some members changed, and a right checksum.
    fn forged(from: &str, to: &str) -> Vec<u8> {
        let text = to_text(&manifest());
        assert!(text.contains(from), "{from}: {text}");
        let text = text.replacen(from, to, 1);
        let covered = &text[..text.len() - 25];
        format!("{covered}{BEFORE_CHECKSUM}{}{AFTER_CHECKSUM}", checksum(covered.as_bytes())).into_bytes()
    }

    #[test]
    fn impossible_values_are_refused_although_the_checksum_is_right() {
        for (from, to) in [
            ("\"width\": 64", "\"width\": 65"),
            ("\"width\": 64", "\"width\": 64, \"width\": 64"),
            ("\"width\": 64", "\"width\": 64, \"more\": 0"),
            ("\"distance\": 1", "\"distance\": 64"),
            ("\"distance\": 1", "\"distance\": 2"),
            ("\"distance\": 1", "\"distance\": -1"),
            ("families", "rings"),
            ("names", "colours"),
            ("\"file\": \"a\"", "\"file\": \"../a\""),
            ("\"file\": \"a\"", "\"file\": \"shards.json\""),
            ("\"file\": \"a\"", "\"file\": \"\""),
            ("\"file\": \"a\"", "\"file\": \"b\""),
            ("\"fingerprints\": 3", "\"fingerprints\": 4"),
            ("\"fingerprints\": 3", "\"fingerprints\": 3.5"),
            ("\"ids\": 3", "\"ids\": 2"),
            ("\"bytes\": 4928", "\"bytes\": 18446744073709551615"),
            ("00000003\"", "0000000x\""),
            ("\"version\": 1", "\"version\": 0"),
        ] {
            assert!(matches!(parse(&forged(from, to)), Err(TextError::Damaged(_))), "{to}");
        }
        let empty = Manifest { shards: Vec::new(), ..manifest() };
        assert!(matches!(parse(to_text(&empty).as_bytes()), Err(TextError::Damaged(_))));
    }

    #[test]
    fn other_files_and_later_versions_are_known_for_what_they_are() {
        for text in ["", "{}", "[1, 2]", "{\"format\": \"something else\", \"version\": 1}"] {
            assert_eq!(parse(text.as_bytes()), Err(TextError::NotAManifest), "{text}");
        }
        let newer = forged("\"version\": 1", "\"version\": 2, \"more\": []");
        assert_eq!(parse(&newer), Err(TextError::Newer(2)));
    }
}
