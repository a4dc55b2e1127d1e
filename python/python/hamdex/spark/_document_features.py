"""The features of each text for a search for near-duplicates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import hamdex
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, BooleanType, LongType, StructField, StructType

from . import _bit_words, _columns
from ._executors import on_executors, threads

# The characters that the engine trims: Unicode white space.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

DIGEST_BYTES = 16


@dataclass(frozen=True)
class Method:
    """The definition of near-duplicates: similar texts, fingerprints within a distance, or both."""

    #: The distance in bits; ``None`` if fingerprints are not compared.
    k: int | None
    #: The least share of common shingles; ``None`` if texts are not compared.
    similarity: float | None
    #: Words of a shingle.
    shingle: int
    recipe: str
    #: Bits of a fingerprint.
    width: int


def features(df: DataFrame, text: str, node: Column, method: Method) -> DataFrame:
    """Return ``node``, ``fingerprint``, ``reliable`` and ``key``, and ``shingles`` if texts are compared.

    Documents with equal keys are equal to the search. A document without one is in no cluster.
    """
    rows = df.select(node.alias("node"), _columns.text(df, text).alias("text"))
    fields = [
        StructField("node", rows.schema["node"].dataType, False),
        StructField("fingerprint", _bit_words.spark_type(method.width), False),
        StructField("reliable", BooleanType(), False),
        StructField("key", BinaryType(), True),
    ]
    if method.similarity is not None:
        fields.append(StructField("shingles", ArrayType(LongType(), False), False))
    arguments = {
        "recipe": method.recipe,
        "shingle": None if method.similarity is None else method.shingle,
        "with_fingerprint": method.k is not None,
    }
    made = rows.mapInArrow(on_executors(__name__, "work", **arguments), StructType(fields))
    return made.where(F.col("key").isNotNull())


def work(
    batches: Iterable[pa.RecordBatch], recipe: str, shingle: int | None, with_fingerprint: bool
) -> Iterator[pa.RecordBatch]:
    """Make the features of batches of ``node`` and ``text``."""
    for batch in batches:
        texts = batch.column("text")
        values, reliable = hamdex.fingerprint(texts, recipe, return_reliable=True, threads=threads())
        own = [one.tobytes() for one in values]
        columns = {
            "node": batch.column("node"),
            "fingerprint": _bit_words.to_column(values),
            "reliable": pa.array(reliable),
        }
        if shingle is None:
            columns["key"] = keys_of_fingerprints(own, reliable.tolist(), texts)
        else:
            shingles = sets(texts, shingle)
            columns["key"] = keys_of_sets(shingles, own if with_fingerprint else None)
            columns["shingles"] = shingles
        yield pa.RecordBatch.from_pydict(columns)


def sets(texts: pa.Array, words: int) -> pa.ListArray:
    """Return the distinct shingles of each text, as signed numbers of the same bits."""
    table = pa.record_batch(hamdex.shingles(texts, words, threads=threads()))
    return signed(table.column("shingles"))


def signed(lists: pa.LargeListArray) -> pa.ListArray:
    """Return sets of unsigned numbers as sets of signed ones of the same bits."""
    return pa.ListArray.from_arrays(lists.offsets.cast(pa.int32()), lists.values.view(pa.int64()))


def digest(data: bytes) -> bytes:
    """Return a digest, which is different for different data."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def keys_of_sets(shingles: pa.ListArray, own: list[bytes] | None) -> pa.Array:
    """Return digests of the sets as keys, followed by the fingerprints if these are compared too."""
    values, offsets = shingles.values.to_numpy(), shingles.offsets.to_numpy()
    keys: list[bytes | None] = []
    for place, (start, end) in enumerate(zip(offsets, offsets[1:])):
        key = digest(values[start:end].tobytes()) if end > start else None
        keys.append(key if key is None or own is None else key + own[place])
    return pa.array(keys, pa.binary())


def keys_of_fingerprints(own: list[bytes], reliable: list[bool], texts: pa.Array) -> pa.Array:
    """Return the fingerprints as keys; for texts without a reliable one, a digest of the text."""
    keys: list[bytes | None] = []
    for fingerprint, is_reliable, text in zip(own, reliable, texts):
        if is_reliable:
            keys.append(b"f" + fingerprint)
        else:
            trimmed = text.as_py().strip(WHITE_SPACE)
            keys.append(b"t" + digest(trimmed.encode()) if trimmed else None)
    return pa.array(keys, pa.binary())
