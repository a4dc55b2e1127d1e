"""A file system that is nearly full: a small one in memory, with so much room left."""

import os
import shutil
import subprocess

from faults.fault import BaseMode, Fault

# KiB that are free: no scenario needs many more.
FREE = [0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192]
SIZE_KIB = 8 << 10


class Mode(BaseMode):
    def __init__(self, campaign):
        super().__init__(campaign)
        self.mount = campaign.scratch / "small"
        self.mount.mkdir()
        small = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KIB}k", "hamdex-faults", str(self.mount)]
        subprocess.run(small, check=True, capture_output=True)

    def close(self):
        subprocess.run(["umount", str(self.mount)], check=True)

    def possible(self, _scenario):
        for free in FREE:
            yield Fault("space", str(free))

    def directory(self, fault):
        directory = self.campaign.copy(self.mount)
        room = os.statvfs(self.mount)
        taken = room.f_bavail * room.f_frsize - (int(fault.detail) << 10)
        with open(self.mount / "filler", "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, taken)
        return directory

    def relieve(self, _fault):
        (self.mount / "filler").unlink()


def is_missing():
    """Why this mode cannot be used here, if it cannot."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        return "only root may mount a small file system"
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "hamdex-faults", "/mnt"]
    works = shutil.which("unshare") and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return None if works else "no file system may be mounted here"
