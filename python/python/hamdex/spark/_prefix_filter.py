"""Prefix filtering: the few shingles of a set by which similar sets are found, the rarest first.

All shingles have one global order. Two sets that share at least s shingles have a common one among the first n - s +
1 of each, n being its size: otherwise one of them would have at most s - 1 shingles left to share (Chaudhuri, Ganti
and Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning", ICDE 2006). With the threshold t, a set
shares at least t n shingles with any similar set, and 2t / (1 + t) n with a similar set that is as large or larger,
for which a shorter prefix suffices (Xiao, Wang, Lin and Yu, "Efficient Similarity Joins for Near Duplicate
Detection", WWW 2008).

The order is by the number of sets that have a shingle, then by the shingle itself: total, and the same for every task.
So a shingle that m sets have is in a prefix only where at least the share t of the set's shingles are in m sets or more:
text that is common to many otherwise different documents, such as a footer, is in no prefix at all.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ._persisted import kept, large

# Number of sets with a shingle above which its count is broadcast instead of joined.
MAX_COMMON = 1 << 16

# The limits grow with the number of rows shifted by this, so that broadcast tables have at most a million rows.
BROADCAST_BITS = 20

# A generous bound of rounding errors in a product. A prefix may be longer than necessary.
MARGIN = 1 - 1e-12


def prefixes(classes: DataFrame, similarity: float, held: list[DataFrame]) -> DataFrame:
    """Return the prefixes of ``shingles`` of classes: ``shingle``, ``id``, ``size``, ``place``, ``is_short``.

    ``place`` is the number of the shingle in the order of its set, from 1. Shingles with ``is_short`` are for sets as
    large or larger; all are for smaller ones. Shingles of no other set are left out. Persisted tables that the result
    needs are added to ``held``.
    """
    size = F.size("shingles").alias("size")
    shingles = large(classes.select(F.col("node.id").alias("id"), size, F.explode("shingles").alias("shingle")))
    total = classes.agg(F.sum(F.size("shingles"))).head()
    common = limit(MAX_COMMON, 0 if total is None or total[0] is None else int(total[0]))
    set_of = Window.partitionBy("id")
    alone = F.col("size") - F.count("*").over(set_of)
    place = F.row_number().over(set_of.orderBy("sets", "shingle")) + alone
    placed = counted(shingles, common, held).select("shingle", "id", "size", place.cast("int").alias("place"))
    long, short = lengths(F.col("size"), similarity)
    return placed.where(F.col("place") <= long).withColumn("is_short", F.col("place") <= short)


def limit(least: int, rows: int) -> int:
    """Return the limit of rows per group, which few groups exceed."""
    return max(least, rows >> BROADCAST_BITS)


def counted(shingles: DataFrame, common: int, held: list[DataFrame]) -> DataFrame:
    """Return the shingles of several sets, with their number ``sets``."""
    census = kept(shingles.groupBy("shingle").agg(F.count("*").alias("sets")).where("sets > 1"), held)
    # A join would send all rows of a shingle to one task; for very common shingles, the count is broadcast instead.
    most = census.where(F.col("sets") > common)
    if most.isEmpty():
        return shingles.join(census, "shingle")
    most = F.broadcast(most)
    others = large(shingles.join(most, "shingle", "left_anti")).join(census.where(F.col("sets") <= common), "shingle")
    return shingles.join(most, "shingle").unionByName(others)


def lengths(size: Column, similarity: float) -> tuple[Column, Column]:
    """Return the lengths of the prefix of a set for smaller sets, and for sets as large or larger."""
    with_any = F.ceil(size * F.lit(similarity * MARGIN))
    with_larger = F.ceil(size * F.lit(2 * similarity / (1 + similarity) * MARGIN))
    return size + 1 - with_any, size + 1 - with_larger
