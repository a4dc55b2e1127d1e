"""Documents that are known already: the near-duplicates of them among new ones.

Known texts are compared by the batch of Manku, Jain and Das Sarma (WWW 2007, section 3.2) turned round: the new sets of
shingles are indexed by a part of their shingles, the known ones pass by and are not sorted. A new set of n shingles shares
at least s with any similar set, so one of any n - s + 1 of its shingles is in that set; the rarest are taken. Of these, a
similar set that must share m has at least m - s + 1, which leaves hardly a pair to compare that shares phrases only.

A few texts are looked up in sets that keep shingles instead: each task reads the blocks that its texts need.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hamdex
import pyarrow as pa
from hamdex import _hamdex
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField, StructType

from . import _columns, _document_features, _query, _shards, _similarity_join
from ._document_features import Method
from ._executors import on_executors, threads
from ._persisted import kept, large
from ._prefix_filter import BROADCAST_BITS, MARGIN

Known = DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | _shards.Shards

# Stored documents per new text from which on texts are looked up in sets, as on one machine.
DOCUMENTS_PER_LOOK_UP = 10

# Number of rows of an index of new sets up to which it is sent to all tasks, instead of sorting the known shingles.
BROADCAST_ROWS = 1 << BROADCAST_BITS


def check(
    against: Known, columns: tuple[str, str], similarity: float | None, shingle: int, k: int | None, recipe: str | None
) -> None:
    """Raise for known documents with which nothing can be compared, before any work.

    ``columns`` has the names of those of texts and ids.
    """
    text, id = columns
    if isinstance(against, DataFrame):
        _columns.check_text(against, text)
        _columns.check_id(against, id)
        if k is not None:
            raise ValueError(
                "k compares with fingerprints of a set; known texts are compared by similarity: leave k out"
            )
        return
    for path in files(against):
        # It checks the shingles, or the distance, and the recipe.
        hamdex.dedup([], against=path, similarity=similarity, shingle=shingle, k=k, recipe=recipe)


def recipe_of(against: Known, given: str | None) -> str:
    """Return the recipe of the known documents; if they are texts, the given one."""
    if isinstance(against, DataFrame):
        return given or "default"
    with hamdex.open(files(against)[0]) as known:
        # Checked to be equal, or the only one.
        return known.recipe or given or "default"


def files(against: Known) -> list[Path]:
    """Return the paths of sets that together have every known document once."""
    assert not isinstance(against, DataFrame)
    if isinstance(against, (str, os.PathLike)):
        path = _shards.local(against)
        if not _hamdex._is_shards(path):
            return [path]
        against = _shards.in_one_family(_shards.read(path))
    if isinstance(against, _shards.Shards):
        return [against.path(number) for number in range(len(against.first_family))]
    return [_shards.local(one) for one in against]


def by_fingerprints(documents: DataFrame, against: Known, k: int) -> DataFrame:
    """Return ``id``, ``distance`` and ``known`` of the documents whose fingerprints are near a stored one."""
    assert not isinstance(against, DataFrame)
    rows = documents.where("reliable").select(F.col("node.id").alias("id"), "fingerprint")
    single = isinstance(against, (str, os.PathLike)) and not _hamdex._is_shards(_shards.local(against))
    # The smallest of all ids of the nearest.
    found = _query.query(rows, files(against) if single else against, k, ids_limit=None)
    name = "id" if "id" in found.columns else "fingerprint"
    nearest = found.groupBy("query").agg(F.min(F.struct("distance", F.col(name).alias("known"))).alias("best"))
    return nearest.select(F.col("query").alias("id"), "best.distance", "best.known")


def by_texts(
    classes: DataFrame, against: Known, columns: tuple[str, str], method: Method, held: list[DataFrame]
) -> DataFrame:
    """Return ``id``, ``similarity`` and ``known`` of the classes of documents that are similar to a known one.

    ``known`` is the id of the most similar one; of several, the smallest.
    """
    similarity = method.similarity
    assert similarity is not None
    if isinstance(against, DataFrame):
        known = of_texts(against, columns, method.shingle)
    else:
        paths = files(against)
        if classes.count() * DOCUMENTS_PER_LOOK_UP <= documents_in(paths):
            return looked_up(classes, paths, similarity)
        known = of_sets(classes.sparkSession, paths)
    known = known.withColumn("known_size", F.size("known_shingles"))
    new = classes.select(F.col("node.id").alias("id"), "shingles", F.size("shingles").alias("size"))
    found = confirmed(candidates(new, known, similarity, held), new, known, similarity)
    # The greatest similarity, then the smallest id. Numbers of sets have no sign: negative ones are the greatest.
    is_unsigned = not isinstance(against, DataFrame) and isinstance(known.schema["known"].dataType, LongType)
    above = (F.col("known") < 0) if is_unsigned else F.lit(False)
    order = F.struct((-F.col("similarity")).alias("far"), above.alias("above"), "known")
    best = found.groupBy("id").agg(F.min(order).alias("best"))
    return best.select("id", (-F.col("best.far")).alias("similarity"), "best.known")


def of_texts(df: DataFrame, columns: tuple[str, str], shingle: int) -> DataFrame:
    """Return ``known`` and ``known_shingles`` of known texts."""
    text, id = columns
    rows = df.select(_columns.column(df, id).alias("known"), _columns.text(df, text).alias("text"))
    schema = StructType([StructField("known", rows.schema["known"].dataType, False), *SHINGLES])
    return rows.mapInArrow(on_executors(__name__, "cut", shingle=shingle), schema)


SHINGLES = [StructField("known_shingles", ArrayType(LongType(), False), False)]


def cut(batches: Iterable[pa.RecordBatch], shingle: int) -> Iterator[pa.RecordBatch]:
    """Cut the texts of batches of ``known`` and ``text``."""
    for batch in batches:
        sets = _document_features.sets(batch.column("text"), shingle)
        yield pa.RecordBatch.from_pydict({"known": batch.column("known"), "known_shingles": sets})


def documents_in(paths: list[Path]) -> int:
    """Return the number of documents of sets, about: documents with equal fingerprints count as one."""
    count = 0
    for path in paths:
        with hamdex.open(path) as known:
            count += len(known)
    return count


def looked_up(classes: DataFrame, paths: list[Path], similarity: float) -> DataFrame:
    """Return ``id``, ``similarity`` and ``known`` of the classes that are similar to a document of sets."""
    new = classes.select(F.col("node.id").alias("id"), "shingles")
    fields = [new.schema["id"], StructField("similarity", DoubleType(), False), known_field(paths)]
    names = [str(path) for path in paths]
    return new.mapInArrow(on_executors(__name__, "look_up", paths=names, similarity=similarity), StructType(fields))


def look_up(batches: Iterable[pa.RecordBatch], paths: list[str], similarity: float) -> Iterator[pa.RecordBatch]:
    """Look batches of ``id`` and ``shingles`` up in the sets with these paths."""
    for batch in batches:
        try:
            table = _hamdex._most_similar(paths, batch.column("shingles"), similarity, threads())
        except FileNotFoundError as missing:
            raise unseen(missing.filename or ", ".join(paths)) from None
        found = pa.record_batch(table)
        ids = batch.column("id").take(found.column("row"))
        known = signed_ids(found.column("known"))
        columns = {"id": ids, "similarity": found.column("similarity"), "known": known}
        yield pa.RecordBatch.from_pydict(columns)


def of_sets(session: Any, paths: list[Path]) -> DataFrame:
    """Return ``known`` and ``known_shingles`` of sets that keep shingles: a task reads one file."""
    schema = StructType([known_field(paths), *SHINGLES])
    numbers = session.range(0, len(paths), 1, len(paths))
    found: DataFrame = numbers.mapInArrow(on_executors(__name__, "read", paths=[str(path) for path in paths]), schema)
    return found


def known_field(paths: list[Path]) -> StructField:
    """Return the field of the ids of sets."""
    kinds = set()
    for path in paths:
        with hamdex.open(path) as one:
            kinds.add(_shards.id_type(one))
    if len(kinds) > 1:
        raise ValueError("some of the known sets have names, and others none: compare with one kind at a time")
    return StructField("known", StringType() if kinds == {"names"} else LongType(), False)


def signed_ids(ids: pa.Array) -> pa.Array:
    """Return ids as Spark has them: numbers as signed ones of the same bits."""
    return ids.view(pa.int64()) if pa.types.is_uint64(ids.type) else ids


def unseen(path: str) -> FileNotFoundError:
    """Return the error of an executor that does not see a file."""
    text = f"{path}: an executor does not see it: it must lie in a file system that all machines share"
    return FileNotFoundError(text)


def read(batches: Iterable[pa.RecordBatch], paths: list[str]) -> Iterator[pa.RecordBatch]:
    """Read the documents of the sets with these numbers."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            try:
                known = hamdex.open(paths[number])
            except FileNotFoundError:
                raise unseen(paths[number]) from None
            with known:
                for table in known.shingles():
                    rows = pa.record_batch(table)
                    sets = _document_features.signed(rows.column("shingles"))
                    yield pa.RecordBatch.from_pydict({"known": signed_ids(rows.column("id")), "known_shingles": sets})


