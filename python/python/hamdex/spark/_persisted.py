"""What Spark keeps, and the plans of what is made of it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def kept(df: DataFrame, held: list[DataFrame]) -> DataFrame:
    """Let Spark keep rows while ``held`` has them, and return them under a plan of one step.

    Spark writes down the plan of each job, and in it twice the plan of everything that it keeps, and twice again in
    these: some steps that build on each other would fill the memory of the driver. How rows are made again after a
    loss is known all the same.
    """
    df = df.persist()
    held.append(df)
    session: Any = df.sparkSession
    java: Any = df._jdf
    rows = session._jsparkSession.createDataFrame(java.toJavaRDD(), java.schema())
    return DataFrame(rows, session)
