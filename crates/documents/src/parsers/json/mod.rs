//! JSON: an object on each line, an array of objects, or consecutive objects. Only the required fields are kept.
//!
//! - [`list`]: the objects of a file, or the items of a list within them
//! - [`values`]: where a value ends
//! - [`fields`]: the required fields of an object

pub(crate) mod fields;
mod list;
mod values;

use std::collections::BTreeSet;
use std::iter;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::parsers::json::fields::{LIST_MARK, Named, Presence, to_standard_json};
use crate::parsers::json::list::{ListItems, Next};
use crate::parsers::json::values::Scan;
use crate::parsers::text::{self, At};
use crate::problem::{Field, Place, Position, Problem, shown_names};
use crate::read::collector::Collector;
use crate::read::options::Documents;
use crate::rows::{Row, Shape};

/// After as many objects without any of the text fields, the rest of an input has none either.
const MANY_OBJECTS: u64 = 1000;

/// The first objects without a field whose keys are named.
const SHOWN_OBJECTS: u64 = 10;

/// Reads an object on each line.
pub(crate) fn read_lines(input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    let mut fields = Fields::of(collector.documents)?;
    if fields.list.is_some() {
        return read_items(input, fields, collector);
    }
    let name = input.name().to_owned();
    collector.enter(&name, || Shape::Objects { are_in_array: false })?;
    text::each(input, collector, &mut |line, at, collector| {
        take(line, &mut fields, at.input, at.number, || at.place(), collector)
    })?;
    fields.finish(&name, false, collector)
}

/// Reads the objects of an array, or consecutive objects, on any number of lines; or the items of a list within them.
pub(crate) fn read(mut input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    let fields = Fields::of(collector.documents)?;
    if fields.list.is_none() && starts_with_object_line(input.peek()?) {
        return read_consecutive(input, fields, collector);
    }
    read_items(input, fields, collector)
}

/// Reads objects of which the first is a line. After a malformed line, the next lines are read. An object that
/// does not end on its line ends on a later one, unless that is an object where this one cannot have any.
fn read_consecutive(
    input: Input,
    mut fields: Fields<'_>,
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    let name = input.name().to_owned();
    collector.enter(&name, || Shape::Objects { are_in_array: false })?;
    let max_bytes = collector.max_bytes();
    let mut take_from = |text: &str, number: u64, collector: &mut Collector<'_>| {
        let at = At { input: &name, number };
        take(text, &mut fields, &name, number, || at.place(), collector)
    };
    let mut open: Option<Open> = None;
    text::each(input, collector, &mut |line, at, collector| {
        let is_damaged = collector.take_damage();
        let mut rest = line;
        loop {
            if let Some(object) = &open
                && ((object.text.len() + rest.len()) as u64 > max_bytes || object.is_cut_off_before(rest))
            {
                let object = open.take().expect("it is open");
                collector.add_damage(object.is_damaged);
                take_from(&object.text, object.number, collector)?;
            }
            if open.is_none() && !rest.trim_start().starts_with('{') {
                collector.add_damage(is_damaged);
                return take_from(rest, at.number, collector);
            }
            if open.is_none() {
                // A value begins with its bracket.
                rest = rest.trim_start();
            }
            let object = open.get_or_insert_with(|| Open::at(at.number));
            object.is_damaged |= is_damaged;
            let (count, is_end) = object.add(rest);
            if !is_end {
                return Ok(());
            }
            let mut object = open.take().expect("it is open");
            let behind = &rest[count..];
            let is_next = behind.trim_start().starts_with('{');
            if !is_next {
                object.text.push_str(behind.trim_end());
            }
            collector.add_damage(object.is_damaged);
            take_from(&object.text, object.number, collector)?;
            if !is_next {
                return Ok(());
            }
            rest = behind;
        }
    })?;
    if let Some(object) = open {
        collector.add_damage(object.is_damaged);
        take_from(&object.text, object.number, collector)?;
    }
    fields.finish(&name, true, collector)
}

