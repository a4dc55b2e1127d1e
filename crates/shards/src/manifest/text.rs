//! The manifest as text: a line of JSON for the set, a line per shard, and a line with the checksums of all these, in
//! the form of [`hamdex_manifest`].

use hamdex_manifest::{Form, TextError, check_same, line, seal};
use serde::{Deserialize, Serialize};

use super::{IdType, Layout, Manifest, ShardEntry, VERSION};

/// The form of the manifest: its first field, version and maximum size.
pub(super) const FORM: Form = Form::new("hamdex_shards", VERSION, 1 << 25);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetLine {
    hamdex_shards: u64,
    layout: Layout,
    width: u32,
    distance: u32,
    recipe: Option<String>,
    id_type: Option<IdType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shingles: Option<String>,
}

/// Encodes a manifest.
pub(super) fn to_text(manifest: &Manifest) -> String {
    let mut text = line(&SetLine {
        hamdex_shards: VERSION,
        layout: manifest.layout,
        width: manifest.width,
        distance: manifest.distance,
        recipe: manifest.recipe.clone(),
        id_type: manifest.id_type,
        shingles: manifest.shingles.clone(),
    });
    for entry in &manifest.shards {
        text += &line(entry);
    }
    seal(text)
}

/// Decodes and checks a manifest.
pub(super) fn parse(text: &[u8]) -> Result<Manifest, TextError> {
    let mut lines = FORM.check(text)?;
    let SetLine { layout, width, distance, recipe, id_type, shingles, .. } = lines.require()?;
    let mut manifest = Manifest { layout, width, distance, recipe, id_type, shingles, shards: Vec::new() };
    while let Some(entry) = lines.read::<ShardEntry>()? {
        manifest.shards.push(entry);
    }
    manifest.check().map_err(|what| TextError::damaged(0, what))?;
    check_same(&to_text(&manifest), text)?;
    Ok(manifest)
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
            shingles: None,
            shards: vec![entry("a", 3), entry("b", 4), entry("c", 7), entry("d", 0)],
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        for (recipe, id_type, layout) in [
            (None, None, Layout::Hash),
            (Some("x\u{1}\u{7f}\n\"".to_owned()), Some(IdType::Numbers), Layout::Hash),
            (None, Some(IdType::Names), Layout::Families),
        ] {
            let mut manifest = Manifest { recipe, id_type, layout, ..manifest() };
            manifest.shards[0].file = "a \"name\" ü".to_owned();
            if id_type.is_none() {
                manifest.shards.iter_mut().for_each(|shard| shard.ids = 0);
            }
            assert_eq!(parse(to_text(&manifest).as_bytes()), Ok(manifest.clone()));
            // Shingles belong to ids.
            manifest.shingles = Some("runs of 5 words".to_owned());
            assert_eq!(parse(to_text(&manifest).as_bytes()).is_ok(), id_type.is_some());
        }
    }

    #[test]
    fn every_changed_byte_and_every_shorter_text_is_found() {
        let manifest = Manifest { shards: vec![entry("a", 3), entry("b", 3)], ..manifest() };
        let text = to_text(&manifest).into_bytes();
        assert_eq!(parse(&text), Ok(manifest));
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
}
