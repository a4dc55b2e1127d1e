"""A killed executor does not change results."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hamdex import spark as hs

from .test_spark_dedup import same
from .test_spark_pairs import expected, signed, skewed
from .test_spark_shards import by_all, frame, matches


def executors(spark: Any) -> list[int]:
    """Return the processes of the executors of this session, and of no other."""
    application = spark.sparkContext.applicationId
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in command and application.encode() in command:
            found.append(int(process.name))
    return found


@contextmanager
def a_kill(spark: Any, after_stages: int) -> Iterator[list[int]]:
    """Kill one executor after this many more stages have begun."""
    tracker = spark.sparkContext.statusTracker()
    killed: list[int] = []
    is_over = threading.Event()
    # Stages are numbered across jobs.
    first = max([0, *seen_stages(spark)])

    def watch() -> None:
        while not is_over.is_set():
            active = tracker.getActiveStageIds()
            if active and max(active) >= first + after_stages:
                victims = executors(spark)
                if victims:
                    os.kill(victims[0], signal.SIGKILL)
                    killed.append(victims[0])
                    return
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


def seen_stages(spark: Any) -> list[int]:
    tracker = spark.sparkContext.statusTracker()
    jobs = tracker.getJobIdsForGroup(None)
    return [stage for job in jobs if (info := tracker.getJobInfo(job)) is not None for stage in info.stageIds]


@pytest.fixture
def with_kill(spark: Any) -> Callable[[int], Any]:
    assert len(executors(spark)) >= 1
    return lambda after_stages: a_kill(spark, after_stages)


def test_pairs_are_the_same(spark: Any, with_kill: Callable[[int], Any]) -> None:
    numbers = skewed(3000, 11)
    df = spark.createDataFrame([(signed(one),) for one in numbers], "fingerprint long").repartition(8)
    with with_kill(3) as killed:
        rows = hs.pairs(df, 3, id=None, partitions=16).collect()
    assert killed
    found = [(r["left"] % 2**64, r["right"] % 2**64, r["distance"]) for r in rows]
    assert len(found) == len(set(found))
    assert set(found) == expected(numbers, 3)


def test_clusters_are_the_same(spark: Any, documents: list[tuple[int, str]], with_kill: Callable[[int], Any]) -> None:
    for options in ({}, {"k": 6}):
        with with_kill(6) as killed:
            same(spark, documents, **options)
        assert killed


def test_a_set_is_the_same(spark: Any, tmp_path: Path, with_kill: Callable[[int], Any]) -> None:
    stored = skewed(1000, 12)
    with with_kill(2) as killed:
        built = hs.build(frame(spark, stored), tmp_path / "set", shards=12)
    assert killed
    assert sorted(os.listdir(tmp_path / "set")) == sorted(["manifest", *(one.file for one in built.shards)])
    rows = matches(frame(spark, stored[:40]), built).collect()
    assert sorted(map(tuple, rows)) == sorted(by_all(stored[:40], stored, 3))
