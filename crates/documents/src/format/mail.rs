//! The start of a mailbox, and of a message of mail.

/// Names of header fields that mail has. Two of them are needed, since other texts begin with one.
const FIELDS: [&[u8]; 13] = [
    b"from",
    b"to",
    b"cc",
    b"date",
    b"subject",
    b"message-id",
    b"received",
    b"return-path",
    b"delivered-to",
    b"reply-to",
    b"mime-version",
    b"x-mozilla-status",
    b"x-gmail-labels",
];

/// The start of the line before each message of a mailbox.
const SEPARATOR: &[u8] = b"From ";

/// Returns whether a file starts like a mailbox: with a line of sender and date, and a header.
pub(super) fn is_mailbox(start: &[u8]) -> bool {
    let mut lines = start.splitn(2, |&byte| byte == b'\n');
    let (Some(first), Some(rest)) = (lines.next(), lines.next()) else { return false };
    let has_time =
        first.split(|&byte| byte == b' ').any(|word| word.iter().filter(|&&byte| byte == b':').count() == 2);
    first.starts_with(SEPARATOR) && has_time && is_message(rest)
}

/// Returns whether a text starts with the header of a message.
pub(super) fn is_message(start: &[u8]) -> bool {
    let mut known = 0;
    let is_cut = !start.contains(&b'\n');
    for (number, line) in start.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let is_whole = line.ends_with(b"\n");
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || !is_whole {
            break;
        }
        if number > 0 && (line[0] == b' ' || line[0] == b'\t') {
            continue;
        }
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        if name.len() == line.len() || name.is_empty() || !name.iter().all(|&byte| byte.is_ascii_graphic()) {
            return false;
        }
        known += usize::from(FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field)));
    }
    known >= 2 && !is_cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_starts_with_a_header() {
        let message = b"Received: from a\r\n\tby b\r\nSubject: c\r\n\r\nText\r\n";
        assert!(is_message(message) && !is_mailbox(message));
        assert!(is_message(b"From: a\nTo: b\n"));
        for text in [
            &b""[..],
            b"Subject: one field alone\n\nText",
            b"Note: this\nSubject: that\nis no header\n",
            b"From: a line without an end, To: b",
            b"\nFrom: a\nTo: b\n",
        ] {
            assert!(!is_message(text), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_mailbox_starts_with_sender_and_time() {
        let header = "From: a\nTo: b\n\nText\n";
        assert!(is_mailbox(format!("From a@b Thu Jan  1 00:00:01 1970\n{header}").as_bytes()));
        assert!(!is_mailbox(format!("From here on\n{header}").as_bytes()));
        assert!(!is_mailbox(b"From a@b Thu Jan  1 00:00:01 1970\nText\n"));
    }
}
