"""Building a set of shards."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import hamdex
import numpy as np
import pyarrow as pa
from hamdex import _hamdex
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from . import _bit_words, _columns, _shards
from ._executors import on_executors, threads
from ._shards import Shard, Shards

NUMBERS = ("fingerprints", "ids", "bytes")


def build(
    df: DataFrame,
    directory: str | os.PathLike[str],
    *,
    shards: int = 64,
    distance: int = 3,
    fingerprint: str = "fingerprint",
    id: str | None = "id",
    design: str | None = None,
    codec: str = "huffman",
    filter: Literal["auto", "none"] | int = "auto",
    recipe: str | None = None,
    overwrite: bool = False,
    memory: int | None = None,
) -> Shards:
    """Build an index of fingerprints: one file per shard, and a manifest.

    ``directory`` must be on a file system that all machines share, at the same path. The shard of a row depends only on
    its fingerprint, so a task that runs twice writes the same complete file, and the set exists once its manifest is
    written. An existing set is replaced only with ``overwrite=True``, after the new one is complete. ``id`` is a column
    of numbers or of names; ``id=None`` builds a set without ids. ``filter`` is as in :func:`hamdex.build`. A task has the rows of a shard in memory.
    """
    width = _columns.width(df, fingerprint)
    _columns.check_distance(distance, width)
    _columns.check_count("shards", shards)
    if shards > _hamdex._MAX_SHARDS:
        raise ValueError(f"shards cannot be {shards}: at most {_hamdex._MAX_SHARDS}")
    if id is not None:
        _columns.check_id(df, id)
    options = {"distance": distance, "design": design, "codec": codec, "filter": filter, "recipe": recipe, "memory": memory}
    try_options(width, options)
    target = _shards.local(directory)
    old = prepare(target, overwrite)
    build_id = uuid.uuid4().hex[:12]
    names = [f"{number:05d}-of-{shards:05d}-{build_id}.hamdex" for number in range(shards)]
    rows = df.select(_columns.column(df, fingerprint).alias("fingerprint"), *ids(df, id))
    rows = rows.withColumn("shard", F.pmod(F.xxhash64("fingerprint"), F.lit(shards)).cast("int"))
    rows = with_all_shards(rows, shards).repartitionById(shards, "shard")
    text = ("file_id", "recipe")
    schema = StructType(
        [StructField("number", IntegerType(), False)]
        + [StructField(name, LongType(), False) for name in NUMBERS]
        + [StructField(name, StringType(), True) for name in text]
    )
    named = id is not None and isinstance(_columns.data_type(df, id), StringType)
    id_type = None if id is None else "names" if named else "numbers"
    arguments = {"directory": str(target), "names": names, "width": width, "id_type": id_type, "options": options}
    try:
        results = rows.mapInArrow(on_executors(__name__, "work", **arguments), schema).collect()
        built = listed(target, names, (width, distance, id_type), [row.asDict() for row in results])
        _shards.write(built)
    except BaseException:
        # The manifest may name them already, when only its sync has failed.
        if not is_published(target, names):
            discard(target, names)
        raise
    if old is not None:
        discard(target, [shard.file for shard in old.shards])
    return built


def try_options(width: int, options: dict[str, Any]) -> None:
    """Raise for options with which no shard can be built, before any work."""
    nothing = _bit_words.plain(np.zeros((0, width // _bit_words.WORD_BITS), dtype=np.uint64))
    with tempfile.TemporaryDirectory() as directory:
        hamdex.build(Path(directory, "empty.hamdex"), nothing, **options)


def prepare(target: Path, overwrite: bool) -> Shards | None:
    """Create the directory, and return the set to be replaced."""
    target.mkdir(parents=True, exist_ok=True)
    if not any(target.iterdir()):
        return None
    if not (target / _shards.MANIFEST).exists():
        if not overwrite:
            raise FileExistsError(f"{target}: the directory has other files; give the set its own")
        # Other files in the directory are kept.
        return None
    if not overwrite:
        raise FileExistsError(f"{target}: there is a set of shards; overwrite=True replaces it")
    return _shards.read(target)


def with_all_shards(rows: DataFrame, shards: int) -> DataFrame:
    """Add a row without a fingerprint for each shard.

    Spark leaves out tasks without rows, or does the work of all in one, as it likes: which shards there are does not depend
    on its plan.
    """
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema if field.name != "shard"]
    numbers = rows.sparkSession.range(shards).select(*nothing, F.col("id").cast("int").alias("shard"))
    return rows.unionByName(numbers)


def ids(df: DataFrame, name: str | None) -> list[Any]:
    """Return the column of ids, if there is one: numbers as bigint."""
    if name is None:
        return []
    column = _columns.column(df, name)
    if not isinstance(_columns.data_type(df, name), StringType):
        column = column.cast("long")
        text = f"the column {name!r} has a negative id"
        column = F.when(column >= 0, column).otherwise(F.raise_error(F.lit(text)))
    return [column.alias("id")]


def work(
    batches: Iterable[pa.RecordBatch],
    directory: str,
    names: list[str],
    width: int,
    id_type: str | None,
    options: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Build the files of the shards that have rows here."""
    if not Path(directory).is_dir():
        text = (
            f"{directory}: an executor does not see the directory: it must lie in a file system that all machines share"
        )
        raise FileNotFoundError(text)
    parts: dict[int, list[pa.RecordBatch]] = {}
    for batch in batches:
        numbers = batch.column("shard").to_numpy()
        for number in np.unique(numbers):
            parts.setdefault(int(number), []).append(batch.filter(pa.array(numbers == number)))
    for number in sorted(parts):
        path = Path(directory, names[number])
        yield build_shard(path, number, [batch.drop_null() for batch in parts.pop(number)], width, id_type, options)


