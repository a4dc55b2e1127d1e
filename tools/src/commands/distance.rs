//! `hamdex distance`: how far apart two fingerprints or documents are.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hamdex::Fingerprint;
use hamdex_any::for_width;
use hamdex_documents::Similarity;
use hamdex_simhash::recipe::Shingle;
use hamdex_simhash::{Fingerprinter, Outcome, Scratch, Shingler};
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::documents::recipe::{self, usage};
use crate::failure::{Failure, shown};
use crate::input::{Notation, announce_terminal_input};
use crate::messages::{self, counted};
use crate::option_values::{self, Named, named};
use crate::standard_output::{self, print_json};

/// The most changes printed as text.
const MAX_CHANGES: usize = 20;

/// The most words of a change printed as text.
const MAX_WORDS: usize = 12;

/// Show how far apart two fingerprints or two documents are.
///
/// Each of the two is a file of text or HTML (- for standard input), or else a fingerprint: 16 (32) hexadecimal
/// digits, 0x and digits, or decimal. With --text they are texts themselves.
///
/// Prints the bits in which the fingerprints differ, the first bit being 0; of two documents also their
/// similarity, which is the share of shingles that they have in common as `hamdex dedup` compares them, and the
/// words that differ. Case, punctuation and the form of accents and apostrophes do not count.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex distance 0123456789abcdef 0123456789abcdee
  hamdex distance draft.html published.html
  hamdex distance old.txt new.txt --json"
)]
pub(crate) struct Args {
    /// A document or a fingerprint
    #[arg(value_name = "A", allow_negative_numbers = true)]
    one: PathBuf,
    /// Another one
    #[arg(value_name = "B", allow_negative_numbers = true)]
    other: PathBuf,
    /// A and B are texts, not files or fingerprints
    #[arg(long)]
    text: bool,
    /// Words per shingle; in a script without spaces, characters
    #[arg(long, value_name = "N", default_value_t = Similarity::DEFAULT_WORDS)]
    words: NonZeroUsize,
    /// Bits of a fingerprint [default: the recipe's; 128 for fingerprints of 32 hexadecimal digits]
    #[arg(long, value_name = "BITS", value_parser = option_values::width(), help_heading = "Fingerprints")]
    width: Option<u32>,
    #[command(flatten)]
    recipe: recipe::Options,
    /// The notation of the fingerprints
    #[arg(long, value_parser = named(NOTATIONS), default_value = "auto")]
    notation: Notation,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

const NOTATIONS: &Named<Notation> = &[
    ("auto", "Each by itself; exactly 16 (32) digits are hexadecimal", Notation::Either),
    ("hex", "", Notation::Hex),
    ("decimal", "", Notation::Decimal),
];

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report {
    a: Side,
    b: Side,
    width: u32,
    /// `None` if one has no features, and so no fingerprint.
    distance: Option<u32>,
    differing_bits: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<Texts>,
}

/// One of the two.
#[derive(Serialize)]
struct Side {
    name: String,
    fingerprint: Option<String>,
    /// The number of features, if they are too few for a reliable fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short_features: Option<usize>,
}

/// The comparison of two texts.
#[derive(Serialize)]
struct Texts {
    similarity: f64,
    shingle_words: usize,
    shared_shingles: usize,
    all_shingles: usize,
    changes: Vec<Change>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.words.get() > Shingle::MAX_WIDTH {
        return Err(Failure::Usage(format!("a shingle has at most {} words (--words)", Shingle::MAX_WIDTH)));
    }
    if !args.text && [&args.one, &args.other].iter().all(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage("only one of the two can come from standard input".to_owned()));
    }
    let subjects = [Subject::of(&args.one, args.text)?, Subject::of(&args.other, args.text)?];
    let of_subjects = subjects.iter().any(Subject::has_128_bits).then_some(128);
    let (recipe, lists) = args.recipe.load(args.width.or(of_subjects))?;
    for_width!(recipe.width.bits(), F => {
        let fingerprinter = Fingerprinter::<F>::with_lists(&recipe, lists).map_err(usage);
        compare(args, &subjects, fingerprinter)
    })
}

fn compare<F: Fingerprint>(
    args: &Args,
    [one, other]: &[Subject; 2],
    fingerprinter: Result<Fingerprinter<F>, Failure>,
) -> Result<(), Failure> {
    // Fingerprints alone need no recipe.
    let fingerprinter = match [one, other].iter().any(|subject| subject.text().is_some()) {
        true => Some(fingerprinter?),
        false => None,
    };
    let notation = args.notation;
    let values =
        [one.outcome(notation, fingerprinter.as_ref())?, other.outcome(notation, fingerprinter.as_ref())?];
    let difference = match values.map(Outcome::value) {
        [Some(first), Some(second)] => Some(first.to_u128() ^ second.to_u128()),
        _ => None,
    };
    let differs = |bit: &u32| difference.is_some_and(|difference| difference >> bit & 1 == 1);
    let report = Report {
        a: one.side(&values[0]),
        b: other.side(&values[1]),
        width: F::BITS,
        distance: difference.map(u128::count_ones),
        differing_bits: (0..F::BITS).filter(differs).collect(),
        texts: one.text().zip(other.text()).map(|(first, second)| texts(first, second, args.words)),
    };
    if args.json {
        return print_json(&report);
    }
    for side in [&report.a, &report.b] {
        if let Some(features) = side.too_short_features {
            messages::warning(format_args!(
                "{} is too short for a reliable fingerprint ({})",
                side.name,
                counted(features as u64, "feature", "features")
            ));
        }
    }
    print(&report)
}

