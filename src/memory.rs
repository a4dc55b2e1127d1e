//! The memory limit: one policy for builds, batches and self-joins.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The least memory of any work.
pub(crate) const MIN_MEMORY: u64 = 16 << 20;

/// Memory of buffers, keys and the allocator of a build beyond the memory limit, in bytes.
pub(crate) const BUILD_HEADROOM_BYTES: u64 = 40 << 20;

/// The same for batches, self-joins and verification, and for the queries and answers of their callers.
pub(crate) const QUERY_HEADROOM_BYTES: u64 = 48 << 20;

/// The memory assumed if the system does not tell, in bytes.
const FALLBACK_BYTES: u64 = 4 << 30;

/// The divisor of the usable memory: others need some as well, and the page cache most of all.
const SHARE: u64 = 4;

/// Returns the default memory limit of builds, batches and self-joins, in bytes: a quarter of the memory that
/// this process may use, at least 16 MiB.
///
/// That is the least of the machine's memory, the limits of its control groups and all groups
/// above them (`memory.max` and `memory.high` of cgroup v2, `memory.limit_in_bytes` of v1), and its resource
/// limits on address space and data (`ulimit -v`, `ulimit -d`). All this is known on Linux; elsewhere 4 GiB
/// are assumed. It is read once per process.
#[must_use]
pub fn default_memory() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| share_of(usable_bytes(Path::new("/"))))
}

/// Returns how much of `wanted` bytes can be allocated, with `headroom` to spare: all, or a half, a quarter and
/// so on. It is tested beforehand since a failed allocation ends the process.
///
/// # Errors
/// When not even [`MIN_MEMORY`] can be allocated, or `wanted` if that is less; with the number of bytes
/// refused.
pub(crate) fn affordable(wanted: u64, headroom: u64) -> Result<u64, u64> {
    let least = wanted.min(MIN_MEMORY);
    let mut bytes = wanted;
    loop {
        let all = bytes.saturating_add(headroom);
        if can_reserve(usize::try_from(all).unwrap_or(usize::MAX)) {
            return Ok(bytes);
        }
        if bytes == least {
            return Err(all);
        }
        bytes = (bytes / 2).max(least);
    }
}

/// Reserves address space until the result is dropped, if that of the process is limited and has so much left: threads
/// that start meanwhile leave it to the work.
#[must_use]
pub fn hold(bytes: u64) -> Option<impl Sized> {
    let mut held = Vec::<u8>::new();
    let bytes = usize::try_from(bytes).ok().filter(|_| has_address_limit())?;
    held.try_reserve_exact(bytes).ok()?;
    Some(std::hint::black_box(held))
}

/// Returns whether the allocator can reserve that many more bytes of address space, within the limits of the
/// process (`ulimit -v`, `ulimit -d`). It does not tell whether there is memory for them.
#[must_use]
pub fn can_reserve(bytes: usize) -> bool {
    if !has_address_limit() {
        return bytes as u64 <= ADDRESS_SPACE_BYTES;
    }
    // Tried, not computed: the allocator has address space of its own left. None of it is touched.
    let mut reserved = Vec::<u8>::new();
    let outcome = reserved.try_reserve_exact(bytes);
    // Without this, the compiler could do without the allocation.
    drop(std::hint::black_box(reserved));
    outcome.is_ok()
}

/// Address space of a process on 64-bit processors, in bytes.
const ADDRESS_SPACE_BYTES: u64 = 1 << 47;

/// Returns whether the address space of this process is limited (`ulimit -v`, `ulimit -d`).
// Miri knows no such call.
#[cfg(all(target_os = "linux", not(miri)))]
#[must_use]
pub fn has_address_limit() -> bool {
    use rustix::process::{Resource, getrlimit};
    [Resource::As, Resource::Data].into_iter().any(|resource| getrlimit(resource).current.is_some())
}

/// Returns whether the address space of this process may be limited.
#[cfg(any(not(target_os = "linux"), miri))]
#[must_use]
pub fn has_address_limit() -> bool {
    true
}

fn share_of(usable: Option<u64>) -> u64 {
    (usable.unwrap_or(FALLBACK_BYTES) / SHARE).max(MIN_MEMORY)
}

