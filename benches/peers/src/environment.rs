//! What the figures depend on besides the contenders.

use std::fs;

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Environment {
    pub processor: String,
    pub cores: usize,
    pub memory_bytes: Option<u64>,
    pub rustc: &'static str,
    /// Instructions for counting and moving bits that the compiler was allowed to use everywhere. hamdex
    /// detects them at run time; the others use what they were compiled for.
    pub compiled_for: Vec<&'static str>,
}

impl Environment {
    pub(crate) fn here() -> Self {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let named = |name: &str| {
            let lines = processors.lines().filter_map(|line| line.split_once(':'));
            let name = name.to_owned();
            lines.filter(move |(key, _)| key.trim() == name).map(|(_, value)| value.trim())
        };
        // Not `available_parallelism`, which returns what this process may use.
        let cores = named("processor").count();
        Self {
            processor: named("model name").next().unwrap_or("unknown").to_owned(),
            cores: if cores > 0 {
                cores
            } else {
                std::thread::available_parallelism().map_or(1, usize::from)
            },
            memory_bytes: memory_bytes(),
            rustc: env!("RUSTC_VERSION"),
            compiled_for: [
                ("popcnt", cfg!(target_feature = "popcnt")),
                ("bmi2", cfg!(target_feature = "bmi2")),
                ("avx2", cfg!(target_feature = "avx2")),
                ("avx512vpopcntdq", cfg!(target_feature = "avx512vpopcntdq")),
            ]
            .into_iter()
            .filter_map(|(name, there)| there.then_some(name))
            .collect(),
        }
    }
}

fn memory_bytes() -> Option<u64> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}
