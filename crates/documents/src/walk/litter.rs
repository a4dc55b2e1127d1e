//! Files of a directory or archive that are not documents by their names, as other readers skip them.
//!
//! - Names that begin with `_` or `.`, also of folders (`_SUCCESS`, `.crc`, `.git`), as in Spark, Hive and Arrow. The
//!   folder of a partition, `_date=2024-01-01`, is none of them.
//! - Next to tables, files that are not tables (`README.md`), and a file that is one object of JSON without a text next to
//!   tables of other formats (`state.json`). A directory is one of tables if these are most of its bytes. A file is a
//!   table there by its extension, by one in front of an unknown one (`part.jsonl.tmp`), or by its start
//!   ([`recognition::table_of`]).

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use ignore::overrides::Override;

use crate::error::Error;
use crate::format::{FileSort, Format};
use crate::input::Input;
use crate::input::source::inner_name;
use crate::parsers;
use crate::problem::SomeNames;
use crate::read::options::{Documents, Selection};
use crate::read::recognition;

/// Extensions of files that say something about a table whose name they have in front: checksums, signatures, locks.
const ABOUT: [&str; 12] =
    ["crc", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "asc", "sig", "dvc", "lock", "license"];

/// Globs that include hidden files, since they include all.
const ALL: [&str; 3] = ["*", "**", "**/*"];

/// Knows which files of a directory or archive are not documents.
pub(crate) struct Litter {
    root: PathBuf,
    /// Globs that name hidden files.
    shown: Override,
    /// Whether the caller chose the files or their format, so that only hidden ones are left out.
    is_chosen: bool,
    table_bytes: u64,
    other_bytes: u64,
    /// Whether there are tables that are not JSON.
    has_pure_tables: bool,
    names: SomeNames,
}

impl Litter {
    /// Creates the rule of a directory or archive.
    pub(crate) fn of(root: &Path, documents: &Documents) -> Result<Self, Error> {
        let Selection { included, .. } = &documents.selection;
        let names_hidden =
            |glob: &&String| ALL.contains(&glob.as_str()) || glob.split(['/', '{', ',', '}']).any(is_hidden);
        let shown = included.iter().filter(names_hidden).cloned().collect();
        let shown = Selection { included: shown, ..Selection::default() };
        Ok(Self {
            root: root.to_owned(),
            shown: shown.globs(root)?,
            is_chosen: documents.format.is_some() || !included.is_empty(),
            table_bytes: 0,
            other_bytes: 0,
            has_pure_tables: false,
            names: SomeNames::default(),
        })
    }

    /// Adds a file to those by which a directory of tables is known. Archives and pictures do not count.
    pub(crate) fn weigh(&mut self, path: &Path, bytes: u64) {
        if self.hidden_part(path).is_some() {
            return;
        }
        match Format::of_name(&telling_name(path)) {
            Some(format) if format.has_rows() => {
                self.table_bytes += bytes;
                self.has_pure_tables |= format != Format::Json;
            }
            Some(_) => self.other_bytes += bytes,
            None if path.extension().is_none() => self.other_bytes += bytes,
            None => {}
        }
    }

