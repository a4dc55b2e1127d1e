//! The table of shingles: pairs of a shingle and a document, its blocks and its keys.

use std::borrow::Cow;
use std::io::{BufWriter, Write};

use hamdex::{Fingerprint, Index, Names, Shingles};
use serde_json::{Value, json};

use crate::commands::dump::Args;
use crate::commands::dump::block::Located;
use crate::failure::Failure;
use crate::ids::Id;
use crate::messages::counted;
use crate::standard_output::{self, write_pretty_json};

/// The table of shingles of a file.
struct Dump<'a> {
    shingles: Shingles<'a>,
    names: Option<Names<'a>>,
    is_json: bool,
}

/// Prints the keys of the table, or one of its blocks; fails with [`Failure::Block`] after a damaged one.
pub(super) fn print<F: Fingerprint>(args: &Args, index: &Index<F>) -> Result<(), Failure> {
    let shingles = index.shingles()?.ok_or_else(|| {
        Failure::usage_of(&args.index, "it keeps no shingles of its documents: build it with --shingles")
    })?;
    // Without names that can be read, documents are shown by their ids.
    let names = index.names().ok().flatten();
    let dump = Dump { shingles, names, is_json: args.json };
    // One without colours for names: that of colours leaves out bytes that are not UTF-8.
    let mut output = standard_output::buffered();
    let Some(number) = args.block else {
        dump.keys(&mut output)?;
        return Ok(output.flush()?);
    };
    let block = shingles.raw_block(number).ok_or_else(|| {
        let blocks = shingles.block_count();
        Failure::Usage(format!(
            "there is no block {number}; the table of shingles has {blocks}, counted from 0"
        ))
    })?;
    let found = Located::of_shingles(number, block);
    if args.bits {
        let mut output = BufWriter::new(standard_output::in_colour()?);
        found.bits(&mut output)?;
        output.flush()?;
    } else {
        dump.entries(&found, &mut output)?;
        output.flush()?;
    }
    if found.is_whole() {
        Ok(())
    } else {
        Err(Failure::Block {
            path: args.index.clone(),
            table: "the table of shingles".to_owned(),
            block: number,
        })
    }
}

impl<'a> Dump<'a> {
    /// Returns the shingle of a pair, in hexadecimal, and its document; `None` if there is none at this place, or its
    /// entry in the directory is damaged.
    fn pair(&self, pair: u128) -> (String, Option<Id<'a>>) {
        let (shingle, place) = self.shingles.shingle_and_place(pair);
        let document = self.shingles.id_at(place).ok().map(|id| {
            let name = self.names.and_then(|names| names.get(id).ok().flatten());
            name.map_or(Id::Number(id), |name| Id::Name(name.into()))
        });
        (format!("{shingle:012x}"), document)
    }

    /// Prints a line for each block. Reads no block.
    fn keys(&self, output: &mut impl Write) -> Result<(), Failure> {
        if !self.is_json {
            writeln!(
                output,
                "{} of {} in {}\n{:>10}  {:12}  document",
                counted(self.shingles.pair_count(), "shingle", "shingles"),
                counted(self.shingles.len(), "document", "documents"),
                counted(self.shingles.block_count(), "block", "blocks"),
                "block",
                "last shingle",
            )?;
        }
        for block in 0.. {
            let Some(key) = self.shingles.block_key(block) else { break };
            let (shingle, document) = self.pair(key);
            if self.is_json {
                writeln!(output, "{}", json!({ "block": block, "shingle": shingle, "document": document }))?;
            } else {
                write!(output, "{block:>10}  {shingle}  ")?;
                output.write_all(&[&text(&document), &b"\n"[..]].concat())?;
            }
        }
        Ok(())
    }

    /// Prints the pairs of a block.
    fn entries(&self, found: &Located<'_, u128>, output: &mut impl Write) -> Result<(), Failure> {
        let pairs = found.all_entries().into_iter().map(|entry| self.pair(entry.permuted));
        if self.is_json {
            let entries =
                pairs.map(|(shingle, document)| json!({ "shingle": shingle, "document": document }));
            let whole = json!({
                "block": found.number,
                "offset": found.block.offset,
                "bytes": found.block.bytes.len(),
                "checksum_is_right": found.block.is_whole,
                "error": found.fields.as_ref().err().map(ToString::to_string),
                "entries": entries.collect::<Vec<Value>>(),
            });
            write_pretty_json(output, &whole)?;
            return Ok(());
        }
        found.title(output)?;
        writeln!(output, "{:>6}  {:12}  document", "entry", "shingle")?;
        for (number, (shingle, document)) in pairs.enumerate() {
            write!(output, "{number:>6}  {shingle}  ")?;
            output.write_all(&[&text(&document), &b"\n"[..]].concat())?;
        }
        Ok(())
    }
}

/// Returns a document as the end of a line of text.
fn text<'d>(document: &'d Option<Id<'_>>) -> Cow<'d, [u8]> {
    document.as_ref().map_or(Cow::Borrowed(b"(no document that can be read)"), Id::written)
}