/// The start of an object that ends on a later line.
struct Open {
    text: String,
    scan: Scan,
    /// The brackets that are open.
    brackets: Vec<u8>,
    is_in_string: bool,
    is_escaped: bool,
    /// The last byte that is not white space.
    last: u8,
    /// The number of its first line.
    number: u64,
    is_damaged: bool,
}

impl Open {
    fn at(number: u64) -> Self {
        Self {
            text: String::new(),
            scan: Scan::default(),
            brackets: Vec::new(),
            is_in_string: false,
            is_escaped: false,
            last: b' ',
            number,
            is_damaged: false,
        }
    }

    /// Adds a line, or a part of one up to the end of the object; returns its length, and whether it is that end.
    fn add(&mut self, line: &str) -> (usize, bool) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let (count, is_end) = self.scan.run(line.as_bytes());
        self.text.push_str(&line[..count]);
        if !is_end {
            self.follow(&line[..count]);
        }
        (count, is_end)
    }

    /// Follows the brackets and strings of a part of the text.
    fn follow(&mut self, part: &str) {
        for byte in part.bytes() {
            if self.is_in_string {
                let is_end = byte == b'"' && !self.is_escaped;
                self.is_escaped = byte == b'\\' && !self.is_escaped;
                self.is_in_string = !is_end;
            } else {
                match byte {
                    b'"' => self.is_in_string = true,
                    b'{' | b'[' => self.brackets.push(byte),
                    b'}' | b']' => drop(self.brackets.pop()),
                    _ => {}
                }
            }
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
        }
    }

    /// Returns whether a line is the next object and not a part of this one: it is a whole object where this one has a
    /// string or a key.
    fn is_cut_off_before(&self, line: &str) -> bool {
        let is_value = match self.brackets.last() {
            Some(b'[') => matches!(self.last, b'[' | b','),
            _ => self.last == b':',
        };
        let line = line.trim_start();
        (self.is_in_string || !is_value) && line.starts_with('{') && Scan::default().run(line.as_bytes()).1
    }
}

/// Reads the values of a file, or the items of a list within each.
fn read_items(mut input: Input, mut fields: Fields<'_>, collector: &mut Collector<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    let are_in_array = input.peek()?.trim_ascii_start().starts_with(b"[");
    let path = fields.list.take();
    let shape = if path.is_some() { Shape::Items } else { Shape::Objects { are_in_array } };
    let can_be_alone = path.is_none() && !are_in_array;
    let path = path.unwrap_or_default();
    collector.enter(&name, || shape)?;
    let missing = || Problem::MissingList { name: path.join(".") };
    let mut items = ListItems::new(&path, collector.max_bytes());
    let mut without_list = 0u64;
    for number in 1u64.. {
        let place = || Place::at(&name, Position::Object(number));
        match items.next(&mut input).map_err(input.unreadable())? {
            Next::End => break,
            Next::Broken(what) => {
                return Err(Error::Document { place: place(), problem: Problem::BrokenJson { what } });
            }
            Next::TooLong => collector.too_long(place(), "object")?,
            Next::Missing => {
                without_list += 1;
                collector.lose_row(place(), missing())?;
            }
            Next::Item(bytes) => {
                let text = collector.text(bytes);
                take(&text, &mut fields, &name, number, place, collector)?;
            }
        }
    }
    match without_list {
        1 if !items.has_any => refuse(Place::at(&name, Position::Object(1)), missing(), collector),
        2.. if !items.has_any => refuse(Place::whole(name), missing(), collector),
        _ => fields.finish(&name, can_be_alone, collector),
    }
}

/// Refuses an input that was read to its end, and lacks a field. What was read of it counts if it is to be skipped.
fn refuse(place: Place, problem: Problem, collector: &mut Collector<'_>) -> Result<(), Error> {
    if collector.documents.skips_unreadable && place.position == Position::Whole {
        return collector.skip_file(place, problem);
    }
    Err(Error::Document { place, problem })
}

