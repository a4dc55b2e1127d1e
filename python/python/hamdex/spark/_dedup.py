"""Near-duplicates of texts."""

from __future__ import annotations

from typing import overload

import hamdex
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType

from . import _columns, _grouping, _known, _similarity_join
from ._distance_join import near
from ._document_features import Method, features
from ._known import Known
from ._persisted import kept, short

DEFAULT_SIMILARITY = 0.7


@overload
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
    recipe: str | None = None,
    against: None = None,
    partitions: int | None = None,
) -> DataFrame: ...
@overload
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
    recipe: str | None = None,
    against: Known,
    partitions: int | None = None,
) -> tuple[DataFrame, DataFrame]: ...
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
    recipe: str | None = None,
    against: Known | None = None,
    partitions: int | None = None,
) -> DataFrame | tuple[DataFrame, DataFrame]:
    """Find the clusters of near-duplicate texts, and the text to keep of each.

    Texts are near-duplicates if they share ``similarity`` of their shingles of ``shingle`` words (by default 0.7); with
    ``k`` alone, if their fingerprints differ in at most ``k`` bits; with both, if both hold. The clusters are exactly
    those of ``hamdex.dedup`` with the same options. With ``k`` alone, texts without a reliable fingerprint are
    near-duplicates of equal ones only. A null is a document without text, and is in no cluster.

    The result has a row for every text in a cluster: ``cluster``, the id of the kept text, which does not depend on the
    partitioning of the data; ``id``; ``kept``; ``distance`` of its fingerprint from that of the kept text, in bits; and
    ``similarity`` to the kept text if texts are compared. Ids must be unique. ``keep`` is "first", the smallest id,
    or with ``order`` the row with the least value in that column; or "longest". ``clusters`` is "stars", where every
    text is a near-duplicate of the kept one, or "linked", where near-duplicates are always together.

    ``against`` is what is known already, as for ``hamdex.dedup``: a DataFrame with the same columns of texts and ids, or
    the path of an index, a store or a set of shards that keeps shingles, which all machines must see. Texts that are
    near-duplicates of a known one, by the same rule, are in no cluster, and the result is a pair: the clusters, and a
    table with a row for each known text: ``id``, its ``similarity`` to the most similar known one, and ``known``, the id
    of that; of several the smallest. With ``k``, a set without shingles will do, an index or shards: texts whose
    fingerprints are within ``k`` bits of a stored one are known; the table has their ``distance`` instead. ``k`` says
    nothing about the texts among themselves in that case.

    ``partitions`` is the number of tasks of a search by ``k`` alone; other searches use ``spark.sql.shuffle.partitions``.

    The work is done eagerly. Spark persists the results; ``unpersist()`` releases them.
    """
    _columns.check_text(df, text)
    _columns.check_id(df, id)
    known_distance = None
    if against is not None:
        _known.check(against, (text, id), similarity, shingle, k, recipe)
        recipe = _known.recipe_of(against, recipe)
        # With known documents, k says how they are compared, and nothing about the texts among themselves.
        k, known_distance = None, k
    method = method_of(similarity, k, shingle, recipe or "default")
    _columns.check_count("partitions", partitions)
    if partitions is not None and method.similarity is not None:
        raise ValueError("partitions applies to k alone; if texts are compared, set spark.sql.shuffle.partitions")
    if clusters not in ("stars", "linked"):
        raise ValueError(f"clusters cannot be {clusters!r}: stars or linked")
    node = F.struct(*rank(df, text, keep, order), _columns.column(df, id).alias("id"))
    documents = features(df, text, node, method).persist()
    held = [documents]
    known = None
    try:
        check_unique(documents)
        classes = first_of_each(documents).persist()
        held.append(classes)
        if against is not None:
            if known_distance is not None:
                known = _known.by_fingerprints(documents, against, known_distance)
            else:
                known = known_texts(documents, classes, against, (text, id), method, held)
            known = computed(known)
            documents = unknown(documents, short(known)).persist()
            held.append(documents)
            classes = first_of_each(documents).persist()
            held.append(classes)
        pairs = kept(near_duplicates(classes, method, partitions, held), held)
        few = pairs.count() <= _grouping.FEW
        cluster = _grouping.stars if clusters == "stars" else _grouping.linked
        groups = cluster(pairs, few, held)
        found = computed(members(documents, classes, groups, method))
        return found if known is None else (found, known)
    except BaseException:
        if known is not None:
            known.unpersist()
        raise
    finally:
        for one in held:
            one.unpersist()


def method_of(similarity: float | None, k: int | None, shingle: int, recipe: str) -> Method:
    """Return the definition of near-duplicates. Raise for impossible options, before any work."""
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
    """Compute and persist a result."""
    result = result.persist()
    try:
        result.count()
    except BaseException:
        result.unpersist()
        raise
    return result


def rank(df: DataFrame, text: str, keep: str, order: str | None) -> list[Column]:
    """Return the columns that precede the id in the order of preference."""
    if keep not in ("first", "longest"):
        raise ValueError(f"keep cannot be {keep!r}: first or longest")
    if keep == "longest":
        if order is not None:
            raise ValueError("keep='longest' cannot be combined with order; use keep='first' or leave order out")
        return [(-F.octet_length(_columns.text(df, text))).alias("rank")]
    if order is None:
        return []
    kind = _columns.data_type(df, order)
    if isinstance(kind, (ArrayType, MapType)):
        raise TypeError(f"the column {order!r} is of type {kind.simpleString()}, which has no order")
    return [_columns.column(df, order).alias("rank")]


def check_unique(documents: DataFrame) -> None:
    """Raise if an id occurs twice."""
    twice = documents.groupBy(F.col("node.id").alias("id")).count().where("count > 1").head()
    if twice is not None:
        raise ValueError(f"the id {twice['id']!r} occurs {twice['count']} times: ids must be unique")


def first_of_each(documents: DataFrame) -> DataFrame:
    """Return the first document of each class of equal ones, and ``count``, the size of the class."""
    firsts = documents.groupBy("key").agg(F.min("node").alias("node"), F.count("*").alias("count"))
    return documents.join(firsts, ["key", "node"])


def known_texts(
    documents: DataFrame,
    classes: DataFrame,
    against: Known,
    columns: tuple[str, str],
    method: Method,
    held: list[DataFrame],
) -> DataFrame:
    """Return ``id``, ``similarity`` and ``known`` of the documents that are similar to a known one."""
    known = _known.by_texts(classes, against, columns, method, held)
    # All documents of a class have the same shingles.
    firsts = classes.select("key", F.col("node.id").alias("first"))
    own = documents.select("key", F.col("node.id").alias("id")).join(firsts, "key")
    return own.join(known.withColumnRenamed("id", "first"), "first").select("id", "similarity", "known")


def unknown(documents: DataFrame, known: DataFrame) -> DataFrame:
    """Return the documents that are not known."""
    ids = known.select(F.col("id").alias("known_id"))
    return documents.join(ids, F.col("node.id") == F.col("known_id"), "left_anti")


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
    # Every cluster has the class of its kept text, whose id is the name of the cluster.
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
