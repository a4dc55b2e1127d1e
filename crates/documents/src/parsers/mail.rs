//! Mail: the text of a message, and the messages of a mailbox.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mail_parser::{HeaderName, MessageParser, PartType};
use memchr::{memchr, memchr_iter, memmem};

use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::parsers::web::html_text;
use crate::problem::{Place, Position};
use crate::read::collector::Collector;
use crate::rows::{Row, Shape};

/// The start of the line before each message of a mailbox.
const SEPARATOR: &[u8] = b"From ";

/// The longest piece of a line that is read at once, so that a file without lines needs no memory.
const MAX_PIECE_BYTES: u64 = 1 << 16;

/// A message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// The id in its header.
    pub(crate) id: Option<String>,
    /// The subject and the texts, each on a line of its own; of a part with several forms the plain text.
    pub(crate) text: String,
}

impl Message {
    /// Parses a message. Other bytes have no text.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let parser = MessageParser::new()
            .with_mime_headers()
            .header_text(HeaderName::Subject)
            .header_id(HeaderName::MessageId)
            .default_header_ignore();
        let marked = with_marked_messages(bytes);
        // A hostile message must not end the program.
        let parsed = catch_unwind(AssertUnwindSafe(|| {
            let message = parser.parse(&*marked)?;
            let mut texts = vec![message.subject().unwrap_or_default().to_owned()];
            texts.extend(message.text_body.iter().filter_map(|&part| match &message.part(part)?.body {
                PartType::Text(text) => Some(text.clone().into_owned()),
                PartType::Html(page) => Some(html_text(page.as_bytes())),
                _ => None,
            }));
            texts.retain(|text| !text.trim().is_empty());
            let id = message.message_id().filter(|id| !id.is_empty()).map(str::to_owned);
            // Messages within each other one by one, since dropping all at once is a recursion.
            let mut nested = vec![message];
            while let Some(message) = nested.pop() {
                nested.extend(message.parts.into_iter().filter_map(|part| match part.body {
                    PartType::Message(inner) => Some(inner),
                    _ => None,
                }));
            }
            let text = texts.join("\n");
            Some(Self { id, text: if matches!(marked, Cow::Owned(_)) { without_marks(&text) } else { text } })
        }));
        parsed.ok().flatten().unwrap_or_default()
    }
}

/// Words whose first letters the parser is not to see: a byte 1 is in place of a small letter, 2 of a capital.
const MARKED: [&str; 2] = ["message", "content-"];

/// Marks the type of encoded messages within a message, which the standard forbids. The parser would decode them and
/// all messages within them by recursion, each as a copy of its own, and none of them is a text.
///
/// The parser begins a header behind a boundary, anywhere in a line, and ends it by an empty line at the latest. So all
/// lines up to an empty one count as one header, and a name counts wherever a colon follows it.
fn with_marked_messages(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut marked = Cow::Borrowed(bytes);
    let mut mark = |place: usize| {
        let first = &mut marked.to_mut()[place];
        *first = if first.is_ascii_lowercase() { 1 } else { 2 };
    };
    let (mut has_digest, mut is_digest_odd) = (false, false);
    // The types in the current header, and the places of its encodings.
    let (mut types, mut encodings) = (Vec::<Type>::new(), Vec::new());
    // The number of types that can be in another header, and whether the encodings can be in others than the types.
    let (mut others, mut is_odd) = (0, false);
    let mut start = 0;
    for end in memchr_iter(b'\n', bytes).map(|at| at + 1).chain([bytes.len()]) {
        let line = &bytes[start..end];
        let mut names = fields(line, b"content-type").map(|(place, _)| place);
        let name = names.next();
        let is_alone = name == Some(0) && names.next().is_none();
        let is_behind_blank = matches!(line.first(), Some(b' ' | b'\t'));
        match types.last_mut().filter(|last| is_behind_blank && last.place.end == start) {
            Some(last) => {
                last.place.end = end;
                last.is_alone &= name.is_none();
            }
            None => types.extend(name.map(|_| Type { place: start..end, is_alone })),
        }
        let encoded = fields(line, b"content-transfer-encoding").filter(|(_, value)| !is_plain(value));
        encodings.extend(encoded.map(|(place, _)| start + place));
        let is_end = matches!(line, b"\n" | b"\r\n") || end == bytes.len();
        if has_digest && !is_end {
            if has(line, "--") {
                (others, is_odd) = (types.len(), !encodings.is_empty());
            }
            is_odd |= line.trim_ascii().is_empty();
        }
        if is_end {
            let had_digest = has_digest;
            for field in &types {
                let whole = bytes[field.place.clone()].to_ascii_lowercase();
                let kind = field.kind(&whole);
                has_digest |= has(kind, "multipart") && has(kind, "digest");
                // Such a boundary can have lines.
                is_digest_odd |= has(&whole, "boundary") && (whole.contains(&b'*') || has(&whole, "=?"));
                if !encodings.is_empty()
                    && has(kind, "message")
                    && (has(kind, "rfc822") || has(kind, "global"))
                {
                    memmem::find_iter(kind, "message").for_each(|at| mark(field.place.start + at));
                }
            }
            // Parts of digests are messages unless they have a type.
            let own = &types[others..];
            let are_typed = !own.is_empty() && own.iter().all(|field| field.has_value(bytes));
            if has_digest && (!had_digest || !are_typed || is_odd || is_digest_odd) {
                encodings.iter().for_each(|&place| mark(place));
            }
            types.clear();
            encodings.clear();
            (others, is_odd) = (0, false);
        }
        start = end;
    }
    marked
}

