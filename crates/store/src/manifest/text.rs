//! The text form of the manifest: a line of JSON for the store, one for its state, one per segment, and one for the
//! checksums of these. The form is that of [`hamdex_manifest`].

use hamdex::FilterChoice;
pub use hamdex_manifest::TextError;
use hamdex_manifest::{Form, check_same, line, seal};
use serde::{Deserialize, Serialize};

use super::{Manifest, VERSION, WrittenBytes};
use crate::log::Sealed;
use crate::manifest::identity::{Identity, StoreId};

/// The form of the manifest of a store: its first field, its version and its greatest length.
pub(super) const FORM: Form = Form::new("hamdex_store", VERSION, 1 << 24);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoreLine {
    hamdex_store: u64,
    store: String,
    width: u32,
    ids: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    names: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shingles: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    lookups: bool,
    distance: u32,
    design: String,
    codec: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    recipe: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateLine {
    generation: u64,
    sequence: u64,
    first_log: u64,
    sealed: Option<Sealed>,
    next_segment: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_id: Option<u64>,
    written: WrittenBytes,
}

impl StateLine {
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the state of a store of which nothing is known but its files.
    pub(super) fn unknown(store: &StoreLine) -> Self {
        Self {
            generation: 1,
            sequence: 0,
            first_log: 1,
            sealed: None,
            next_segment: 1,
            next_id: store.names.then_some(0),
            written: WrittenBytes::default(),
        }
    }
}

/// Formats a manifest.
#[must_use]
pub fn to_text(manifest: &Manifest) -> String {
    let mut text = line(&StoreLine {
        hamdex_store: VERSION,
        store: manifest.identity.store.to_string(),
        width: manifest.identity.width,
        ids: manifest.identity.has_ids,
        names: manifest.identity.has_names,
        shingles: manifest.shingles.clone(),
        lookups: manifest.lookups,
        distance: manifest.distance,
        design: manifest.design.clone(),
        codec: manifest.codec.to_string(),
        filter: (manifest.filter != FilterChoice::Auto).then(|| manifest.filter.to_string()),
        recipe: manifest.recipe.clone(),
    });
    text += &line(&StateLine {
        generation: manifest.generation,
        sequence: manifest.sequence,
        first_log: manifest.first_log,
        sealed: manifest.sealed,
        next_segment: manifest.next_segment,
        next_id: manifest.identity.has_names.then_some(manifest.next_id),
        written: manifest.written,
    });
    text.extend(manifest.segments.iter().map(line));
    seal(text)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Parses the text of a manifest, and checks all of it.
///
/// # Errors
/// When it is not exactly what [`to_text`] writes for some possible manifest.
pub fn parse(text: &[u8]) -> Result<Manifest, TextError> {
    let mut lines = FORM.check(text)?;
    let (store, state): (StoreLine, StateLine) = (lines.require()?, lines.require()?);
    let mut manifest = assemble(&store, &state).map_err(|what| TextError::damaged(0, what))?;
    while let Some(entry) = lines.read()? {
        manifest.segments.push(entry);
    }
    manifest.check().map_err(|what| TextError::damaged(0, what))?;
    check_same(&to_text(&manifest), text)?;
    Ok(manifest)
}

/// Returns the filters of segments; those of a store without the field are automatic.
fn filter_of(store: &StoreLine) -> Result<FilterChoice, String> {
    let Some(filter) = &store.filter else { return Ok(FilterChoice::Auto) };
    filter.parse().map_err(|error| format!("{error}, not {filter:?}"))
}

/// Returns the manifest of the first two lines, without segments.
pub(super) fn assemble(store: &StoreLine, state: &StateLine) -> Result<Manifest, String> {
    let id = StoreId::parse(&store.store).ok_or("the id of the store is invalid")?;
    Ok(Manifest {
        identity: Identity {
            store: id,
            width: store.width,
            has_ids: store.ids,
            has_names: store.names,
            has_shingles: store.shingles.is_some(),
        },
        shingles: store.shingles.clone(),
        lookups: store.lookups,
        distance: store.distance,
        design: store.design.clone(),
        codec: store.codec.parse().map_err(|_| format!("unknown codec {:?}", store.codec))?,
        filter: filter_of(store)?,
        recipe: store.recipe.clone(),
        generation: state.generation,
        sequence: state.sequence,
        first_log: state.first_log,
        sealed: state.sealed,
        next_segment: state.next_segment,
        next_id: state.next_id.unwrap_or(0),
        written: state.written,
        segments: Vec::new(),
    })
}
