"""A control group with little memory, in which the command runs."""

import os
import shutil
from pathlib import Path

from faults.fault import BaseMode, Fault

# KiB.
LIMITS = [1000, 2000, 4000, 8000, 16_000, 32_000]

# A group made for this, whose limit may be changed: of version 1 or 2.
VARIABLE = "HAMDEX_CGROUP"


def limit_of(group):
    """The file that holds the limit."""
    return next((group / name for name in ("memory.max", "memory.limit_in_bytes") if (group / name).exists()), None)


def is_missing():
    """Why this mode cannot be used here, if it cannot."""
    group = os.environ.get(VARIABLE)
    if group is None:
        return f"{VARIABLE} names no control group, such as mkdir /sys/fs/cgroup/hamdex makes"
    limit = limit_of(Path(group))
    return None if limit and os.access(limit, os.W_OK) else f"{group}: no limit of memory that may be set"


class Mode(BaseMode):
    def __init__(self, campaign):
        super().__init__(campaign)
        self.group = Path(os.environ[VARIABLE])
        self.limit = limit_of(self.group)
        self.was = self.limit.read_text()

    def close(self):
        self.relieve(None)

    def possible(self, _scenario):
        for kib in LIMITS:
            yield Fault("memory", str(kib))

    def directory(self, fault):
        directory = self.campaign.copy()
        self.limit.write_text(str(int(fault.detail) << 10))
        return directory

    def before(self, _fault):
        # Outside of the group nothing is limited, so the command is not run there: this exit code is none of its own.
        enter = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"; exit 125'
        return [shutil.which("sh"), "-c", enter, "sh", str(self.group)]

    def relieve(self, _fault):
        self.limit.write_text(self.was if self.was.strip().isdigit() or self.was.strip() == "max" else "-1")
