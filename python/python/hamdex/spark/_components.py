"""Connected components of a graph.

A few edges are joined by one task. Many are processed in rounds of large and small stars (Kiveris, Lattanzi,
Mirrokni, Rastogi and Vassilvitskii, "Connected Components in MapReduce and Beyond", SoCC 2014): every node connects
its larger neighbours, then its smaller ones, to the smallest node it knows, until each component is one star. The
neighbours of a node are sorted, so they need not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, StructField, StructType

from ._executors import on_executors
from ._persisted import kept
from ._row_batches import batched, rows, with_schema

Row = tuple[Any, ...]


def joined(edges: DataFrame) -> DataFrame:
    """Return ``node`` and ``component`` of a few edges ``one``, ``other``. A component is named by its smallest node."""
    node = edges.schema["one"].dataType
    schema = StructType([StructField(name, node, False) for name in ("node", "component")])
    return edges.repartition(1).mapInArrow(on_executors(__name__, "unite"), schema)


def contracted(edges: DataFrame, held: list[DataFrame]) -> DataFrame:
    """Return ``node`` and ``component`` of any number of edges. Each round is a job.

    Data that Spark keeps for the result are added to ``held``.
    """
    node = edges.schema["one"].dataType
    ends = [F.greatest("one", "other").alias("node"), F.least("one", "other").alias("neighbour")]
    edges = edges.select(*ends, F.lit(True).alias("changed"))
    rounds: list[DataFrame] = []
    while True:
        edges = kept(stars("smaller", stars("larger", both_ways(edges), node), node), rounds)
        held.append(rounds[-1])
        if edges.where("changed").count() == 0:
            break
        # Lost partitions are computed again, from the pairs if necessary.
        if len(rounds) > 1:
            before = rounds.pop(0)
            before.unpersist()
            held.remove(before)
    leaves = edges.select("node", F.col("neighbour").alias("component"))
    return leaves.unionByName(leaves.select(F.col("component").alias("node"), "component").distinct())


def both_ways(edges: DataFrame) -> DataFrame:
    """Return every edge in both directions."""
    there = F.struct("node", "neighbour")
    back = F.struct(F.col("neighbour").alias("node"), F.col("node").alias("neighbour"))
    return edges.select(F.explode(F.array(there, back)).alias("end"), "changed").select("end.*", "changed")


def stars(neighbours: str, edges: DataFrame, node: DataType) -> DataFrame:
    """Run one round of large stars, of larger neighbours, or of small ones, of smaller neighbours."""
    schema = StructType(
        [StructField(name, node, False) for name in ("node", "neighbour")]
        + [StructField("changed", BooleanType(), False)]
    )
    placed = edges.repartition("node").sortWithinPartitions("node", "neighbour")
    return placed.mapInArrow(on_executors(__name__, "connect", neighbours=neighbours), schema)


def unite(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the smallest node of the component of each node."""
    schema, batches = with_schema(batches)
    if schema is None:
        return
    parents: dict[Any, Any] = {}

    def root(node: Any) -> Any:
        top = parents.setdefault(node, node)
        while parents[top] != top:
            top = parents[top]
        while parents[node] != top:
            parents[node], node = top, parents[node]
        return top

    for one, other in rows(batches):
        first, second = sorted((root(one), root(other)))
        parents[second] = first
    kind = schema.field(0).type
    found = ((node, root(node)) for node in list(parents))
    yield from batched(found, pa.schema([("node", kind), ("component", kind)]))


def connect(batches: Iterable[pa.RecordBatch], neighbours: str) -> Iterator[pa.RecordBatch]:
    """Connect the larger neighbours of every node, or the smaller ones and itself, to the smallest of them."""
    schema, batches = with_schema(batches)
    if schema is not None:
        connected = connect_larger if neighbours == "larger" else connect_smaller
        yield from batched(connected(rows(batches)), schema)


def connect_larger(edges: Iterable[Row]) -> Iterator[Row]:
    """Return the edges that large stars make of sorted ones, and whether each is a change."""
    for node, neighbours in groupby(edges, key=itemgetter(0)):
        smallest = previous = None
        for _, neighbour, _ in neighbours:
            if smallest is None:
                smallest = min(node, neighbour)
            if neighbour > node and neighbour != previous:
                yield neighbour, smallest, smallest != node
            previous = neighbour


def connect_smaller(edges: Iterable[Row]) -> Iterator[Row]:
    """Return the edges that small stars make of sorted ones, and whether each is a change, now or before."""
    for node, neighbours in groupby(edges, key=itemgetter(0)):
        smallest = previous = None
        changed = False
        for _, neighbour, has_changed in neighbours:
            changed |= has_changed
            if smallest is None:
                smallest = neighbour
            elif neighbour != previous:
                changed = True
                yield neighbour, smallest, True
            previous = neighbour
        yield node, smallest, changed
