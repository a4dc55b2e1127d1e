//! The machine and the compiler of a run.

use std::fs;

use serde::Serialize;

use crate::machine;

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
        Self {
            processor: machine::processor(),
            cores: machine::cores(),
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
