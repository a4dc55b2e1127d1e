//! The manifest of a set of shards: edited, made to fit its files, its checksum made right.

use arbitrary::Unstructured;
use hamdex::{Fingerprint, Index};
use hamdex_shards::MANIFEST;
use serde_json::{Map, Value, json};

use crate::choose::{below, one_of};
use crate::store::Files;

/// What stands around the digits of the checksum.
const CHECKSUM: (&[u8], &[u8]) = (b"\"checksum\": \"", b"\"\n}\n");
const CHECKSUM_BYTES: usize = CHECKSUM.0.len() + 8 + CHECKSUM.1.len();

/// Members of a manifest, and values for them.
const MEMBERS: [(&str, &str); 22] = [
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
    ("version", "2"),
    ("shards", "[]"),
    ("more", "0"),
];

/// Numbers for the counts of a shard.
const COUNTS: [u64; 7] = [0, 1, 60, 4096, 1 << 48, (1 << 48) + 1, u64::MAX];

/// Gives a text the end of a manifest: the checksum of all before it.
pub fn sealed(text: &mut Vec<u8>) {
    text.truncate(text.len().saturating_sub(CHECKSUM_BYTES));
    let checksum = format!("{:08x}", crc32fast::hash(text));
    text.extend([CHECKSUM.0, checksum.as_bytes(), CHECKSUM.1].concat());
}

/// A manifest with one of its members, or of its shards, changed.
#[must_use]
pub fn edited(text: &[u8], bytes: &mut Unstructured<'_>) -> Vec<u8> {
    let Some(mut members) = members(text) else { return text.to_vec() };
    let choice = below(bytes, 8);
    let is_usual = |shards: &&mut Vec<Value>| !shards.is_empty() && shards.iter().all(Value::is_object);
    match members.get_mut("shards").and_then(Value::as_array_mut).filter(is_usual) {
        Some(shards) if choice < 6 => {
            let (one, other) = (below(bytes, shards.len()), below(bytes, shards.len()));
            match choice {
                0 => shards.swap(one, other),
                1 => drop(shards.remove(one)),
                2 => shards.push(shards[one].clone()),
                3 => {
                    let member = one_of(bytes, &["file", "file_id", "fingerprints", "ids", "bytes"]);
                    shards[one][member] = shards[other][member].clone();
                }
                4 => shards[one]["file"] = json!(bytes.arbitrary::<&str>().unwrap_or("..")),
                _ => {
                    let member = one_of(bytes, &["fingerprints", "ids", "bytes"]);
                    shards[one][member] = json!(one_of(bytes, &COUNTS));
                }
            }
        }
        _ => {
            let (member, value) = one_of(bytes, &MEMBERS);
            members.insert(member.to_owned(), serde_json::from_str(value).expect("it is JSON"));
        }
    }
    to_text(members)
}

/// Lets the manifest of a set say of a shard what its file is.
pub fn name_anew(files: &mut Files, shard: &str) {
    let (Some(mut members), Some(contents)) = (members(&files[MANIFEST]), files.get(shard)) else { return };
    let Some(shards) = members.get_mut("shards").and_then(Value::as_array_mut) else { return };
    for entry in shards.iter_mut().filter(|entry| entry["file"] == shard) {
        entry["bytes"] = json!(contents.len());
        if let Some((fingerprints, ids, file_id)) = said::<u64>(contents).or_else(|| said::<u128>(contents)) {
            entry["fingerprints"] = json!(fingerprints);
            entry["ids"] = json!(ids);
            entry["file_id"] = json!(file_id);
        }
    }
    files.insert(MANIFEST.to_owned(), to_text(members));
}

/// How many fingerprints and ids an index says that it has, and its file id.
fn said<F: Fingerprint>(bytes: &[u8]) -> Option<(u64, u64, String)> {
    let index = Index::<F, _>::from_bytes(bytes).ok()?;
    Some((index.len(), index.stats().ids.map_or(0, |ids| ids.count), index.file_id().to_string()))
}

/// What a manifest says, without its checksum, which may be wrong.
fn members(text: &[u8]) -> Option<Map<String, Value>> {
    let mut members = match serde_json::from_slice(text) {
        Ok(Value::Object(members)) => members,
        _ => return None,
    };
    members.remove("checksum");
    Some(members)
}

fn to_text(members: Map<String, Value>) -> Vec<u8> {
    let text = Value::Object(members).to_string();
    let mut text = format!("{},", text.strip_suffix('}').expect("an object")).into_bytes();
    text.extend([b' '; CHECKSUM_BYTES]);
    sealed(&mut text);
    text
}
