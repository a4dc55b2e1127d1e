"""The shards of a set: index files in one directory, and a file beside them that lists them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import hamdex
import numpy as np
import pyarrow as pa

LIST = "shards.json"
FORMAT = "hamdex shards"
VERSION = 1


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
    #: "numbers" or "names"; ``None`` where there are no ids.
    id_type: str | None
    shards: tuple[Shard, ...]

    @property
    def fingerprints(self) -> int:
        """The distinct fingerprints of all shards."""
        return sum(shard.fingerprints for shard in self.shards)

    @property
    def ids(self) -> int:
        """The ids of all shards."""
        return sum(shard.ids for shard in self.shards)

    @property
    def bytes(self) -> int:
        """The bytes of all shards."""
        return sum(shard.bytes for shard in self.shards)

    def path(self, number: int) -> Path:
        """Return the path of a shard."""
        return self.directory / self.shards[number].file


def local(directory: str | os.PathLike[str]) -> Path:
    """Return a directory as an absolute path, which must mean the same on every machine."""
    text = os.fspath(directory)
    if "://" in text or text.startswith("file:"):
        url = urlsplit(text)
        if url.scheme != "file" or url.netloc not in ("", "localhost"):
            advice = "shards are mapped into memory, so they must lie in a file system that all machines have mounted"
            raise ValueError(f"{text}: {advice}")
        text = unquote(url.path)
    return Path(os.path.abspath(text))


def write(shards: Shards) -> None:
    """Write the list of shards: whole, or not at all."""
    content: dict[str, Any] = asdict(shards)
    del content["directory"]
    content = {"format": FORMAT, "version": VERSION, **content}
    number, name = tempfile.mkstemp(prefix=".shards-", suffix=".tmp", dir=shards.directory)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        # As any new file's, where mkstemp lets nobody else read.
        os.chmod(name, 0o666 & ~umask())
        os.replace(name, shards.directory / LIST)
        sync(shards.directory)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def umask() -> int:
    """Return the mask of permissions of new files."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def sync(directory: Path) -> None:
    """Make what a directory lists durable."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read(directory: Path) -> Shards:
    """Read the list of shards of a directory."""
    path = directory / LIST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = f"{path}: there is no list of shards: hamdex.spark.build makes one"
        raise FileNotFoundError(text) from None
    except ValueError as error:
        raise hamdex.DamagedError(f"{path}: this is no list of shards: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise hamdex.FormatError(f"{path}: this is no list of shards")
    if content.get("version") != VERSION:
        text = f"{path}: version {content.get('version')!r} of the list, and this program reads version {VERSION}"
        raise hamdex.FormatError(text)
    try:
        shards = tuple(Shard(**shard) for shard in content["shards"])
        names = ("width", "distance", "recipe", "id_type")
        found = Shards(directory=directory, shards=shards, **{name: content[name] for name in names})
    except (KeyError, TypeError, AttributeError) as error:
        raise hamdex.DamagedError(f"{path}: the list of shards is damaged: {error!r}") from None
    check_values(found, path)
    return found


def check_values(shards: Shards, path: Path) -> None:
    """Refuse a list whose values cannot be."""
    numbers = [shards.distance, *(n for s in shards.shards for n in (s.fingerprints, s.ids, s.bytes))]
    right = (
        shards.width in (64, 128)
        and shards.id_type in (None, "numbers", "names")
        and (shards.recipe is None or isinstance(shards.recipe, str))
        and all(type(number) is int and number >= 0 for number in numbers)
        and all(isinstance(s.file, str) and isinstance(s.file_id, str) for s in shards.shards)
        and len(shards.shards) > 0
    )
    # A name with a path in it would lead out of the directory.
    if not right or any(Path(shard.file).name != shard.file for shard in shards.shards):
        raise hamdex.DamagedError(f"{path}: the list of shards is damaged: a value is not possible")


def of_files(files: Sequence[str | os.PathLike[str]]) -> Shards:
    """Return a set of index files that were built one by one."""
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


def id_type(index: hamdex.Index) -> str | None:
    """Return what the ids of an index are."""
    if not index.has_ids:
        return None
    nothing = index.batch(np.zeros((0, 2) if index.width == 128 else 0, dtype=np.uint64), 0)
    return "numbers" if pa.types.is_uint64(pa.table(nothing)["id"].type) else "names"


def check_same(first: Path, one: tuple[Any, ...], path: Path, other: tuple[Any, ...]) -> None:
    """Refuse files that were made differently."""
    for name, mine, its in zip(("width", "distance", "recipe", "id_type"), one, other):
        if mine != its:
            text = f"{path} has {name.replace('_type', 's')} {its!r}, and {first} {mine!r}"
            raise ValueError(f"the shards differ: {text}: build all in the same way")


def check_files(shards: Shards) -> None:
    """Refuse a set of which a file is missing or has another size."""
    for number, shard in enumerate(shards.shards):
        path = shards.path(number)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            text = f"{path}: a shard is missing: shards are files that all machines, and the driver, must see"
            raise FileNotFoundError(text) from None
        if size != shard.bytes:
            raise hamdex.DamagedError(f"{path}: the shard has {size} bytes, and the list says {shard.bytes}")


def open_shard(path: str, file_id: str) -> hamdex.Index:
    """Open a shard on an executor: the file that the driver has seen, or an error."""
    try:
        index = hamdex.Index(path)
    except FileNotFoundError:
        text = f"{path}: an executor does not see the shard: it must lie in a file system that all machines share"
        raise FileNotFoundError(text) from None
    if index.file_id != file_id:
        index.close()
        raise hamdex.DamagedError(f"{path}: the shard is not the file that the list of shards names")
    return index
