//! The manifest of a set of shards: edited, made to fit its files, its checksums made right.

use arbitrary::Unstructured;
use hamdex::{Fingerprint, Index};
use hamdex_shards::MANIFEST;
use serde_json::Value;

use crate::choose::{below, one_of};
use crate::store::{Files, sealed_manifest};

/// Fields of the set, and values for them.
const FIELDS: [(&str, &str); 22] = [
    ("layout", "\"hash\""),
    ("layout", "\"hash\""),
    ("layout", "\"families\""),
    ("layout", "\"families\""),
    ("width", "64"),
    ("width", "128"),
    ("width", "1e2"),
    ("distance", "0"),
    ("distance", "1"),
    ("distance", "3"),
    ("distance", "63"),
    ("distance", "64"),
    ("distance", "127"),
    ("distance", "4294967296"),
    ("id_type", "null"),
    ("id_type", "\"numbers\""),
    ("id_type", "\"names\""),
    ("recipe", "null"),
    ("recipe", "\"a recipe\""),
    ("hamdex_shards", "2"),
    ("hamdex_shards", "01"),
    ("more", "0"),
];

/// Numbers for the counts of a shard.
const COUNTS: [u64; 7] = [0, 1, 60, 4096, 1 << 48, (1 << 48) + 1, u64::MAX];

/// A manifest with one of its fields, or of those of its shards, changed.
#[must_use]
pub fn edited(text: &[u8], bytes: &mut Unstructured<'_>) -> Vec<u8> {
    let Some(mut lines) = lines_of(text) else { return text.to_vec() };
    let choice = below(bytes, 8);
    if choice >= 6 || lines.len() < 2 {
        let (field, value) = one_of(bytes, &FIELDS);
        lines[0] = with(&lines[0], field, value);
        return to_text(&lines);
    }
    let (one, other) = (1 + below(bytes, lines.len() - 1), 1 + below(bytes, lines.len() - 1));
    match choice {
        0 => lines.swap(one, other),
        1 => drop(lines.remove(one)),
        2 => lines.push(lines[one].clone()),
        3 => {
            let field = one_of(bytes, &["file", "file_id", "fingerprints", "ids", "bytes"]);
            let value = value_of(&lines[other], field).to_owned();
            lines[one] = with(&lines[one], field, &value);
        }
        4 => {
            let name = Value::from(bytes.arbitrary::<&str>().unwrap_or(".."));
            lines[one] = with(&lines[one], "file", &name.to_string());
        }
        _ => {
            let field = one_of(bytes, &["fingerprints", "ids", "bytes"]);
            lines[one] = with(&lines[one], field, &one_of(bytes, &COUNTS).to_string());
        }
    }
    to_text(&lines)
}

/// Lets the manifest of a set say of a shard what its file is.
pub fn name_anew(files: &mut Files, shard: &str) {
    let (Some(mut lines), Some(contents)) = (lines_of(&files[MANIFEST]), files.get(shard)) else { return };
    let name = Value::from(shard).to_string();
    for line in lines.iter_mut().skip(1).filter(|line| value_of(line, "file") == name) {
        *line = with(line, "bytes", &contents.len().to_string());
        if let Some((fingerprints, ids, file_id)) = said::<u64>(contents).or_else(|| said::<u128>(contents)) {
            *line = with(line, "fingerprints", &fingerprints.to_string());
            *line = with(line, "ids", &ids.to_string());
            *line = with(line, "file_id", &format!("\"{file_id}\""));
        }
    }
    files.insert(MANIFEST.to_owned(), to_text(&lines));
}

/// How many fingerprints and ids an index says that it has, and its file id.
fn said<F: Fingerprint>(bytes: &[u8]) -> Option<(u64, u64, String)> {
    let index = Index::<F>::from_bytes(bytes).ok()?;
    Some((index.len(), index.stats().ids.map_or(0, |ids| ids.count), index.file_id().to_string()))
}

/// The lines of a manifest, except the last one, whose checksums may be wrong.
fn lines_of(text: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    lines.pop();
    (!lines.is_empty()).then_some(lines)
}

fn to_text(lines: &[String]) -> Vec<u8> {
    sealed_manifest(lines.concat().as_bytes())
}

/// Where the value of a field stands: up to what follows a value in the texts of the seeds. Nowhere if there is no such
/// field: then at the end of the line's object.
fn place(line: &str, field: &str) -> std::ops::Range<usize> {
    let Some(start) = line.find(&format!("\"{field}\":")).map(|at| at + field.len() + 3) else {
        return line.len()..line.len();
    };
    let end = line[start..].find([',', '}']).map_or(line.len(), |length| start + length);
    start..end
}

fn value_of<'l>(line: &'l str, field: &str) -> &'l str {
    &line[place(line, field)]
}

/// The line with another value of a field, or with one field more.
fn with(line: &str, field: &str, value: &str) -> String {
    let place = place(line, field);
    if place.start < line.len() {
        return [&line[..place.start], value, &line[place.end..]].concat();
    }
    let before = line.trim_end().trim_end_matches('}');
    format!("{before},\"{field}\":{value}}}\n")
}