/// Returns the least of all limits in the files below `root`.
fn usable_bytes(root: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(root.join("proc").join(name)).unwrap_or_default();
    let (cgroups, mounts) = (read("self/cgroup"), read("self/mountinfo"));
    let groups = control_groups(&cgroups, &mounts).into_iter().flat_map(|group| group.limits(root));
    machine_bytes(&read("meminfo"))
        .into_iter()
        .chain(resource_limits(&read("self/limits")))
        .chain(groups)
        .min()
}

/// Returns all memory of the machine, from `/proc/meminfo`.
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the soft limits on address space and data, from `/proc/self/limits`.
fn resource_limits(limits: &str) -> Vec<u64> {
    let soft = |line: &str| {
        let rest = ["Max address space", "Max data size"].iter().find_map(|name| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    limits.lines().filter_map(soft).collect()
}

/// A control group that limits memory.
#[derive(Debug, PartialEq, Eq)]
struct ControlGroup {
    /// The mount point of its file system.
    mount: PathBuf,
    /// Its directory below.
    path: PathBuf,
}

impl ControlGroup {
    /// Returns its own limits and the limits of all groups above it.
    fn limits(&self, root: &Path) -> Vec<u64> {
        let mount = root.join(self.mount.strip_prefix("/").unwrap_or(&self.mount));
        let directories = self.path.ancestors().map(|path| mount.join(path));
        let names = ["memory.max", "memory.high", "memory.limit_in_bytes"];
        directories
            .flat_map(|directory| names.map(|name| directory.join(name)))
            // Without a limit there is the word "max", or in v1 a number beyond any memory.
            .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
            .collect()
    }
}

/// Returns the control groups of this process, from `/proc/self/cgroup` and `/proc/self/mountinfo`: see cgroups(7)
/// and proc(5).
fn control_groups(cgroups: &str, mounts: &str) -> Vec<ControlGroup> {
    let paths: Vec<(&str, &str)> = cgroups
        .lines()
        .filter_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            Some((controllers, path))
        })
        .collect();
    let path_of = |is_v2: bool| {
        let fits = |controllers: &str| match is_v2 {
            true => controllers.is_empty(),
            false => controllers.split(',').any(|controller| controller == "memory"),
        };
        paths.iter().find(|(controllers, _)| fits(controllers)).map(|(_, path)| *path)
    };
    mounts
        .lines()
        .filter_map(|line| {
            let (mount, system) = line.split_once(" - ")?;
            let (mut mount, mut system) = (mount.split(' ').skip(3), system.split(' '));
            let (top, mount) = (unescaped(mount.next()?), unescaped(mount.next()?));
            let (kind, options) = (system.next()?, system.nth(1)?);
            let path = match kind {
                "cgroup2" => path_of(true)?,
                "cgroup" if options.split(',').any(|option| option == "memory") => path_of(false)?,
                _ => return None,
            };
            Some(ControlGroup { mount: mount.into(), path: below(path, &top) })
        })
        .collect()
}

/// Returns the path of a group below a mount that shows the hierarchy from `top` on. A group that is not shown,
/// as in some containers, is taken to be the top: the container's own.
fn below(path: &str, top: &str) -> PathBuf {
    let path = Path::new(path).strip_prefix(top).unwrap_or(Path::new(""));
    let is_inside = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if is_inside { path.to_owned() } else { PathBuf::new() }
}

