"""What is made of each text for a search for near-duplicates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import hamdex
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, BooleanType, StructField, StructType

from . import _columns, _words
from ._tasks import on_executors, threads

# What the engine trims: the characters that Unicode calls white space.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

DIGEST_BYTES = 16


@dataclass(frozen=True)
class Method:
    """What makes near-duplicates: fingerprints within a distance."""

    k: int
    recipe: str
    width: int


def features(df: DataFrame, text: str, node: Column, method: Method) -> DataFrame:
    """Return ``node``, ``fingerprint``, ``reliable`` and ``key``.

    Documents with equal keys are equal to the search. A document without one is in no cluster.
    """
    rows = df.select(node.alias("node"), _columns.column(df, text).alias("text"))
    fields = [
        StructField("node", rows.schema["node"].dataType, False),
        StructField("fingerprint", _words.spark_type(method.width), False),
        StructField("reliable", BooleanType(), False),
        StructField("key", BinaryType(), True),
    ]
    made = rows.mapInArrow(on_executors(__name__, "work", recipe=method.recipe), StructType(fields))
    return made.where(F.col("key").isNotNull())


def work(batches: Iterable[pa.RecordBatch], recipe: str) -> Iterator[pa.RecordBatch]:
    """Make the features of batches of ``node`` and ``text``."""
    for batch in batches:
        texts = batch.column("text")
        values, reliable = hamdex.fingerprint(texts, recipe, return_reliable=True, threads=threads())
        columns = {
            "node": batch.column("node"),
            "fingerprint": _words.to_column(values),
            "reliable": pa.array(reliable),
            "key": keys_of_fingerprints([one.tobytes() for one in values], reliable.tolist(), texts),
        }
        yield pa.RecordBatch.from_pydict(columns)


def digest(data: bytes) -> bytes:
    """Return a digest: different data have different ones."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def keys_of_fingerprints(own: list[bytes], reliable: list[bool], texts: pa.Array) -> pa.Array:
    """Return the fingerprints as keys; of texts without a reliable one, a digest of the text."""
    keys: list[bytes | None] = []
    for fingerprint, is_reliable, text in zip(own, reliable, texts):
        if is_reliable:
            keys.append(b"f" + fingerprint)
        else:
            trimmed = text.as_py().strip(WHITE_SPACE)
            keys.append(b"t" + digest(trimmed.encode()) if trimmed else None)
    return pa.array(keys, pa.binary())
