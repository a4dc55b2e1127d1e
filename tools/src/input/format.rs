//! The formats of inputs that options name.

use clap::ValueEnum;

use crate::failure::Failure;
use crate::input::Notation;

/// The format of an input: of fingerprints, of documents, or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// By the name and the first bytes of each input
    Auto,
    /// Fingerprints, one per line: 16 (32) hexadecimal digits, or 0x and digits
    Hex,
    /// Fingerprints, one per line: a decimal number; a negative one is the bit pattern of a signed integer
    Decimal,
    /// Fingerprints: raw little-endian numbers of 8 bytes
    U64le,
    /// Fingerprints: raw little-endian numbers of 16 bytes (with --width 128)
    U128le,
    /// Fingerprints: a NumPy array of uint64 or int64 (128 bits: two columns, high word first)
    Npy,
    /// Comma-separated values, the first record naming the columns
    Csv,
    /// The same, separated by tabs
    Tsv,
    /// A Parquet file; fingerprints are numbers, texts, or binary of 8 (16) bytes, little-endian as raw numbers are
    Parquet,
    /// An Arrow IPC file or stream: the same
    Arrow,
    /// Documents, a JSON object on each line
    Jsonl,
    /// Documents, JSON objects in an array, or one after the other
    Json,
    /// Documents, one per line: an id, a blank or tab, the text
    Lines,
    /// Documents, one per line: the text alone
    TextLines,
    /// Each input is one document, its path the id
    Text,
    /// Each input is one HTML page, its path the id; the text is that without the tags
    Html,
    /// Each input is one message of mail, its path the id; the text is its subject and its texts
    Eml,
    /// The messages of a mailbox, by their own ids
    Mbox,
    /// The responses of a web archive, by their addresses; of HTML, the text is that without the tags
    Warc,
}

impl Format {
    /// The format of lines in a notation.
    pub(crate) fn of(notation: Notation) -> Self {
        if notation == Notation::Decimal { Self::Decimal } else { Self::Hex }
    }

    /// Returns the format of two options that both can name it: `--format`, and `--documents` or `--fingerprints`.
    ///
    /// # Errors
    /// When they name different ones.
    pub(crate) fn either(self, other: Self) -> Result<Self, Failure> {
        match (self, other) {
            (format, Self::Auto) | (Self::Auto, format) => Ok(format),
            (one, other) if one == other => Ok(one),
            (one, other) => Err(Failure::Usage(format!(
                "two formats are given, {} and {}: leave one out",
                one.name(),
                other.name()
            ))),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the format of documents; `None` if it is to be detected.
    ///
    /// # Errors
    /// When it is one of fingerprints alone.
    pub(crate) fn of_documents(self) -> Result<Option<hamdex_documents::Format>, Failure> {
        use hamdex_documents::Format as Given;
        Ok(Some(match self {
            Self::Auto => return Ok(None),
            Self::Lines => Given::Lines,
            Self::TextLines => Given::TextLines,
            Self::Json => Given::Json,
            Self::Jsonl => Given::Jsonl,
            Self::Csv => Given::Csv,
            Self::Tsv => Given::Tsv,
            Self::Parquet => Given::Parquet,
            Self::Arrow => Given::Arrow,
            Self::Text => Given::Text,
            Self::Html => Given::Html,
            Self::Eml => Given::Eml,
            Self::Mbox => Given::Mbox,
            Self::Warc => Given::Warc,
            Self::Hex | Self::Decimal | Self::U64le | Self::U128le | Self::Npy => {
                let name = self.name();
                return Err(Failure::Usage(format!(
                    "--format {name} is for fingerprints, and the inputs are documents"
                )));
            }
        }))
    }

    /// Fails if it is a format of documents alone.
    pub(crate) fn check_fingerprints(self) -> Result<(), Failure> {
        if self == Self::Auto || self.table().is_some() || self.of_documents().is_err() {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--format {} is for documents, and the inputs are fingerprints",
            self.name()
        )))
    }

    /// The format of a table with named columns.
    pub(crate) fn table(self) -> Option<hamdex_documents::Format> {
        let is_table = matches!(self, Self::Csv | Self::Tsv | Self::Parquet | Self::Arrow);
        self.of_documents().ok().flatten().filter(|_| is_table)
    }

    /// Returns the notation of numbers in text of this format; either, unless the format is `hex` or
    /// `decimal`.
    pub(crate) fn notation(self) -> Notation {
        match self {
            Self::Hex => Notation::Hex,
            Self::Decimal => Notation::Decimal,
            _ => Notation::Either,
        }
    }
}
