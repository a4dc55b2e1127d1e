"""Clusters of near-duplicates: stars, in which every member is a near-duplicate of its centre, or connected components.

For stars, documents are processed in order. A near-duplicate of centres joins the first of them; any other document
becomes a centre. The result depends only on the order and on which documents are near-duplicates. Components are
independent, so each is processed by one task; its pairs are sorted, and only its members are kept in memory.
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

# Number of pairs up to which one task processes all.
FEW = 1 << 20


def stars(pairs: DataFrame, few: bool, held: list[DataFrame]) -> DataFrame:
    """Return ``id`` and ``centre`` of all members of stars except the centres.

    ``pairs`` has the nodes ``one`` and ``other``, structs in the order of the documents, with an ``id``.
    Persisted tables that the result needs are added to ``held``.
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
    """Return ``id`` and ``centre`` of the members of all components except the first of each, which is the centre."""
    ids = pairs.select(F.col("one.id").alias("one"), F.col("other.id").alias("other"))
    components = _components.joined(ids) if few else _components.contracted(ids, held)
    nodes = pairs.select(F.explode(F.array("one", "other")).alias("node")).distinct()
    nodes = nodes.select("node", F.col("node.id").alias("id"))
    members = components.withColumnRenamed("node", "id").join(nodes, "id")
    firsts = members.groupBy("component").agg(F.min("node").alias("first"))
    found = members.join(firsts, "component").select("id", F.col("first.id").alias("centre"))
    return found.where("id != centre")


def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the members of the stars of components, each of which is complete and sorted here."""
    schema, batches = _row_batches.with_schema(batches)
    if schema is not None:
        node = schema.field("later").type
        yield from _row_batches.batched(members(_row_batches.rows(batches)), pa.schema([("id", node), ("centre", node)]))


def members(pairs: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Return the members and their centres of ``component``, ``later``, ``earlier``, sorted by these."""
    for _, component in groupby(pairs, key=itemgetter(0)):
        taken = set()
        for _, later, earlier in component:
            # All documents before it are settled, and its first neighbouring centre is visited first.
            if later not in taken and earlier not in taken:
                taken.add(later)
                yield later, earlier
