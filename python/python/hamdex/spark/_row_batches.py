"""Rows of batches, for steps that cannot work on whole columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

# Rows per batch.
ROWS = 1 << 14


def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of batches."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns))


def batched(rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Return rows as batches."""
    waiting: list[tuple[Any, ...]] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == ROWS:
            yield batch_of(waiting, schema)
            waiting.clear()
    if waiting:
        yield batch_of(waiting, schema)


def batch_of(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of rows."""
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows), schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def with_schema(batches: Iterable[pa.RecordBatch]) -> tuple[pa.Schema | None, Iterator[pa.RecordBatch]]:
    """Return the schema of batches, if there is any, and the batches."""
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        return None, iter(())

    def again() -> Iterator[pa.RecordBatch]:
        yield first
        yield from rest

    return first.schema, again()