/// The lines of a field that says the type of a part.
struct Type {
    place: Range<usize>,
    /// Whether the field begins the first line, and none begins within it.
    is_alone: bool,
}

impl Type {
    /// Returns the text in which the type is: all, or that before the parameters if they are sure to be parameters.
    fn kind<'b>(&self, field: &'b [u8]) -> &'b [u8] {
        // A comment can have a semicolon.
        let end = if self.is_alone && !field.contains(&b'(') { memchr(b';', field) } else { None };
        &field[..end.unwrap_or(field.len())]
    }

    /// Returns whether the parser is sure to read a type.
    fn has_value(&self, bytes: &[u8]) -> bool {
        let field = &bytes[self.place.clone()];
        let value = &field[memchr(b':', field).map_or(0, |colon| colon + 1)..];
        self.is_alone && value.trim_ascii_start().first().is_some_and(u8::is_ascii_alphabetic)
    }
}

/// Returns the places in a line where the parser could read this name of a field, and the values. It takes no notice of
/// white space within a name, and of colons before it.
fn fields<'b>(line: &'b [u8], name: &'static [u8]) -> impl Iterator<Item = (usize, &'b [u8])> {
    let line = line.trim_ascii_end();
    memchr_iter(b':', line).filter_map(move |colon| {
        let mut before = (0..colon).rev().filter(|&at| !line[at].is_ascii_whitespace());
        let mut place = colon;
        for letter in name.iter().rev() {
            place = before.next().filter(|&at| line[at].eq_ignore_ascii_case(letter))?;
        }
        Some((place, line[colon + 1..].trim_ascii_start()))
    })
}

/// Returns whether an encoding leaves text as it is.
fn is_plain(encoding: &[u8]) -> bool {
    ["7bit", "8bit", "binary"].iter().any(|plain| encoding.eq_ignore_ascii_case(plain.as_bytes()))
}

fn has(text: &[u8], word: &str) -> bool {
    memmem::find(text, word.as_bytes()).is_some()
}

fn without_marks(text: &str) -> String {
    let letter = |(at, letter): (usize, char)| {
        let follows = |word: &str| {
            let rest = text.as_bytes()[at..].get(1..word.len());
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(&word.as_bytes()[1..]))
        };
        let first = || MARKED.into_iter().find(|word| follows(word))?.chars().next();
        match letter {
            '\x01' => first().unwrap_or(letter),
            '\x02' => first().map_or(letter, |first| first.to_ascii_uppercase()),
            _ => letter,
        }
    };
    text.char_indices().map(letter).collect()
}

