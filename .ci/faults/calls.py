"""System calls that fail: strace makes the n-th call of a kind fail with an error that it may have."""

import collections
import shutil
import subprocess

from faults.fault import BaseMode, Fault

ERRORS = {
    "openat": ["EMFILE", "EACCES", "EIO", "ENOSPC"],
    "read": ["EIO"],
    "pread64": ["EIO"],
    "write": ["ENOSPC", "EIO"],
    "fsync": ["EIO", "ENOSPC"],
    "fdatasync": ["EIO", "ENOSPC"],
    "close": ["EIO"],
    "mmap": ["ENOMEM"],
    "mprotect": ["ENOMEM"],
    "madvise": ["EAGAIN", "EINVAL"],
    "ftruncate": ["EIO", "ENOSPC"],
    "linkat": ["EIO", "ENOSPC", "EPERM"],
    "rename": ["EIO", "ENOSPC"],
    "renameat": ["EIO", "ENOSPC"],
    "renameat2": ["EIO", "ENOSPC", "EINVAL"],
    "unlink": ["EIO", "EACCES"],
    "unlinkat": ["EIO", "EACCES"],
    "mkdir": ["ENOSPC", "EACCES"],
    "rmdir": ["EIO", "EACCES"],
    "readlink": ["EIO", "EACCES"],
    "getcwd": ["ENOENT", "ENOMEM"],
    "statx": ["EIO", "EACCES"],
    "newfstatat": ["EIO"],
    "lseek": ["EIO"],
    "flock": ["EIO", "ENOLCK"],
    "getdents64": ["EIO"],
    "clone3": ["EAGAIN"],
    "getrandom": ["ENOSYS"],
    "fchmod": ["EPERM"],
    "fchown": ["EPERM"],
    "ioctl": ["EIO"],
    "poll": ["ENOMEM"],
}

# Calls of the standard library before `main`, without the loader's.
FIRST_CALL = "poll"


def is_missing():
    """Why this mode cannot be used here, if it cannot."""
    probe = ["strace", "-f", "-qq", "-e", "trace=openat", "-e", "inject=openat:error=EIO:when=9999", "true"]
    try:
        works = subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        works = False
    return None if works else "strace is missing, or may not trace here"


class Mode(BaseMode):
    def __init__(self, campaign):
        super().__init__(campaign)
        self.log = campaign.scratch / "calls"

    def possible(self, scenario):
        """Every kind of call that the scenario makes, every error of it, every place."""
        directory = self.campaign.copy()
        self.campaign.command.run(scenario.arguments, directory, *self.trace(",".join(ERRORS)))
        calls = collections.Counter()
        for line in self.log.read_text(errors="replace").splitlines():
            thread, _, rest = line.partition(" ")
            calls[thread, rest.strip().partition("(")[0]] += 1
        shutil.rmtree(directory)
        most = collections.Counter()
        for (_, name), count in calls.items():
            if name in ERRORS:
                most[name] = max(most[name], count)
        for call, count in sorted(most.items()):
            for error in ERRORS[call]:
                for place in range(1, count + 1):
                    yield Fault(call, f"{error}:{place}")

    def trace(self, calls):
        return ["strace", "-f", "-qq", "-o", str(self.log), "-e", f"trace={calls}"]

    def before(self, fault):
        error, place = fault.detail.split(":")
        inject = f"inject={fault.kind}:error={error}:when={place}"
        return [*self.trace(f"{fault.kind},{FIRST_CALL}"), "-e", inject]

    def has_begun(self, _outcome):
        # The loader of glibc crashes where it is refused memory early.
        return f"{FIRST_CALL}(" in self.log.read_text(errors="replace")

    def took_effect(self, _outcome):
        # Threads take turns in another way each time, so a thread may make fewer calls than it did before.
        return "(INJECTED)" in self.log.read_text(errors="replace")
