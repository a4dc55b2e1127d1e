"""Limits of a process: open files, address space, the length of a file."""

import shutil

from faults.fault import BaseMode, Fault

OPEN_FILES = range(3, 40)
# Bytes of a file.
LENGTHS = [0, 1, 100, 512, 4000, 4096, 6000, 10_000, 20_000, 50_000, 100_000, 300_000]
# KiB of address space beyond what the program needs to start.
ADDRESSES = [0, 300, 1000, 2000, 3000, 5000, 8000, 12_000, 20_000, 30_000, 50_000, 70_000, 100_000, 150_000, 300_000]


def is_missing():
    """Why this mode cannot be used here, if it cannot."""
    return None if shutil.which("prlimit") else "prlimit is missing"


class Mode(BaseMode):
    def __init__(self, campaign):
        super().__init__(campaign)
        # The program grows, so where it starts at all is found out.
        too_little, self.starts = 1000, 1_000_000
        while self.starts - too_little > 200:
            middle = (too_little + self.starts) // 2
            before = self.before(Fault("as", str(middle)))
            if campaign.command.run("--version", campaign.template, *before).returncode == 0:
                self.starts = middle
            else:
                too_little = middle

    def possible(self, _scenario):
        for count in OPEN_FILES:
            yield Fault("nofile", str(count))
        for length in LENGTHS:
            yield Fault("fsize", str(length))
            yield Fault("fsize-kill", str(length))
        for more in ADDRESSES:
            yield Fault("as", str(self.starts + more))

    def before(self, fault):
        if fault.kind == "as":
            return ["prlimit", f"--as={int(fault.detail) << 10}"]
        if fault.kind == "nofile":
            return ["prlimit", f"--nofile={fault.detail}"]
        limit = ["prlimit", f"--fsize={fault.detail}"]
        # A write beyond the limit sends a signal, which ends the process unless it is ignored; then it is an error.
        return limit if fault.kind == "fsize-kill" else ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh", *limit]
