"""The join of all pairs of similar sets of shingles.

Two similar sets have a common shingle in their prefixes. The sets of a very common shingle are split into blocks, and
every pair of blocks is a group: so no group is larger than two blocks, and each pair is in one group.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from . import _columns
from ._persisted import kept
from ._prefix_filter import limit, prefixes

# Number of prefixes with a common shingle above which they are split into blocks of about this size.
MAX_ALIKE = 1 << 12


def similar(
    classes: DataFrame, similarity: float, held: list[DataFrame], *, k: int | None = None, width: int
) -> DataFrame:
    """Return the nodes ``one`` and ``other`` of all pairs of classes that are similar.

    ``classes`` has ``node``, ``shingles``, ``fingerprint`` and ``reliable``. With ``k``, their fingerprints must be
    near, too. Persisted tables that the result needs are added to ``held``.
    """
    rows = kept(prefixes(classes, similarity, held), held)
    return confirmed(candidates(split(rows), similarity), classes, similarity, k, width)


def split(rows: DataFrame) -> DataFrame:
    """Add ``block``, and the two blocks ``low`` and ``high`` of a group: a row for each group of the set."""
    most = limit(MAX_ALIKE, rows.count())
    crowded = rows.groupBy("shingle").count().where(F.col("count") > most)
    if crowded.isEmpty():
        return rows.select("*", *(F.lit(0).alias(name) for name in ("block", "low", "high")))
    blocks = crowded.select("shingle", F.ceil(F.col("count") / most).cast("int").alias("blocks"))
    rows = rows.join(F.broadcast(blocks), "shingle", "left").withColumn("blocks", F.coalesce("blocks", F.lit(1)))
    rows = rows.withColumn("block", F.pmod(F.xxhash64("id"), F.col("blocks")).cast("int"))
    rows = rows.withColumn("partner", F.explode(F.sequence(F.lit(0), F.col("blocks") - 1)))
    ends = [F.least("block", "partner").alias("low"), F.greatest("block", "partner").alias("high")]
    return rows.select("shingle", "id", "size", "place", "is_short", "block", *ends)


def candidates(rows: DataFrame, similarity: float) -> DataFrame:
    """Return the ids ``one`` and ``other`` of the pairs with a common shingle that can be similar, each once."""
    group = ["shingle", "low", "high"]
    sides = []
    for side in ("one", "other"):
        names = ["id", "size", "place", "is_short", "block"]
        sides.append(rows.select(*group, *(F.col(name).alias(f"{side}_{name}") for name in names)))
    met = sides[0].join(sides[1], group)
    # Both sides have the same rows. Pairs within one block are in the group of that block alone.
    once = (F.col("one_id") < F.col("other_id")) & (
        (F.col("low") == F.col("high")) | (F.col("one_block") != F.col("other_block"))
    )
    sizes = F.col("one_size"), F.col("other_size")
    # The first common shingle is in the short prefix of the smaller set.
    leads = (F.col("one_is_short") | (sizes[0] > sizes[1])) & (F.col("other_is_short") | (sizes[1] > sizes[0]))
    # The number of shingles after the first common one bounds the number of shared ones.
    most = F.least(sizes[0] - F.col("one_place"), sizes[1] - F.col("other_place")) + 1
    is_possible = share(most, *sizes) >= similarity
    return met.where(once & leads & is_possible).select("one_id", "other_id").distinct()


def confirmed(pairs: DataFrame, classes: DataFrame, similarity: float, k: int | None, width: int) -> DataFrame:
    """Return the nodes of the pairs that are similar."""
    names = ["node", "shingles"] if k is None else ["node", "shingles", "fingerprint", "reliable"]
    for side in ("one", "other"):
        own = [F.col(name).alias(f"{side}_{name}") for name in names]
        pairs = pairs.join(classes.select(F.col("node.id").alias(f"{side}_id"), *own), f"{side}_id")
    one, other = F.col("one_shingles"), F.col("other_shingles")
    is_near = shared(one, other) >= least_shared(F.size(one), F.size(other), similarity)
    if k is not None:
        distance = _columns.distance(F.col("one_fingerprint"), F.col("other_fingerprint"), width)
        is_near &= F.col("one_reliable") & F.col("other_reliable") & (distance <= k)
    return pairs.where(is_near).select(F.col("one_node").alias("one"), F.col("other_node").alias("other"))


def shared(one: Column, other: Column) -> Column:
    """Return the number of shingles that two sets share."""
    return F.size(F.array_intersect(one, other))


def share(shared: Column, one: Column, other: Column) -> Column:
    """Return the similarity of two sets by their sizes and shared shingles, by the same division as the engine."""
    return shared / (one + other - shared)


def least_shared(one: Column, other: Column, similarity: float) -> Column:
    """Return the fewest shingles that sets of these sizes share if they are similar.

    With it, the expensive count of shared shingles occurs only once in a condition.
    """
    about = F.ceil((one + other) * F.lit(similarity / (1 + similarity)))
    # Rounding errors are corrected by the division that defines similarity.
    fewer = F.when(share(about - 1, one, other) >= similarity, about - 1)
    return fewer.when(share(about, one, other) >= similarity, about).otherwise(about + 1)
