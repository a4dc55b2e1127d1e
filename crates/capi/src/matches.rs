//! Results.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ffi::c_char;
use std::ptr;

use hamdex::Match;
use hamdex::set::{Description, MatchIds};
use hamdex_any::{AnyFingerprint, AnyMatch, AnySet};

use crate::edge::{Caller, Kind, Shell, kind};
use crate::options::{HAMDEX_IDS, HAMDEX_NAMES, check_flags};
use crate::records::{MAX_BYTES, to_bytes};
use crate::status::{Failure, hamdex_status};

/// The answers to one query or several, in columns. Everything in it belongs to the library and is read only.
///
/// The matches of query q are those from `query_starts[q]` up to `query_starts[q + 1]`, nearest first, then by
/// fingerprint. If ids were requested, the first ones of match m, ascending, are those from `id_starts[m]` up to
/// `id_starts[m + 1]`, of `id_counts[m]` that it has; if names were, that of id i are the bytes of `names` from
/// `name_starts[i]` up to `name_starts[i + 1]`.
#[repr(C)]
#[derive(Default)]
pub struct hamdex_matches {
    /// The number of queries.
    pub queries: u64,
    /// The number of matches.
    pub count: u64,
    /// The number of ids in `ids`.
    pub ids_count: u64,
    /// Where the matches of each query begin, and where those of the last end: `queries` + 1 numbers.
    pub query_starts: *const u64,
    /// The fingerprints of the matches, `fingerprint_bytes` bytes each, the most significant first.
    pub fingerprints: *const u8,
    /// The Hamming distance of each match to its query.
    pub distances: *const u32,
    /// Where the ids of each match begin, and where those of the last end: `count` + 1 numbers; null if no ids were
    /// requested.
    pub id_starts: *const u64,
    /// The number of all ids of each match, also of those beyond the limit of ids: `count` numbers; null if no ids were
    /// requested.
    pub id_counts: *const u64,
    /// The ids.
    pub ids: *const u64,
    /// The number of the part of the set that each id is stored in: of a shard; 0 in a set of one part. Parts of which
    /// ids have names number their ids independently.
    pub parts: *const u32,
    /// Where the name of each id begins, and where the last ends: `ids_count` + 1 numbers; null if no names were
    /// requested. Without names in the set, all are empty.
    pub name_starts: *const u64,
    /// The names.
    pub names: *const c_char,
    /// The bytes of a fingerprint.
    pub fingerprint_bytes: u32,
    /// Zero.
    pub reserved: u32,
}

/// The labels of matches that the caller wants.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wanted {
    #[default]
    Matches,
    Ids,
    Names,
}

impl Wanted {
    pub(crate) fn of_flags(flags: u32) -> Result<Self, Failure> {
        check_flags(flags, HAMDEX_IDS | HAMDEX_NAMES)?;
        Ok(if flags & HAMDEX_NAMES != 0 {
            Self::Names
        } else if flags & HAMDEX_IDS != 0 {
            Self::Ids
        } else {
            Self::Matches
        })
    }

    /// Everything that a set has.
    pub(crate) fn all_of(description: &Description) -> Self {
        match (description.has_ids, description.has_names) {
            (_, true) => Self::Names,
            (true, false) => Self::Ids,
            (false, false) => Self::Matches,
        }
    }
}

/// Appends a value to a column, if there is memory for it.
pub(crate) fn push<T>(column: &mut Vec<T>, value: T) -> Result<(), Failure> {
    column.try_reserve(1)?;
    column.push(value);
    Ok(())
}

/// Results as they are collected.
#[derive(Default)]
pub(crate) struct Columns {
    fingerprint_bytes: usize,
    wanted: Wanted,
    query_starts: Vec<u64>,
    fingerprints: Vec<u8>,
    distances: Vec<u32>,
    id_starts: Vec<u64>,
    id_counts: Vec<u64>,
    ids: Vec<u64>,
    parts: Vec<u32>,
    name_starts: Vec<u64>,
    names: Vec<u8>,
}

impl Columns {
    pub(crate) fn new(fingerprint_bytes: usize, wanted: Wanted) -> Self {
        let mut columns = Self { fingerprint_bytes, ..Self::default() };
        columns.clear(wanted);
        columns
    }

    /// Empties the columns, and keeps their memory.
    pub(crate) fn clear(&mut self, wanted: Wanted) {
        self.wanted = wanted;
        self.fingerprints.clear();
        self.distances.clear();
        self.query_starts.clear();
        self.query_starts.push(0);
        // Most queries ask for no ids, whose columns then stay as they were.
        if wanted != Wanted::Matches {
            self.ids.clear();
            self.id_counts.clear();
            self.parts.clear();
            self.names.clear();
            for starts in [&mut self.id_starts, &mut self.name_starts] {
                starts.clear();
                starts.push(0);
            }
        }
    }

