"""The shards of a set: index files in one directory, and their manifest.

The format of the manifest is shards-spec.md; `hamdex` reads and writes it too.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import hamdex
import numpy as np
import pyarrow as pa

MANIFEST = "manifest"
VERSION = 1

MAX_BYTES = 1 << 25
MAX_SHARDS = 1 << 15
MAX_COUNT = 1 << 48

# The beginning of every manifest, in all versions.
BEGINNING = b'{"hamdex_shards":'

# The other fields of the first line.
FIELDS = ("layout", "width", "distance", "recipe", "id_type")


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
    """Write the manifest atomically."""
    number, name = tempfile.mkstemp(prefix=".shards-", suffix=".tmp", dir=shards.directory)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as file:
            file.write(to_text(shards))
            file.flush()
            os.fsync(file.fileno())
        # The mode of any new file, since mkstemp permits only the owner to read it.
        os.chmod(name, 0o666 & ~umask())
        os.replace(name, shards.directory / MANIFEST)
        sync(shards.directory)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def to_text(shards: Shards) -> str:
    """Encode the manifest: a line for the set, a line per shard, and a line with the checksums of all these."""
    content = asdict(shards)
    entries = content.pop("shards")
    head = {"hamdex_shards": VERSION} | {name: content[name] for name in FIELDS}
    # The field is there only if there are shingles.
    if shards.shingles is not None:
        head["shingles"] = shards.shingles
    return seal("".join(to_line(fields) for fields in (head, *entries)))


def to_line(fields: dict[str, Any]) -> str:
    """Encode fields as a line of JSON."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def seal(lines: str) -> str:
    """Append the last line, with the checksum of each."""
    checksums = ["%08x" % zlib.crc32(line + b"\n") for line in lines.encode().split(b"\n")[:-1]]
    return lines + to_line({"crc32": checksums})


def umask() -> int:
    """Return the mask of permissions of new files."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def sync(directory: Path) -> None:
    """Make the names in a directory durable."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read(directory: Path) -> Shards:
    """Read the manifest of a directory."""
    path = directory / MANIFEST
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        advice = f"{path}: no manifest of shards; hamdex.spark.build and hamdex build --shards make one"
        raise FileNotFoundError(advice) from None
    if not text.startswith(BEGINNING):
        raise hamdex.FormatError(f"{path}: not a manifest of shards")
    if len(text) > MAX_BYTES:
        raise hamdex.DamagedError(f"{path}: the manifest is damaged: it is too long")
    check_checksums(text, path)
    try:
        head, *entries = (json.loads(line) for line in text.decode().split("\n")[:-2])
        shards = tuple(Shard(**entry) for entry in entries)
        values = {name: head[name] for name in FIELDS} | {"shingles": head.get("shingles")}
        found = Shards(directory=directory, shards=shards, **values)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise hamdex.DamagedError(f"{path}: the manifest is damaged: {error!r}") from None
    check_values(found, path)
    try:
        # The encoding is canonical.
        is_canonical = to_text(found).encode() == text
    except UnicodeEncodeError:
        is_canonical = False
    if not is_canonical:
        raise hamdex.DamagedError(f"{path}: the manifest is damaged: it is not the canonical text")
    return found


def check_checksums(text: bytes, path: Path) -> None:
    """Raise for wrong checksums, or a later version, whose other lines may be anything."""
    *lines, last = text.split(b"\n")[:-1] or [b""]
    right = [b'"%08x"' % zlib.crc32(line + b"\n") for line in lines]
    stored = last.removeprefix(b'{"crc32":[').removesuffix(b"]}").split(b",")
    if not right or right[0] != stored[0]:
        raise hamdex.DamagedError(f"{path}: the manifest is damaged: the checksum of its first line differs")
    version = re.match(rb"(0|[1-9][0-9]*)[,}]", text.removeprefix(BEGINNING))
    if version and int(version[1]) > VERSION:
        advice = f"{path}: format version {int(version[1])} is too new: this program reads version {VERSION}"
        raise hamdex.FormatError(advice)
    if right != stored or text[-1:] != b"\n":
        raise hamdex.DamagedError(f"{path}: the manifest is damaged: the checksum of a line differs")


def check_values(shards: Shards, path: Path) -> None:
    """Raise for impossible values."""
    numbers = [n for s in shards.shards for n in (s.fingerprints, s.ids, s.bytes)]
    right = (
        type(shards.width) is int
        and shards.width in (64, 128)
        and type(shards.distance) is int
        and 0 <= shards.distance <= shards.width - (shards.layout == "families")
        and shards.layout in ("hash", "families")
        and shards.id_type in (None, "numbers", "names")
        and (shards.recipe is None or isinstance(shards.recipe, str))
        and (shards.shingles is None or isinstance(shards.shingles, str) and shards.id_type is not None)
        and all(type(number) is int and 0 <= number <= MAX_COUNT for number in numbers)
        and all(isinstance(s.file, str) and isinstance(s.file_id, str) for s in shards.shards)
        and all(re.fullmatch("[0-9a-f]{32}", s.file_id) for s in shards.shards)
        and 0 < len(shards.shards) <= MAX_SHARDS
        and len(shards.shards) % shards.families == 0
        and len({s.file for s in shards.shards}) == len(shards.shards)
        and all(has_possible_ids(shard, shards.id_type) for shard in shards.shards)
        and families_are_alike(shards)
    )
    # A name with a path would refer to a file outside the directory.
    if not right or any(not is_plain(shard.file) for shard in shards.shards):
        raise hamdex.DamagedError(f"{path}: the manifest is damaged: a value is impossible")


def has_possible_ids(shard: Shard, id_type: str | None) -> bool:
    """Return whether the number of ids of a shard is possible."""
    if id_type is None or not shard.fingerprints:
        return shard.ids == 0
    return shard.ids >= shard.fingerprints


def families_are_alike(shards: Shards) -> bool:
    """Return whether all families have the same numbers of fingerprints and ids."""
    size = len(shards.first_family)
    families = [shards.shards[start : start + size] for start in range(0, len(shards.shards), size)]
    return len({(sum(s.fingerprints for s in family), sum(s.ids for s in family)) for family in families}) == 1


def is_plain(name: str) -> bool:
    """Return whether a name is a plain file name."""
    return name not in ("", ".", "..", MANIFEST) and not re.search(r"[/\\:\x00-\x1f\x7f-\x9f]", name)


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
