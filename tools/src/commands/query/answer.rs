//! Answers queries in their order: fingerprints, texts, and whole files of documents.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use hamdex::{BatchOptions, Fingerprint, Match, SetSearcher, Strategy};
use hamdex_atomic_file::Inputs;
use hamdex_documents::{Document, TooShort};
use hamdex_simhash::{Fingerprinter, Outcome, Scratch};

use crate::commands::Set;
use crate::commands::query::{self, Args, Counts};
use crate::documents::inputs::{Came, Reading, Skipped, each_as_it_comes};
use crate::documents::{self, recipe};
use crate::failure::Failure;
use crate::ids::{Ids, TableOutput};
use crate::input::{self, Arrivals, Beside, Columns, Format, Found, has_pipe};
use crate::messages;
use crate::progress;
use crate::standard_output::{self, StandardOutput};

/// The most queries answered together.
const MAX_QUERIES: usize = 1 << 20;

/// Returns the number of queries of a file that are read before they are answered. They take at most a sixteenth of the
/// memory that this process may use, without names, beside the batch, which takes a quarter.
fn queries_at_once<F>() -> usize {
    // A growing array has three times its size for a moment; then the queries are separated from their places.
    let bytes = 4 * size_of::<(F, Found)>() as u64;
    usize::try_from(hamdex::default_memory() / 4 / bytes)
        .map_or(MAX_QUERIES, |fitting| fitting.min(MAX_QUERIES))
}

/// The number of matches whose ids are looked up together.
const MATCHES_AT_ONCE: usize = 1 << 10;

/// The number of ids that are looked up together.
const IDS_AT_ONCE: usize = 1 << 14;

/// The kind of the queries.
#[derive(Clone, Copy)]
pub(super) enum Asked<'q> {
    Fingerprints,
    /// Fingerprints of documents with these names.
    Documents(&'q [Vec<u8>]),
    /// Fingerprints with these values next to them: names, or nothing.
    Records(&'q [Found]),
}

impl<'q> Asked<'q> {
    /// Returns the name of the document behind a query, or next to it.
    fn document(self, number: usize) -> Option<&'q [u8]> {
        match self {
            Self::Fingerprints => None,
            Self::Documents(ids) => Some(&ids[number]),
            Self::Records(records) => match &records[number] {
                Found::Name(name) if !name.is_empty() => Some(name),
                _ => None,
            },
        }
    }
}

/// Whether matches are shown with their ids.
fn prints_ids<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> bool {
    // In a table, a match without an id would have no row.
    let shows_some = args.output.is_none() || args.ids_limit > 0;
    set.description.has_ids && !args.no_ids && shows_some
}

/// Answers queries on standard output, or in a file.
pub(super) struct Answerer<'a, F: Fingerprint> {
    args: &'a Args,
    set: Set<'a, F>,
    distance: u32,
    options: BatchOptions,
    searcher: Box<dyn SetSearcher<F> + Send + 'a>,
    output: BufWriter<StandardOutput>,
    /// The file that takes the matches instead.
    table: Option<TableOutput>,
    counts: Counts,
}

impl<'a, F: Fingerprint> Answerer<'a, F> {
    pub(super) fn new(args: &'a Args, set: Set<'a, F>) -> Result<Self, Failure> {
        let distance = set.distance(args.distance)?;
        let options = BatchOptions::new().strategy(args.strategy);
        let mut inputs = Inputs::of([&args.index]);
        args.file.iter().chain(&args.document).for_each(|file| inputs.add(file));
        let columns = query::columns(prints_ids(args, set).then_some(set.description.has_names));
        let table = TableOutput::create(args.output.as_deref(), args.force, &inputs, &columns)?;
        Ok(Self {
            args,
            set,
            distance,
            options: match args.limit {
                Some(limit) => options.limit(limit),
                None => options,
            },
            searcher: set.set.open_searcher(),
            output: standard_output::buffered(),
            table,
            counts: Counts::default(),
        })
    }

    /// Whether there is a line for every query.
    pub(super) fn prints_each(&self) -> bool {
        self.args.each
    }

