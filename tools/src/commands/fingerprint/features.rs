//! Fingerprints of features with weights, as another program gives them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_documents::Document;
use hamdex_documents::Input;
use hamdex_simhash::{FeatureFingerprinter, Outcome, Recipe};

use crate::commands::fingerprint::print as print_fingerprint;
use crate::documents::recipe::usage;
use crate::failure::{Failure, shown};
use crate::input::{Notation, Source, announce_terminal_input, has_pipe, next_line};
use crate::messages::{self, counted};
use crate::standard_output;

/// The longest line of a feature and its weight.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The kind of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Words or other texts, which the recipe hashes
    Texts,
    /// Hashes: as many hexadecimal digits as a fingerprint has, 0x and digits, or decimal
    Hashes,
}

/// Prints the fingerprint of each document of the inputs.
pub(super) fn print<F: Fingerprint>(
    paths: &[PathBuf],
    kind: Kind,
    recipe: &Recipe,
    json: bool,
) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let is_prompt = has_pipe(paths);
    let paths = if paths.is_empty() { &standard_input } else { paths };
    announce_terminal_input(paths);
    let fingerprinter = FeatureFingerprinter::<F>::new(recipe).map_err(usage)?;
    let mut output = standard_output::buffered();
    let (mut documents, mut too_short) = (0u64, 0);
    for path in paths {
        let mut features = Features::open(path, kind)?;
        while let Some(outcome) = features.next_document(&fingerprinter, recipe)? {
            documents += 1;
            too_short += u64::from(outcome.is_too_short());
            print_fingerprint(&mut output, json, &Document::new(documents.to_string(), ""), &outcome)?;
            if is_prompt {
                output.flush()?;
            }
        }
    }
    output.flush()?;
    let short = if too_short == 0 { String::new() } else { format!(", {too_short} too short") };
    messages::summary(format_args!("{}{short}", counted(documents, "document", "documents")));
    Ok(())
}

/// The features of an input, document by document.
struct Features {
    input: Input,
    source: Source,
    kind: Kind,
    line: Vec<u8>,
    number: u64,
    has_ended: bool,
}

impl Features {
    fn open(path: &Path, kind: Kind) -> Result<Self, Failure> {
        let input = Input::open(path)?;
        let source = Source { name: input.name().to_owned() };
        Ok(Self { input, source, kind, line: Vec::new(), number: 0, has_ended: false })
    }

    /// Returns the fingerprint of the next document; `None` at the end. A blank line ends a document.
    fn next_document<F: Fingerprint>(
        &mut self,
        fingerprinter: &FeatureFingerprinter<F>,
        recipe: &Recipe,
    ) -> Result<Option<Outcome<F>>, Failure> {
        let (mut failure, mut has_features) = (None, false);
        let votes = std::iter::from_fn(|| {
            let vote = self.next_vote(recipe).unwrap_or_else(|error| {
                failure = Some(error);
                None
            });
            has_features |= vote.is_some();
            vote
        });
        let outcome = fingerprinter.weighted_hashes(votes);
        match failure {
            Some(failure) => Err(failure),
            None if self.has_ended && !has_features => Ok(None),
            None => Ok(Some(outcome)),
        }
    }

    /// Returns the hash of the next feature, and its weight; `None` at the end of the document.
    fn next_vote<F: Fingerprint>(&mut self, recipe: &Recipe) -> Result<Option<(F, f64)>, Failure> {
        let Self { input, source, kind, line, .. } = self;
        let read = next_line(input, line, MAX_LINE_BYTES).map_err(|error| source.unreadable(&error))?;
        let Some(line) = read else {
            self.has_ended = true;
            return Ok(None);
        };
        self.number += 1;
        let number = self.number;
        let refuse = |what: String| source.complaint_at(format!(":{number}"), what);
        if line.len() as u64 == MAX_LINE_BYTES {
            return Err(refuse(format!("the line is longer than {MAX_LINE_BYTES} bytes")));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Ok(None);
        }
        let (feature, weight) = match line.iter().rposition(|&byte| byte == b'\t') {
            Some(tab) => (&line[..tab], Some(String::from_utf8_lossy(&line[tab + 1..]))),
            None => (line, None),
        };
        let weight = weight.map_or(Ok(1.0), |text| match text.trim().parse::<f64>() {
            Ok(weight) if weight.is_finite() => Ok(weight),
            _ => Err(refuse(format!(
                "expected a feature, a tab and its weight, a number; found {}",
                shown(&text)
            ))),
        })?;
        let hash = match kind {
            Kind::Texts => recipe.hash.of(feature),
            Kind::Hashes => {
                let text = String::from_utf8_lossy(feature);
                let parsed = Notation::Either.parse(text.trim());
                parsed.map_err(|error| refuse(format!("hash {}: {error}", shown(&text))))?
            }
        };
        Ok(Some((hash, weight)))
    }
}
