//! How much memory to use where nobody has said.

/// The least that any work is given.
pub(crate) const MIN_MEMORY: u64 = 16 << 20;

/// The limit where the system does not tell how much there is.
const FALLBACK_MEMORY: u64 = 1 << 30;

/// A quarter of the memory that the machine has.
pub(crate) fn default_memory() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = total.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.map_or(FALLBACK_MEMORY, |kib| (kib * 1024 / 4).max(MIN_MEMORY))
    }
    #[cfg(not(target_os = "linux"))]
    {
        FALLBACK_MEMORY
    }
}