    /// Flushes the answers printed so far.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.output.flush()?)
    }

    /// Prints the line of a document that is too short for a query, if every query has one.
    pub(super) fn pass_over(&mut self, document: &[u8], features: usize) -> Result<(), Failure> {
        if !self.args.each {
            return Ok(());
        }
        query::print_too_short(&mut self.output, self.args.json, document, features)
    }

    /// Prints the line of a document of a pipe that cannot be read.
    fn skip(&mut self, skipped: &Skipped) -> Result<(), Failure> {
        query::print_skipped(&mut self.output, self.args.json, skipped)?;
        self.flush()
    }

    /// Flushes the last answers, or completes the file and says how many matches it has.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        match self.table {
            Some(table) => self.counts.finish(table, self.args.json),
            None => Ok(self.output.flush()?),
        }
    }

    /// Answers the queries of a file in chunks, and those of a pipe as they come.
    pub(super) fn answer_file(&mut self, file: PathBuf) -> Result<(), Failure> {
        let is_pipe = has_pipe(std::slice::from_ref(&file));
        // A scan costs the same for one query as for a million.
        let is_prompt = is_pipe && self.args.strategy != Strategy::Scan;
        // A bar would garble answers on the same terminal.
        let bar = (!io::stdout().is_terminal()).then(|| progress::of_endless_items("Answering"));
        let reading = input::Reading {
            paths: vec![file],
            format: self.args.format,
            columns: Columns {
                fingerprint: self.args.fingerprint_field.clone(),
                id: self.args.fields.id_name().to_owned(),
                is_id_optional: self.args.fields.id_field.is_none(),
                ..Columns::default()
            },
            beside: Beside::NameIfAny,
            is_prompt,
            needs_each: self.args.each,
            ..input::Reading::default()
        };
        let mut arrivals = Arrivals::of_fingerprints(reading, |query: F, found| (query, found))?;
        let mut records = Vec::new();
        while arrivals.next(&mut records, queries_at_once::<F>()) {
            let (queries, names): (Vec<F>, Vec<Found>) = records.drain(..).unzip();
            self.answer_all(&queries, Asked::Records(&names))?;
            if is_pipe {
                // A program that sends queries down a pipe may wait for the answer to each.
                self.output.flush()?;
            }
            if let Some(bar) = &bar {
                bar.inc(queries.len() as u64);
            }
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        arrivals.end()
    }

    /// Prints the answers of all queries, in their order.
    pub(super) fn answer_all(&mut self, queries: &[F], asked: Asked<'_>) -> Result<(), Failure> {
        self.counts.queries += queries.len() as u64;
        if self.args.first || self.args.nearest.is_some() || self.is_single(queries) {
            let mut queries = queries.iter().enumerate();
            return queries.try_for_each(|(number, &query)| self.answer(query, asked.document(number)));
        }
        let (set, options) = (self.set.set, self.options.clone());
        set.batch_with(queries, self.distance, &options, |place, matches| {
            self.print(queries[place], asked.document(place), matches)
        })
    }

    /// Whether these are one query that a searcher answers as fast as a batch does.
    fn is_single(&self, queries: &[F]) -> bool {
        // Far queries read so much that a batch, which takes all threads, is faster.
        let is_near = self.distance <= self.set.description.distance;
        queries.len() == 1 && self.args.strategy == Strategy::Auto && is_near
    }

    /// Prints the matches of a query: the first, the nearest, or all.
    fn answer(&mut self, query: F, document: Option<&[u8]>) -> Result<(), Failure> {
        let limit = self.args.limit.unwrap_or(usize::MAX);
        let distance = self.distance;
        let matches = match self.args.nearest {
            Some(count) => {
                let most = self.args.distance.unwrap_or(F::BITS);
                self.searcher.nearest_within(query, count.min(limit), most)?.to_vec()
            }
            None if self.args.first => self.searcher.first(query, distance)?.into_iter().collect(),
            None => self.searcher.nearest_within(query, limit, distance)?.to_vec(),
        };
        self.print(query, document, &matches)
    }

    fn print(&mut self, query: F, document: Option<&[u8]>, matches: &[Match<F>]) -> Result<(), Failure> {
        let (limit, most) = (self.args.limit.unwrap_or(usize::MAX), self.args.ids_limit);
        let with_ids = prints_ids(self.args, self.set);
        let matches = &matches[..matches.len().min(limit)];
        self.counts.matches += matches.len() as u64;
        let names = self.set.names();
        if self.args.each {
            let lists = if with_ids { self.searcher.ids_of(matches, most)? } else { Vec::new() };
            let ids = lists.into_iter().map(|ids| Ids::new(ids, names, most));
            let ids = ids.collect::<Result<Vec<_>, Failure>>()?;
            return query::print_each(&mut self.output, self.args.json, (query, document), matches, ids);
        }
        // One after the other, if each may have very many.
        let at_once = (IDS_AT_ONCE / most.max(1)).clamp(1, MATCHES_AT_ONCE);
        for matches in matches.chunks(at_once) {
            let lists = if with_ids { self.searcher.ids_of(matches, most)? } else { Vec::new() };
            let mut lists = lists.into_iter();
            for found in matches {
                let ids = lists.next().map(|ids| Ids::new(ids, names, most)).transpose()?;
                if let Some(table) = &mut self.table {
                    query::push(table, (query, document), found, ids)?;
                    continue;
                }
                query::print(&mut self.output, self.args.json, (query, document), found, ids)?;
            }
        }
        Ok(())
    }
}

