//! Files that are known by their first bytes and hold no raw fingerprints. Raw numbers have no mark of
//! their own, so whatever has one is not taken for them.

/// What to do with a file that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// There are no fingerprints in it.
    WrongFile,
    /// Decompress it with this program.
    Decompress(&'static str),
    /// Take the files out of it.
    Unpack,
    /// It is an index.
    DumpIndex,
    /// It belongs to an index.
    NameIndex,
    /// Write its fingerprints in a format that is read.
    Export,
}

impl Advice {
    /// The advice as the end of a sentence.
    pub(crate) fn text(self) -> String {
        match self {
            Self::WrongFile => "name a file of fingerprints".to_owned(),
            Self::Decompress(program) => format!("decompress it first: {program} -dc FILE | hamdex …"),
            Self::Unpack => "unpack it, and name the files in it".to_owned(),
            Self::DumpIndex => "its fingerprints are printed by: hamdex dump FILE --fingerprints".to_owned(),
            Self::NameIndex => "it belongs to the index whose name it has without .ids".to_owned(),
            Self::Export => "write its fingerprints as Parquet, CSV, .npy or a text line each".to_owned(),
        }
    }
}

/// A kind of file.
pub(crate) struct Kind {
    /// With its article.
    pub(crate) name: &'static str,
    pub(crate) advice: Advice,
}

/// Name, advice, where the mark is in the file, and the mark.
type Row = (&'static str, Advice, usize, &'static [u8]);

const MARKS: &[Row] = &[
    ("a hamdex index", Advice::DumpIndex, 0, b"\x89HDX\r\n\x1a\n"),
    ("the file of names beside a hamdex index", Advice::NameIndex, 0, b"\x89HDXID\r\n"),
    ("an ELF executable", Advice::WrongFile, 0, b"\x7fELF"),
    ("a Mach-O executable", Advice::WrongFile, 0, b"\xcf\xfa\xed\xfe"),
    ("a Mach-O executable", Advice::WrongFile, 0, b"\xce\xfa\xed\xfe"),
    ("a Mach-O executable", Advice::WrongFile, 0, b"\xfe\xed\xfa\xcf"),
    ("a Mach-O executable", Advice::WrongFile, 0, b"\xfe\xed\xfa\xce"),
    ("a Java class or Mach-O executable", Advice::WrongFile, 0, b"\xca\xfe\xba\xbe"),
    ("a WebAssembly module", Advice::WrongFile, 0, b"\0asm"),
    ("a library archive", Advice::WrongFile, 0, b"!<arch>\n"),
    ("an xz file", Advice::Decompress("xz"), 0, b"\xfd7zXZ\0"),
    ("an lz4 file", Advice::Decompress("lz4"), 0, b"\x04\x22\x4d\x18"),
    ("an lzip file", Advice::Decompress("lzip"), 0, b"LZIP"),
    ("a ZIP archive", Advice::Unpack, 0, b"PK\x03\x04"),
    ("a ZIP archive", Advice::Unpack, 0, b"PK\x05\x06"),
    ("a 7-Zip archive", Advice::Unpack, 0, b"7z\xbc\xaf\x27\x1c"),
    ("a RAR archive", Advice::Unpack, 0, b"Rar!\x1a\x07"),
    ("a tar archive", Advice::Unpack, 257, b"ustar"),
    ("an Avro file", Advice::Export, 0, b"Obj\x01"),
    ("an HDF5 file", Advice::Export, 0, b"\x89HDF\r\n\x1a\n"),
    ("an SQLite database", Advice::Export, 0, b"SQLite format 3\0"),
    ("a Python pickle", Advice::Export, 0, b"\x80\x03c"),
    ("a Python pickle", Advice::Export, 0, b"\x80\x04\x95"),
    ("a Python pickle", Advice::Export, 0, b"\x80\x05\x95"),
    ("a PDF document", Advice::WrongFile, 0, b"%PDF-"),
    ("a PostScript document", Advice::WrongFile, 0, b"%!PS-"),
    ("a PNG picture", Advice::WrongFile, 0, b"\x89PNG\r\n\x1a\n"),
    ("a JPEG picture", Advice::WrongFile, 0, b"\xff\xd8\xff"),
    ("a GIF picture", Advice::WrongFile, 0, b"GIF8"),
    ("a RIFF file", Advice::WrongFile, 0, b"RIFF"),
    ("an Ogg file", Advice::WrongFile, 0, b"OggS"),
    ("a FLAC file", Advice::WrongFile, 0, b"fLaC"),
    ("an MP4 file", Advice::WrongFile, 4, b"ftyp"),
];

/// What the file is, if its first bytes say so. Marks of two bytes are not enough: one file of raw
/// numbers in 65,536 begins with them.
pub(crate) fn kind(start: &[u8]) -> Option<Kind> {
    let marked =
        MARKS.iter().find(|(_, _, at, mark)| start.get(*at..).is_some_and(|rest| rest.starts_with(mark)));
    if let Some((name, advice, ..)) = marked {
        return Some(Kind { name, advice: *advice });
    }
    if is_windows_executable(start) {
        return Some(Kind { name: "a Windows executable", advice: Advice::WrongFile });
    }
    is_bzip2(start).then_some(Kind { name: "a bzip2 file", advice: Advice::Decompress("bzip2") })
}

/// `MZ`, and where byte 60 points, `PE`.
fn is_windows_executable(start: &[u8]) -> bool {
    let Some(pointer) = start.get(60..64).filter(|_| start.starts_with(b"MZ")) else { return false };
    let at = u32::from_le_bytes(pointer.try_into().expect("four bytes")) as usize;
    start.get(at..).is_some_and(|rest| rest.starts_with(b"PE\0\0"))
}

/// `BZh`, a level, and the start of a block or the end of the stream.
fn is_bzip2(start: &[u8]) -> bool {
    let blocks: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];
    start.starts_with(b"BZh") && start.get(4..10).is_some_and(|mark| blocks.contains(&mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_marks() {
        let name = |start: &[u8]| kind(start).map(|kind| kind.name);
        assert_eq!(name(b"\x7fELF\x02\x01\x01\0"), Some("an ELF executable"));
        assert_eq!(name(b"BZh91AY&SY...."), Some("a bzip2 file"));
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
            assert!(kind(start).is_none(), "{start:?}");
        }
    }
}