/// Reads the messages of a mailbox.
pub(crate) fn read(mut input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    collector.enter(&name, || Shape::Parts)?;
    let mut messages = Messages::new(collector.max_bytes());
    for number in 1u64.. {
        let place = || Place::at(&name, Position::Message(number));
        match messages.next(&mut input).map_err(input.unreadable())? {
            Next::End => break,
            Next::TooLong => collector.too_long(place(), "message")?,
            Next::Message(bytes) => {
                let message = Message::parse(bytes);
                let id = message.id.unwrap_or_else(|| collector.row_id(&name, number));
                collector.check_decoded(&message.text);
                collector.take(Document::new(id, message.text), Row::Text, place)?;
            }
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Next<'b> {
    End,
    Message(&'b [u8]),
    TooLong,
}

/// Splits a mailbox into messages: each begins with a line `From …` that follows a blank line, and has a time and a year
/// if the first such line has them.
struct Messages {
    max_bytes: u64,
    message: Vec<u8>,
    /// Whether the line that starts the next message was read.
    is_between: bool,
    /// Whether the line that starts the first message has a time, as those of the others have then.
    has_times: bool,
}

impl Messages {
    fn new(max_bytes: u64) -> Self {
        Self { max_bytes, message: Vec::new(), is_between: false, has_times: false }
    }

    /// Returns the next message, without the line that starts it, and with the lines that a `>` protects as they were.
    fn next(&mut self, reader: &mut impl BufRead) -> io::Result<Next<'_>> {
        if self.message.capacity() > MAX_IDLE_BYTES {
            self.message = Vec::new();
        }
        self.message.clear();
        let mut has_lines = std::mem::take(&mut self.is_between);
        let mut is_too_long = false;
        let (mut is_line_start, mut is_after_blank) = (true, true);
        let mut piece = Vec::new();
        loop {
            piece.clear();
            if reader.take(MAX_PIECE_BYTES).read_until(b'\n', &mut piece)? == 0 {
                break;
            }
            if is_line_start && is_after_blank && piece.starts_with(SEPARATOR) {
                if !has_lines {
                    // The first line of the mailbox.
                    self.has_times = has_time(&piece);
                    has_lines = true;
                    is_line_start = piece.ends_with(b"\n");
                    is_after_blank = false;
                    continue;
                }
                // A sentence of the message can begin so, too.
                if !self.has_times || has_time(&piece) {
                    self.is_between = true;
                    break;
                }
            }
            if !has_lines {
                if piece.trim_ascii().is_empty() {
                    continue;
                }
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a mailbox begins with a line From …",
                ));
            }
            let quotes = piece.iter().take_while(|&&byte| byte == b'>').count();
            let is_quoted = is_line_start && quotes > 0 && piece[quotes..].starts_with(SEPARATOR);
            let line = &piece[usize::from(is_quoted)..];
            is_too_long |= (self.message.len() + line.len()) as u64 > self.max_bytes;
            if !is_too_long {
                self.message.extend_from_slice(line);
            }
            is_after_blank = is_line_start && piece.trim_ascii().is_empty();
            is_line_start = piece.ends_with(b"\n");
        }
        Ok(match (is_too_long, has_lines) {
            (true, _) => Next::TooLong,
            (false, true) => Next::Message(&self.message),
            (false, false) => Next::End,
        })
    }
}

/// Returns whether a line has a time and a year, as in `From a@b Thu Jan  1 12:30:00 1970`.
fn has_time(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace);
    let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    let is_time = |word: &[u8]| {
        let parts: Vec<&[u8]> = word.split(|&byte| byte == b':').collect();
        parts.len() > 1 && parts.iter().all(|part| matches!(part.len(), 1..=2) && is_number(part))
    };
    words.clone().any(is_time) && words.any(|word| word.len() == 4 && is_number(word))
}

