"""Stars: every member is a near-duplicate of its centre.

Documents are taken in their order. One that is a near-duplicate of a centre joins the first such centre; any other is a
centre from then on. So what is found depends on the order and on which documents are near-duplicates, and on nothing
else. Components do not touch each other, so each is a task's own; the pairs of one come sorted, and need no memory but
for the members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from . import _components, _row_batches
from ._executors import on_executors

# Pairs that one task takes.
FEW = 1 << 20


def stars(pairs: DataFrame, few: bool, held: list[DataFrame]) -> DataFrame:
    """Return ``id`` and ``centre`` of all members of stars but the centres.

    ``pairs`` has the nodes ``one`` and ``other``, structs that are ordered as the documents are, and have an ``id``.
    What Spark keeps for the result is added to ``held``.
    """
    pairs = pairs.select(F.greatest("one", "other").alias("later"), F.least("one", "other").alias("earlier"))
    if few:
        placed = pairs.withColumn("component", F.lit(0)).repartition(1)
    else:
        ids = pairs.select(F.col("later.id").alias("one"), F.col("earlier.id").alias("other"))
        components = _components.contracted(ids, held).withColumnRenamed("node", "later_id")
        placed = pairs.withColumn("later_id", F.col("later.id")).join(components, "later_id").repartition("component")
    sorted_pairs = placed.sortWithinPartitions("component", "later", "earlier")
    node = pairs.select("later.id").schema["id"].dataType
    schema = StructType([StructField(name, node, False) for name in ("id", "centre")])
    rows = sorted_pairs.select("component", F.col("later.id").alias("later"), F.col("earlier.id").alias("earlier"))
    return rows.mapInArrow(on_executors(__name__, "work"), schema)


def linked(pairs: DataFrame, few: bool, held: list[DataFrame]) -> DataFrame:
    """Return ``id`` and ``centre`` of the members of all chains but the first of each, which is the centre."""
    ids = pairs.select(F.col("one.id").alias("one"), F.col("other.id").alias("other"))
    components = _components.joined(ids) if few else _components.contracted(ids, held)
    nodes = pairs.select(F.explode(F.array("one", "other")).alias("node")).distinct()
    nodes = nodes.select("node", F.col("node.id").alias("id"))
    members = components.withColumnRenamed("node", "id").join(nodes, "id")
    firsts = members.groupBy("component").agg(F.min("node").alias("first"))
    found = members.join(firsts, "component").select("id", F.col("first.id").alias("centre"))
    return found.where("id != centre")


def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the members of the stars of components, each of which is here as a whole and sorted."""
    schema, batches = _row_batches.with_schema(batches)
    if schema is not None:
        node = schema.field("later").type
        yield from _row_batches.batched(members(_row_batches.rows(batches)), pa.schema([("id", node), ("centre", node)]))


def members(pairs: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Return the members and their centres of ``component``, ``later``, ``earlier``, sorted by these."""
    for _, component in groupby(pairs, key=itemgetter(0)):
        taken = set()
        for _, later, earlier in component:
            # All before it are settled; of its neighbours that are centres the first is met first.
            if later not in taken and earlier not in taken:
                taken.add(later)
                yield later, earlier