/// Returns whether a short input is one object, in which no field has a text: the state of a program.
pub(crate) fn is_object_without_text(input: &Input, documents: &Documents) -> bool {
    let (start, true) = input.start() else { return false };
    let Ok(object) = str::from_utf8(start) else { return false };
    let names: Vec<&str> = documents.text_fields.iter().map(String::as_str).collect();
    let is_list = documents.join.is_none() && names[0].contains(LIST_MARK);
    let found = fields::of(object.trim(), &names);
    !is_list && found.is_ok_and(|mut values| values.all(|value| matches!(value, Ok(None))))
}

/// Returns whether the first line is a whole object.
fn starts_with_object_line(start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    let Some(end) = text.iter().position(|&byte| byte == b'\n') else { return false };
    text.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(&text[..end]).is_ok()
}

/// The fields of a document.
struct Fields<'d> {
    documents: &'d Documents,
    /// The names of the id, of the texts, and of the extra field, if there is one.
    names: Vec<&'d str>,
    /// The keys that lead to the list of the documents, if they are in one.
    list: Option<Vec<&'d str>>,
    /// Rows of the input.
    rows: u64,
    /// The names that the caller gave and that no object of the input has had, not even with null.
    missing: Vec<Missing>,
    /// Objects that were looked at for them.
    objects: u64,
    /// The keys of the first of these objects.
    keys: BTreeSet<String>,
}

/// A field that no object has had yet.
struct Missing {
    /// The number of its name.
    number: usize,
    /// Whether an object shows that it lacks the field.
    is_certain: bool,
}

