//! A document or a fingerprint, as an argument names it.

use std::path::Path;

use hamdex::Fingerprint;
use hamdex_simhash::{Fingerprinter, Outcome, Scratch};

use crate::commands::distance::Side;
use crate::failure::{Failure, shown};
use crate::input::{Notation, announce_terminal_input};

/// One of the two that are compared.
pub(super) enum Subject {
    Text { name: String, text: String },
    Number(String),
}

impl Subject {
    /// Reads a document if the argument names a file, or is itself a text; anything else is a fingerprint.
    pub(super) fn of(argument: &Path, is_text: bool) -> Result<Self, Failure> {
        let name = argument.display().to_string();
        if is_text {
            return Ok(Self::Text { name: shown(&name), text: name });
        }
        if argument.as_os_str() == "-" || argument.exists() {
            announce_terminal_input([argument]);
            return Ok(Self::Text { text: hamdex_documents::read_text(argument)?, name });
        }
        let is_number =
            [Notation::Hex, Notation::Decimal].iter().any(|form| form.parse::<u128>(&name).is_ok())
                || Notation::Either.parse::<u64>(&name).is_ok();
        if is_number {
            return Ok(Self::Number(name));
        }
        let what = format!("{}: neither a file nor a fingerprint; --text compares texts", shown(&name));
        Err(Failure::Usage(what))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Number(_) => None,
        }
    }

    /// Whether it is written as a fingerprint of 128 bits, and not as one of 64.
    pub(super) fn has_128_bits(&self) -> bool {
        match self {
            Self::Text { .. } => false,
            // As many digits as those of 128 bits are hexadecimal, whatever they are.
            Self::Number(number) if number.len() == 32 && number.bytes().all(|b| b.is_ascii_hexdigit()) => {
                true
            }
            Self::Number(number) => Notation::Either.parse::<u64>(number).is_err(),
        }
    }

    /// Returns the fingerprint; of a text by the recipe.
    pub(super) fn outcome<F: Fingerprint>(
        &self,
        notation: Notation,
        fingerprinter: Option<&Fingerprinter<F>>,
    ) -> Result<Outcome<F>, Failure> {
        match self {
            Self::Text { text, .. } => {
                let fingerprinter = fingerprinter.expect("there is one for texts");
                Ok(fingerprinter.fingerprint(text, &mut Scratch::default()))
            }
            Self::Number(number) => {
                let parsed = notation.parse(number).map(Outcome::Fingerprint);
                parsed.map_err(|error| Failure::Usage(format!("fingerprint {}: {error}", shown(number))))
            }
        }
    }

    pub(super) fn side<F: Fingerprint>(&self, outcome: &Outcome<F>) -> Side {
        let (Self::Text { name, .. } | Self::Number(name)) = self;
        Side {
            name: name.clone(),
            fingerprint: outcome.value().map(|fingerprint| fingerprint.hex().to_string()),
            too_short_features: match outcome {
                Outcome::TooShort { features, .. } => Some(*features),
                Outcome::Fingerprint(_) => None,
            },
        }
    }
}
