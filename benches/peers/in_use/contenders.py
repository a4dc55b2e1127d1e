"""The contenders: each is built from fingerprints, answers queries one by one, and reports its size."""

import os
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

WIDTH = 64


class Contender:
    """One way to find fingerprints within a distance."""

    #: The Python package and the program that must be installed.
    package = "numpy"
    program: str | None = None

    def __init__(self, stored: np.ndarray, distance: int) -> None:
        self.distance = distance
        self._before = resident()
        self.build(stored)

    @classmethod
    def missing(cls) -> str | None:
        """Return a message about a missing package or program."""
        if find_spec(cls.package) is None:
            return f"the package {cls.package} is not installed"
        if cls.program and shutil.which(cls.program) is None:
            return f"{cls.program} is not installed"
        return None

    def build(self, stored: np.ndarray) -> None:
        raise NotImplementedError

    def query(self, fingerprint: int) -> list[int]:
        """Return the stored fingerprints within the distance."""
        raise NotImplementedError

    def bytes(self) -> int:
        """Return the growth of the process."""
        return resident() - self._before

    def close(self) -> None:
        """Stop servers and remove files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Hamdex(Contender):
    """An index file of the default design."""

    package = "hamdex"
    codec = "huffman"

    def build(self, stored: np.ndarray) -> None:
        import hamdex

        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "all.hamdex"
        hamdex.build(self.path, stored, distance=self.distance, codec=self.codec)
        self.index = hamdex.Index(self.path)

    def query(self, fingerprint: int) -> list[int]:
        return [match.fingerprint for match in self.index.query(fingerprint, k=self.distance)]

    def bytes(self) -> int:
        return self.path.stat().st_size

    def close(self) -> None:
        self.index.close()
        self.directory.cleanup()


class HamdexEliasFano(Hamdex):
    """The same with the codec for speed."""

    codec = "elias-fano"


class Faiss(Contender):
    """FAISS's multi-index hashing: a table for each of k + 1 parts of the bits, one of which agrees."""

    package = "faiss"

    def build(self, stored: np.ndarray) -> None:
        import faiss

        self.stored = stored
        tables = self.distance + 1
        self.index = faiss.IndexBinaryMultiHash(WIDTH, tables, WIDTH // tables)
        self.index.add(stored.view(np.uint8).reshape(-1, WIDTH // 8))

    def query(self, fingerprint: int) -> list[int]:
        query = np.array([fingerprint], dtype=np.uint64).view(np.uint8).reshape(1, -1)
        # Its radius is exclusive.
        _, _, places = self.index.range_search(query, self.distance + 1)
        return self.stored[places].tolist()


class Simhash(Contender):
    """SimhashIndex of the package simhash: sets in a dictionary, by part of the bits."""

    package = "simhash"

    def build(self, stored: np.ndarray) -> None:
        import simhash

        self.make = simhash.Simhash
        objects = [(str(value), self.make(int(value))) for value in stored.tolist()]
        self.index = simhash.SimhashIndex(objects, k=self.distance)

    def query(self, fingerprint: int) -> list[int]:
        return [int(found) for found in self.index.get_near_dups(self.make(fingerprint))]


class Redis(Contender):
    """A set in Redis for each value of each 16-bit part; the client compares the members of the query's sets."""

    package = "redis"
    program = "redis-server"

    #: Commands sent at once while it is filled.
    BATCH = 10_000

    def build(self, stored: np.ndarray) -> None:
        import redis

        self.directory = tempfile.TemporaryDirectory()
        socket = Path(self.directory.name) / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
        self.server = subprocess.Popen(["redis-server", *options, "--dir", self.directory.name], stdout=subprocess.DEVNULL)
        while not socket.exists():
            if self.server.poll() is not None:
                raise RuntimeError("redis-server has ended")
            time.sleep(0.05)
        self.client = redis.Redis(unix_socket_path=str(socket))
        self.empty = self.used()
        keys = [(self.keys(value), value.to_bytes(8, "little")) for value in stored.tolist()]
        for start in range(0, len(keys), self.BATCH):
            pipeline = self.client.pipeline(transaction=False)
            for of_value, value in keys[start : start + self.BATCH]:
                for key in of_value:
                    pipeline.sadd(key, value)
            pipeline.execute()

    def keys(self, fingerprint: int) -> list[bytes]:
        """Return a key per part: the number of the part and two bytes of the fingerprint."""
        return [bytes([part]) + (fingerprint >> 16 * part & 0xFFFF).to_bytes(2, "little") for part in range(4)]

    def query(self, fingerprint: int) -> list[int]:
        if self.distance > 3:
            raise ValueError("four parts find everything within 3 bits")
        pipeline = self.client.pipeline(transaction=False)
        for key in self.keys(fingerprint):
            pipeline.smembers(key)
        candidates: set[bytes] = set().union(*pipeline.execute())
        values = np.frombuffer(b"".join(candidates), dtype=np.uint64)
        return values[np.bitwise_count(values ^ np.uint64(fingerprint)) <= self.distance].tolist()

    def used(self) -> int:
        info: dict[str, Any] = self.client.info("memory")
        return int(info["used_memory"])

    def bytes(self) -> int:
        return self.used() - self.empty

    def close(self) -> None:
        self.client.close()
        self.server.terminate()
        self.server.wait()
        self.directory.cleanup()


ALL: dict[str, type[Contender]] = {
    "hamdex, huffman": Hamdex,
    "hamdex, elias-fano": HamdexEliasFano,
    "FAISS, IndexBinaryMultiHash": Faiss,
    "Redis, four 16-bit segments": Redis,
    "simhash, SimhashIndex": Simhash,
}


def resident() -> int:
    """Return the resident memory of the process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