impl<'d> Fields<'d> {
    fn of(documents: &'d Documents) -> Result<Self, Error> {
        let texts = documents.text_fields.iter().map(String::as_str);
        let names: Vec<&str> =
            iter::once(documents.id_name()).chain(texts).chain(documents.extra_field.as_deref()).collect();
        let fields = Self {
            documents,
            names,
            list: None,
            rows: 0,
            missing: (usize::from(documents.id_field.is_none())..=documents.text_fields.len())
                .map(|number| Missing { number, is_certain: false })
                .collect(),
            objects: 0,
            keys: BTreeSet::new(),
        };
        let list = fields.names[1].split_once(LIST_MARK).filter(|_| documents.join.is_none());
        let Some((list, _)) = list else { return Ok(fields) };
        let invalid = |name: &str| {
            let reason =
                format!("{name:?} is not a field of the list {list:?}; all text fields are in one list");
            Error::option("text field", reason)
        };
        let in_item = |(number, name): (usize, &'d str)| {
            let rest = name.strip_prefix(list).and_then(|rest| rest.strip_prefix(LIST_MARK));
            let rest =
                rest.and_then(|rest| if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') });
            let is_text = (1..=documents.text_fields.len()).contains(&number);
            match rest {
                Some(rest) if !rest.contains(LIST_MARK) => Ok(rest),
                // The other fields are those of the item, too.
                None if !is_text && !name.contains(LIST_MARK) => Ok(name),
                _ => Err(invalid(name)),
            }
        };
        let names = fields.names.iter().copied().enumerate().map(in_item).collect::<Result<_, _>>()?;
        Ok(Self { names, list: Some(list.split('.').collect()), ..fields })
    }

    /// Looks for the missing fields in an object. An empty one tells nothing.
    fn look_into(&mut self, object: &str) {
        let Some(found) = fields::all(object) else { return self.missing.clear() };
        if found.is_empty() {
            return;
        }
        self.objects += 1;
        self.missing.retain_mut(|field| {
            let presence = fields::presence(&found, self.names[field.number]);
            field.is_certain |= presence == Presence::Absent;
            presence != Presence::There
        });
        if self.objects <= SHOWN_OBJECTS {
            self.keys.extend(found.into_iter().map(|(key, _)| key));
        }
    }

    /// Returns the names of the missing text fields, and whether these are all.
    fn missing_texts(&self) -> (Vec<&'d str>, bool) {
        let texts = &self.documents.text_fields;
        let missing = self.missing.iter().filter(|field| field.is_certain && field.number > 0);
        let missing: Vec<&str> = missing.map(|field| &*texts[field.number - 1]).collect();
        let are_all = missing.len() == texts.len();
        (missing, are_all)
    }

    fn misses_id(&self) -> bool {
        self.missing.first().is_some_and(|field| field.is_certain && field.number == 0)
    }

    /// Returns whether no object so far can be a document.
    fn are_wrong(&self) -> bool {
        self.misses_id() || self.missing_texts().1
    }

    /// Returns the problem that fields are missing.
    fn problem(&self) -> Problem {
        let (field, column) = match self.misses_id() {
            true => (Field::Id, self.documents.id_name().to_owned()),
            false => (Field::Text, self.missing_texts().0.join(", ")),
        };
        let columns = shown_names(&self.keys.iter().cloned().collect::<Vec<_>>());
        Problem::MissingColumn { field, column, columns }
    }

    /// Refuses an input if none of its objects has one of the fields, as a table without a column is refused. An object
    /// that is a file by itself is one of many, which need not have all texts.
    fn finish(&self, input: &str, can_be_alone: bool, collector: &mut Collector<'_>) -> Result<(), Error> {
        let is_alone = can_be_alone && self.rows == 1;
        let is_whole = !self.missing.iter().any(|field| field.is_certain);
        if is_whole || is_alone && !self.are_wrong() {
            return Ok(());
        }
        let has_no_text = self.missing_texts().1;
        let place =
            if is_alone && has_no_text { Place::at(input, Position::Object(1)) } else { Place::whole(input) };
        refuse(place, self.problem(), collector)
    }
}

fn take(
    text: &str,
    fields: &mut Fields<'_>,
    input: &str,
    number: u64,
    place: impl Fn() -> Place,
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    fields.rows += 1;
    // The item of a list can be the text itself.
    if fields.names[1].is_empty() && text.starts_with('"') {
        fields.missing.clear();
        let read = serde_json::from_str::<String>(text);
        return match read
            .or_else(|error| to_standard_json(text).map_or(Err(error), |text| serde_json::from_str(&text)))
        {
            Ok(text) => {
                let document = Document::new(collector.row_id(input, number), text);
                collector.take(document, Row::Text, place)
            }
            Err(error) => {
                collector.skip_row(place(), Problem::Malformed { what: describe(&error) }, Row::Text)
            }
        };
    }
    let parsed = match parse(text, &fields.names, collector.documents) {
        Err(problem @ Problem::Malformed { .. }) => match to_standard_json(text) {
            Some(standard) => parse(&standard, &fields.names, collector.documents),
            None => Err(problem),
        },
        parsed => parsed,
    };
    match &parsed {
        _ if fields.missing.is_empty() => {}
        Err(Problem::Malformed { .. }) => {}
        Ok(_) if collector.documents.text_fields.len() == 1 => fields.missing.clear(),
        _ => fields.look_into(text),
    }
    match parsed {
        Ok(parsed) => {
            let id = parsed.id.unwrap_or_else(|| collector.row_id(input, number));
            let document = Document { extra: parsed.extra, ..Document::new(id, parsed.text) };
            collector.take(document, Row::Object(text), place)
        }
        Err(Problem::MissingField { .. })
            if fields.objects >= MANY_OBJECTS
                && fields.are_wrong()
                && !collector.documents.skips_unreadable =>
        {
            Err(Error::Document { place: place(), problem: fields.problem() })
        }
        Err(problem) => collector.skip_row(place(), problem, Row::Object(text)),
    }
}

/// The required fields of a document.
struct Parsed {
    id: Option<String>,
    text: String,
    extra: Option<String>,
}

fn parse(object: &str, names: &[&str], documents: &Documents) -> Result<Parsed, Problem> {
    let malformed = |error: serde_json::Error| Problem::Malformed { what: describe(&error) };
    let mut found = fields::of(object, names).map_err(malformed)?;
    let value = found.next().transpose().map_err(malformed)?.flatten().and_then(plain);
    let id = id(value, documents).map_err(malformed)?;
    if id.is_none() && documents.id_field.is_some() {
        return Err(Problem::MissingField { field: Field::Id, name: documents.id_name().to_owned() });
    }
    let texts = found.by_ref().take(documents.text_fields.len());
    let text = joined(texts, documents.join.as_deref()).map_err(malformed)?;
    let Some(text) = text else {
        return Err(Problem::MissingField { field: Field::Text, name: documents.text_fields.join(", ") });
    };
    let extra = found.next().transpose().map_err(malformed)?.flatten().and_then(plain);
    let extra = extra.filter(|value| value.get() != "null");
    let extra = extra.map(|value| text_of(value).map(|text| text.unwrap_or_else(|| value.get().to_owned())));
    Ok(Parsed { id, text, extra: extra.transpose().map_err(malformed)? })
}

/// Returns the value of a field that is not within a list.
fn plain<'t>((value, path): Named<'t, '_>) -> Option<&'t RawValue> {
    path.is_empty().then_some(value)
}

/// Returns the id: a string, or a number or truth value as it is written.
fn id(value: Option<&RawValue>, documents: &Documents) -> Result<Option<String>, serde_json::Error> {
    let Some(value) = value else { return Ok(None) };
    let is_flag = matches!(value.get(), "true" | "false");
    if is_flag || value.get().starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return Ok(Some(value.get().to_owned()));
    }
    let text = if value.get().starts_with('"') { text_of(value)? } else { None };
    // An empty id counts only if the caller named the field.
    Ok(text.filter(|text| !text.is_empty() || documents.id_field.is_some()))
}