/// Memory kept from one message to the next.
const MAX_IDLE_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_subject_and_its_texts() {
        let message = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMessage-ID: <a@b>\r\nMIME-Version: 1.0\r\n\
            Content-Type: multipart/alternative; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n\
            Content-Transfer-Encoding: quoted-printable\r\n\r\nf=C3=BCr alle\r\n--x\r\nContent-Type: text/html\r\n\r\n\
            <p>other</p>\r\n--x--\r\n";
        let Message { id, text } = Message::parse(message);
        assert_eq!((id.as_deref(), text.trim_end()), (Some("a@b"), "Grüße\nfür alle"));
        let page = b"From: a\r\nContent-Type: text/html\r\n\r\n<p>one<script>x</script><p>two";
        assert_eq!(Message::parse(page).text.split_whitespace().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(Message::parse(b""), Message::default());
    }

    #[test]
    fn messages_within_each_other_end_at_any_depth() {
        let head = "Subject: one\nContent-Type: message/rfc822\n\n";
        let message = format!("{}Subject: last\n\ntext\n", head.repeat(100_000));
        assert_eq!(Message::parse(message.as_bytes()).text, "one");
        for kind in ["Content-Type: message/rfc822\n", "content-type: message/\n (a;b)Global; x=y\n"] {
            let encoded = format!("Subject: all\n{kind}Content-Transfer-Encoding: quoted-printable\n\n");
            let message = format!("{encoded}{}Subject: last\n\ntext\n", head.repeat(20_000));
            assert_eq!(Message::parse(message.as_bytes()).text, "all");
        }
        // Names as the parser reads them, and headers that begin within a line.
        let encoding = "Content-Transfer-Encoding: quoted-printable\n";
        for header in [
            "Content -Type: message/rfc822\nContent-Transfer -Encoding: quoted-printable\n".to_owned(),
            format!(":Content-Type: message/rfc822\n: {encoding}"),
            format!(" Content-Type: message/rfc822\n{encoding}"),
            format!("\t{encoding}Content-Type: message/rfc822\n"),
            format!("C\r ontent-Type\r: message/rfc822\n{encoding}"),
            format!("Content-Type: text/plain\nContent-Type: message/global; a=\"\n b\"\n{encoding}"),
            format!("{encoding}X: y\n\r\r\n--bContent-Type: message/rfc822\n{encoding}"),
            "Content-Type: message/rfc822\nContent-Transfer-Encoding:\n =?utf-8?q?quoted-printable?=\n"
                .to_owned(),
        ] {
            for behind in ["\n", ""] {
                let message = format!(
                    "Subject: all\nContent-Type: multipart/mixed; boundary=b\n\n--b{behind}{header}\n{}\n--b--\n",
                    head.repeat(20_000)
                );
                assert_eq!(Message::parse(message.as_bytes()).text.lines().next(), Some("all"), "{header}");
            }
        }
        for (boundary, header) in [
            ("boundary=b", encoding.to_owned()),
            ("boundary=b", format!(" {encoding}")),
            ("boundary=b", format!("X: y\nContent-Type:\n{encoding}")),
            ("boundary=b", format!("Content-Type: x\n\r\r\n--b\n{encoding}")),
            ("boundary=b", format!("Content-Type: x\n\nContent-Type: text/plain\n--b\n{encoding}")),
            (
                "boundary*=utf-8''b%0AContent-Type:x",
                format!("Content-Type: x\n\ny\n--b\nContent-Type:x\n{encoding}"),
            ),
        ] {
            for behind in ["\n", ""] {
                let message = format!(
                    "Subject: all\nContent-Type: multipart/digest; {boundary}\n\n--b\nContent-Type:x\n\nx\n\
                    --b{behind}{header}\n{}\n--b\nContent-Type:x\n--b--\n",
                    head.repeat(20_000)
                );
                assert_eq!(Message::parse(message.as_bytes()).text.lines().next(), Some("all"), "{header}");
            }
        }
        let digest = "Content-Type: multipart/digest; boundary=b\n\n--b\nContent-Transfer-Encoding: base64\n\nZQ==\n--b--";
        assert_eq!(Message::parse(digest.as_bytes()).text, "");
    }

    #[test]
    fn texts_behind_an_encoded_message_are_read() {
        let part = |head: &str, body: &str| format!("--b\nContent-Type: {head}\n\n{body}\n");
        let message = [
            "Subject: a\nContent-Type: multipart/mixed; boundary=b\n\n".to_owned(),
            part("text/plain", "one"),
            part("message/rfc822\nContent-Transfer-Encoding: base64", "U3ViamVjdDogeAoKeQo="),
            part("text/plain", "two"),
            part("Message/RFC822", "Subject: x\n\ny"),
            part("text/plain", "three"),
            "--b--\n".to_owned(),
        ];
        let text = Message::parse(message.concat().as_bytes()).text;
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["a", "one", "two", "three"]);
    }

    #[test]
    fn texts_of_digests_are_decoded() {
        let encoded = "Content-Transfer-Encoding: base64\n\nZsO8cg==\n";
        for message in [
            // Neither a boundary nor a name makes a digest.
            format!(
                "Content-Type: multipart/mixed; boundary=\"digest-1\"\n\n--digest-1\n{encoded}--digest-1--\n"
            ),
            format!(
                "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: application/x; name=\"digest.txt\"\n\n\
                x\n--b\n{encoded}--b--\n"
            ),
            // Parts with a type are texts.
            format!(
                "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/digest; boundary=c\n\n--c\n\n\
                Subject: x\n\ny\n--c--\n\n--b\nContent-Type:\n text/plain;\n charset=utf-8\n{encoded}--b--\n"
            ),
        ] {
            assert_eq!(Message::parse(message.as_bytes()).text.trim_end(), "für", "{message}");
        }
    }

    #[test]
    fn texts_about_encoded_messages_stay_as_they_are() {
        let text = "Content-Type: message/rfc822\ncontent-transfer-encoding: base64\nContent-Transfer-Encoding: base64\n\
            CONTENT-TYPE: MESSAGE/RFC822; Message/Global\nContent-TYPE: mESSAGE/rfc822\n \u{1}x\u{2}m\n";
        let message =
            format!("Subject: a\nContent-Type: text/plain\nContent-Transfer-Encoding: 8bit\n\n{text}");
        assert_eq!(Message::parse(message.as_bytes()).text.trim_end(), format!("a\n{text}").trim_end());
        let body = "Content-Type: text/plain; name=\"message/rfc822\"\nContent-Transfer-Encoding: base64\n\nZsO8cg==\n";
        assert_eq!(Message::parse(format!("Subject: a\n{body}").as_bytes()).text.trim_end(), "a\nfür");
    }

    fn messages(mailbox: &[u8], max_bytes: u64) -> Vec<Option<String>> {
        let mut reader = io::BufReader::with_capacity(7, mailbox);
        let mut messages = Messages::new(max_bytes);
        let mut found = Vec::new();
        loop {
            match messages.next(&mut reader).unwrap() {
                Next::End => return found,
                Next::TooLong => found.push(None),
                Next::Message(bytes) => found.push(Some(String::from_utf8(bytes.to_vec()).unwrap())),
            }
        }
    }

    #[test]
    fn messages_begin_with_from_after_a_blank_line() {
        let text = |text: &str| Some(text.to_owned());
        let mailbox =
            b"From a Mon\nA: 1\n\none\nFrom here\n\n>From quoted\n>>From twice\n\nFrom b Tue\nB: 2\n\ntwo\n";
        let first = text("A: 1\n\none\nFrom here\n\nFrom quoted\n>From twice\n\n");
        assert_eq!(messages(mailbox, 1000), [first, text("B: 2\n\ntwo\n")]);
        assert_eq!(messages(mailbox, 20), [None, text("B: 2\n\ntwo\n")]);
        assert_eq!(messages(b"", 10), []);
        assert_eq!(messages(b"From a\n\nFrom b\n\nFrom c\n", 10), [text("\n"), text("\n"), text("")]);
        let dated = b"From a Thu Jan  1 12:30:00 1970\n\none\n\nFrom here on, at 12:30\n\nFrom b Fri Jan 2 1:02 1970\n\ntwo\n";
        assert_eq!(messages(dated, 1000), [text("\none\n\nFrom here on, at 12:30\n\n"), text("\ntwo\n")]);
        assert_eq!(messages(b"\r\n\nFrom a\n\none", 100), [text("\none")]);
        for foreign in [&b"no separator"[..], &[0; 100], b"\nfrom a\n", b">From a\n"] {
            let failed = Messages::new(100).next(&mut &foreign[..]).unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::InvalidData);
        }
        // Lines longer than a piece are not taken apart.
        let long = format!("From a\n\n{}From x\n\nFrom b\nend", "y".repeat(MAX_PIECE_BYTES as usize));
        assert_eq!(messages(long.as_bytes(), 1 << 20).len(), 2);
    }
}
