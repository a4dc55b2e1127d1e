//! The `hamdex` command; all of it is in the library.

/// Makes all threads share one arena of the allocator of glibc if address space is limited: each would take 64 MiB of it
/// for an arena of its own, at its first allocation or, if there is not so much, at a later one.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the allocator has no other interface for it")]
fn save_address_space() {
    if hamdex::threads::has_address_limit() {
        // SAFETY: it takes no pointers, and no other thread uses the allocator yet: this is the first call of `main`.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn save_address_space() {}

fn main() -> std::process::ExitCode {
    save_address_space();
    hamdex_tools::run(std::env::args_os()).into()
}
