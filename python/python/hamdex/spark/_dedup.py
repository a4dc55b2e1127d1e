"""Near-duplicates of texts."""

from __future__ import annotations

import hamdex
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType

from . import _columns, _stars
from ._features import Method, features
from ._near import near


def dedup(
    df: DataFrame,
    *,
    k: int,
    text: str = "text",
    id: str = "id",
    keep: str = "first",
    order: str | None = None,
    clusters: str = "stars",
    recipe: str = "default",
    partitions: int | None = None,
) -> DataFrame:
    """Find the near-duplicates among texts: clusters, with the one text of each that is kept.

    Texts are near-duplicates when their fingerprints differ in at most ``k`` bits; what is found is what
    ``hamdex.dedup(..., k=k)`` finds, exactly. Texts without a reliable fingerprint are near-duplicates of equal ones
    only.

    The result has a row for every text in a cluster: ``cluster``, which is the id of the kept text, so it does not
    depend on how the data are spread; ``id``; ``kept``; and ``distance`` of its fingerprint to that of the kept text,
    in bits. Ids must be unique. ``keep`` is "first", the smallest id, or with ``order`` the row with the least value in
    that column; or "longest". ``clusters`` is "stars", where every text is a near-duplicate of the kept one, or
    "linked", where near-duplicates are always together.

    The work is done at once. Spark keeps the result; ``unpersist()`` gives it back.
    """
    _columns.check_text(df, text)
    _columns.check_id(df, id)
    # A wrong recipe is refused here, before any work.
    width = 64 * hamdex.fingerprint([""], recipe).reshape(1, -1).shape[1]
    _columns.check_distance(k, width)
    _columns.check_count("partitions", partitions)
    if clusters not in ("stars", "linked"):
        raise ValueError(f"clusters cannot be {clusters!r}: stars or linked")
    node = F.struct(*rank(df, text, keep, order), _columns.column(df, id).alias("id"))
    documents = features(df, text, node, Method(k, recipe, width)).persist()
    held = [documents]
    try:
        check_unique(documents)
        classes = first_of_each(documents).persist()
        held.append(classes)
        pairs = near_classes(classes, k, width, partitions).persist()
        held.append(pairs)
        few = pairs.count() <= _stars.FEW
        cluster = _stars.stars if clusters == "stars" else _stars.linked
        groups = cluster(pairs, few, held)
        return computed(members(documents, classes, groups, width))
    finally:
        for one in held:
            one.unpersist()


def computed(result: DataFrame) -> DataFrame:
    """Let Spark compute a result, and keep it."""
    result = result.persist()
    try:
        result.count()
    except BaseException:
        result.unpersist()
        raise
    return result


def rank(df: DataFrame, text: str, keep: str, order: str | None) -> list[Column]:
    """Return what comes before the id in the order of preference."""
    if keep not in ("first", "longest"):
        raise ValueError(f"keep cannot be {keep!r}: first or longest")
    if keep == "longest":
        if order is not None:
            raise ValueError("keep='longest' is an order of its own: leave order out, or take keep='first'")
        return [(-F.octet_length(_columns.column(df, text))).alias("rank")]
    if order is None:
        return []
    kind = _columns.data_type(df, order)
    if isinstance(kind, (ArrayType, MapType)):
        raise TypeError(f"the column {order!r} is of type {kind.simpleString()}, which has no order")
    return [_columns.column(df, order).alias("rank")]


def check_unique(documents: DataFrame) -> None:
    """Refuse ids that are there twice."""
    twice = documents.groupBy(F.col("node.id").alias("id")).count().where("count > 1").head()
    if twice is not None:
        raise ValueError(f"the id {twice['id']!r} is there {twice['count']} times: ids must be unique")


def first_of_each(documents: DataFrame) -> DataFrame:
    """Return the first document of each class of equal ones, and ``count``, how many there are."""
    firsts = documents.groupBy("key").agg(F.min("node").alias("node"), F.count("*").alias("count"))
    return documents.join(firsts, ["key", "node"])


def near_classes(classes: DataFrame, k: int, width: int, partitions: int | None) -> DataFrame:
    """Return the pairs of classes whose fingerprints are near."""
    with_fingerprint = classes.where("reliable")
    found = near(with_fingerprint.select("fingerprint"), k, width, partitions=partitions)
    for side, name in (("left", "one"), ("right", "other")):
        nodes = with_fingerprint.select(F.col("fingerprint").alias(side), F.col("node").alias(name))
        found = found.join(nodes, side)
    return found.select("one", "other")


def members(documents: DataFrame, classes: DataFrame, groups: DataFrame, width: int) -> DataFrame:
    """Return the members of all clusters."""
    own = F.col("node.id")
    grouped = classes.select("key", "count", own.alias("id")).join(groups, "id", "left")
    grouped = grouped.select("key", "count", F.coalesce("centre", "id").alias("cluster"))
    sizes = grouped.groupBy("cluster").agg(F.sum("count").alias("size")).where("size > 1").select("cluster")
    grouped = grouped.select("key", "cluster").join(sizes, "cluster")
    found = documents.join(grouped, "key")
    is_kept = own == F.col("cluster")
    kept = found.where(is_kept).select("cluster", F.col("fingerprint").alias("kept_fingerprint"))
    distance = _columns.distance(F.col("fingerprint"), F.col("kept_fingerprint"), width)
    columns = [F.col("cluster"), own.alias("id"), is_kept.alias("kept"), distance.alias("distance")]
    return found.join(kept, "cluster").select(*columns)
