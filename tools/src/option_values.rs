//! Values of options: parsers, and the number of threads of a command.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use bytesize::ByteSize;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hamdex::threads::{can_reserve, hold};
use hamdex_documents::tables::Quoting;
use rayon::{ThreadBuilder, ThreadPoolBuilder};

use crate::failure::Failure;
use crate::messages;

/// Parses a number of bytes.
pub(crate) fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "expected a size such as 512MiB or 2GiB".to_owned())
}

/// Returns a number of ids, or no limit for `all`.
pub(crate) fn ids_limit(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        number => number.parse().map_err(|_| "expected a number, or all".to_owned()),
    }
}

/// Returns a parser of the width of fingerprints, in bits.
pub(crate) fn width() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["64", "128"]).map(|text| if text == "128" { 128 } else { 64 })
}

/// Parses a block size in bytes.
pub(crate) fn block_bytes(text: &str) -> Result<u32, String> {
    let bytes =
        text.parse().ok().filter(|bytes: &u32| bytes.is_power_of_two() && (512..=8192).contains(bytes));
    bytes.ok_or_else(|| "expected a power of two from 512 to 8192".to_owned())
}

/// Parses a number of words per shingle.
pub(crate) fn shingle_words(text: &str) -> Result<NonZeroUsize, String> {
    let max = hamdex_simhash::recipe::Shingle::MAX_WIDTH;
    let width = text.parse::<NonZeroUsize>().ok().filter(|width| width.get() <= max);
    width.ok_or_else(|| format!("expected a number from 1 to {max}"))
}

/// Parses a share above 0 and at most 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a number above 0 and at most 1, as in 0.8".to_owned())
}

/// Parses the character between the fields of a record.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" | b"\t" => Ok(b'\t'),
        // A quote has a meaning of its own; letters and digits are parts of fields.
        [byte] if *byte == b' ' || byte.is_ascii_punctuation() && *byte != b'"' => Ok(*byte),
        _ => Err("expected a blank, a punctuation character of ASCII, or tab".to_owned()),
    }
}

/// The values of an option, with their names, and their help unless it is empty.
pub(crate) type Named<T> = [(&'static str, &'static str, T)];

/// Returns a parser of the names of these values.
pub(crate) fn named<T: Copy + Send + Sync>(values: &'static Named<T>) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(|(name, help, _)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    PossibleValuesParser::new(names).map(|text| {
        let (.., value) = values.iter().find(|(name, ..)| *name == text).expect("clap has checked the name");
        *value
    })
}

/// Returns a parser of the quoting of fields.
pub(crate) fn quoting() -> impl TypedValueParser<Value = Quoting> {
    PossibleValuesParser::new(["csv", "none"])
        .map(|text| if text == "csv" { Quoting::Csv } else { Quoting::None })
}

/// The most threads allowed: more than any machine has a use for.
const MAX_THREADS: usize = 1024;

/// Address space that must be free before another thread is started: its stack, its arena of the allocator (64 MiB with
/// glibc, where threads share none), and working memory.
const HEADROOM_BYTES: usize = 96 << 20;

/// Address space required to start any work, as an allocation that fails later ends the program.
const ROOM_BYTES: u64 = 32 << 20;

/// `--threads`, for commands with several threads.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Threads {
    /// Threads to use; 0 for all [default: all]
    #[arg(long, value_name = "N", value_parser = parse)]
    threads: Option<usize>,
}

impl Threads {
    /// Returns the number as the engine counts: 0 for all.
    pub(crate) fn count(self) -> usize {
        self.threads.unwrap_or(0)
    }

    /// Starts the global thread pool. If the system refuses threads, it has fewer.
    pub(crate) fn start(self) -> Result<(), Failure> {
        start(self.count())
    }
}

fn start(count: usize) -> Result<(), Failure> {
    if !can_reserve(ROOM_BYTES as usize) {
        let text = format!("out of memory: cannot allocate {} MiB", ROOM_BYTES >> 20);
        return Err(Failure::Wrong(text));
    }
    let wanted = match count {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    };
    let mut workers = if wanted > 1 { workers(wanted) } else { Vec::new() };
    let builder = ThreadPoolBuilder::new();
    let built = if workers.len() <= 1 {
        workers.clear();
        // The current thread is the only one: it needs nothing of the system.
        builder.num_threads(1).use_current_thread().build_global()
    } else {
        builder.num_threads(workers.len()).spawn_handler(|work| hand_over(&mut workers, work)).build_global()
    };
    built.map_err(|error| Failure::Thread(error.into()))
}

/// A thread that waits for its work; it ends if the sender is dropped.
struct Worker {
    sender: Sender<ThreadBuilder>,
    thread: JoinHandle<()>,
}

/// Starts the threads. If the system refuses some, half of the possible number is kept, for the work needs
/// memory too. A pool that fails to start cannot be replaced, so everything that can fail comes before it.
fn workers(wanted: usize) -> Vec<Worker> {
    // Held until the threads have started, so that they leave it to the work.
    let held = hold(ROOM_BYTES);
    let mut affordable = wanted;
    // Checked before any thread is started: an arena outlives its thread.
    while affordable > 1 && !can_reserve(affordable.saturating_mul(HEADROOM_BYTES)) {
        affordable /= 2;
    }
    let mut workers: Vec<Worker> =
        if affordable > 1 { (0..affordable).map_while(|_| worker().ok()).collect() } else { Vec::new() };
    let kept = if workers.len() < affordable { (workers.len() / 2).max(1) } else { affordable };
    for Worker { sender, thread } in workers.drain(kept.min(workers.len())..) {
        drop(sender);
        // An idle thread has not panicked.
        let _ = thread.join();
    }
    drop(held);
    if kept < wanted {
        messages::warning(format_args!("the system refuses {wanted} threads; going on with {kept}"));
    }
    workers
}

fn worker() -> io::Result<Worker> {
    // A thread that starts without free memory ends the program.
    if !can_reserve(HEADROOM_BYTES) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let (sender, receiver) = channel::<ThreadBuilder>();
    let (started, has_started) = channel();
    let work = move || {
        // Sending allocates, so that the thread has taken its memory before the next one is considered.
        if started.send(()).is_ok()
            && let Ok(work) = receiver.recv()
        {
            work.run();
        }
    };
    let thread = thread::Builder::new().name("worker".to_owned()).spawn(work)?;
    has_started.recv().map_err(io::Error::other)?;
    Ok(Worker { sender, thread })
}

fn hand_over(workers: &mut Vec<Worker>, work: ThreadBuilder) -> io::Result<()> {
    let worker = workers.pop().ok_or_else(|| io::Error::other("there are no more threads"))?;
    worker.sender.send(work).map_err(|_| io::Error::other("a thread has ended"))
}

fn parse(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count <= MAX_THREADS);
    count.ok_or_else(|| format!("expected a number from 0 (all) to {MAX_THREADS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_character() {
        assert_eq!([";", "tab", "\\t", " ", "|"].map(delimiter), [b';', b'\t', b'\t', b' ', b'|'].map(Ok));
        for wrong in ["", "\"", "::", "a", "é", "\n"] {
            assert!(delimiter(wrong).is_err(), "{wrong}");
        }
    }
}
