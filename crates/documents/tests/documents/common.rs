//! Helpers of the tests: a temporary directory, and the documents read from it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hamdex_documents::{Counts, Documents, Error};

pub(crate) struct Scratch(tempfile::TempDir);

/// The documents read, and their counts.
#[derive(Debug)]
pub(crate) struct Read {
    /// Ids and texts.
    pub(crate) documents: Vec<(String, String)>,
    pub(crate) counts: Counts,
    /// Problems with their places, below the directory of the test.
    pub(crate) notices: Vec<String>,
}

impl Read {
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.documents.iter().map(|(id, _)| id.as_str()).collect()
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        self.documents.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and the directories in which it lies.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// Text with the directory of the test taken out.
    pub(crate) fn shown(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }

    pub(crate) fn documents(&self, names: &[&str]) -> Documents {
        Documents::from_paths(names.iter().map(|name| self.path(name)))
    }

    pub(crate) fn try_read(&self, documents: Documents) -> Result<Read, String> {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&notices);
        let documents = documents.on_notice(move |notice| {
            noted.lock().unwrap().push(format!("{}: {}", notice.place, notice.problem));
        });
        let mut found = Vec::new();
        let outcome = documents.read(|document| {
            found.push((self.shown(&document.id), document.text));
            Ok::<(), Error>(())
        });
        let notices = notices.lock().unwrap().iter().map(|notice| self.shown(notice)).collect();
        match outcome {
            Ok(counts) => Ok(Read { documents: found, counts, notices }),
            Err(error) => Err(self.shown(&error.to_string())),
        }
    }

    pub(crate) fn read(&self, documents: Documents) -> Read {
        self.try_read(documents).unwrap()
    }

    /// Reads one file as it is.
    pub(crate) fn read_file(&self, name: &str) -> Read {
        self.read(self.documents(&[name]))
    }

    /// The error with which one file is refused.
    pub(crate) fn refusal(&self, name: &str) -> String {
        self.try_read(self.documents(&[name])).unwrap_err()
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zip archive of these files.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, contents) in files {
        let method = rawzip::CompressionMethod::DEFLATE;
        let (mut entry, config) = archive.new_file(name).compression_method(method).start().unwrap();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(contents).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

/// A tar archive of these files.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, contents) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(contents.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *contents).unwrap();
    }
    archive.into_inner().unwrap()
}
