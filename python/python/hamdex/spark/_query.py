"""Queries of a set of shards."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from . import _bit_words, _columns, _distance_join, _shards
from ._executors import on_executors, threads
from ._shards import Shards

# The sizes of batches of queries and of matches.
QUERIES = 1 << 18
MATCHES = 1 << 16


def query(
    queries: DataFrame,
    shards: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Shards,
    k: int | None = None,
    *,
    fingerprint: str = "fingerprint",
    id: str = "id",
    ids_limit: int | None = 10,
    memory: int | None = None,
) -> DataFrame:
    """Find all stored fingerprints within ``k`` bits of queries: the columns ``query``, ``id``, ``distance``
    and ``ids_count``.

    ``shards`` is the directory of a set from ``build`` or the ``hamdex`` command, the result of ``build``, or a list of
    index files that were built separately in the same way. ``query`` is the id of the query, ``id`` that of the match: a
    row for each of the first ``ids_limit`` ids (``None``: all) that a shard has of a fingerprint, of ``ids_count``.
    Without ids, the column ``fingerprint`` has the match itself instead. By default ``k`` is the distance for which the
    set is built.

    Every query goes to every shard, or to every shard of one family in a set of families. A task searches one shard, so
    its machine reads only that shard.
    """
    found = open_set(shards)
    width = _columns.width(queries, fingerprint)
    _columns.check_id(queries, id)
    if width != found.width:
        raise ValueError(f"the queries have {width} bits, and the shards {found.width}")
    if k is None:
        k = found.distance
    _columns.check_distance(k, width)
    _columns.check_count("ids_limit", ids_limit)
    fields = [StructField("query", _columns.data_type(queries, id), False), *match_fields(found)]
    count = len(found.shards)
    # Several tasks per shard if more tasks than shards can run.
    blocks = -(-_distance_join.parallelism(queries) // count)
    rows = queries.select(
        _columns.column(queries, id).alias("query"),
        _columns.column(queries, fingerprint).alias("fingerprint"),
        F.explode(F.sequence(F.lit(0), F.lit(count - 1))).alias("shard"),
    )
    block = F.pmod(F.xxhash64("fingerprint"), F.lit(blocks)).cast("int")
    rows = rows.repartitionById(count * blocks, F.col("shard") * blocks + block)
    files = [(str(found.path(number)), shard.file_id) for number, shard in enumerate(found.shards)]
    work = on_executors(__name__, "work", files=files, k=k, ids_limit=ids_limit, memory=memory)
    return rows.mapInArrow(work, StructType(fields))


def open_set(shards: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Shards) -> Shards:
    """Return the given set, after checking its files as far as the driver can."""
    if isinstance(shards, Shards):
        found = shards
    elif isinstance(shards, (str, os.PathLike)):
        found = _shards.read(_shards.local(shards))
    else:
        return _shards.of_files(shards)
    found = _shards.in_one_family(found)
    _shards.check_files(found)
    return found


def match_fields(shards: Shards) -> list[StructField]:
    """Return the columns of a match."""
    distance = StructField("distance", IntegerType(), False)
    if shards.id_type is None:
        return [StructField("fingerprint", _bit_words.spark_type(shards.width), False), distance]
    kind = StringType() if shards.id_type == "names" else LongType()
    return [StructField("id", kind, False), distance, StructField("ids_count", LongType(), False)]


def work(
    batches: Iterable[pa.RecordBatch], files: list[tuple[str, str]], k: int, ids_limit: int | None, memory: int | None
) -> Iterator[pa.RecordBatch]:
    """Search the shard of a task."""
    waiting: dict[int, list[pa.RecordBatch]] = {}
    opened: dict[int, Any] = {}

    def answer(number: int) -> Iterator[pa.RecordBatch]:
        if number not in opened:
            opened[number] = _shards.open_shard(*files[number])
        queries = pa.Table.from_batches(waiting.pop(number)).combine_chunks()
        yield from matches(opened[number], queries, k, ids_limit, memory)

    try:
        for batch in batches:
            numbers = batch.column("shard").to_numpy()
            for number in np.unique(numbers):
                part = batch.filter(pa.array(numbers == number)).select(["query", "fingerprint"])
                waiting.setdefault(int(number), []).append(part)
                if sum(len(one) for one in waiting[int(number)]) >= QUERIES:
                    yield from answer(int(number))
        for number in sorted(waiting):
            yield from answer(number)
    finally:
        for index in opened.values():
            index.close()


def matches(
    index: Any, queries: pa.Table, k: int, ids_limit: int | None, memory: int | None
) -> Iterator[pa.RecordBatch]:
    """Return the matches of queries in one shard."""
    words = _bit_words.to_words(queries["fingerprint"].combine_chunks())
    result = index.batch(_bit_words.plain(words), k, ids_limit=ids_limit, memory=memory, threads=threads())
    rows, distances = result["query"].astype(np.int64), result["distance"].astype(np.int32)
    # Each access copies the whole column.
    counts = result["ids_count"].astype(np.int64) if index.has_ids else None
    if counts is not None:
        name, values = "id", pa.table(result)["id"].combine_chunks()
        if pa.types.is_uint64(values.type):
            values = values.view(pa.int64())
    else:
        name, values = "fingerprint", _bit_words.to_column(result["fingerprint"])
    names = queries["query"].combine_chunks()
    for start in range(0, len(rows), MATCHES):
        end = min(start + MATCHES, len(rows))
        columns = {
            "query": names.take(pa.array(rows[start:end])),
            name: values.slice(start, end - start),
            "distance": pa.array(distances[start:end]),
        }
        if counts is not None:
            columns["ids_count"] = pa.array(counts[start:end])
        yield pa.RecordBatch.from_pydict(columns)
