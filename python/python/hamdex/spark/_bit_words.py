"""Fingerprints as arrays of words: a row per fingerprint with one word, or two with the high one first."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import DataType, LongType, StructField, StructType

Words: TypeAlias = npt.NDArray[np.uint64]

WORD_BITS = 64

WIDE = StructType([StructField("high", LongType(), False), StructField("low", LongType(), False)])


def spark_type(width: int) -> DataType:
    """Return the type of a column of fingerprints."""
    return LongType() if width == WORD_BITS else WIDE


def to_words(column: pa.Array) -> Words:
    """Return the bits of a column of fingerprints, of shape (n, words)."""
    parts = column.flatten() if pa.types.is_struct(column.type) else [column]
    return np.stack([part.to_numpy(zero_copy_only=False).view(np.uint64) for part in parts], axis=1)


def to_column(words: Words) -> pa.Array:
    """Return a column of fingerprints from their bits, of shape (n,) or (n, words)."""
    signed = np.ascontiguousarray(rows(words)).view(np.int64)
    columns = [pa.array(np.ascontiguousarray(signed[:, place])) for place in range(signed.shape[1])]
    if len(columns) == 1:
        return columns[0]
    fields = [pa.field(name, pa.int64(), nullable=False) for name in ("high", "low")]
    return pa.StructArray.from_arrays(columns, fields=fields)


def rows(words: Words) -> Words:
    """Return the bits in the shape (n, words)."""
    return words[:, np.newaxis] if words.ndim == 1 else words


def plain(words: Words) -> Words:
    """Return the bits in the shape of the package's arguments: (n,) for 64 bits."""
    return words[:, 0] if words.shape[1] == 1 else words


def mask_words(mask: int, width: int) -> list[int]:
    """Return the words of a mask, the high one first."""
    places = range(width - WORD_BITS, -1, -WORD_BITS)
    return [mask >> place & (1 << WORD_BITS) - 1 for place in places]


def signed(word: int) -> int:
    """Return the signed number with the same 64 bits."""
    return word - (1 << WORD_BITS) if word >> WORD_BITS - 1 else word


def masks(values: list[int], width: int) -> Any:
    """Return masks as an array of shape (n, words)."""
    return np.array([mask_words(mask, width) for mask in values], dtype=np.uint64)