/// Blanks and backslashes in mountinfo are three octal digits behind a backslash.
fn unescaped(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

/// Capacity that is always kept for the next query.
pub(crate) const KEPT: usize = 1 << 14;

/// Shrinks memory that an earlier query needed, if the last one left most of it unused.
pub(crate) fn give_back<T>(memory: &mut Vec<T>) {
    if memory.capacity() > KEPT && memory.len() < memory.capacity() / 8 {
        memory.shrink_to(KEPT.max(memory.len() * 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max data size             unlimited            unlimited            bytes
Max address space         unlimited            unlimited            bytes
";
    const V1: &str = "31 23 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n";
    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    /// Returns a machine of 16 GiB, with these files besides.
    fn machine(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        let usual =
            [("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n"), ("proc/self/limits", LIMITS)];
        for (name, contents) in usual.iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        usable_bytes(root.path())
    }

    #[test]
    fn without_limits_it_is_the_memory_of_the_machine() {
        assert_eq!(machine(&[]), Some(16 * GIB));
        let v2 = [
            ("proc/self/cgroup", "0::/user/work\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/user/work/memory.max", "max\n"),
        ];
        assert_eq!(machine(&v2), Some(16 * GIB));
        let v1 = [
            ("proc/self/cgroup", "4:memory:/work\n"),
            ("proc/self/mountinfo", V1),
            ("sys/fs/cgroup/memory/work/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(machine(&v1), Some(16 * GIB));
    }

    #[test]
    fn resource_limits_count() {
        for name in ["Max address space", "Max data size"] {
            let limits = LIMITS.replace(&format!("{name:26}unlimited"), &format!("{name:26}512000000"));
            assert_eq!(machine(&[("proc/self/limits", &limits)]), Some(512_000_000), "{name}");
        }
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_above_it_counts() {
        for (tightest, name) in
            [("user/work/", "max"), ("user/work/", "high"), ("user/", "max"), ("", "high")]
        {
            let files = ["", "user/", "user/work/"].map(|group| {
                let limit = if group == tightest { 3 * GIB } else { 9 * GIB };
                (format!("sys/fs/cgroup/{group}memory.{name}"), limit.to_string())
            });
            let mut files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            files.extend([("proc/self/cgroup", "0::/user/work\n"), ("proc/self/mountinfo", V2)]);
            assert_eq!(machine(&files), Some(3 * GIB), "{tightest} {name}");
        }
    }

    #[test]
    fn version_one_is_known_as_well_and_both_at_once() {
        let (both, limit) = (format!("{V1}{V2}"), (5 * GIB).to_string());
        let files = [
            ("proc/self/cgroup", "7:cpu,cpuacct:/other\n4:hugetlb,memory:/work/inner\n0::/user\n"),
            ("proc/self/mountinfo", both.as_str()),
            ("sys/fs/cgroup/memory/work/memory.limit_in_bytes", limit.as_str()),
            ("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1"),
        ];
        assert_eq!(machine(&files), Some(5 * GIB));
    }

    #[test]
    fn in_a_container_the_mount_shows_a_part_of_the_hierarchy() {
        let (mounts, limit) = (V1.replace(" / ", " /docker/abc "), GIB.to_string());
        for path in ["/docker/abc", "/docker/abc/inner", "/", "/../elsewhere", "/docker/other"] {
            let groups = format!("4:memory:{path}\n");
            let files = [
                ("proc/self/cgroup", groups.as_str()),
                ("proc/self/mountinfo", mounts.as_str()),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", limit.as_str()),
            ];
            assert_eq!(machine(&files), Some(GIB), "{path}");
        }
    }

    #[test]
    fn a_mount_may_have_blanks_in_its_name() {
        let mounts = V2.replace("/sys/fs/cgroup", "/odd\\040place\\134");
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", mounts.as_str()),
            ("odd place\\/memory.max", "1000000000"),
        ];
        assert_eq!(machine(&files), Some(1_000_000_000));
    }

    #[test]
    fn malformed_files_are_as_good_as_none() {
        let files = [
            ("proc/self/cgroup", "\n:\n::\n0:memory\n4:memory:relative\n"),
            (
                "proc/self/mountinfo",
                "-\n - \n1 2 3 - cgroup2\n1 2 3 / /m - cgroup a\n1 2 3 / m - cgroup2 a b\n",
            ),
            ("proc/self/limits", "Max address space\nMax data size  some more\n"),
            ("m/memory.max", "-5"),
        ];
        assert_eq!(machine(&files), Some(16 * GIB));
        assert_eq!(usable_bytes(Path::new("/nowhere/at/all")), None);
    }

    #[test]
    fn what_cannot_be_had_is_halved_until_it_can() {
        assert_eq!(affordable(MIN_MEMORY, 1 << 20), Ok(MIN_MEMORY));
        assert_eq!(affordable(1, 1 << 20), Ok(1));
        let less = affordable(u64::MAX, 1 << 20).unwrap();
        assert!((MIN_MEMORY..u64::MAX / 2).contains(&less), "{less}");
        assert_eq!(affordable(MIN_MEMORY, u64::MAX), Err(u64::MAX));
    }

    #[test]
    fn the_share_is_a_quarter_and_never_too_little_to_work() {
        assert_eq!(share_of(Some(16 * GIB)), 4 * GIB);
        assert_eq!(share_of(Some(1 << 20)), MIN_MEMORY);
        assert_eq!(share_of(None), GIB);
        assert!(default_memory() >= MIN_MEMORY);
    }
}
