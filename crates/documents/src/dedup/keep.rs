//! Texts and lines of documents, kept on disk.

use std::path::Path;

use crate::dedup::spool::{Spool, Spooled};
use crate::document::Document;
use crate::error::Error;
use crate::rows::cell::{Cell, write_json};

/// Keeps texts and lines while documents are read.
pub(crate) struct Keep {
    pub(crate) texts: Option<Spool>,
    /// Lines of JSON, and the names of id and text for documents that have none.
    pub(crate) lines: Option<(Spool, [String; 2])>,
}

/// The kept texts and lines.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) texts: Option<Spooled>,
    pub(crate) lines: Option<Spooled>,
}

impl Keep {
    pub(crate) fn new(texts: bool, lines: Option<[String; 2]>, directory: &Path) -> Result<Self, Error> {
        Ok(Self {
            texts: texts.then(|| Spool::new(directory)).transpose()?,
            lines: lines.map(|names| Ok::<_, Error>((Spool::new(directory)?, names))).transpose()?,
        })
    }

    pub(crate) fn push(&mut self, document: &Document) -> Result<(), Error> {
        if let Some(texts) = &mut self.texts {
            texts.push(&document.text)?;
        }
        let Some((lines, names)) = &mut self.lines else { return Ok(()) };
        match &document.line {
            Some(line) => lines.push(line),
            None => lines.push(&line_of(document, names)),
        }
    }

    pub(crate) fn finish(self) -> Result<Kept, Error> {
        let texts = self.texts.map(Spool::finish).transpose()?;
        let lines = self.lines.map(|(lines, _)| lines.finish()).transpose()?;
        Ok(Kept { texts, lines })
    }
}

/// Returns a document as a line of JSON.
fn line_of(document: &Document, names: &[String; 2]) -> String {
    let mut line = Vec::new();
    write_json(&mut line, names, &[Cell::Text(&document.id), Cell::Text(&document.text)])
        .expect("memory takes what is written");
    String::from_utf8_lossy(&line).trim_end().to_owned()
}
