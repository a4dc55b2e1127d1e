"""Fingerprints of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import hamdex
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, StructField, StructType

from . import _bit_words, _columns
from ._executors import on_executors, threads


def fingerprint(
    df: DataFrame,
    text: str = "text",
    id: str = "id",
    *,
    recipe: str = "default",
    width: Literal[64, 128] | None = None,
    return_reliable: bool = False,
) -> DataFrame:
    """Make fingerprints of texts: the columns ``id`` and ``fingerprint``.

    The fingerprint of a text of too few words is unreliable: ``return_reliable=True`` adds a column ``reliable`` that is
    false for such texts. A null is a text without words, whose fingerprint is 0. ``recipe`` and ``width`` are as in ``hamdex.fingerprint``.
    """
    _columns.check_text(df, text)
    _columns.check_id(df, id)
    # A wrong recipe raises here, before any work.
    bits = 64 * hamdex.fingerprint([""], recipe, width=width).reshape(1, -1).shape[1]
    fields = [
        StructField("id", _columns.data_type(df, id), False),
        StructField("fingerprint", _bit_words.spark_type(bits), False),
    ]
    if return_reliable:
        fields.append(StructField("reliable", BooleanType(), False))
    rows = df.select(_columns.column(df, id).alias("id"), _columns.text(df, text).alias("text"))
    work = on_executors(__name__, "work", recipe=recipe, width=bits, reliable=return_reliable)
    return rows.mapInArrow(work, StructType(fields))


def work(batches: Iterable[pa.RecordBatch], recipe: str, width: int, reliable: bool) -> Iterator[pa.RecordBatch]:
    """Make the fingerprints of batches of ``id`` and ``text``."""
    for batch in batches:
        values, are_reliable = hamdex.fingerprint(
            batch.column("text"), recipe, width=128 if width == 128 else 64, return_reliable=True, threads=threads()
        )
        columns = {"id": batch.column("id"), "fingerprint": _bit_words.to_column(values)}
        if reliable:
            columns["reliable"] = pa.array(are_reliable)
        yield pa.RecordBatch.from_pydict(columns)
