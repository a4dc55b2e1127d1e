//! The contenders by name; the only file that knows all of them.

use anyhow::{Context, Result, bail};
use hamdex::{Codec, Design};

use crate::contender::Built;
use crate::data::Data;
use crate::hamdex::DESIGNS;
use crate::{bk_tree, brute, mih};

/// A contender that can be built.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Mih { blocks: Option<usize> },
    Hamdex { codec: Codec, design: &'static str },
    BkTree,
    BruteForce,
}

/// The contender that all others are compared with.
pub(crate) const REFERENCE: Kind = Kind::Mih { blocks: None };

impl Kind {
    /// All contenders, the reference first. A design that does not serve the distance is left out.
    fn all(distance: u32) -> Vec<Self> {
        let designs = Design::<u64>::names(distance);
        let designs = DESIGNS.into_iter().filter(|name| designs.iter().any(|known| known == name));
        let ours = designs.flat_map(|design| Codec::ALL.map(|codec| Self::Hamdex { codec, design }));
        [REFERENCE, Self::Mih { blocks: Some(4) }]
            .into_iter()
            .chain(ours)
            .chain([Self::BkTree, Self::BruteForce])
            .collect()
    }

    /// Those whose name equals one of the words, or has it between its slashes; all if there are no words.
    pub(crate) fn chosen(words: &[String], distance: u32) -> Result<Vec<Self>> {
        let mut all = Self::all(distance);
        let fits = |kind: &Self, word: &str| format!("/{}/", kind.name()).contains(&format!("/{word}/"));
        if let Some(word) = words.iter().find(|word| !all.iter().any(|kind| fits(kind, word))) {
            let names: Vec<String> = all.iter().map(Self::name).collect();
            bail!("no contender is named {word}; there are {}", names.join(", "));
        }
        all.retain(|kind| words.is_empty() || words.iter().any(|word| fits(kind, word)));
        Ok(all)
    }

    /// The family, a slash, and the member of the family.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.family(), self.member())
    }

    pub(crate) fn family(&self) -> String {
        match self {
            Self::Mih { .. } => "mih-rs".to_owned(),
            Self::Hamdex { codec, .. } => format!("hamdex/{}", codec.name()),
            Self::BkTree => "bk-tree".to_owned(),
            Self::BruteForce => "brute-force".to_owned(),
        }
    }

    pub(crate) fn member(&self) -> String {
        match self {
            Self::Mih { blocks: None } => "default".to_owned(),
            Self::Mih { blocks: Some(blocks) } => format!("{blocks}-blocks"),
            Self::Hamdex { design, .. } => (*design).to_owned(),
            Self::BkTree => "array".to_owned(),
            Self::BruteForce => "scan".to_owned(),
        }
    }

    /// Returns the number of queries that it runs: few, if each looks at a good part of all fingerprints.
    pub(crate) fn share(&self, data: &Data) -> usize {
        if matches!(self, Self::BkTree | Self::BruteForce) { data.scanned } else { data.queries.len() }
    }

    pub(crate) fn build(&self, stored: &[u64], distance: u32) -> Result<Built> {
        match *self {
            Self::Mih { blocks } => mih::build(stored, blocks),
            Self::Hamdex { codec, design } => crate::hamdex::build(stored, codec, design, distance),
            Self::BkTree => Ok(bk_tree::build(stored)),
            Self::BruteForce => Ok(brute::build(stored)),
        }
        .with_context(|| format!("{} cannot be built", self.name()))
    }
}
