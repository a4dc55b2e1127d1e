"""Ctrl-C ends long work soon and leaves nothing half done; progress is reported."""

import _thread
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import hamdex
import numpy as np
import pytest
from conftest import uniform

MANY = np.arange(3_000_000, dtype=np.uint64)

# Of work that takes far longer. It ends within a tenth of that where nothing else is done on the machine:
# `benchmarks/interrupts.py` measures it.
SOON = 2.0


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Restore the signal, which may be ignored in tests that are started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(work: Callable[[], object], after: float = 0.3) -> None:
    """Start work that would take minutes, send SIGINT after a moment, and check that it ends soon."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
            pytest.fail("it was not interrupted")
    finally:
        timer.cancel()
    assert time.monotonic() - sent[0] < SOON


def again_and_again(work: Callable[[], object]) -> None:
    while True:
        work()


def test_pairs_are_interrupted() -> None:
    # Billions of pairs, which are not waited for.
    interrupted(lambda: hamdex.pairs(MANY, k=6).count_by_distance())


def test_waiting_for_pairs_is_interrupted() -> None:
    interrupted(lambda: [None for _ in hamdex.pairs(MANY, k=6)])


@pytest.mark.parametrize("after", [0.1, 0.5])
def test_a_build_is_interrupted_and_leaves_nothing(tmp_path: Path, after: float) -> None:
    # One portion, of which sorting alone takes seconds.
    values, ids = uniform(20_000_000), np.arange(20_000_000)
    interrupted(lambda: hamdex.build(tmp_path / "x", values, ids, threads=1), after)
    assert not list(tmp_path.iterdir())


def test_a_build_that_replaces_a_file_leaves_it(tmp_path: Path) -> None:
    hamdex.build(tmp_path / "x", [1, 2, 3])
    before = (tmp_path / "x").read_bytes()
    values = uniform(20_000_000)
    interrupted(lambda: hamdex.build(tmp_path / "x", values, overwrite=True, threads=1))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_a_query_is_interrupted(tmp_path: Path) -> None:
    hamdex.build(tmp_path / "x", uniform(2_000_000), design="single")
    index = hamdex.Index(tmp_path / "x")
    interrupted(lambda: again_and_again(lambda: index.query(0, k=30, limit=1)))


@pytest.mark.parametrize("strategy", ["auto", "probe", "scan"])
def test_a_batch_is_interrupted(tmp_path: Path, strategy: str) -> None:
    values = uniform(1_000_000)
    hamdex.build(tmp_path / "x", values, ids=np.arange(len(values)))
    index = hamdex.Index(tmp_path / "x")
    queries = np.concatenate([values] * 4)
    interrupted(lambda: index.batch(queries, k=8, strategy=strategy, threads=1))  # type: ignore[arg-type]


def test_numbers_of_a_list_are_interrupted(tmp_path: Path) -> None:
    numbers = list(range(3_000_000))
    interrupted(lambda: again_and_again(lambda: hamdex.pairs(numbers)))


TEXTS = [" ".join(f"w{number % 977 + place}" for place in range(60)) for number in range(40_000)]


@pytest.mark.parametrize("options", [{"similarity": 0.1}, {"similarity": 0.1, "clusters": "linked"}, {"k": 3}])
def test_dedup_is_interrupted(options: dict[str, object]) -> None:
    interrupted(lambda: again_and_again(lambda: hamdex.dedup(TEXTS, **options)))  # type: ignore[call-overload]


def test_reading_long_texts_is_interrupted() -> None:
    # Each takes a while, and many are in flight at once.
    texts = [" ".join(f"w{number}x{place}" for place in range(100_000)) for number in range(60)]
    interrupted(lambda: again_and_again(lambda: hamdex.dedup(texts, threads=1)))
    interrupted(lambda: again_and_again(lambda: hamdex.fingerprint(texts, threads=1)))


def test_compacting_a_store_is_interrupted_and_changes_nothing(tmp_path: Path) -> None:
    values = uniform(1_000_000)
    with hamdex.Store(tmp_path / "s", durability="none", merges=False, ids=False) as store:
        for part in np.array_split(values, 4):
            store.insert(part)
            store.flush()
        before = store.stats()["files"]
        interrupted(lambda: again_and_again(store.compact), 0.05)
        assert store.stats()["files"] in (1, before) and values[0] in store


def test_progress_is_reported(tmp_path: Path) -> None:
    reported: list[tuple[str, int, int | None]] = []
    hamdex.build(tmp_path / "x", uniform(300_000), progress=lambda *progress: reported.append(progress))
    assert reported and all(isinstance(phase, str) and done >= 0 for phase, done, _ in reported)
    hamdex.Index(tmp_path / "x").verify(progress=lambda *progress: reported.append(progress))
    assert reported[-1][0] == "verifying" and reported[-1][1] == reported[-1][2]


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


def test_an_interrupted_insert_keeps_the_texts_of_its_finished_steps(tmp_path: Path) -> None:
    at_once = 4096
    texts = [f"story {number} has {number} and {number + 1} and {number + 2} in it" for number in range(60 * at_once)]
    names = [str(number) for number in range(len(texts))]
    with hamdex.Store(tmp_path / "s", names=True, recipe="default", shingles=True, lookups=True) as store:

        def send() -> None:
            while not store.fingerprints_of("0"):
                time.sleep(0.001)
            _thread.interrupt_main()

        sender = threading.Thread(target=send)
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            store.insert_unless_similar(texts, names, similarity=1.0)
        sender.join()
        stored = next(place for place, name in enumerate(names) if not store.fingerprints_of(name))
        assert stored > 0 and stored % at_once == 0
        part = slice(stored - 10, stored + 10)
        assert not any(store.fingerprints_of(name) for name in names[stored:][: 2 * at_once])
        again = store.insert_unless_similar(texts[part], names[part], similarity=1.0, replace=True)
        assert again == [None] * 20
        found = store.insert_unless_similar(texts[part], names[part])
        assert [similar.id for similar in found if similar] == names[part]
