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
    """Persist a table, add it to ``held``, and return it with a plan of one step.

    Spark records the plan of each job, which contains the plans of all persisted tables twice, recursively: some steps
    that build on each other would fill the memory of the driver. Lost partitions are recomputed all the same.
    """
    df = df.persist()
    held.append(df)
    session: Any = df.sparkSession
    java: Any = df._jdf
    rows = session._jsparkSession.createDataFrame(java.toJavaRDD(), java.schema())
    return DataFrame(rows, session)