/// Compares two texts.
fn texts(one: &str, other: &str, width: NonZeroUsize) -> Texts {
    let mut shingler = Shingler::new(width);
    let (first, second) = (shingler.shingles(one), shingler.shingles(other));
    let all = first.hashes().len() + second.hashes().len();
    let similarity = first.resemblance(&second);
    let shared = first.hashes().iter().filter(|hash| second.hashes().binary_search(hash).is_ok()).count();
    Texts {
        similarity,
        shingle_words: width.get(),
        shared_shingles: shared,
        all_shingles: all - shared,
        changes: changes(&mut shingler, one, other),
    }
}

fn print(report: &Report) -> Result<(), Failure> {
    let mut output = standard_output::lines();
    for side in [&report.a, &report.b] {
        writeln!(output, "{}\t{}", side.fingerprint.as_deref().unwrap_or("no fingerprint"), side.name)?;
    }
    match report.distance {
        Some(distance) => {
            write!(output, "distance\t{distance} of {} bits", report.width)?;
            for (number, bit) in report.differing_bits.iter().enumerate() {
                write!(output, "{}{bit}", if number == 0 { ": " } else { "," })?;
            }
            writeln!(output)?;
        }
        None => writeln!(output, "distance\tnone: one has no features")?,
    }
    let Some(texts) = &report.texts else { return Ok(()) };
    writeln!(
        output,
        "similarity\t{:.3}: {} of {} in common",
        texts.similarity,
        texts.shared_shingles,
        counted(texts.all_shingles as u64, "shingle", "shingles")
    )?;
    for change in texts.changes.iter().take(MAX_CHANGES) {
        write!(output, "word {}", change.word)?;
        for (sign, words) in [('-', &change.removed), ('+', &change.added)] {
            if !words.is_empty() {
                write!(output, "\t{sign}{}", shortened(words))?;
            }
        }
        writeln!(output)?;
    }
    let more = texts.changes.len().saturating_sub(MAX_CHANGES);
    if more > 0 {
        writeln!(output, "{}", counted(more as u64, "more change (--json)", "more changes (--json)"))?;
    }
    Ok(())
}

fn shortened(words: &[String]) -> String {
    let shown = words[..words.len().min(MAX_WORDS)].join(" ");
    match words.len().saturating_sub(MAX_WORDS) {
        0 => shown,
        more => format!("{shown} … {}", counted(more as u64, "more word", "more words")),
    }
}

/// One of the two that are compared.
enum Subject {
    Text { name: String, text: String },
    Number(String),
}

impl Subject {
    /// Reads a document if the argument names a file, or is itself a text; anything else is a fingerprint.
    fn of(argument: &Path, is_text: bool) -> Result<Self, Failure> {
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

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Number(_) => None,
        }
    }

    /// Whether it is written as a fingerprint of 128 bits, and not as one of 64.
    fn has_128_bits(&self) -> bool {
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
    fn outcome<F: Fingerprint>(
        &self,
        notation: Notation,
        fingerprinter: Option<&Fingerprinter<F>>,
    ) -> Result<Outcome<F>, Failure> {
        match self {
            Self::Text { text, .. } => {
                let fingerprinter = fingerprinter.expect("there is one for texts");
                Ok(fingerprinter.fingerprint(text, &mut Scratch::default()))
            }
            Self::Number(number) => notation.parse_argument(number).map(Outcome::Fingerprint),
        }
    }

    fn side<F: Fingerprint>(&self, outcome: &Outcome<F>) -> Side {
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

/// The time after which long texts with little in common are compared by larger pieces.
const DEADLINE: Duration = Duration::from_secs(10);

/// Words of one text in place of words of the other.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Change {
    /// The number of the first of them in the first text, from 1.
    word: usize,
    removed: Vec<String>,
    added: Vec<String>,
}

/// Returns the changes that make the second text of the first, in their order. Words are those of shingles.
fn changes(shingler: &mut Shingler, one: &str, other: &str) -> Vec<Change> {
    let mut words = |text: &str| {
        let mut words = Vec::new();
        shingler.words(text, |word| words.push(word.to_owned()));
        words
    };
    let (old, new) = (words(one), words(other));
    let deadline = Some(Instant::now() + DEADLINE);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut changes: Vec<Change> = Vec::new();
    let mut end = (0, 0);
    for operation in operations.iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. })) {
        let (removed, added) = (operation.old_range(), operation.new_range());
        let (gone, come) = (old[removed.clone()].to_vec(), new[added.clone()].to_vec());
        match changes.last_mut() {
            // A removal next to an insertion is one change.
            Some(last) if end == (removed.start, added.start) => {
                last.removed.extend(gone);
                last.added.extend(come);
            }
            _ => changes.push(Change { word: removed.start + 1, removed: gone, added: come }),
        }
        end = (removed.end, added.end);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(one: &str, other: &str) -> Vec<(usize, String, String)> {
        let mut shingler = Shingler::new(std::num::NonZeroUsize::MIN);
        let changes = changes(&mut shingler, one, other);
        changes
            .into_iter()
            .map(|change| (change.word, change.removed.join(" "), change.added.join(" ")))
            .collect()
    }

    #[test]
    fn words_that_differ_are_found() {
        let change = |word, removed: &str, added: &str| (word, removed.to_owned(), added.to_owned());
        assert_eq!(of("the cat sat", "The cat, sat!"), []);
        assert_eq!(of("the cat sat here", "the dog sat"), [change(2, "cat", "dog"), change(4, "here", "")]);
        assert_eq!(of("", "a b"), [change(1, "", "a b")]);
        assert_eq!(of("我们在家", "我在家里"), [change(2, "们", ""), change(5, "", "里")]);
    }
}
