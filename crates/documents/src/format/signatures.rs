//! Signatures: kinds of files, known by their first bytes, that are not read as fingerprints or documents.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The category of a file that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSort {
    /// Neither text nor data: a program, a picture, audio.
    Other,
    /// Compressed data, decompressed by this program.
    Compressed(&'static str),
    /// An archive of other files.
    Archive,
    /// An index.
    Index,
    /// The names of an index.
    Names,
    /// Data in an unsupported format.
    Data,
    /// A text in an unsupported format.
    Document,
    /// A text in place of data that was not downloaded.
    Pointer,
    /// Web pages in an unsupported format.
    Pages,
}

/// A kind of file that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileKind {
    /// Its name, with its article.
    pub name: &'static str,
    /// Its category.
    pub sort: FileSort,
}

/// Name, category, offset of the signature, and the signature.
type Row = (&'static str, FileSort, usize, &'static [u8]);

const OLD_ARCHIVE: FileKind = FileKind { name: "a web archive of the old format ARC", sort: FileSort::Pages };

/// The first bytes of the manifests of stores and sets of shards (`store-spec.md`, `shards-spec.md`).
const STORE_MANIFEST: &[u8] = b"{\"hamdex_store\":";
const SHARDS_MANIFEST: &[u8] = b"{\"hamdex_shards\":";

/// The first bytes of the file in a copy of a store that is not whole yet (`store-spec.md`).
const UNFINISHED_COPY: &[u8] = b"this copy of a store";

