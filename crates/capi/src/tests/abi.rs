//! The interface that a header declares, and what may become of it.

/// How an interface differs from an earlier one.
pub(super) enum Verdict {
    Same,
    /// With further declarations.
    Compatible(Vec<String>),
    /// Of another version.
    NewVersion,
    /// Declarations have changed or are gone.
    Incompatible(Vec<String>),
}

/// The declarations of a header, one per line, sorted, in a form that comments and white space do not change.
pub(super) fn listing(header: &str) -> Vec<String> {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    let mut declarations = Vec::new();
    let mut text = String::new();
    for line in code.lines() {
        let line = line.split_once("//").map_or(line, |(code, _)| code);
        match line.trim() {
            define if define.starts_with("#define HAMDEX_") => {
                let words: Vec<&str> = define.split_whitespace().collect();
                // The include guard has no value.
                if words.len() == 3 {
                    declarations.push(words.join(" "));
                }
            }
            directive if directive.starts_with('#') => {}
            line => {
                text.push_str(line);
                text.push(' ');
            }
        }
    }
    declarations.extend(statements(&text));
    declarations.sort();
    declarations.dedup();
    declarations
}

/// Declarations that end outside of braces; functions with a body are left out, since programs have them compiled in.
fn statements(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let (mut statement, mut depth) = (String::new(), 0);
    for character in text.chars() {
        statement.push(character);
        match character {
            // Only that of `extern "C"` is not closed on the way.
            '{' if statement.contains("extern \"C\"") => statement.clear(),
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth <= 0 && !statement.trim_start().starts_with("typedef") {
                    (depth, _) = (0, statement.clear());
                }
            }
            ';' if depth == 0 => {
                let words: Vec<&str> = statement.split_whitespace().collect();
                statements.push(words.join(" ").replace("( ", "(").replace(" )", ")"));
                statement.clear();
            }
            _ => {}
        }
    }
    statements
}

fn version(listing: &[String]) -> Option<&String> {
    listing.iter().find(|line| line.starts_with("#define HAMDEX_ABI_VERSION "))
}

/// Whether a structure that states its size has new fields behind its old ones. None of these structures ends with
/// padding, in which a field would not be seen by its size.
fn is_extension(earlier: &str, now: &str) -> bool {
    let Some((fields, name)) = earlier.rsplit_once("} ") else { return false };
    let says_size = fields.starts_with("typedef struct ") && fields.contains(" { size_t size; ");
    says_size && now.starts_with(fields) && now.ends_with(&format!("}} {name}"))
}

/// Compares an interface with an earlier one.
pub(super) fn compare(earlier: &[String], now: &[String]) -> Verdict {
    if version(earlier) != version(now) {
        return Verdict::NewVersion;
    }
    let lacking = |of: &[String], from: &[String]| -> Vec<String> {
        of.iter().filter(|line| !from.contains(line)).cloned().collect()
    };
    let (mut gone, added) = (lacking(earlier, now), lacking(now, earlier));
    gone.retain(|line| !added.iter().any(|longer| is_extension(line, longer)));
    if !gone.is_empty() {
        Verdict::Incompatible(gone)
    } else if !added.is_empty() {
        Verdict::Compatible(added)
    } else {
        Verdict::Same
    }
}
