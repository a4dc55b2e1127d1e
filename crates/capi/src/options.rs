//! Options, as C gives them.

use std::ffi::c_void;
use std::mem::offset_of;

use hamdex::{BatchOptions, PairsOptions, Report, VerifyOptions};

use crate::edge::{Caller, Reporter, Versioned, hamdex_progress};
use crate::status::Failure;

/// Read files into memory, in huge pages if the system has them, instead of mapping them: for `hamdex_open` and
/// `hamdex_store_options`.
pub const HAMDEX_IN_MEMORY: u32 = 1;
/// Expect the files to be larger than memory, and read from them only what queries need: for `hamdex_open`.
pub const HAMDEX_LARGER_THAN_MEMORY: u32 = 2;
/// Leave keys and filters in the mapped file, where all processes that map it share them, instead of copying them: for
/// `hamdex_open`.
pub const HAMDEX_MAP_KEYS: u32 = 4;

/// Return the first ids of each match, 10 unless another limit is set, and the number of all: for queries.
pub const HAMDEX_IDS: u32 = 1;
/// Return the first ids of each match as for `HAMDEX_IDS`, and their names: for queries.
pub const HAMDEX_NAMES: u32 = 2;
/// No limit of ids, for `hamdex_searcher_set_ids_limit` and `hamdex_work`.
pub const HAMDEX_ALL_IDS: u64 = u64::MAX;

/// The most ids of a match where no limit is set: a fingerprint may have very many.
const DEFAULT_IDS: usize = 10;

/// Options of long work. All zero but `size` are the defaults, as is a null pointer to them.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct hamdex_work {
    /// `sizeof(hamdex_work)`.
    pub size: usize,
    /// The memory limit, in bytes; 0 for the default.
    pub memory: u64,
    /// The most threads; 0 for one per processor.
    pub threads: u32,
    /// Zero.
    pub reserved: u32,
    /// A callback, or null.
    pub progress: hamdex_progress,
    /// Its context.
    pub context: *mut c_void,
    /// The most ids of each match of a batch; 0 for 10, `HAMDEX_ALL_IDS` for all.
    pub ids_limit: u64,
}

// SAFETY: numbers, pointers and a callback, all of which may be zero.
#[expect(unsafe_code, reason = "a promise about the structure")]
unsafe impl Versioned for hamdex_work {
    const LEAST_SIZE: usize = offset_of!(Self, ids_limit);
}

/// Options of long work, checked.
pub(crate) struct Work {
    memory: Option<u64>,
    threads: usize,
    reporter: Option<Reporter>,
    ids_limit: usize,
}

/// Applies the options that most kinds of long work have.
macro_rules! apply {
    ($work:expr, $options:expr) => {{
        let options = $options.threads($work.threads).report_to($work.report());
        match $work.memory {
            Some(memory) => options.memory(memory),
            None => options,
        }
    }};
}

impl Work {
    pub(crate) fn of(caller: &Caller, given: *const hamdex_work) -> Result<Self, Failure> {
        let given = caller.options("the structure of options of the work", given)?;
        check_zero("reserved", given.reserved)?;
        let reporter = caller.reporter(given.progress, given.context);
        Ok(Self {
            memory: (given.memory > 0).then_some(given.memory),
            threads: given.threads as usize,
            reporter,
            ids_limit: ids_limit(given.ids_limit),
        })
    }

    pub(crate) fn batch(&self, limit: u64) -> BatchOptions {
        let options = apply!(self, BatchOptions::new());
        if limit > 0 { options.limit(count(limit)) } else { options }
    }

    pub(crate) fn pairs(&self) -> PairsOptions {
        apply!(self, PairsOptions::new())
    }

    pub(crate) fn verify(&self) -> VerifyOptions {
        VerifyOptions::new().threads(self.threads).report_to(self.report())
    }

    pub(crate) fn build<F: hamdex::Fingerprint>(
        &self,
        options: hamdex::BuildOptions<F>,
    ) -> hamdex::BuildOptions<F> {
        apply!(self, options)
    }

    /// The most ids of a match.
    pub(crate) fn ids_limit(&self) -> usize {
        self.ids_limit
    }

    /// Returns the report of the callback, for one piece of work.
    pub(crate) fn report(&self) -> Report {
        self.reporter.map(Reporter::report).unwrap_or_default()
    }
}

/// A limit on matches; 0 for no limit.
pub(crate) fn limit(given: u64) -> usize {
    if given == 0 { usize::MAX } else { count(given) }
}

/// A limit on the ids of a match; 0 is the default.
pub(crate) fn ids_limit(given: u64) -> usize {
    match given {
        0 => DEFAULT_IDS,
        HAMDEX_ALL_IDS => usize::MAX,
        given => count(given),
    }
}

fn count(given: u64) -> usize {
    usize::try_from(given).unwrap_or(usize::MAX)
}

/// Refuses flags that this version does not know.
pub(crate) fn check_flags(given: u32, known: u32) -> Result<(), Failure> {
    let unknown = given & !known;
    if unknown == 0 { Ok(()) } else { Err(Failure::usage(format!("flags {unknown:#x} are unknown"))) }
}

/// Refuses fields that later versions may use.
pub(crate) fn check_zero(name: &str, field: u32) -> Result<(), Failure> {
    if field == 0 { Ok(()) } else { Err(Failure::usage(format!("the field {name} is not zero"))) }
}
