//! Names in lines of text: written so that they are read back unchanged.
//!
//! A name is the rest of its line, or of its column, byte by byte. One that is empty, has control characters, such as line
//! ends and tabs, or begins with a double quote or a byte order mark, stands in double quotes: `\n`, `\r`, `\t`, `\"` and
//! `\\` are these characters there, and `\xff` is any byte. In a list, so does one that has a comma, which separates names,
//! or begins with `+`, which precedes the number of those left out.

use std::borrow::Cow;

/// The byte order mark that some editors put in front of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns a name as the rest of a line or as a column of one.
pub(crate) fn written(name: &[u8]) -> Cow<'_, [u8]> {
    if needs_quotes(name) { Cow::Owned(quoted(name)) } else { Cow::Borrowed(name) }
}

/// Returns a name as one of a list, separated by commas.
pub(crate) fn written_in_list(name: &[u8]) -> Cow<'_, [u8]> {
    if needs_quotes(name) || name.contains(&b',') || name.starts_with(b"+") {
        Cow::Owned(quoted(name))
    } else {
        Cow::Borrowed(name)
    }
}

fn needs_quotes(name: &[u8]) -> bool {
    // Control characters beyond ASCII end lines for some programs.
    let has_control = || name.utf8_chunks().any(|chunk| chunk.valid().contains(char::is_control));
    // On the first line of a list, it would be taken for the mark of the file.
    let is_marked = name.starts_with(BYTE_ORDER_MARK);
    name.is_empty() || name.starts_with(b"\"") || is_marked || has_control()
}

fn quoted(name: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => quoted.extend(b"\\n"),
                '\r' => quoted.extend(b"\\r"),
                '\t' => quoted.extend(b"\\t"),
                '"' => quoted.extend(b"\\\""),
                '\\' => quoted.extend(b"\\\\"),
                other => {
                    let mut bytes = [0; 4];
                    let bytes = other.encode_utf8(&mut bytes).as_bytes();
                    if other.is_control() {
                        bytes.iter().for_each(|byte| quoted.extend(format!("\\x{byte:02x}").as_bytes()));
                    } else {
                        quoted.extend(bytes);
                    }
                }
            }
        }
        quoted.extend(chunk.invalid());
    }
    quoted.push(b'"');
    quoted
}

/// Returns the name that is the rest of a line.
///
/// # Errors
/// When it stands in quotes, and is not what [`written`] or [`written_in_list`] returns.
pub(crate) fn read(rest: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let Some(inside) = rest.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return Ok(Cow::Borrowed(rest));
    };
    let wrong = || {
        "in a name in double quotes, a backslash stands before n, r, t, \", \\ or x and two hexadecimal digits, and a \
         double quote stands after a backslash; leave the quotes out if they are no part of the name"
            .to_owned()
    };
    let mut name = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter();
    while let Some(&byte) = bytes.next() {
        name.push(match byte {
            b'"' => return Err(wrong()),
            b'\\' => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(&same @ (b'"' | b'\\')) => same,
                Some(b'x') => {
                    let digit = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
                    let (high, low) = (digit(bytes.next()), digit(bytes.next()));
                    (high.ok_or_else(wrong)? << 4 | low.ok_or_else(wrong)?) as u8
                }
                _ => return Err(wrong()),
            },
            byte => byte,
        });
    }
    Ok(Cow::Owned(name))
}

/// Returns the name that a line is, of a list of names; `None` for an empty line.
///
/// # Errors
/// As [`read`].
pub(crate) fn of_line(line: &[u8]) -> Result<Option<Cow<'_, [u8]>>, String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() { Ok(None) } else { read(line).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_was_written() {
        let mut names: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        names.extend([
            b"".to_vec(),
            b"a\tb\n\r\"\\".to_vec(),
            b"\"quoted\"".to_vec(),
            b"\"".to_vec(),
            b"C:\\new\\x".to_vec(),
        ]);
        names.extend(["caf\u{e9} \u{85}\u{2028}".into(), b"\xff\n\xfe\"\\x0a".to_vec(), b"\"\xff".to_vec()]);
        let pairs: Vec<Vec<u8>> =
            names.iter().flat_map(|one| names.iter().map(|other| [&one[..], other].concat())).collect();
        for name in names.into_iter().chain(pairs) {
            let written = written(&name);
            assert!(!written.iter().any(u8::is_ascii_control), "{name:?}");
            assert_eq!(read(&written).as_deref(), Ok(&name[..]));
            assert_eq!(read(&written_in_list(&name)).as_deref(), Ok(&name[..]));
        }
    }

    #[test]
    fn names_without_control_characters_are_taken_as_they_are() {
        for name in [&b"C:\\temp\\new.txt"[..], b"say \"so\"", b"caf\xe9", b" a b ", b"\\xff"] {
            assert_eq!(written(name), name);
            assert_eq!(read(name).as_deref(), Ok(name));
        }
        assert_eq!((&*written(b"a,b"), &*written_in_list(b"a,b")), (&b"a,b"[..], &b"\"a,b\""[..]));
        assert_eq!((&*written(b"+3"), &*written_in_list(b"+3")), (&b"+3"[..], &b"\"+3\""[..]));
        assert_eq!(read(b"\"one quote").as_deref(), Ok(&b"\"one quote"[..]));
        for wrong in [&b"\"a\\qb\""[..], b"\"a\"b\"", b"\"\\x0\"", b"\"\\xzz\"", b"\"a\\\""] {
            assert!(read(wrong).unwrap_err().contains("backslash"), "{wrong:?}");
        }
    }
}