/// The most documents answered together.
const MAX_DOCUMENTS: usize = 1 << 16;

/// A text of fewer characters is taken for a sentence or two, not for a document.
const SHORT_CHARS: usize = 300;

/// Returns the fingerprint of the text to look for, if the query is a text.
pub(super) fn fingerprint<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> Result<Option<F>, Failure> {
    let Some((source, text)) = query::given_text(args)? else { return Ok(None) };
    let fingerprinter = fingerprinter(args, set)?;
    match fingerprinter.fingerprint(&text, &mut Scratch::default()) {
        Outcome::Fingerprint(fingerprint) => {
            if text.chars().nth(SHORT_CHARS).is_none() {
                messages::notice(format_args!(
                    "{}: whole documents match: a passage does not find the documents that contain it",
                    source.name
                ));
            }
            Ok(Some(fingerprint))
        }
        Outcome::TooShort { features, .. } => Err(source.complaint(format_args!(
            "too short for a reliable fingerprint: {features} features, {} are needed; whole documents match, not \
             passages of them",
            fingerprinter.recipe().min_features.max(1)
        ))),
    }
}

/// Looks up all documents of the file.
pub(super) fn answer_documents<F: Fingerprint>(
    args: &Args,
    set: Set<'_, F>,
    format: Format,
    answerer: &mut Answerer<'_, F>,
) -> Result<(), Failure> {
    let started = Instant::now();
    let fingerprinter = fingerprinter(args, set)?;
    let mut gathered = Gathered::default();
    let reading = Reading::new(args.file.as_slice(), format, &args.fields)?;
    let counts = if answerer.prints_each() && has_pipe(args.file.as_slice()) {
        let mut scratch = Scratch::default();
        let make = move |text: &str| fingerprinter.fingerprint(text, &mut scratch);
        each_as_it_comes(reading, make, MAX_DOCUMENTS, |came| {
            let documents = match came {
                Came::Documents(documents) => documents,
                Came::Skipped(skipped) => return answerer.skip(&skipped),
            };
            for (document, outcome) in documents {
                gathered.take(answerer, &document, &outcome)?;
            }
            gathered.answer(answerer)?;
            answerer.flush()
        })?
    } else {
        reading.fingerprint(&fingerprinter, None, |document, outcome, _| {
            gathered.take(answerer, &document, &outcome)
        })?
    };
    gathered.answer(answerer)?;
    documents::finish(&counts, &gathered.too_short, started)
}

/// Documents that are answered together.
#[derive(Default)]
struct Gathered<F> {
    ids: Vec<Vec<u8>>,
    queries: Vec<F>,
    too_short: TooShort,
}

impl<F: Fingerprint> Gathered<F> {
    /// Takes a document, and answers all if they are many.
    fn take(
        &mut self,
        answerer: &mut Answerer<'_, F>,
        document: &Document,
        outcome: &Outcome<F>,
    ) -> Result<(), Failure> {
        self.too_short.note(&document.id, outcome);
        match *outcome {
            Outcome::Fingerprint(fingerprint) => {
                self.ids.push(document.id_bytes().to_vec());
                self.queries.push(fingerprint);
                if self.queries.len() == MAX_DOCUMENTS { self.answer(answerer) } else { Ok(()) }
            }
            Outcome::TooShort { features, .. } => {
                if answerer.prints_each() {
                    // Lines come in the order of the documents.
                    self.answer(answerer)?;
                }
                answerer.pass_over(document.id_bytes(), features)
            }
        }
    }

    /// Answers the documents, and forgets them.
    fn answer(&mut self, answerer: &mut Answerer<'_, F>) -> Result<(), Failure> {
        answerer.answer_all(&self.queries, Asked::Documents(&self.ids))?;
        self.ids.clear();
        self.queries.clear();
        Ok(())
    }
}

fn fingerprinter<F: Fingerprint>(args: &Args, set: Set<'_, F>) -> Result<Fingerprinter<F>, Failure> {
    let (recipe, lists) = args.recipe.of_index(&args.index, &set.description.metadata)?;
    Fingerprinter::with_lists(&recipe, lists).map_err(recipe::usage)
}
