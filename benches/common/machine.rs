//! The machine of a run.

use std::fs;

/// Returns the name of the processor, as the system says it.
pub(crate) fn processor() -> String {
    cpuinfo("model name").into_iter().next().unwrap_or_else(|| "unknown processor".to_owned())
}

/// Returns the number of processors of the machine; `available_parallelism` would be that of this process.
pub(crate) fn cores() -> usize {
    match cpuinfo("processor").len() {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        cores => cores,
    }
}

fn cpuinfo(field: &str) -> Vec<String> {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fields = processors.lines().filter_map(|line| line.split_once(':'));
    fields.filter(|(key, _)| key.trim() == field).map(|(_, value)| value.trim().to_owned()).collect()
}
