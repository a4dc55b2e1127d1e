//! The evidence of a repair: all that is in the directory of a store.

use std::collections::BTreeMap;
use std::io;

use hamdex::{Fingerprint, Index, OpenOptions, Report, VerifyOptions, salvage};

use crate::disk::Disk;
use crate::disk::layout::{self, COPY, MANIFEST};
use crate::error::Error;
use crate::log::{HEADER_BYTES, Header, log_files, read_header};
use crate::maintenance::repair::report::{KeptReport, problem_of};
use crate::maintenance::repair::separate_damage;
use crate::manifest::identity::Identity;
use crate::manifest::{self, Manifest, SalvagedManifest, SegmentEntry};
use crate::segment::Segment;

/// Contents of the manifest and its copy.
pub(super) struct Texts {
    /// The manifest and its copy, each with its damage, if it has any.
    pub(super) read: [Result<Manifest, Error>; 2],
    /// The lines that they prove together; `None` if too little can be read.
    pub(super) salvaged: Option<SalvagedManifest>,
}

/// A file with the name of a segment.
#[derive(Debug, Clone)]
pub(super) struct SegmentFile {
    /// Its length.
    pub(super) bytes: u64,
    /// The file id in its first bytes.
    pub(super) file_id: Option<[u8; 16]>,
    /// Its entry as it describes itself, if it can be opened, perhaps mended.
    pub(super) entry: Option<SegmentEntry>,
    /// Whether it has ids, names, shingles and look-ups as the store has.
    pub(super) has_form: bool,
    /// Its greatest id with a name.
    pub(super) last_id: Option<u64>,
    /// Its damage; `None` if every byte is as it was written.
    pub(super) damage: Option<String>,
}

/// All that is in the directory of a store, apart from the contents of segments, removals and logs.
pub(super) struct Evidence {
    pub(super) texts: Texts,
    pub(super) segments: BTreeMap<u64, SegmentFile>,
    /// The numbers of the logs, by their headers and records.
    pub(super) logs: Vec<u64>,
    /// The greatest number by which a file of a log is named.
    pub(super) last_log_file: Option<u64>,
    /// The first sequence number by the header of the first log, if that is whole.
    pub(super) first_sequence: Option<u64>,
    /// The undelivered report of an earlier repair.
    pub(super) earlier: Option<KeptReport>,
}

/// Reads the manifest and its copy.
///
/// # Errors
/// When the operating system refuses an operation, or the version is newer.
pub(super) fn read_texts(disk: &dyn Disk) -> Result<Texts, Error> {
    let mut texts = Vec::new();
    for name in [MANIFEST, COPY] {
        let text = match disk.read_first(name, manifest::MAX_BYTES) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            text => separate_damage(text.map_err(Error::io("read it", disk.path(name))))?,
        };
        texts.push(text.unwrap_or_default());
    }
    let mut salvaged = manifest::salvage(&texts[0], &texts[1]);
    if let Some(found) = salvaged.as_mut().filter(|found| !found.is_store_proven) {
        let own = &mut found.manifest.identity;
        // A digit of the id may be wrong, and then nothing else would be taken for a part of the store.
        let of_log =
            identity_of_logs(disk)?.filter(|of_log| Identity { store: own.store, ..*of_log } == *own);
        *own = of_log.unwrap_or(*own);
    }
    let read = |name| separate_damage(manifest::read_named(disk, name));
    Ok(Texts { read: [read(MANIFEST)?, read(COPY)?], salvaged })
}

/// Returns the identity of the store by the first log whose header is whole.
fn identity_of_logs(disk: &dyn Disk) -> Result<Option<Identity>, Error> {
    for log in layout::listed(disk, layout::LOGS, layout::parse_log)? {
        let name = layout::log(log);
        let first = disk.read_first(&name, HEADER_BYTES).map_err(Error::io("read it", disk.path(&name)));
        if let Some(header) = separate_damage(first)?.ok().and_then(|first| Header::parse(&first).ok()) {
            return Ok(Some(header.identity));
        }
    }
    Ok(None)
}

impl Evidence {
    /// Reads everything. Every byte of every segment is checked.
    ///
    /// # Errors
    /// When the operating system refuses an operation; when it is cancelled.
    pub(super) fn gather<F: Fingerprint>(
        disk: &dyn Disk,
        texts: Texts,
        manifest: &Manifest,
        report: &Report,
    ) -> Result<Self, Error> {
        let earlier = KeptReport::read(disk)?;
        let mut segments = BTreeMap::new();
        for number in layout::listed(disk, layout::SEGMENTS, layout::parse_segment)? {
            segments.insert(number, SegmentFile::read::<F>(disk, manifest, number, report)?);
        }
        let identity = &manifest.identity;
        let found = log_files(disk, identity, manifest.first_log)?;
        let last_log_file = found.values().flatten().copied().max();
        let header = match found.values().next() {
            Some(files) => read_header(disk, identity, files[0])?,
            None => None,
        };
        let first_sequence = header.map(|header| header.first_sequence);
        let logs = found.into_keys().collect();
        Ok(Self { texts, segments, logs, last_log_file, first_sequence, earlier })
    }
}

