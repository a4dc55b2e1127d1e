//! Dumps a set of shards: its manifest, and all its fingerprints.

use std::io::Write;
use std::path::Path;

use hamdex::{Fingerprint, OpenOptions};
use hamdex_shards::Shards;
use hamdex_shards::inspect::{IdType, Manifest};
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::commands::dump::Directory;
use crate::documents::recipe::described;
use crate::failure::Failure;
use crate::messages::counted;

/// A set of shards to dump.
pub(super) struct ShardsDump<'a, F: Fingerprint> {
    path: &'a Path,
    set: Shards<F>,
}

impl<'a, F: Fingerprint> ShardsDump<'a, F> {
    pub(super) fn open(path: &'a Path) -> Result<Self, Failure> {
        Ok(Self { path, set: Shards::open(path, &OpenOptions::new())? })
    }
}

impl<F: Fingerprint> Directory for ShardsDump<'_, F> {
    /// Prints the manifest as text.
    fn print(&self, output: &mut impl Write) -> Result<(), Failure> {
        let manifest = self.set.manifest();
        let Manifest { layout, width, distance, .. } = manifest;
        writeln!(output, "{}", self.path.display())?;
        let each = manifest.first_family().len();
        match manifest.families() {
            1 => {
                let shards = counted(each as u64, "shard", "shards");
                writeln!(output, "  layout          {layout}: {shards}; a query reads all of them")?;
            }
            families => writeln!(
                output,
                "  layout          {layout}: {families} of {each} shards, one of which a query within {distance} \
                 bits asks of each"
            )?,
        }
        let ids = match manifest.id_type {
            None => "without ids".to_owned(),
            Some(IdType::Numbers) => format!("{} ids", HumanCount(manifest.ids())),
            Some(IdType::Names) => format!("{} ids with names", HumanCount(manifest.ids())),
        };
        let most = if manifest.families() == 1 { "at most " } else { "" };
        writeln!(
            output,
            "  fingerprints    {most}{} of {width} bits, {ids}",
            HumanCount(manifest.fingerprints())
        )?;
        writeln!(output, "  distance        {distance}")?;
        if let Some(recipe) = &manifest.recipe {
            writeln!(output, "  recipe          {}", described(recipe))?;
        }
        writeln!(output, "  bytes           {}", HumanBytes(manifest.bytes()))?;
        for (number, shard) in manifest.shards.iter().enumerate() {
            if manifest.families() > 1 && number % each == 0 {
                writeln!(output, "\nfamily {}:", number / each)?;
            } else if number == 0 {
                writeln!(output)?;
            }
            writeln!(
                output,
                "  {}  {} fingerprints, {}",
                shard.file,
                HumanCount(shard.fingerprints),
                HumanBytes(shard.bytes)
            )?;
        }
        Ok(())
    }

    /// Returns the same as JSON.
    fn json(&self, output: &mut impl Write) -> Result<(), Failure> {
        let manifest = self.set.manifest();
        let shards: Vec<Value> = manifest.shards.iter().map(|shard| json!(shard)).collect();
        let whole = json!({
            "layout": manifest.layout,
            "families": manifest.families(),
            "width": manifest.width,
            "distance": manifest.distance,
            "recipe": manifest.recipe,
            "id_type": manifest.id_type,
            "shingles": manifest.shingles,
            "fingerprints": manifest.fingerprints(),
            "ids": manifest.ids(),
            "bytes": manifest.bytes(),
            "shards": shards,
        });
        serde_json::to_writer_pretty(&mut *output, &whole).map_err(std::io::Error::from)?;
        writeln!(output)?;
        Ok(())
    }
}
