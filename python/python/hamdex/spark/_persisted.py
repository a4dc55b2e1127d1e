"""Persisted tables with short query plans, and tables larger than Spark takes them for."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def large(df: DataFrame) -> DataFrame:
    """Return a table that joins sort instead of broadcasting it.

    Spark takes a table of exploded arrays, or of arrays that Python makes, for as small as the one it comes from: a
    broadcast would fill the memory of the driver.
    """
    return df.hint("merge")


def kept(df: DataFrame, held: list[DataFrame]) -> DataFrame:
    """Persist a table, add it to ``held``, and return it with a plan of one step."""
    df = df.persist()
    held.append(df)
    return short(df)


def short(persisted: DataFrame) -> DataFrame:
    """Return a persisted table with a plan of one step.

    Spark records the plan of each job, and again after each of its stages. A plan contains the plans of all persisted
    tables twice, recursively: some steps that build on each other would take the driver seconds each, and fill its
    memory. Lost partitions are recomputed all the same.
    """
    session: Any = persisted.sparkSession
    # A new plan reads the persisted rows; the plan of a table that was used before it was persisted would not.
    java: Any = persisted.select("*")._jdf
    rows = session._jsparkSession.internalCreateDataFrame(java.queryExecution().toRdd(), java.schema(), False)
    return DataFrame(rows, session)