impl Evidence {
    /// Returns the number from which on segments are those of an interrupted repair; `None` if there was none, or there
    /// is a manifest of its generation.
    pub(super) fn first_own_segment(&self) -> Option<u64> {
        let generation = self.texts.salvaged.as_ref().map_or(0, |salvaged| salvaged.manifest.generation);
        let interrupted = self.earlier.as_ref().filter(|earlier| earlier.generation > generation);
        interrupted.map(|earlier| earlier.first_segment)
    }

    /// Whether a segment is one of an interrupted repair.
    pub(super) fn is_own_segment(&self, number: u64) -> bool {
        self.first_own_segment().is_some_and(|first| number >= first)
    }

    /// Whether a name is that of a file of an interrupted repair.
    pub(super) fn is_own(&self, name: &str) -> bool {
        let number = name.strip_prefix("segments/").and_then(layout::parse_segment);
        number.is_some_and(|number| self.is_own_segment(number))
    }
}

impl SegmentFile {
    fn read<F: Fingerprint>(
        disk: &dyn Disk,
        manifest: &Manifest,
        number: u64,
        report: &Report,
    ) -> Result<Self, Error> {
        let name = layout::segment(number);
        let path = disk.path(&name);
        let bytes = disk.length(&name).map_err(Error::io("read it", &path))?;
        let file_id = separate_damage(layout::file_id(disk, &name).map_err(Error::io("read it", &path)))?;
        let file_id = file_id.ok().flatten();
        let mut found = Self { bytes, file_id, entry: None, has_form: false, last_id: None, damage: None };
        let damage = match separate_damage(Segment::<F>::open(disk, number))? {
            Ok(segment) => {
                let index = &segment.index;
                found.describe(manifest, number, index);
                let options = VerifyOptions::new().report_to(report.clone());
                separate_damage(index.verify_with(&options).map_err(Error::from))?.err()
            }
            Err(damage) => {
                if let Some(index) =
                    file_id.map(|id| map_mended::<F>(disk, number, bytes, id)).transpose()?.flatten()
                {
                    found.describe(manifest, number, &index);
                }
                Some(damage)
            }
        };
        found.damage = damage.map(|damage| problem_of(&damage));
        Ok(found)
    }

    fn describe<F: Fingerprint>(&mut self, manifest: &Manifest, number: u64, index: &Index<F>) {
        let identity = &manifest.identity;
        self.has_form = index.has_ids() == identity.has_ids
            && index.has_names() == identity.has_names
            && index.has_shingles() == identity.has_shingles
            && index.has_lookups() >= manifest.lookups;
        self.last_id = index.names().ok().flatten().and_then(|names| names.last_id().ok().flatten());
        self.entry = Some(SegmentEntry {
            number,
            file_id: index.file_id().to_bytes(),
            bytes: self.bytes,
            fingerprints: index.len(),
            pairs: index.place_count(),
            level: 0,
            born: 0,
            applied: 0,
            removals: None,
        });
    }

    /// Whether it is the file of an entry, by its file id, its length and its counts.
    pub(super) fn is_file_of(&self, entry: &SegmentEntry) -> bool {
        self.entry.as_ref().is_some_and(|own| {
            let counts = |entry: &SegmentEntry| (entry.file_id, entry.bytes, entry.fingerprints, entry.pairs);
            counts(own) == counts(entry)
        })
    }
}

/// Opens a damaged segment, if possible: a copy in memory that is mended with its length and its file id.
pub(super) fn map_mended<F: Fingerprint>(
    disk: &dyn Disk,
    number: u64,
    bytes: u64,
    file_id: [u8; 16],
) -> Result<Option<Index<F>>, Error> {
    let name = layout::segment(number);
    let path = disk.path(&name);
    let mend = &mut |data: &mut [u8]| salvage::mend::<F>(data, file_id);
    let mapped = separate_damage(disk.map_changed(&name, bytes, mend).map_err(Error::io("map it", &path)))?;
    let Ok(data) = mapped else { return Ok(None) };
    let index = separate_damage(OpenOptions::new().from_mapping::<F>(data, &path).map_err(Error::Read))?.ok();
    Ok(index.filter(|index| index.file_id().to_bytes() == file_id))
}