/// Joins the texts with line ends, and the items of lists within their names with `separator`. `None` if there is no
/// text, or one has another type.
fn joined<'t>(
    texts: impl Iterator<Item = Result<Option<Named<'t, 't>>, serde_json::Error>>,
    separator: Option<&str>,
) -> Result<Option<String>, serde_json::Error> {
    let mut joined: Option<String> = None;
    for found in texts {
        let text = match (found?, separator) {
            (Some((value, "")), _) if value.get() != "null" => text_of(value)?,
            (Some((list, path)), Some(separator)) if !path.is_empty() => {
                let mut items = Vec::new();
                let are_texts = add_items(list, path, &mut items)?;
                // A list without a text is like a field that is null.
                if are_texts && items.is_empty() {
                    continue;
                }
                are_texts.then(|| items.join(separator))
            }
            _ => continue,
        };
        let Some(text) = text else { return Ok(None) };
        text::append(&mut joined, text.into());
    }
    Ok(joined)
}

/// Adds the texts of a value, or those at `path` in the items of a list. Returns whether no value has another type.
fn add_items(value: &RawValue, path: &str, texts: &mut Vec<String>) -> Result<bool, serde_json::Error> {
    if value.get() == "null" {
        return Ok(true);
    }
    let Some(path) = path.strip_prefix(LIST_MARK) else {
        let text = text_of(value)?;
        let is_text = text.is_some();
        texts.extend(text);
        return Ok(is_text);
    };
    if !value.get().starts_with('[') {
        return Ok(false);
    }
    for item in serde_json::from_str::<Vec<&RawValue>>(value.get())? {
        let found = match path.strip_prefix('.') {
            Some(name) => fields::inner(item, name)?,
            None => Some((item, path)),
        };
        if let Some((value, path)) = found
            && !add_items(value, path, texts)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the contents of a string, or of a list of strings, joined by line ends; `None` for other values.
fn text_of(value: &RawValue) -> Result<Option<String>, serde_json::Error> {
    match value.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(value.get()).map(Some),
        // Other lists than those of strings are well-formed, too.
        Some(b'[') => Ok(serde_json::from_str::<Vec<String>>(value.get()).ok().map(|texts| texts.join("\n"))),
        _ => Ok(None),
    }
}

/// Returns the parser's message without its line number, which would be relative to the object.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("{what} (column {})", error.column())
}
