"""A Spark session with two executor processes, and documents with near-duplicates."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

for needed in ("pyspark", "pyarrow", "pandas"):
    pytest.importorskip(needed, reason=f"{needed} is not installed: the tests of hamdex.spark are left out")

ARTICLES = Path(__file__).parents[4] / "shared" / "data" / "articles_1000.train"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two executors of one core."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: the tests of hamdex.spark that need a cluster are left out")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Sessions are short: code that is compiled in haste, once, makes the tests take half the time, and a collector of
    # one thread a seventh less.
    haste = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("tests of hamdex.spark")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # Plans of queries that are over would fill the driver, which then collects garbage more than it works.
        .config("spark.sql.ui.retainedExecutions", "1")
        .config("spark.ui.retainedJobs", "10")
        .config("spark.ui.retainedStages", "10")
        .config("spark.ui.retainedTasks", "100")
        .config("spark.executor.memory", "1g")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", haste)
        .config("spark.executor.extraJavaOptions", haste)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", str(scratch))
        .config("spark.worker.dir", str(scratch))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.default.parallelism", "3")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def edited(words: list[str], edits: int, chance: random.Random) -> list[str]:
    """Return words, some of them replaced."""
    copy = list(words)
    for _ in range(edits):
        copy[chance.randrange(len(copy))] = f"w{chance.randrange(4000)}"
    return copy


@pytest.fixture(scope="session")
def documents() -> list[tuple[int, str]]:
    """Ids and texts: unique ones, copies with edits, a crowd, equal ones, short ones, blank ones."""
    chance = random.Random(7)
    texts: list[str] = []
    for story in range(60):
        words = [f"w{chance.randrange(4000)}" for _ in range(chance.choice([30, 80, 120]))]
        texts.append(" ".join(words))
        # Chains too: each copy is one of the copy before.
        for _ in range(story % 4):
            words = edited(words, chance.randrange(6), chance)
            texts.append(" ".join(words))
    crowd = [f"w{chance.randrange(4000)}" for _ in range(60)]
    texts += [" ".join(edited(crowd, chance.randrange(3), chance)) for _ in range(25)]
    texts += [texts[3]] * 4 + ["  " + texts[3] + "\n"]
    texts += ["", "   ", "\n", "?!", " ?! ", "too short", "Too short", "too short", "one", "other"]
    chance.shuffle(texts)
    return list(enumerate(texts))
