"""Which shingles of a set lead to similar ones: few, the rarest first.

Put the shingles of all sets into one order. Two sets of which at least s shingles are shared have a common one among
the first n - s + 1 of each, n being its own size: had they none there, one of them would have at most s - 1 shingles
left to share (Chaudhuri, Ganti and Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning", ICDE 2006).
A set shares at least t n shingles with any similar one, t being the threshold, and 2t / (1 + t) n with one that is as
large or larger, for which a shorter prefix will do (Xiao, Wang, Lin and Yu, "Efficient Similarity Joins for Near
Duplicate Detection", WWW 2008).

The order is by the number of sets that have a shingle, then by the shingle itself: total, and the same for every task.
So a shingle that m sets have is in a prefix only where at least the share t of the set's shingles are in m sets or more:
what is common to many texts that differ otherwise, such as a footer, is in no prefix at all.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ._persisted import kept

# Sets that have a shingle, above which it is broadcast instead of brought together with them.
MAX_COMMON = 1 << 16

# Of all rows, the share above which these limits grow: so what is broadcast has a million rows at most.
BROADCAST_BITS = 20

# What rounding can add to a product of doubles, generously. A prefix may be longer than it has to be.
MARGIN = 1 - 1e-12


def prefixes(classes: DataFrame, similarity: float, held: list[DataFrame]) -> DataFrame:
    """Return the prefixes of ``shingles`` of classes: ``shingle``, ``id``, ``size``, ``place``, ``is_short``.

    ``place`` is the number of the shingle in the order of its set, from 1 on. Those with ``is_short`` lead to sets as
    large or larger; all lead to smaller ones. Shingles that no other set has are left out: they lead nowhere.
    What Spark keeps for the result is added to ``held``.
    """
    size = F.size("shingles").alias("size")
    shingles = classes.select(F.col("node.id").alias("id"), size, F.explode("shingles").alias("shingle"))
    total = classes.agg(F.sum(F.size("shingles"))).head()
    common = limit(MAX_COMMON, 0 if total is None or total[0] is None else int(total[0]))
    set_of = Window.partitionBy("id")
    alone = F.col("size") - F.count("*").over(set_of)
    place = F.row_number().over(set_of.orderBy("sets", "shingle")) + alone
    placed = counted(shingles, common, held).select("shingle", "id", "size", place.cast("int").alias("place"))
    long, short = lengths(F.col("size"), similarity)
    return placed.where(F.col("place") <= long).withColumn("is_short", F.col("place") <= short)


def limit(least: int, rows: int) -> int:
    """Return how many rows may be alike, of so many: there are few groups of more."""
    return max(least, rows >> BROADCAST_BITS)


def counted(shingles: DataFrame, common: int, held: list[DataFrame]) -> DataFrame:
    """Return the shingles that several sets have, with ``sets``, how many."""
    census = kept(shingles.groupBy("shingle").agg(F.count("*").alias("sets")).where("sets > 1"), held)
    # A task would get all rows of a shingle to look up its count: where these are very many, the count goes to them.
    most = census.where(F.col("sets") > common)
    if most.isEmpty():
        return shingles.join(census, "shingle")
    most = F.broadcast(most)
    others = shingles.join(most, "shingle", "left_anti").join(census.where(F.col("sets") <= common), "shingle")
    return shingles.join(most, "shingle").unionByName(others)


def lengths(size: Column, similarity: float) -> tuple[Column, Column]:
    """Return how long the prefix of a set is towards smaller sets, and towards sets as large or larger."""
    with_any = F.ceil(size * F.lit(similarity * MARGIN))
    with_larger = F.ceil(size * F.lit(2 * similarity / (1 + similarity) * MARGIN))
    return size + 1 - with_any, size + 1 - with_larger