def candidates(new: DataFrame, known: DataFrame, similarity: float, held: list[DataFrame]) -> DataFrame:
    """Return the ids ``id`` and ``known`` of the pairs that can be similar, each once."""
    shingles = large(new.select("id", "size", F.explode("shingles").alias("shingle")))
    census = shingles.groupBy("shingle").agg(F.count("*").alias("sets"))
    place = F.row_number().over(Window.partitionBy("id").orderBy("sets", "shingle"))
    least_with_any = F.ceil(F.col("size") * F.lit(similarity * MARGIN)).cast("int")
    indexed = shingles.join(census, "shingle").withColumn("place", place)
    indexed = indexed.withColumn("rest", least_with_any - 1).where(F.col("place") <= F.col("size") - F.col("rest"))
    index = kept(indexed.select("shingle", "id", "size", "rest"), held)
    passing = known.select("known", "known_size", F.explode("known_shingles").alias("shingle"))
    if index.count() <= BROADCAST_ROWS:
        index = F.broadcast(index)
    else:
        passing = large(passing)
    sizes = F.col("size"), F.col("known_size")
    met = passing.join(index, "shingle").where(_similarity_join.share(F.least(*sizes), *sizes) >= similarity)
    hits = met.groupBy("id", "known", "size", "known_size", "rest").count()
    least = _similarity_join.least_shared(*sizes, similarity)
    return hits.where(F.col("count") + F.col("rest") >= least).select("id", "known")


def confirmed(pairs: DataFrame, new: DataFrame, known: DataFrame, similarity: float) -> DataFrame:
    """Return ``id``, ``known`` and ``similarity`` of the pairs that are similar."""
    both = pairs.join(new.select("id", "shingles"), "id").join(large(known.select("known", "known_shingles")), "known")
    shared = _similarity_join.shared(F.col("shingles"), F.col("known_shingles"))
    share = _similarity_join.share(shared, F.size("shingles"), F.size("known_shingles"))
    return both.select("id", "known", share.alias("similarity")).where(F.col("similarity") >= similarity)
