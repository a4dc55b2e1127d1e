//! Answers queries by text: the stored documents that are similar to it, or contain it, or that it contains.

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use hamdex::similar::{Condition, Measure, SimilarDocument};
use hamdex::threads::map_in_order;
use hamdex::{Fingerprint, Names, Strategy};
use hamdex_atomic_file::Inputs;
use hamdex_documents::tables::{Cell, Kind};
use hamdex_documents::{Document, Error, SimilarTexts, Similarity};
use serde::Serialize;

use crate::commands::Set;
use crate::commands::query::{self, Args, Counts, line_of_json};
use crate::documents;
use crate::documents::inputs::{Came, Reading, each_as_it_comes};
use crate::failure::Failure;
use crate::ids::{Id, TableOutput, id_kind};
use crate::input::{Format, has_pipe};
use crate::messages::{self, counted};
use crate::names;
use crate::standard_output::{self, StandardOutput};

/// The most documents searched together.
const MAX_DOCUMENTS: usize = 1 << 7;

/// Returns the condition of a query by text; `None` if it is by fingerprint.
pub(super) fn condition<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> Result<Option<Condition>, Failure> {
    let asked = [
        (Measure::Resemblance, args.similar),
        (Measure::Containing, args.containing),
        (Measure::Contained, args.contained),
    ];
    let is_of_text = args.text.is_some() || args.document.is_some() || args.documents.is_some();
    if let Some((measure, least)) = asked.into_iter().find_map(|(measure, least)| Some((measure, least?))) {
        if !is_of_text {
            return Err(Failure::Usage(
                "--similar, --containing and --contained are for texts: name one by --text, --document or --documents"
                    .to_owned(),
            ));
        }
        if !args.recipe.is_default() {
            return Err(Failure::Usage(
                "--recipe, --idf and --stop-words make fingerprints, which --similar, --containing and --contained do \
                 not use: leave them out"
                    .to_owned(),
            ));
        }
        return Ok(Condition::new(measure, least));
    }
    // The options of fingerprints ask for fingerprints.
    let is_by_default = is_of_text
        && set.description.has_shingles
        && args.distance.is_none()
        && args.recipe.is_default()
        && args.strategy == Strategy::Auto
        && !args.no_ids
        // Made as this version makes them.
        && SimilarTexts::of(set.set).is_ok();
    let least = if args.nearest.is_some() { f64::MIN_POSITIVE } else { Similarity::DEFAULT_LEAST };
    Ok(if is_by_default { Condition::new(Measure::Resemblance, least) } else { None })
}

/// A text to look for.
struct Query {
    /// The id of its document; `None` for the only text of a query.
    document: Option<Vec<u8>>,
    text: String,
}

/// A document that is found.
#[derive(Serialize)]
struct Found<'a> {
    similarity: f64,
    id: &'a Id<'a>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    #[serde(flatten)]
    found: Found<'a>,
}

/// A line of `--each --json`.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    blank: bool,
    matches: Vec<Found<'a>>,
}

/// Answers all queries by text.
pub(super) fn answer<F: Fingerprint>(
    args: &Args,
    set: Set<'_, F>,
    condition: &Condition,
) -> Result<(), Failure> {
    if args.documents.is_none() {
        args.fields.refuse_for("fingerprints")?;
    }
    let path = &args.index;
    let texts = SimilarTexts::of(set.set).map_err(|error| refused(path, error))?;
    let mut inputs = Inputs::of([path]);
    args.file.iter().chain(&args.document).for_each(|file| inputs.add(file));
    let columns =
        [("document", Kind::Text), ("similarity", Kind::Real), ("id", id_kind(set.description.has_names))];
    let table = TableOutput::create(args.output.as_deref(), args.force, &inputs, &columns)?;
    let limit = [args.limit, args.nearest, args.first.then_some(1)].into_iter().flatten().min();
    let mut answerer = Answerer {
        args,
        set,
        texts,
        condition,
        limit: limit.unwrap_or(usize::MAX),
        output: standard_output::buffered(),
        table,
        counts: Counts::default(),
        blank: 0,
    };
    match args.documents {
        Some(format) => answerer.answer_documents(args.format.either(format)?)?,
        None => answerer.answer_text()?,
    }
    answerer.finish()
}

struct Answerer<'a, F: Fingerprint> {
    args: &'a Args,
    set: Set<'a, F>,
    texts: SimilarTexts<'a, F>,
    condition: &'a Condition,
    limit: usize,
    output: BufWriter<StandardOutput>,
    /// The file that takes the matches instead.
    table: Option<TableOutput>,
    counts: Counts,
    /// Blank documents.
    blank: u64,
}