    /// Adds matches of the present query.
    pub(crate) fn extend(&mut self, matches: impl ExactSizeIterator<Item = AnyMatch>) -> Result<(), Failure> {
        self.distances.try_reserve(matches.len())?;
        self.fingerprints.try_reserve(matches.len().saturating_mul(self.fingerprint_bytes))?;
        for found in matches {
            self.distances.push(found.distance);
            let bytes = to_bytes(found.fingerprint);
            self.fingerprints.extend_from_slice(&bytes[MAX_BYTES - self.fingerprint_bytes..]);
        }
        Ok(())
    }

    /// Ends the present query.
    pub(crate) fn end_query(&mut self) -> Result<(), Failure> {
        push(&mut self.query_starts, self.distances.len() as u64)
    }

    /// Adds the ids of the next match that has none yet.
    pub(crate) fn push_ids(&mut self, set: &AnySet, ids: MatchIds<'_>) -> Result<(), Failure> {
        let all = ids.all();
        for id in ids {
            let name = match self.wanted {
                Wanted::Names => set.name_of(id)?,
                _ => None,
            };
            self.push_id(id.id, id.part, &name.unwrap_or_default())?;
        }
        self.end_ids(all)
    }

    /// Adds an id of the next match that has none yet.
    pub(crate) fn push_id(&mut self, id: u64, part: usize, name: &[u8]) -> Result<(), Failure> {
        push(&mut self.ids, id)?;
        push(&mut self.parts, u32::try_from(part).unwrap_or(u32::MAX))?;
        if self.wanted == Wanted::Names {
            self.names.try_reserve(name.len())?;
            self.names.extend_from_slice(name);
            push(&mut self.name_starts, self.names.len() as u64)?;
        }
        Ok(())
    }

    /// Ends the ids of a match, which has `all` of them.
    pub(crate) fn end_ids(&mut self, all: u64) -> Result<(), Failure> {
        push(&mut self.id_starts, self.ids.len() as u64)?;
        push(&mut self.id_counts, all)
    }

    /// The structure that C reads, valid until the columns change.
    pub(crate) fn public(&self) -> hamdex_matches {
        let with_ids = |column: &Vec<u64>| match self.wanted {
            Wanted::Matches => ptr::null(),
            _ => column.as_ptr(),
        };
        hamdex_matches {
            queries: self.query_starts.len() as u64 - 1,
            count: self.distances.len() as u64,
            ids_count: if self.wanted == Wanted::Matches { 0 } else { self.ids.len() as u64 },
            query_starts: self.query_starts.as_ptr(),
            fingerprints: self.fingerprints.as_ptr(),
            distances: self.distances.as_ptr(),
            id_starts: with_ids(&self.id_starts),
            id_counts: with_ids(&self.id_counts),
            ids: self.ids.as_ptr(),
            parts: self.parts.as_ptr(),
            name_starts: if self.wanted == Wanted::Names { self.name_starts.as_ptr() } else { ptr::null() },
            names: self.names.as_ptr().cast(),
            fingerprint_bytes: self.fingerprint_bytes as u32,
            reserved: 0,
        }
    }
}

/// Results that C holds.
pub(crate) enum Held<C> {
    /// Freed by the caller.
    ByCaller { _columns: C },
    /// Those of the last query of a searcher, which has the columns.
    BySearcher,
}

/// Frees results of the caller.
///
/// # Errors
/// If they are no results of this type, freed already, or those of a searcher.
pub(crate) fn free<C>(caller: &Caller, results: *const <Held<C> as Kind>::Public) -> Result<(), Failure>
where
    Held<C>: Kind,
{
    if results.is_null() {
        return Ok(());
    }
    let belongs = || {
        let name = Held::<C>::NAME;
        Failure::misuse(format!("the {name} belong to a searcher, which frees them"))
    };
    let may_close = |held: &Held<C>| if matches!(held, Held::BySearcher) { Err(belongs()) } else { Ok(()) };
    caller.shell::<Held<C>>(results)?.close(may_close).map(drop)
}

kind!(Held<Columns>, hamdex_matches, "matches", b"hamdex M");

/// Gives results to the caller.
pub(crate) fn give(columns: Columns) -> *const hamdex_matches {
    let public = columns.public();
    let shell = Shell::new(Held::ByCaller { _columns: columns });
    shell.publish(public);
    shell.as_c()
}

/// A match of the engine, of whichever width.
pub(crate) fn widen<F: hamdex::Fingerprint>(found: &Match<F>) -> AnyMatch {
    AnyMatch { distance: found.distance, fingerprint: AnyFingerprint::of(found.fingerprint) }
}

/// Frees matches. Null is allowed. The matches of a searcher are refused: the searcher frees them.
///
/// Threads: any. No other call may use the matches meanwhile.
///
/// Errors: `HAMDEX_MISUSE` if they are no matches, were freed already, or belong to a searcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_matches_free(matches: *const hamdex_matches) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(ptr::null_mut()) }.run(|caller| free::<Columns>(caller, matches))
}
