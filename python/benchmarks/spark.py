"""Pairs, queries and near-duplicate texts on Spark with one and two executors, compared with one machine and Spark ML.

    python benchmarks/spark.py --fingerprints 20000000 --texts 20000

Each run is a separate process with its own Spark. Times are seconds without the start of Spark. For texts, the share of
similar pairs that is found (recall) and the share of wrong pairs (wrong) are reported. Spark ML's MinHashLSH runs on two
executors with --tables hash tables.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import numpy as np

SEED = 20_070_508
QUERIES = 100_000
SHARE_OF_COPIES = 5


def fingerprints(count: int) -> Any:
    """Return fingerprints of which every fifth is a copy with up to four changed bits."""
    random = np.random.default_rng(SEED)
    values = random.integers(0, 2**64, count, dtype=np.uint64)
    copies = count // SHARE_OF_COPIES
    values[:copies] = values[copies : 2 * copies]
    for _ in range(4):
        bits = random.integers(0, 128, copies)
        flips = np.where(bits < 64, np.uint64(1) << np.minimum(bits, 63).astype(np.uint64), np.uint64(0))
        values[:copies] ^= flips
    return values


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of some work in seconds, and its result."""
    start = time.perf_counter()
    result = work()
    return round(time.perf_counter() - start, 2), result


def session(executors: int, directory: str) -> Any:
    """Return a Spark session with this many executors of one core."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,2048]").appName("hamdex")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "2g",
        "spark.driver.memory": "2g",
        "spark.driver.maxResultSize": "2g",
        "spark.local.dir": directory,
        "spark.worker.dir": directory,
        "spark.sql.shuffle.partitions": "16",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def parquet(values: Any, directory: str) -> str:
    """Write fingerprints as Spark reads them, and return where."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    where = Path(directory, "fingerprints")
    where.mkdir()
    for part in range(8):
        some = range(part * len(values) // 8, (part + 1) * len(values) // 8)
        table = {
            "id": pa.array(some, pa.int64()),
            "fingerprint": pa.array(values[some.start : some.stop].view(np.int64)),
        }
        pq.write_table(pa.table(table), where / f"{part}.parquet")
    return str(where)


def on_spark(executors: int, count: int, texts: int, directory: str) -> dict[str, Any]:
    """Return the times of Spark."""
    from hamdex import spark as hs

    where = parquet(fingerprints(count), directory)
    spark = session(executors, directory)
    df = spark.read.parquet(where)
    times: dict[str, Any] = {}
    # The Python workers are started before time is taken.
    hs.pairs(df.limit(1000), 3, id=None).count()
    times["pairs"], times["pairs found"] = timed(lambda: hs.pairs(df, 3, id=None).count())
    times["build"], _ = timed(lambda: hs.build(df, Path(directory, "set"), shards=8))
    queries = df.where(f"id < {QUERIES}")
    times["query"], times["matches"] = timed(lambda: hs.query(queries, Path(directory, "set"), 3).count())
    joined, similar = corpus.texts(texts)
    documents = written(spark, joined, directory)
    hs.fingerprint(documents.limit(100)).count()
    for name, k in (("dedup", None), ("dedup k=3", 3)):
        times[name], result = timed(lambda: hs.dedup(documents, k=k))
        rows = result.select("id", "cluster", "kept").toArrow()
        found = corpus.pairs_of(*(rows[column].to_pylist() for column in rows.column_names))
        times[f"{name} recall"], times[f"{name} wrong"] = corpus.shares(found, similar)
    spark.stop()
    return times


def written(spark: Any, joined: list[str], directory: str) -> Any:
    """Return texts as Spark reads them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    where = Path(directory, "texts.parquet")
    table = pa.table({"id": pa.array(range(len(joined)), pa.int64()), "text": joined})
    pq.write_table(table, where, row_group_size=-(-len(joined) // 8))
    return spark.read.parquet(str(where)).repartition(8)


def with_ml(texts: int, tables: int, directory: str) -> dict[str, Any]:
    """Return the times of Spark ML's MinHashLSH."""
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
    from pyspark.sql import functions as F

    spark = session(2, directory)
    joined, similar = corpus.texts(texts)
    documents = written(spark, joined, directory)
    documents.limit(100).collect()

    def join() -> Any:
        words = RegexTokenizer(inputCol="text", outputCol="words").transform(documents)
        runs = NGram(n=corpus.SHINGLE, inputCol="words", outputCol="shingles").transform(words)
        sets = HashingTF(numFeatures=1 << 20, binary=True, inputCol="shingles", outputCol="set").transform(runs)
        sets = sets.select("id", "set").persist()
        model = MinHashLSH(inputCol="set", outputCol="hashes", numHashTables=tables, seed=corpus.SEED).fit(sets)
        # The distance is 1 less the similarity; a little more, since sums of doubles decide.
        pairs = model.approxSimilarityJoin(sets, sets, 1 - corpus.SIMILARITY + 1e-9, "distance")
        ends = F.col("datasetA.id").alias("one"), F.col("datasetB.id").alias("other")
        return pairs.select(*ends).where("one < other").distinct().toArrow()

    taken, rows = timed(join)
    recall, wrong = corpus.shares(set(zip(rows["one"].to_pylist(), rows["other"].to_pylist())), similar)
    spark.stop()
    return {"dedup": taken, "dedup recall": recall, "dedup wrong": wrong}


def on_one_machine(count: int, texts: int, directory: str) -> dict[str, Any]:
    """Return the times of the same work without Spark."""
    import hamdex

    values = fingerprints(count)
    times: dict[str, Any] = {}
    times["pairs"], counts = timed(lambda: hamdex.pairs(values, 3).count_by_distance())
    times["pairs found"] = int(counts.sum())
    ids = np.arange(count, dtype=np.uint64)
    path = Path(directory, "one.hamdex")
    times["build"], _ = timed(lambda: hamdex.build(path, values, ids))
    index = hamdex.Index(path)
    times["query"], found = timed(lambda: index.batch(values[:QUERIES], 3))
    times["matches"] = len(found)
    joined, similar = corpus.texts(texts)
    for name, k in (("dedup", None), ("dedup k=3", 3)):
        times[name], table = timed(lambda: hamdex.dedup(joined, k=k))
        pairs = corpus.pairs_of(*(table[column].tolist() for column in ("id", "cluster", "kept")))
        times[f"{name} recall"], times[f"{name} wrong"] = corpus.shares(pairs, similar)
    return times


PARTS = ("one machine", "1 executor", "2 executors", "Spark ML")


def main() -> None:
    """Run each part in a separate process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fingerprints", type=int, default=20_000_000, help="how many [default: %(default)s]")
    parser.add_argument("--texts", type=int, default=20_000, help="how many [default: %(default)s]")
    parser.add_argument("--tables", type=int, default=16, help="hash tables of Spark ML [default: %(default)s]")
    parser.add_argument("--part", choices=PARTS, help="this part alone")
    options = parser.parse_args()
    if options.part is None:
        for part in PARTS:
            subprocess.run([sys.executable, *sys.argv, "--part", part], check=True)
        return
    with tempfile.TemporaryDirectory() as directory:
        if options.part == "one machine":
            times = on_one_machine(options.fingerprints, options.texts, directory)
        elif options.part == "Spark ML":
            times = with_ml(options.texts, options.tables, directory)
        else:
            executors = int(options.part.split()[0])
            times = on_spark(executors, options.fingerprints, options.texts, directory)
    print(options.part, json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