const MARKS: &[Row] = &[
    ("a hamdex index", FileSort::Index, 0, b"\x89HDX\r\n\x1a\n"),
    ("the names file of a hamdex index", FileSort::Names, 0, b"\x89HDXID\r\n"),
    ("an ELF executable", FileSort::Other, 0, b"\x7fELF"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xcf\xfa\xed\xfe"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xce\xfa\xed\xfe"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xfe\xed\xfa\xcf"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xfe\xed\xfa\xce"),
    ("a Java class or Mach-O executable", FileSort::Other, 0, b"\xca\xfe\xba\xbe"),
    ("a WebAssembly module", FileSort::Other, 0, b"\0asm"),
    ("a library archive", FileSort::Other, 0, b"!<arch>\n"),
    ("an lzip file", FileSort::Compressed("lzip"), 0, b"LZIP"),
    ("a ZIP archive", FileSort::Archive, 0, b"PK\x03\x04"),
    ("a ZIP archive", FileSort::Archive, 0, b"PK\x05\x06"),
    ("a 7-Zip archive", FileSort::Archive, 0, b"7z\xbc\xaf\x27\x1c"),
    ("a RAR archive", FileSort::Archive, 0, b"Rar!\x1a\x07"),
    ("a tar archive", FileSort::Archive, 257, b"ustar"),
    ("an Avro file", FileSort::Data, 0, b"Obj\x01"),
    ("an HDF5 file", FileSort::Data, 0, b"\x89HDF\r\n\x1a\n"),
    ("an SQLite database", FileSort::Data, 0, b"SQLite format 3\0"),
    ("a Python pickle", FileSort::Data, 0, b"\x80\x03c"),
    ("a Python pickle", FileSort::Data, 0, b"\x80\x04\x95"),
    ("a Python pickle", FileSort::Data, 0, b"\x80\x05\x95"),
    ("a PDF document", FileSort::Document, 0, b"%PDF-"),
    ("a PostScript document", FileSort::Document, 0, b"%!PS-"),
    ("an RTF document", FileSort::Document, 0, b"{\\rtf"),
    ("an old Office document", FileSort::Document, 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ("a Feather file of version 1", FileSort::Data, 0, b"FEA1"),
    (OLD_ARCHIVE.name, OLD_ARCHIVE.sort, 0, b"filedesc://"),
    ("a pointer of Git LFS", FileSort::Pointer, 0, b"version https://git-lfs.github.com/spec/"),
    ("a PNG picture", FileSort::Other, 0, b"\x89PNG\r\n\x1a\n"),
    ("a JPEG picture", FileSort::Other, 0, b"\xff\xd8\xff"),
    ("a GIF picture", FileSort::Other, 0, b"GIF8"),
    ("a RIFF file", FileSort::Other, 0, b"RIFF"),
    ("an Ogg file", FileSort::Other, 0, b"OggS"),
    ("a FLAC file", FileSort::Other, 0, b"fLaC"),
    ("an MP4 file", FileSort::Other, 4, b"ftyp"),
];

/// Returns the kind of a file if its first bytes have a known signature. Signatures of two bytes are not used: one
/// file of raw numbers in 65,536 begins with them.
#[must_use]
pub fn kind_of_file(start: &[u8]) -> Option<FileKind> {
    let marked =
        MARKS.iter().find(|(_, _, at, mark)| start.get(*at..).is_some_and(|rest| rest.starts_with(mark)));
    match marked {
        Some((name, sort, ..)) => Some(FileKind { name, sort: *sort }),
        None => is_windows_executable(start)
            .then_some(FileKind { name: "a Windows executable", sort: FileSort::Other }),
    }
}

/// Returns the kind of a directory that is a store or a set of shards, whose files are not documents.
pub(crate) fn kind_of_directory(directory: &Path) -> Option<FileKind> {
    let starts_with = |name: &str, mark: &[u8]| {
        let (mut start, path) = (Vec::new(), directory.join(name));
        // Opening a pipe would wait for a writer.
        if !path.symlink_metadata().is_ok_and(|file| file.is_file()) {
            return false;
        }
        let read = File::open(path).and_then(|file| file.take(mark.len() as u64).read_to_end(&mut start));
        read.is_ok() && start == mark
    };
    let has = |mark: &[u8]| ["manifest", "manifest.copy"].iter().any(|name| starts_with(name, mark));
    let sort = FileSort::Index;
    if has(STORE_MANIFEST) {
        return Some(FileKind { name: "a hamdex store", sort });
    }
    if starts_with("backup.new", UNFINISHED_COPY) {
        return Some(FileKind { name: "an unfinished copy of a hamdex store", sort });
    }
    has(SHARDS_MANIFEST).then_some(FileKind { name: "a set of hamdex shards", sort })
}

/// Returns the kind of an unsupported file by the extension of its name.
pub(crate) fn kind_of_name(name: &Path) -> Option<FileKind> {
    let is_archive = name.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("arc"));
    is_archive.then_some(OLD_ARCHIVE)
}

/// Returns whether a file starts with `MZ` and has `PE` at the offset given by byte 60.
fn is_windows_executable(start: &[u8]) -> bool {
    let Some(pointer) = start.get(60..64).filter(|_| start.starts_with(b"MZ")) else { return false };
    let at = u32::from_le_bytes(pointer.try_into().expect("four bytes")) as usize;
    start.get(at..).is_some_and(|rest| rest.starts_with(b"PE\0\0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_marks() {
        let name = |start: &[u8]| kind_of_file(start).map(|kind| kind.name);
        assert_eq!(name(b"\x7fELF\x02\x01\x01\0"), Some("an ELF executable"));
        assert_eq!(name(b"%PDF-1.7\n%"), Some("a PDF document"));
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(name(&tar), Some("a tar archive"));
        let mut windows = vec![0; 256];
        windows[..2].copy_from_slice(b"MZ");
        windows[60] = 128;
        windows[128..132].copy_from_slice(b"PE\0\0");
        assert_eq!(name(&windows), Some("a Windows executable"));
    }

    #[test]
    fn raw_numbers_are_not_taken_for_them() {
        for start in [&b""[..], b"MZ\x90\0\x03\0\0\0", b"BZh9\0\0\0\0\0\0\0\0", b"BM\0\0\0\0\0\0"] {
            assert!(kind_of_file(start).is_none(), "{start:?}");
        }
    }
}
