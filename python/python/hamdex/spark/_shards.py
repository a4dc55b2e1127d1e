"""The shards of a set: index files in one directory, and their manifest.

The format of the manifest is shards-spec.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import hamdex
import numpy as np
import pyarrow as pa
from hamdex import _hamdex

MANIFEST = "manifest"


@dataclass(frozen=True)
class Shard:
    """A file of a set: its name, distinct fingerprints, ids, bytes, and the id of the file."""

    file: str
    fingerprints: int
    ids: int
    bytes: int
    file_id: str


@dataclass(frozen=True)
class Shards:
    """A set of fingerprints in several files."""

    directory: Path
    width: int
    distance: int
    recipe: str | None
    #: "numbers" or "names"; ``None`` without ids.
    id_type: str | None
    shards: tuple[Shard, ...]
    #: "hash": a fingerprint is in any shard; "families": it is in one shard of each of distance + 1 families.
    layout: str = "hash"
    #: How the shingles are made that the shards keep; ``None`` if they keep none.
    shingles: str | None = None

    @property
    def families(self) -> int:
        """The number of families: how often the set has each fingerprint."""
        return self.distance + 1 if self.layout == "families" else 1

    @property
    def first_family(self) -> tuple[Shard, ...]:
        """Shards that together have every fingerprint."""
        return self.shards[: len(self.shards) // self.families]

    @property
    def fingerprints(self) -> int:
        """The number of distinct fingerprints per shard, summed over the shards."""
        return sum(shard.fingerprints for shard in self.first_family)

    @property
    def ids(self) -> int:
        """The number of ids, summed in the same way."""
        return sum(shard.ids for shard in self.first_family)

    @property
    def bytes(self) -> int:
        """The size of all shards, in bytes."""
        return sum(shard.bytes for shard in self.shards)

    def path(self, number: int) -> Path:
        """Return the path of a shard."""
        return self.directory / self.shards[number].file


def local(directory: str | os.PathLike[str]) -> Path:
    """Return a directory as an absolute path, which must be the same on every machine."""
    text = os.fspath(directory)
    if "://" in text or text.startswith("file:"):
        url = urlsplit(text)
        if url.scheme != "file" or url.netloc not in ("", "localhost"):
            advice = "shards are mapped into memory, so they must lie in a file system that all machines have mounted"
            raise ValueError(f"{text}: {advice}")
        text = unquote(url.path)
    return Path(os.path.abspath(text))


def write(shards: Shards) -> None:
    """Write the manifest atomically, after its files are durable."""
    directory, *fields = astuple(shards)
    _hamdex._write_manifest(directory, tuple(fields))


def read(directory: Path) -> Shards:
    """Read the manifest of a directory."""
    path = directory / MANIFEST
    if not path.exists():
        text = f"{path}: no manifest of shards; hamdex.spark.build and hamdex build --shards make one"
        raise FileNotFoundError(text)
    width, distance, recipe, id_type, entries, layout, shingles = _hamdex._read_manifest(directory)
    shards = tuple(Shard(*entry) for entry in entries)
    return Shards(directory, width, distance, recipe, id_type, shards, layout, shingles)


def of_files(files: Sequence[str | os.PathLike[str]]) -> Shards:
    """Return a set of index files that were built separately."""
    paths = [local(file) for file in files]
    if not paths:
        raise ValueError("there is no index file in the list")
    kinds: list[tuple[int, int, str | None, str | None]] = []
    shards = []
    for path in paths:
        with hamdex.Index(path) as index:
            kinds.append((index.width, index.distance, index.recipe, id_type(index)))
            size = path.stat().st_size
            shards.append(Shard(str(path), len(index), 0, size, index.file_id))
    for path, kind in zip(paths, kinds):
        check_same(paths[0], kinds[0], path, kind)
    return Shards(Path("/"), *kinds[0], tuple(shards))


def id_type(index: hamdex.Set) -> str | None:
    """Return the kind of the ids of an index."""
    if not index.has_ids:
        return None
    nothing = index.batch(np.zeros((0, 2) if index.width == 128 else 0, dtype=np.uint64), 0)
    return "numbers" if pa.types.is_uint64(pa.table(nothing)["id"].type) else "names"


def check_same(first: Path, one: tuple[Any, ...], path: Path, other: tuple[Any, ...]) -> None:
    """Raise for files that were built differently."""
    for name, mine, its in zip(("width", "distance", "recipe", "id_type"), one, other):
        if mine != its:
            text = f"{path} has {name.replace('_type', 's')} {its!r}, and {first} {mine!r}"
            raise ValueError(f"the shards differ: {text}: build all in the same way")


def in_one_family(shards: Shards) -> Shards:
    """Return shards that have every fingerprint once: all shards, or one family."""
    return replace(shards, layout="hash", shards=shards.first_family)


def check_files(shards: Shards) -> None:
    """Raise for a missing file, or one with another size."""
    for number, shard in enumerate(shards.shards):
        path = shards.path(number)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            text = f"{path}: a shard is missing: shards are files that all machines, and the driver, must see"
            raise FileNotFoundError(text) from None
        if size != shard.bytes:
            raise hamdex.DamagedError(f"{path}: the shard has {size} bytes, and the manifest says {shard.bytes}")


def open_shard(path: str, file_id: str) -> hamdex.Index:
    """Open a shard on an executor; raise unless it is the file that the driver has seen."""
    try:
        index = hamdex.Index(path)
    except FileNotFoundError:
        text = f"{path}: an executor does not see the shard: it must lie in a file system that all machines share"
        raise FileNotFoundError(text) from None
    if index.file_id != file_id:
        index.close()
        raise hamdex.DamagedError(f"{path}: the shard is not the file that the manifest names")
    return index