    /// Returns whether a file is hidden.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.hidden_part(path).is_some()
    }

    /// Returns whether a file is hidden, and counts it.
    pub(crate) fn takes_hidden(&mut self, path: &Path) -> bool {
        let Some(part) = self.hidden_part(path) else { return false };
        self.names.add(&part);
        true
    }

    /// Returns the format of a table that only its neighbours show to be one.
    pub(crate) fn table_format(&self, path: &Path, input: &Input, documents: &Documents) -> Option<Format> {
        if documents.format.is_some() || !self.is_of_tables() || input.format() != Format::Text {
            return None;
        }
        let name = telling_name(path);
        if name == inner_name(path) {
            return recognition::table_of(input, documents);
        }
        Some(Format::detect(&name, input.start().0)).filter(|format| format.has_rows())
    }

    /// Returns whether a file that is one object without a text can be a program's state: there are others than JSON.
    pub(crate) fn has_other_sorts(&self) -> bool {
        self.has_pure_tables || !self.is_of_tables()
    }

    /// Returns whether a file is not a table next to tables, and counts it.
    pub(crate) fn takes(
        &mut self,
        path: &Path,
        input: &Input,
        format: Format,
        documents: &Documents,
    ) -> bool {
        let is_litter = !self.is_chosen
            && self.is_of_tables()
            && (!format.has_rows()
                || (format == Format::Json || input.format() == Format::Text)
                    && self.has_pure_tables
                    && parsers::is_object_without_text(input, documents));
        if is_litter {
            let inner = path.strip_prefix(&self.root).unwrap_or(path);
            self.names.add(&inner.display().to_string());
        }
        is_litter
    }

    /// Returns whether tables are most of the bytes.
    pub(crate) fn is_of_tables(&self) -> bool {
        self.table_bytes > self.other_bytes
    }

    /// Returns the format of a file next to tables that has the extension of Parquet or Arrow and is text.
    pub(crate) fn lost_table(&self, path: &Path, format: Format, documents: &Documents) -> Option<Format> {
        let named = Format::of_name(&telling_name(path)).filter(|named| named.is_columnar())?;
        let is_lost = self.is_of_tables() && documents.format.is_none() && format == Format::Text;
        is_lost.then_some(named)
    }

    /// Returns whether a file that is not read should hold documents: by its extension, also in front of an unknown one
    /// (`part.jsonl.Z`), by the format given, or by the tables next to it. `sort` is the sort of its first bytes, if
    /// they are known.
    pub(crate) fn holds_documents(&self, path: &Path, documents: &Documents, sort: Option<FileSort>) -> bool {
        if Format::of_name(&telling_name(path)).is_some() {
            return true;
        }
        let has_neighbours = inner_name(path).extension().is_none() && self.is_of_tables();
        match sort {
            // Pictures and programs.
            Some(FileSort::Other) => false,
            Some(FileSort::Pages) => true,
            Some(FileSort::Compressed(_) | FileSort::Data | FileSort::Archive) if self.is_of_tables() => true,
            _ => documents.format.is_some() || has_neighbours,
        }
    }

    /// Returns the names of all that were left out.
    pub(crate) fn into_names(self) -> SomeNames {
        self.names
    }

    /// Returns the path up to the first hidden name below the root, unless a glob names the file.
    fn hidden_part(&self, path: &Path) -> Option<String> {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let mut part = PathBuf::new();
        for component in inner.components() {
            let Component::Normal(name) = component else { continue };
            part.push(name);
            if is_hidden(&name.to_string_lossy()) {
                let is_shown = self.shown.matched(path, false).is_whitelist();
                return (!is_shown).then(|| part.display().to_string());
            }
        }
        None
    }
}

/// Returns the name whose extension tells the format: without the extension of a compressed file, and without an unknown
/// one behind that of a format.
fn telling_name(path: &Path) -> PathBuf {
    let inner = inner_name(path);
    let is_about = |ending: &OsStr| ABOUT.iter().any(|about| ending.eq_ignore_ascii_case(about));
    if Format::of_name(&inner).is_some() || inner.extension().is_none_or(is_about) {
        return inner;
    }
    let name = inner_name(&inner.with_extension(""));
    if Format::of_name(&name).is_some() { name } else { inner }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && name != "." && name != ".." || name.starts_with('_') && !name.contains('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(documents: &Documents, path: &str) -> Option<String> {
        Litter::of(Path::new("/root/_a"), documents).unwrap().hidden_part(&Path::new("/root/_a").join(path))
    }

    #[test]
    fn names_of_other_programs_are_hidden_and_partitions_are_not() {
        let documents = Documents::from_paths(["/root/_a"]);
        for (path, part) in [
            ("_SUCCESS", Some("_SUCCESS")),
            ("b/.c/d.jsonl", Some("b/.c")),
            ("_date=2024-01-01/d.jsonl", None),
            ("b/d_e.f.jsonl", None),
        ] {
            assert_eq!(hidden(&documents, path).as_deref(), part, "{path}");
        }
    }

    #[test]
    fn an_extension_in_front_of_an_unknown_one_tells_the_format() {
        for (name, telling) in [
            ("a/b.jsonl.tmp", "a/b.jsonl"),
            ("b.CSV.Z", "b.CSV"),
            ("b.jsonl.gz.part", "b.jsonl"),
            ("b.jsonl.tmp.gz", "b.jsonl"),
            ("b.jsonl.SHA256", "b.jsonl.SHA256"),
            ("b.csv.md", "b.csv.md"),
            ("b.tar.x", "b.tar.x"),
            ("b", "b"),
        ] {
            assert_eq!(telling_name(Path::new(name)), Path::new(telling), "{name}");
        }
    }

    #[test]
    fn a_glob_shows_the_hidden_files_that_it_names() {
        for (glob, path, is_hidden) in [
            ("*.jsonl", "_temporary/a.jsonl", true),
            ("*", "_temporary/a.jsonl", false),
            ("_posts/**", "_posts/a.md", false),
            ("{_a,_posts}/**", "_posts/a.md", false),
            ("_posts/**", ".git/a.md", true),
            (".env", "b/.env", false),
        ] {
            let documents = Documents::from_paths(["/root/_a"]).include([glob]);
            assert_eq!(hidden(&documents, path).is_some(), is_hidden, "{glob} {path}");
        }
    }
}