impl<F: Fingerprint> Answerer<'_, F> {
    /// Looks for the text of `--text` or `--document`.
    fn answer_text(&mut self) -> Result<(), Failure> {
        let given = query::given_text(self.args)?;
        let (source, text) = given.expect("a query by text has one of the options");
        self.answer_all(&[Query { document: None, text }])?;
        if self.blank > 0 {
            return Err(source.complaint("it is blank, and so similar to nothing"));
        }
        Ok(())
    }

    /// Looks for all documents of `--file`.
    fn answer_documents(&mut self, format: Format) -> Result<(), Failure> {
        let started = Instant::now();
        let reading = Reading::new(self.args.file.as_slice(), format, &self.args.fields)?;
        let query_of =
            |document: &Document, text| Query { document: Some(document.id_bytes().to_vec()), text };
        let counts = if self.args.each && has_pipe(self.args.file.as_slice()) {
            each_as_it_comes(
                reading,
                |text: &str| text.to_owned(),
                MAX_DOCUMENTS,
                |came| {
                    match came {
                        Came::Documents(documents) => {
                            let queries =
                                documents.into_iter().map(|(document, text)| query_of(&document, text));
                            self.answer_all(&queries.collect::<Vec<_>>())?;
                        }
                        Came::Skipped(skipped) => {
                            query::print_skipped(&mut self.output, self.args.json, &skipped)?;
                        }
                    }
                    Ok(self.output.flush()?)
                },
            )?
        } else {
            let mut queries = Vec::new();
            let counts = reading.read(|documents| {
                documents.read(|mut document: Document| {
                    let text = std::mem::take(&mut document.text);
                    queries.push(query_of(&document, text));
                    if queries.len() == MAX_DOCUMENTS {
                        self.answer_all(&queries)?;
                        queries.clear();
                    }
                    Ok::<(), Failure>(())
                })
            })?;
            self.answer_all(&queries)?;
            counts
        };
        documents::require_some(&counts)?;
        if self.blank > 0 {
            let blank = counted(self.blank, "document is", "documents are");
            messages::warning(format_args!("{blank} blank, and so similar to nothing"));
        }
        messages::summary(format_args!(
            "{}{}",
            documents::rate(&counts, started),
            documents::skipped(&counts)
        ));
        Ok(())
    }

    /// Prints the answers of all queries, in their order.
    fn answer_all(&mut self, queries: &[Query]) -> Result<(), Failure> {
        let (condition, limit) = (self.condition, self.limit);
        let path = &self.args.index;
        let texts = self.texts;
        let find = |searcher: &mut hamdex_documents::TextSearcher<'_, F>, query: &Query| {
            searcher.find(&query.text, condition, limit).map_err(|error| refused(path, error))
        };
        let found: Vec<Option<Vec<SimilarDocument>>> = match queries {
            [query] => vec![find(&mut texts.searcher(), query)?],
            _ => map_in_order(queries.iter().collect(), || texts.searcher(), find)?,
        };
        for (query, found) in queries.iter().zip(found) {
            self.counts.queries += 1;
            self.blank += u64::from(found.is_none());
            self.print(query.document.as_deref(), found)?;
        }
        Ok(())
    }

    /// Prints the answer of a query: nothing for a blank text, unless every query has a line.
    fn print(&mut self, document: Option<&[u8]>, found: Option<Vec<SimilarDocument>>) -> Result<(), Failure> {
        let is_blank = found.is_none();
        let found = found.unwrap_or_default();
        self.counts.matches += found.len() as u64;
        let mut ids = Vec::with_capacity(found.len());
        for one in &found {
            ids.push(match self.set.names() {
                Some(names) => Id::Name(names.name_of(one.id)?.unwrap_or_default()),
                None => Id::Number(one.id.id),
            });
        }
        let both = || found.iter().zip(&ids);
        if let Some(table) = &mut self.table {
            let document = document.map(Names::text_of).unwrap_or_default();
            for (one, id) in both() {
                id.visit_cell(|id| table.push(&[Cell::Text(&document), Cell::Real(one.similarity), id]))?;
            }
            return Ok(());
        }
        let output = &mut self.output;
        if self.args.json {
            let matches = both().map(|(one, id)| Found { similarity: one.similarity, id });
            let text = || document.map(Names::text_of);
            if self.args.each {
                let answer = Answer { document: text(), blank: is_blank, matches: matches.collect() };
                return line_of_json(output, &answer);
            }
            return matches
                .map(|found| Line { document: text(), found })
                .try_for_each(|line| line_of_json(output, &line));
        }
        let written = document.map(names::written);
        if self.args.each {
            if let Some(document) = &written {
                output.write_all(document)?;
                output.write_all(b"\t")?;
            }
            match is_blank {
                true => write!(output, "-")?,
                false => write!(output, "{}", found.len())?,
            }
            for (one, id) in both() {
                write!(output, "\t{:.3}\t", one.similarity)?;
                output.write_all(&id.written())?;
            }
            return Ok(writeln!(output)?);
        }
        for (one, id) in both() {
            if let Some(document) = &written {
                output.write_all(document)?;
                output.write_all(b"\t")?;
            }
            write!(output, "{:.3}\t", one.similarity)?;
            output.write_all(&id.written())?;
            writeln!(output)?;
        }
        Ok(())
    }

    /// Flushes the last answers, or completes the file and says how many matches it has.
    fn finish(mut self) -> Result<(), Failure> {
        match self.table {
            Some(table) => self.counts.finish(table, self.args.json),
            None => Ok(self.output.flush()?),
        }
    }
}

/// Returns the error of a set that cannot be searched by texts.
fn refused(path: &Path, error: Error) -> Failure {
    match error {
        Error::NoShingles => Failure::usage_of(
            path,
            "keeps no shingles of its documents, so texts cannot be compared with it; make it with `hamdex build \
             --documents --shingles` or `hamdex store create --documents --shingles`, or compare fingerprints with -k",
        ),
        Error::OtherShingles { .. } => Failure::usage_of(path, error),
        error => error.into(),
    }
}
