"""System calls that fail: strace makes the n-th call of a kind fail with an error that it may have."""

import collections
import shutil
import subprocess

from faults.fault import Fault

ERRORS = {
    "openat": ["EMFILE", "EACCES", "EIO", "ENOSPC"],
    "read": ["EIO"],
    "pread64": ["EIO"],
    "write": ["ENOSPC", "EIO"],
    "writev": ["ENOSPC", "EIO"],
    "pwrite64": ["ENOSPC", "EIO"],
    "fsync": ["EIO", "ENOSPC"],
    "fdatasync": ["EIO", "ENOSPC"],
    "mmap": ["ENOMEM"],
    "madvise": ["EAGAIN", "EINVAL"],
    "ftruncate": ["EIO", "ENOSPC"],
    "fallocate": ["ENOSPC", "EOPNOTSUPP"],
    "linkat": ["EIO", "ENOSPC", "EPERM"],
    "rename": ["EIO", "ENOSPC"],
    "renameat": ["EIO", "ENOSPC"],
    "renameat2": ["EIO", "ENOSPC", "EINVAL"],
    "unlink": ["EIO", "EACCES"],
    "mkdir": ["ENOSPC", "EACCES"],
    "statx": ["EIO", "EACCES"],
    "newfstatat": ["EIO"],
    "fstat": ["EIO"],
    "lseek": ["EIO"],
    "flock": ["EIO", "ENOLCK"],
    "getdents64": ["EIO"],
    "clone3": ["EAGAIN"],
    "copy_file_range": ["EIO", "ENOSPC"],
    "getrandom": ["ENOSYS"],
    "fchmod": ["EPERM"],
    "fchown": ["EPERM"],
}


def is_missing():
    """Why this mode cannot be used here, if it cannot."""
    probe = ["strace", "-f", "-qq", "-e", "trace=openat", "-e", "inject=openat:error=EIO:when=9999", "true"]
    try:
        works = subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        works = False
    return None if works else "strace is missing, or may not trace here"


class Mode:
    def __init__(self, campaign):
        self.campaign = campaign

    def close(self):
        pass

    def possible(self, scenario):
        """Every kind of call that the scenario makes, every error of it, every place."""
        directory = self.campaign.copy()
        log = self.campaign.scratch / "calls"
        trace = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=" + ",".join(ERRORS)]
        self.campaign.command.run(scenario.arguments, directory, *trace)
        calls = collections.Counter()
        for line in log.read_text(errors="replace").splitlines():
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

    def directory(self, _fault):
        return self.campaign.copy()

    def before(self, fault):
        error, place = fault.detail.split(":")
        inject = f"inject={fault.kind}:error={error}:when={place}"
        return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={fault.kind}", "-e", inject]

    def relieve(self, _fault):
        pass
