//! Measurements by the system: free space, pages read, faults, memory, processor time; and evicting a file from memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise, statvfs};
use rustix::time::{ClockId, clock_gettime};

use crate::machine;

pub(crate) const PAGE: f64 = 4096.0;

/// The greatest number of bytes read to measure the speed of storage.
const MAX_SEQUENTIAL: u64 = 8 << 30;

/// Bytes that can still be written where `directory` is.
pub(crate) fn free_bytes(directory: &Path) -> Result<u64> {
    let space =
        statvfs(directory).with_context(|| format!("cannot ask for the space of {}", directory.display()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// Evicts the pages of an unmapped file from memory.
pub(crate) fn forget(path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    // Only pages that are clean can be forgotten.
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(())
}

/// Returns the speed of reading a cold file sequentially, in bytes per second.
pub(crate) fn sequential_rate(path: &Path) -> Result<f64> {
    forget(path)?;
    let mut file = File::open(path)?;
    let (mut buffer, mut read) = (vec![0; 4 << 20], 0);
    let started = Instant::now();
    while read < MAX_SEQUENTIAL {
        match file.read(&mut buffer)? {
            0 => break,
            bytes => read += bytes as u64,
        }
    }
    Ok(read as f64 / started.elapsed().as_secs_f64())
}

/// The resources used by the process so far.
#[derive(Clone, Copy)]
pub(crate) struct Used {
    at: Instant,
    processor: Duration,
    /// Bytes read from storage.
    read: u64,
    /// Faults that waited for storage.
    faults: u64,
}

impl Used {
    pub(crate) fn now() -> Result<Self> {
        let io =
            fs::read_to_string("/proc/self/io").context("this system does not count what a process reads")?;
        let read = io.lines().find_map(|line| line.strip_prefix("read_bytes: ")).unwrap_or("0").parse()?;
        let stat = fs::read_to_string("/proc/self/stat")?;
        // The name of the program, in brackets, may hold spaces; nine fields on are major faults.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let faults = after.split_whitespace().nth(9).unwrap_or("0").parse()?;
        let processor = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime))?;
        Ok(Self { at: Instant::now(), processor, read, faults })
    }

    pub(crate) fn since(self) -> Result<Cost> {
        let now = Self::now()?;
        Ok(Cost {
            seconds: (now.at - self.at).as_secs_f64(),
            processor_seconds: now.processor.saturating_sub(self.processor).as_secs_f64(),
            bytes_read: now.read - self.read,
            major_faults: now.faults - self.faults,
        })
    }
}

/// The cost of a piece of work.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Cost {
    pub seconds: f64,
    pub processor_seconds: f64,
    pub bytes_read: u64,
    pub major_faults: u64,
}

/// The peak of private memory of the process while this exists. Mapped files are not counted, since the system reclaims
/// their memory when needed.
pub(crate) struct PeakMemory {
    peak: Arc<AtomicU64>,
    is_done: Arc<AtomicBool>,
    sampler: JoinHandle<()>,
}

impl PeakMemory {
    pub(crate) fn watch() -> Result<Self> {
        let (peak, is_done) = (Arc::new(AtomicU64::new(own_memory())), Arc::new(AtomicBool::new(false)));
        let (to, until) = (Arc::clone(&peak), Arc::clone(&is_done));
        let sampler = thread::Builder::new().spawn(move || {
            while !until.load(Ordering::Relaxed) {
                to.fetch_max(own_memory(), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
        })?;
        Ok(Self { peak, is_done, sampler })
    }

    pub(crate) fn bytes(self) -> u64 {
        self.is_done.store(true, Ordering::Relaxed);
        // A panicked sampler has recorded its samples.
        let _ = self.sampler.join();
        self.peak.load(Ordering::Relaxed)
    }
}

fn own_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes = |name| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    (kibibytes("RssAnon:").unwrap_or(0) + kibibytes("RssShmem:").unwrap_or(0)) * 1024
}

/// Returns the processor, as the system names it, and the number of cores.
pub(crate) fn processor() -> String {
    format!("{}, {} cores", machine::processor(), machine::cores())
}
