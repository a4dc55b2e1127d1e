//! Advice for files that hold no fingerprints, by their first bytes.

use hamdex_documents::problems::FileSort;

/// Returns the advice for a sort of file, as the end of a sentence.
pub(crate) fn advice(sort: FileSort) -> String {
    match sort {
        FileSort::Compressed(program) => format!("decompress it first: {program} -dc FILE | hamdex …"),
        FileSort::Archive => "unpack it, and name the files in it".to_owned(),
        FileSort::Index => "its fingerprints are printed by: hamdex dump FILE --fingerprints".to_owned(),
        FileSort::Names => "it belongs to the index whose name it has without .ids".to_owned(),
        FileSort::Data => "write its fingerprints as Parquet, CSV, .npy or a text line each".to_owned(),
        FileSort::Pointer => "download it, as with git lfs pull".to_owned(),
        _ => "name a file of fingerprints".to_owned(),
    }
}
