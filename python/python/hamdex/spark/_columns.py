"""Checks of the columns that a caller names, before any work."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType, StringType, StructType

from ._bit_words import WIDE, WORD_BITS


def column(df: DataFrame, name: str, *, nulls: bool = False) -> Column:
    """Return a column by name. A null in it fails the job unless ``nulls`` is true."""
    data_type(df, name)
    quoted = F.col("`" + name.replace("`", "``") + "`")
    if nulls or not df.schema[name].nullable:
        return quoted
    text = f"the column {name!r} has a null: leave such rows out"
    return F.coalesce(quoted, F.raise_error(F.lit(text)))


def text(df: DataFrame, name: str) -> Column:
    """Return a column of texts. A null is a document without text."""
    return F.coalesce(column(df, name, nulls=True), F.lit(""))


def data_type(df: DataFrame, name: str) -> DataType:
    """Return the type of a column."""
    if name not in df.columns:
        names = ", ".join(repr(one) for one in df.columns)
        raise KeyError(f"no column is named {name!r}; there are: {names or 'none'}")
    return df.schema[name].dataType


def check_text(df: DataFrame, name: str) -> None:
    """Raise unless a column has texts."""
    found = data_type(df, name)
    if not isinstance(found, StringType):
        raise TypeError(f"the column {name!r} is of type {found.simpleString()}: texts must be string")


def check_id(df: DataFrame, name: str) -> None:
    """Raise unless a column can have ids."""
    found = data_type(df, name)
    whole = isinstance(found, (ByteType, ShortType, IntegerType, LongType))
    # A collated string can equal other strings, but ids must be compared exactly.
    if not (whole or found == StringType()):
        raise TypeError(f"the column {name!r} is of type {found.simpleString()}: ids are whole numbers, or string")


def width(df: DataFrame, name: str) -> int:
    """Return the width of the fingerprints in a column, in bits."""
    found = data_type(df, name)
    if isinstance(found, LongType):
        return WORD_BITS
    if isinstance(found, StructType) and [(f.name, f.dataType) for f in found] == [(f.name, f.dataType) for f in WIDE]:
        return 2 * WORD_BITS
    taken = "bigint for 64 bits, struct<high:bigint,low:bigint> for 128"
    raise TypeError(f"the column {name!r} is of type {found.simpleString()}: fingerprints are {taken}")


def check_distance(k: int, bits: int) -> None:
    """Raise unless a value is a distance."""
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"k is a number of bits, and this is a {type(k).__name__}")
    if not 0 <= k <= bits:
        raise ValueError(f"k cannot be {k}: 0 to {bits} bits")


def check_count(name: str, value: int | None) -> None:
    """Raise unless a value is a positive whole number."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a whole number, and this is a {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} cannot be {value}: 1 or more")


def distance(one: Column, other: Column, bits: int) -> Column:
    """Return the number of bits in which two fingerprints differ."""
    if bits == WORD_BITS:
        return F.bit_count(one.bitwiseXOR(other)).cast("int")
    words = [F.bit_count(one[word].bitwiseXOR(other[word])) for word in ("high", "low")]
    return (words[0] + words[1]).cast("int")