def build_shard(
    path: Path, number: int, rows: list[pa.RecordBatch], width: int, id_type: str | None, options: dict[str, Any]
) -> pa.RecordBatch:
    """Build the file of one shard, and return its entry."""
    given = None
    words = [_bit_words.to_words(batch.column("fingerprint")) for batch in rows]
    empty = np.zeros((0, width // _bit_words.WORD_BITS), dtype=np.uint64)
    plain = _bit_words.plain(np.concatenate([empty, *words]))
    if id_type is not None:
        kind = pa.string() if id_type == "names" else pa.int64()
        given = pa.chunked_array([batch.column("id") for batch in rows], kind)
    # Another attempt at this task writes the same file, and replaces it atomically.
    summary = hamdex.build(path, plain, given, threads=threads(), overwrite=True, **options)
    with hamdex.Index(path) as index:
        file_id, recipe = index.file_id, index.recipe
    counts = {"fingerprints": summary.fingerprints, "ids": summary.ids, "bytes": summary.bytes}
    columns: dict[str, Any] = {"number": pa.array([number], pa.int32())}
    columns |= {name: pa.array([counts[name]], pa.int64()) for name in NUMBERS}
    columns |= {"file_id": pa.array([file_id], pa.string()), "recipe": pa.array([recipe], pa.string())}
    return pa.RecordBatch.from_pydict(columns)


def listed(target: Path, names: list[str], kind: tuple[int, int, str | None], results: list[dict[str, Any]]) -> Shards:
    """Return the set that tasks have built, after checking that the driver sees all of it."""
    results.sort(key=lambda row: row["number"])
    if [row["number"] for row in results] != list(range(len(names))):
        raise hamdex.BuildError(f"{target}: of {len(names)} shards, {len(results)} were built")
    shards = tuple(
        Shard(file=names[row["number"]], file_id=row["file_id"], **{name: row[name] for name in NUMBERS})
        for row in results
    )
    width, distance, id_type = kind
    found = Shards(target, width, distance, results[0]["recipe"], id_type, shards)
    _shards.check_files(found)
    return found


def is_published(target: Path, names: list[str]) -> bool:
    """Return whether the manifest names these shards, as far as it can be read."""
    try:
        return any(shard.file in names for shard in _shards.read(target).shards)
    except FileNotFoundError:
        return False
    except (hamdex.Error, OSError):
        return True


def discard(target: Path, names: list[str]) -> None:
    """Remove shards that are in no manifest."""
    for name in names:
        (target / name).unlink(missing_ok=True)
