"""Near-duplicates of texts."""

from __future__ import annotations

import hamdex
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType

from . import _columns, _similarity_join, _grouping
from ._document_features import Method, features
from ._distance_join import near
from ._persisted import kept

DEFAULT_SIMILARITY = 0.7


def dedup(
    df: DataFrame,
    *,
    similarity: float | None = None,
    k: int | None = None,
    shingle: int = 5,
    text: str = "text",
    id: str = "id",
    keep: str = "first",
    order: str | None = None,
    clusters: str = "stars",
    recipe: str = "default",
    partitions: int | None = None,
) -> DataFrame:
    """Find the near-duplicates among texts: clusters, with the one text of each that is kept.

    Texts are near-duplicates when they share ``similarity`` of their shingles (0.7 of ``shingle`` words each, unless
    given); with ``k`` alone, when their fingerprints differ in at most ``k`` bits; with both, when both hold. What is
    found is what ``hamdex.dedup`` finds with the same options, exactly. With ``k`` alone, texts without a reliable
    fingerprint are near-duplicates of equal ones only.

    The result has a row for every text in a cluster: ``cluster``, which is the id of the kept text, so it does not
    depend on how the data are spread; ``id``; ``kept``; ``distance`` of its fingerprint to that of the kept text, in
    bits; and ``similarity`` to it where texts are compared. Ids must be unique. ``keep`` is "first", the smallest id,
    or with ``order`` the row with the least value in that column; or "longest". ``clusters`` is "stars", where every
    text is a near-duplicate of the kept one, or "linked", where near-duplicates are always together.

    ``partitions`` is the number of tasks of a search by ``k`` alone; others have ``spark.sql.shuffle.partitions``.

    The work is done at once. Spark keeps the result; ``unpersist()`` gives it back.
    """
    _columns.check_text(df, text)
    _columns.check_id(df, id)
    method = method_of(similarity, k, shingle, recipe)
    _columns.check_count("partitions", partitions)
    if partitions is not None and method.similarity is not None:
        raise ValueError("partitions is for k alone: where texts are compared, spark.sql.shuffle.partitions says it")
    if clusters not in ("stars", "linked"):
        raise ValueError(f"clusters cannot be {clusters!r}: stars or linked")
    node = F.struct(*rank(df, text, keep, order), _columns.column(df, id).alias("id"))
    documents = features(df, text, node, method).persist()
    held = [documents]
    try:
        check_unique(documents)
        classes = first_of_each(documents).persist()
        held.append(classes)
        pairs = kept(near_duplicates(classes, method, partitions, held), held)
        few = pairs.count() <= _grouping.FEW
        cluster = _grouping.stars if clusters == "stars" else _grouping.linked
        groups = cluster(pairs, few, held)
        return computed(members(documents, classes, groups, method))
    finally:
        for one in held:
            one.unpersist()


def method_of(similarity: float | None, k: int | None, shingle: int, recipe: str) -> Method:
    """Return what makes near-duplicates. What cannot is refused here, before any work."""
    width = 64 * hamdex.fingerprint([""], recipe).reshape(1, -1).shape[1]
    if k is not None:
        _columns.check_distance(k, width)
    elif similarity is None:
        similarity = DEFAULT_SIMILARITY
    hamdex.dedup([], similarity=similarity, shingle=shingle, k=k)
    return Method(k, similarity, shingle, recipe, width)


def near_duplicates(
    classes: DataFrame, method: Method, partitions: int | None, held: list[DataFrame]
) -> DataFrame:
    """Return the pairs of classes that are near-duplicates."""
    if method.similarity is not None:
        return _similarity_join.similar(classes, method.similarity, held, k=method.k, width=method.width)
    assert method.k is not None
    return near_classes(classes, method.k, method.width, partitions)


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


def members(documents: DataFrame, classes: DataFrame, groups: DataFrame, method: Method) -> DataFrame:
    """Return the members of all clusters."""
    own = F.col("node.id")
    grouped = classes.withColumn("id", own).join(groups, "id", "left")
    grouped = grouped.withColumn("cluster", F.coalesce("centre", "id"))
    sizes = grouped.groupBy("cluster").agg(F.sum("count").alias("size")).where("size > 1").select("cluster")
    grouped = grouped.join(sizes, "cluster")
    # Where a cluster has a class, it has the class of what is kept, whose id is its name.
    kept = grouped.where(F.col("id") == F.col("cluster"))
    columns = ["fingerprint", *(["shingles"] if method.similarity is not None else [])]
    kept = kept.select("cluster", *(F.col(name).alias(f"kept_{name}") for name in columns))
    grouped = grouped.join(kept, "cluster")
    measured = [F.col("cluster"), F.col("kept_fingerprint")]
    if method.similarity is not None:
        both = F.col("shingles"), F.col("kept_shingles")
        common = _similarity_join.share(_similarity_join.shared(*both), F.size("shingles"), F.size("kept_shingles"))
        measured.append(F.when(F.col("id") == F.col("cluster"), 1.0).otherwise(common).alias("similarity"))
    found = documents.select("key", "node", "fingerprint").join(grouped.select("key", *measured), "key")
    distance = _columns.distance(F.col("fingerprint"), F.col("kept_fingerprint"), method.width)
    result = [F.col("cluster"), own.alias("id"), (own == F.col("cluster")).alias("kept"), distance.alias("distance")]
    return found.select(*result, *(["similarity"] if method.similarity is not None else []))
