//! The manifest as text: a line of JSON for the store, one for its state, one per segment, and one for the checksums of
//! all these.
//!
//! There is one text for each manifest: a reader refuses every other one, so nothing in it is without meaning.

use serde::{Deserialize, Serialize};

use super::{Manifest, RemovalsEntry, SegmentEntry, VERSION, Written};
use crate::identity::{Identity, StoreId, hex, parse_hex};
use crate::log::Sealed;

/// How every manifest begins, in all versions of the format.
pub(super) const BEGINNING: &str = "{\"hamdex_store\":";

/// Why a text is no manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextError {
    /// It does not begin as a manifest does.
    NotAManifest,
    /// It was written by a later version of the format.
    Newer(u64),
    /// Something does not fit.
    Damaged {
        /// Where, in bytes from its start.
        offset: u64,
        /// What.
        what: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoreLine {
    hamdex_store: u64,
    store: String,
    width: u32,
    ids: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    names: bool,
    distance: u32,
    design: String,
    codec: String,
    recipe: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateLine {
    sequence: u64,
    first_log: u64,
    sealed: Option<SealedFields>,
    next_segment: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_id: Option<u64>,
    written: WrittenFields,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedFields {
    log: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFields {
    segments: u64,
    removals: u64,
    logs: u64,
    added: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SegmentLine {
    segment: u64,
    file_id: String,
    bytes: u64,
    fingerprints: u64,
    pairs: u64,
    level: u32,
    born: u64,
    applied: u64,
    removals: Option<RemovalsFields>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemovalsFields {
    version: u64,
    count: u64,
}

/// The text of a manifest.
#[must_use]
pub fn to_text(manifest: &Manifest) -> String {
    let mut text = line(&StoreLine {
        hamdex_store: VERSION,
        store: manifest.identity.store.to_string(),
        width: manifest.identity.width,
        ids: manifest.identity.has_ids,
        names: manifest.identity.has_names,
        distance: manifest.distance,
        design: manifest.design.clone(),
        codec: manifest.codec.to_string(),
        recipe: manifest.recipe.clone(),
    });
    let Written { segments, removals, logs, added } = manifest.written;
    text += &line(&StateLine {
        sequence: manifest.sequence,
        first_log: manifest.first_log,
        sealed: manifest.sealed.map(|Sealed { log, bytes }| SealedFields { log, bytes }),
        next_segment: manifest.next_segment,
        next_id: manifest.identity.has_names.then_some(manifest.next_id),
        written: WrittenFields { segments, removals, logs, added },
    });
    for entry in &manifest.segments {
        text += &line(&SegmentLine::of(entry));
    }
    let checksums = checksum_line(&text);
    text + &checksums
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

fn line(fields: &impl Serialize) -> String {
    serde_json::to_string(fields).expect("numbers and strings are JSON") + "\n"
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChecksumLine {
    crc32: Vec<String>,
}

/// The checksum of a line, its end included.
fn checksum(line: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(line))
}

/// The line with the checksums of other lines.
fn checksum_line(lines: &str) -> String {
    line(&ChecksumLine { crc32: lines.split_inclusive('\n').map(|line| checksum(line.as_bytes())).collect() })
}

/// Splits a text into the lines that have a checksum, and the checksum that the last line has for each: none if that
/// is no such line.
pub(super) fn lines_with_checksums(text: &[u8]) -> Vec<(&[u8], Option<bool>)> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let last = lines.last().and_then(|last| serde_json::from_slice::<ChecksumLine>(last).ok());
    if last.is_some() {
        lines.pop();
    }
    let is_right = |at: usize, line| last.as_ref().map(|last| last.crc32.get(at) == Some(&checksum(line)));
    lines.into_iter().enumerate().map(|(at, line)| (line, is_right(at, line))).collect()
}

/// Reads the text of a manifest, and checks all of it.
///
/// # Errors
/// When it is not exactly what [`to_text`] writes for some possible manifest.
pub fn parse(text: &[u8]) -> Result<Manifest, TextError> {
    if !text.starts_with(BEGINNING.as_bytes()) {
        return Err(TextError::NotAManifest);
    }
    let contents = check_checksums(text)?;
    let contents =
        std::str::from_utf8(contents).map_err(|error| damaged(error.valid_up_to(), "it is not UTF-8"))?;
    if let Some(newer) = version_of(contents).filter(|&version| version > VERSION) {
        return Err(TextError::Newer(newer));
    }
    let mut offset = 0;
    let mut segments = Vec::new();
    let (mut store, mut state) = (None, None);
    for line in contents.split_inclusive('\n') {
        let outcome = if store.is_none() {
            serde_json::from_str::<StoreLine>(line).map(|fields| store = Some(fields))
        } else if state.is_none() {
            serde_json::from_str::<StateLine>(line).map(|fields| state = Some(fields))
        } else {
            serde_json::from_str::<SegmentLine>(line).map(|fields| segments.push((offset, fields)))
        };
        outcome.map_err(|error| damaged(offset, error.to_string()))?;
        offset += line.len();
    }
    let (Some(store), Some(state)) = (store, state) else {
        return Err(damaged(offset, "it has too few lines"));
    };
    let mut manifest = assemble(&store, &state).map_err(|what| damaged(0, what))?;
    for (offset, line) in segments {
        manifest.segments.push(line.entry().ok_or_else(|| damaged(offset, "the file id is none"))?);
    }
    manifest.check().map_err(|what| damaged(0, what))?;
    match first_difference(to_text(&manifest).as_bytes(), text) {
        Some(offset) => Err(damaged(offset, "it is not written as manifests are")),
        None => Ok(manifest),
    }
}

fn damaged(offset: usize, what: impl Into<String>) -> TextError {
    TextError::Damaged { offset: offset as u64, what: what.into() }
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let differs = one.iter().zip(other).position(|(one, other)| one != other);
    differs.or((one.len() != other.len()).then_some(one.len().min(other.len())))
}

/// The lines before the last one, which has their checksums.
fn check_checksums(text: &[u8]) -> Result<&[u8], TextError> {
    if !text.ends_with(b"\n") {
        return Err(damaged(text.len(), "it ends too early"));
    }
    let mut offset = 0;
    for (line, is_right) in lines_with_checksums(text) {
        match is_right {
            Some(true) => offset += line.len(),
            Some(false) => return Err(damaged(offset, "the checksum of a line differs")),
            None => return Err(damaged(text.len(), "the last line has no checksums")),
        }
    }
    Ok(&text[..offset])
}

/// The version of the format, by the first field.
fn version_of(contents: &str) -> Option<u64> {
    let rest = contents.strip_prefix(BEGINNING)?;
    rest.split([',', '}']).next()?.parse().ok()
}

/// The manifest of the first two lines, without segments.
pub(super) fn assemble(store: &StoreLine, state: &StateLine) -> Result<Manifest, String> {
    let id = StoreId::parse(&store.store).ok_or("the store's id is none")?;
    Ok(Manifest {
        identity: Identity { store: id, width: store.width, has_ids: store.ids, has_names: store.names },
        distance: store.distance,
        design: store.design.clone(),
        codec: store.codec.parse().map_err(|_| format!("there is no codec {:?}", store.codec))?,
        recipe: store.recipe.clone(),
        sequence: state.sequence,
        first_log: state.first_log,
        sealed: state.sealed.as_ref().map(|&SealedFields { log, bytes }| Sealed { log, bytes }),
        next_segment: state.next_segment,
        next_id: state.next_id.unwrap_or(0),
        written: Written {
            segments: state.written.segments,
            removals: state.written.removals,
            logs: state.written.logs,
            added: state.written.added,
        },
        segments: Vec::new(),
    })
}

impl SegmentLine {
    fn of(entry: &SegmentEntry) -> Self {
        let removals = |&RemovalsEntry { version, count }: &RemovalsEntry| RemovalsFields { version, count };
        Self {
            segment: entry.number,
            file_id: hex(&entry.file_id),
            bytes: entry.bytes,
            fingerprints: entry.fingerprints,
            pairs: entry.pairs,
            level: entry.level,
            born: entry.born,
            applied: entry.applied,
            removals: entry.removals.as_ref().map(removals),
        }
    }

    pub(super) fn entry(&self) -> Option<SegmentEntry> {
        let removals = |&RemovalsFields { version, count }: &RemovalsFields| RemovalsEntry { version, count };
        Some(SegmentEntry {
            number: self.segment,
            file_id: parse_hex(&self.file_id)?,
            bytes: self.bytes,
            fingerprints: self.fingerprints,
            pairs: self.pairs,
            level: self.level,
            born: self.born,
            applied: self.applied,
            removals: self.removals.as_ref().map(removals),
        })
    }
}
