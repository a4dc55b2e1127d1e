"""Persisted tables with short query plans."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


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
