"""Ctrl-C ends long work soon, and leaves nothing half done; progress is told."""

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import hamdex
import numpy as np
import pytest
from conftest import uniform

MANY = np.arange(3_000_000, dtype=np.uint64)


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Whoever starts the tests in the background may have the signal ignored: then nothing would ever end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(work: Callable[[], object]) -> None:
    """Does work that would take minutes, and sends the signal of Ctrl-C after a moment."""
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
            pytest.fail("it was not interrupted")
    finally:
        timer.cancel()


def test_pairs_are_interrupted() -> None:
    # Billions of pairs: nobody waits for the end.
    interrupted(lambda: hamdex.pairs(MANY, k=6).count_by_distance())


def test_waiting_for_pairs_is_interrupted() -> None:
    interrupted(lambda: [None for _ in hamdex.pairs(MANY, k=6)])


def test_a_build_is_interrupted_and_leaves_nothing(tmp_path: Path) -> None:
    values = uniform(6_000_000)

    def work() -> None:
        while True:
            hamdex.build(tmp_path / "x", values, overwrite=True, threads=1)

    interrupted(work)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["x"])
    if (tmp_path / "x").exists():
        hamdex.Index(tmp_path / "x").verify()


def test_a_query_is_interrupted(tmp_path: Path) -> None:
    hamdex.build(tmp_path / "x", uniform(2_000_000), design="single")
    index = hamdex.Index(tmp_path / "x")

    def work() -> None:
        while True:
            index.query(0, k=30, limit=1)

    interrupted(work)


def test_dedup_is_interrupted() -> None:
    texts = [" ".join(f"w{number % 977 + place}" for place in range(60)) for number in range(40_000)]

    def work() -> None:
        while True:
            hamdex.dedup(texts, similarity=0.1)

    interrupted(work)


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    hamdex.build(tmp_path / "x", uniform(300_000), progress=lambda *progress: told.append(progress))
    assert told and all(isinstance(phase, str) and done >= 0 for phase, done, _ in told)
    hamdex.Index(tmp_path / "x").verify(progress=lambda *progress: told.append(progress))
    assert told[-1][0] == "verifying" and told[-1][1] == told[-1][2]


def test_an_exception_of_the_callback_ends_the_work(tmp_path: Path) -> None:
    def fail(phase: str, done: int, total: int | None) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        hamdex.pairs(MANY, k=6).count_by_distance(progress=fail)
    with pytest.raises(TypeError, match="progress must be"):
        hamdex.build(tmp_path / "x", [1], progress=3)  # type: ignore[arg-type]


def test_a_bar_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hamdex.build(tmp_path / "x", uniform(1000), progress=True)
    assert capsys.readouterr().err
