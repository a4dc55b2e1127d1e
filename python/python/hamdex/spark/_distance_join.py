"""The join of all pairs of fingerprints within a distance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import hamdex
import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from . import _bit_words
from ._bit_words import Words
from ._executors import on_executors, threads
from ._pigeonhole import Leads

# Approximate rows per task: each takes some ten bytes, and a few times that while pairs are found.
ROWS_PER_TASK = 1 << 22

# Number of rows with the same leading bits of a group above which they are split.
MAX_ALIKE = 1 << 20


def near(
    fingerprints: DataFrame, k: int, width: int, *, partitions: int | None = None, memory: int | None = None
) -> DataFrame:
    """Return ``left``, ``right`` and ``distance`` of all pairs of distinct fingerprints in a column ``fingerprint``.

    A job counts the fingerprints eagerly; the join is lazy.
    """
    leads = Leads.of(width, k)
    rows = with_leads(fingerprints, leads)
    counted = rows.groupBy("lead", *prefix(leads.counted(), "lead", width)).count().toArrow()
    counts = counted["count"].to_numpy()
    if partitions is None:
        partitions = max(parallelism(fingerprints), -(-int(counts.sum()) // ROWS_PER_TASK))
    rows = with_leads(fingerprints.distinct(), leads)
    rows = split(rows, leads, counted.filter(pa.array(counts > MAX_ALIKE)))
    # The index of the mask of a part; an empty mask precedes the masks of each lead.
    flat = [mask for parts in leads.parts for mask in [0, *parts]]
    place = F.col("lead") * (len(leads.parts[0]) + 1) + F.col("part") + 1
    keys = prefix(leads.masks, F.col("lead"), width) + prefix(flat, place, width)
    rows = rows.repartition(partitions, "lead", "part", *keys).select("lead", "part", "fingerprint")
    fields = [StructField(name, _bit_words.spark_type(width), False) for name in ("left", "right")]
    schema = StructType([*fields, StructField("distance", IntegerType(), False)])
    return rows.mapInArrow(on_executors(__name__, "work", width=width, k=k, memory=memory), schema)


def parallelism(df: DataFrame) -> int:
    """Return the number of tasks that run at a time."""
    return max(1, int(df.sparkSession.sparkContext.defaultParallelism))


def with_leads(fingerprints: DataFrame, leads: Leads) -> DataFrame:
    """Return each fingerprint once per lead."""
    numbers = F.array(*[F.lit(lead) for lead in range(len(leads.masks))])
    return fingerprints.select("fingerprint", F.explode(numbers).alias("lead"))


def prefix(values: list[int], place: Column | str, width: int) -> list[Column]:
    """Return the words of the fingerprint masked by the value at a place."""
    place = F.col(place) if isinstance(place, str) else place
    names = ["fingerprint"] if width == _bit_words.WORD_BITS else ["fingerprint.high", "fingerprint.low"]
    columns = []
    for number, name in enumerate(names):
        masks = [F.lit(_bit_words.signed(_bit_words.mask_words(mask, width)[number])).cast("long") for mask in values]
        mask = F.element_at(F.array(*masks), place + 1)
        columns.append(F.col(name).bitwiseAND(mask).alias(f"word{number}"))
    return columns


def split(rows: DataFrame, leads: Leads, alike: pa.Table) -> DataFrame:
    """Add ``part``: a row for each part if very many rows are alike, otherwise -1."""
    parts = len(leads.parts[0])
    if not len(alike) or parts == 1:
        return rows.withColumn("part", F.lit(-1))
    session = rows.sparkSession
    names = [name for name in alike.column_names if name != "count"]
    crowded = F.broadcast(session.createDataFrame(alike.select(names)).withColumn("crowded", F.lit(True)))
    words = prefix(leads.counted(), "lead", leads.width)
    joined = rows.select("*", *words).join(crowded, names, "left")
    numbers = F.when(F.col("crowded"), F.sequence(F.lit(0), F.lit(parts - 1))).otherwise(F.array(F.lit(-1)))
    return joined.select("fingerprint", "lead", F.explode(numbers).alias("part"))


def work(batches: Iterable[pa.RecordBatch], width: int, k: int, memory: int | None) -> Iterator[pa.RecordBatch]:
    """Find the pairs among the rows of a task that belong to their lead."""
    leads = Leads.of(width, k)
    parts = len(leads.parts[0]) + 1
    groups: dict[int, list[Words]] = {}
    for batch in batches:
        numbers = batch.column("lead").to_numpy().astype(np.int64) * parts + batch.column("part").to_numpy() + 1
        words = _bit_words.to_words(batch.column("fingerprint"))
        for number in np.unique(numbers):
            groups.setdefault(int(number), []).append(words[numbers == number])
    for number in sorted(groups):
        words = np.concatenate(groups.pop(number))
        if len(words) > 1:
            yield from found(words, leads, number // parts, number % parts - 1, memory)


def found(words: Words, leads: Leads, lead: int, part: int, memory: int | None) -> Iterator[pa.RecordBatch]:
    """Find the pairs among fingerprints that belong to a lead and a part."""
    # The self-join uses all of its own leads. That a pair agrees in this lead saves none of them: its k bits may be
    # anywhere in the other bits, which need k + 1 groups again.
    for table in hamdex.pairs(_bit_words.plain(words), leads.k, memory=memory, threads=threads()):
        left, right = (_bit_words.rows(table[name]) for name in ("left", "right"))
        mine = leads.belongs(left ^ right, lead, part)
        columns = {
            "left": _bit_words.to_column(left[mine]),
            "right": _bit_words.to_column(right[mine]),
            "distance": pa.array(table["distance"][mine].astype(np.int32)),
        }
        yield pa.RecordBatch.from_pydict(columns)
