"""All pairs within a distance."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from . import _columns
from ._distance_join import near


def pairs(
    df: DataFrame,
    k: int = 3,
    *,
    fingerprint: str = "fingerprint",
    id: str | None = "id",
    partitions: int | None = None,
    memory: int | None = None,
) -> DataFrame:
    """Find all pairs within ``k`` bits: the columns ``left``, ``right`` and ``distance``, each pair once.

    ``left`` and ``right`` are ids, the smaller one on the left; rows with equal fingerprints are pairs too, at distance
    0, all with all. With ``id=None`` they are the distinct fingerprints themselves, as in ``hamdex.pairs``: a million
    equal rows are one fingerprint.

    ``df`` is read twice, to count and to search: persist it if it is expensive. ``partitions`` is the number of tasks, by
    default one per four million rows; ``memory`` is the limit of each task in bytes.
    """
    width = _columns.width(df, fingerprint)
    _columns.check_distance(k, width)
    _columns.check_count("partitions", partitions)
    values = _columns.column(df, fingerprint).alias("fingerprint")
    found = near(df.select(values), k, width, partitions=partitions, memory=memory)
    if id is None:
        return found
    _columns.check_id(df, id)
    rows = df.select(values, _columns.column(df, id).alias("id"))
    one = rows.select(F.col("fingerprint").alias("left"), F.col("id").alias("one"))
    other = rows.select(F.col("fingerprint").alias("right"), F.col("id").alias("other"))
    apart = found.join(one, "left").join(other, "right").select(*ordered("one", "other"), "distance")
    # Joined under different names, since both sides have the same rows.
    twins = one.join(other.withColumnRenamed("right", "left"), "left").where(F.col("one") < F.col("other"))
    return apart.unionByName(twins.select(*ordered("one", "other"), F.lit(0).alias("distance")))


def ordered(one: str, other: str) -> list[Column]:
    """Return two columns as ``left`` and ``right``, the smaller value on the left."""
    return [F.least(one, other).alias("left"), F.greatest(one, other).alias("right")]
