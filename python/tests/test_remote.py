"""Sets of a service, by `hamdex.connect`."""

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from conftest import clustered, near, uniform

pd: Any = pytest.importorskip("pandas")

COMMAND = Path(os.environ.get("HAMDEX_COMMAND", Path(__file__).parents[2] / "target" / "debug" / "hamdex"))


def serves() -> bool:
    """Whether there is a command with the service in it."""
    return COMMAND.exists() and subprocess.run([COMMAND, "serve", "--help"], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not serves(), reason="no command with the service: HAMDEX_COMMAND names one")


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Serve an empty directory."""
    arguments: list[str | Path] = [COMMAND, "serve", "--data", tmp_path, "--listen", "127.0.0.1:0", "--log-level", "error"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr
        line = service.stderr.readline()
        assert "listening on " in line, line
        yield line.split("listening on ")[1].strip()
        service.terminate()
        assert service.wait() == 0


def test_it_equals_a_set(url: str) -> None:
    values = clustered(2000)
    with hamdex.connect(url, "s", create={"durability": "none"}) as store:
        store.insert(values[:1500], np.arange(1500))
        store.insert(values[1500:], list(range(1500, 2000)))
        assert store.remove(values[:500], np.arange(500)) == 500
        left = values[500:]
        for query in (*values[:20], np.uint64(0)):
            found = store.query(query, k=5)
            assert [(m.distance, m.fingerprint) for m in found] == near(query, left, 5)
            for match in found:
                assert match.ids == [500 + int(place) for place in np.flatnonzero(left == np.uint64(match.fingerprint))]
            assert store.nearest(query, 3, k=5) == found[:3]
            assert store.first(query, k=5) == (found[0] if found else None)
        table = store.batch(values[:100], k=5)
        assert list(zip(*table.to_dict().values(), strict=True)) == [
            (row, match.fingerprint, match.distance, id, match.ids_count)
            for row, query in enumerate(values[:100])
            for match in store.query(query, k=5)
            for id in match.ids
        ]
        assert len(list(store.pairs(k=4))) == len(hamdex.pairs(left, k=4).read_all())
        assert [fingerprint for fingerprint, _ in store.entries()] == np.unique(left).tolist()
        store.flush()
        store.compact()
        assert store.stats()["parts"] == 1
        assert store.verify()["fingerprints"] == len(np.unique(left))


def test_near_ones_are_told_and_names_kept(url: str) -> None:
    store = hamdex.connect(url, create={"ids": "names"}, set="s")
    assert store.insert_unless_near(0xFF, "one", k=3) is None
    assert store.insert_unless_near(0xFE, "two", k=3) == (0xFF, 1, ["one"], 1)
    assert store.insert_unless_near([0xF0F0, 0xFF], ["three", "four"]) == [None, (0xFF, 0, ["one"], 1)]
    assert 0xFF in store and 0xFE not in store and len(store) == 2
    assert store.remove_names({"one"}) == 1 and 0xFF not in store
    # Made already: the same set, by its whole address and by being the only one.
    assert hamdex.connect(f"{url}/v1/sets/s").query(0xF0F0) == [(0xF0F0, 0, ["three"], 1)]
    assert hamdex.connect(url).name == "s"


def test_texts_and_great_ids_and_wide_fingerprints(url: str) -> None:
    text = "it was a dark and stormy night and the rain fell in torrents except at occasional intervals"
    texts = hamdex.connect(url, "texts", create={"recipe": "default"})
    texts.insert([text], ["a"])
    assert texts.query(text)[0].ids == ["a"] and texts.recipe
    numbers = hamdex.connect(url, "numbers", create={})
    ids = [2**53, 2**53 + 1, 2**64 - 1]
    numbers.insert([1, 1, 1], ids)
    assert numbers.query(1) == [(1, 0, ids, 3)]
    wide = hamdex.connect(url, "wide", create={"width": 128, "ids": "none"})
    wide.insert(np.stack([uniform(5, 1), uniform(5, 2)], axis=1))
    assert len(list(wide.entries())) == 5
    with pytest.raises(ValueError, match="name a set"):
        hamdex.connect(url)


def test_errors_say_what_is_wrong(url: str) -> None:
    store = hamdex.connect(url, "s", create={})
    with pytest.raises(ValueError, match="record 1") as wrong:
        store.insert([1, 2], [1, "x"])
    assert isinstance(wrong.value, hamdex.RemoteError)
    assert (wrong.value.status, wrong.value.code, wrong.value.record) == (422, "bad_record", 1)
    with pytest.raises(hamdex.RemoteError, match="there is no set"):
        hamdex.connect(url, "none")
    with pytest.raises(ValueError, match="no fingerprint of 64 bits"):
        store.query(2**64)
    with pytest.raises(ValueError, match="2 fingerprints and 1 ids"):
        store.insert([1, 2], [1])
    with pytest.raises(ValueError, match="no address"):
        hamdex.connect("ftp://localhost")
    with pytest.raises(ConnectionError):
        hamdex.connect("http://127.0.0.1:1", "s")
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store.query(1)


def test_threads_share_a_connection(url: str) -> None:
    store = hamdex.connect(url, "s", create={"durability": "none"})
    wins = []

    def contend(number: int) -> None:
        for value in range(50):
            if store.insert_unless_near(value << 8 | number, number, k=2) is None:
                wins.append(value)

    threads = [threading.Thread(target=contend, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wins) == len(list(store.entries()))
    assert sorted(wins) == sorted({fingerprint >> 8 for fingerprint, _ in store.entries()})


def test_similar_texts_are_told(url: str) -> None:
    words = [f"word{number}" for number in range(60)]
    copied = [*words[:30], "changed", *words[31:]]
    store = hamdex.connect(url, "s", create={"shingles": True})
    assert store.has_names and store.recipe is not None
    assert store.insert_unless_similar(" ".join(words), "one") is None
    name, similarity = store.insert_unless_similar(" ".join(copied), "two")
    assert name == "one" and similarity == pytest.approx(51 / 61)
    assert store.insert_unless_similar([" ".join(copied), "short"], ["three", "four"], 0.9) == [None, None]
    assert len(store) == 3
    with pytest.raises(ValueError, match="unless_similar"):
        store.insert_unless_similar("short", "five", 2.0)
    plain = hamdex.connect(url, "plain", create={"recipe": "default"})
    with pytest.raises(hamdex.RemoteError) as refused:
        plain.insert_unless_similar(" ".join(words), "one")
    assert refused.value.code == "no_shingles"


def test_documents_are_found_by_text(url: str) -> None:
    words = [f"word{number}" for number in range(60)]
    page, copied = " ".join(words), " ".join([*words[:30], "changed", *words[31:]])
    store = hamdex.connect(url, "s", create={"shingles": True})
    store.insert([page, copied, "short"], ["one", "two", "three"])
    assert store.similar(page) == [("one", 1.0), ("two", pytest.approx(51 / 61))]
    assert store.similar([copied, " ", None, "Short!"], 0.9) == [[("two", 1.0)], [], [], [("three", 1.0)]]
    assert store.similar(" ".join(words[:20]), 1, measure="containing", limit=1) == [("one", 1.0)]
    assert store.similar(page, 1, measure="contained") == [("one", 1.0)]
    assert store.similar([]) == []
    for threshold in (0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="threshold"):
            store.similar(page, threshold)
    with pytest.raises(ValueError, match="measure"):
        store.similar(page, measure="jaccard")
    with pytest.raises(TypeError, match="texts"):
        store.similar(7)
    plain = hamdex.connect(url, "plain", create={"recipe": "default"})
    with pytest.raises(ValueError, match="shingles"):
        plain.similar(page)


def test_records_are_replaced_by_id(url: str) -> None:
    store = hamdex.connect(url, "s", create={"lookups": True})
    store.insert([1, 3], [7, 2**63])
    assert store.upsert([5, 9, 17], [7, 8, 2**63]) == 2
    assert sorted(store.entries()) == [(5, [7]), (9, [8]), (17, [2**63])]
    assert store.has_lookups and not store.has_shingles
    assert store.fingerprints_of(7) == [5] and store.fingerprints_of(2**63) == [17] and store.fingerprints_of(9) == []
    plain = hamdex.connect(url, "plain", create={})
    with pytest.raises(hamdex.RemoteError) as refused:
        plain.upsert(1, 1)
    assert refused.value.code == "no_lookups"


def test_ids_are_limited_and_counted(url: str) -> None:
    store = hamdex.connect(url, "s", create={"durability": "none"})
    store.insert([7] * 25, range(25))
    for limit, most in ((1, 1), (25, 25), (None, 25)):
        expected = (7, 0, list(range(most)), 25)
        assert store.query(7, 0, ids_limit=limit) == store.nearest(7, ids_limit=limit) == [expected]
        assert store.first(7, 0, ids_limit=limit) == expected
        table = store.batch([7], 0, ids_limit=limit)
        assert (table["id"], table["ids_count"]) == (list(range(most)), [25] * most)
    assert store.query(7, 0) == [(7, 0, list(range(10)), 25)]
    assert store.insert_unless_near(7, 30) == (7, 0, list(range(10)), 25)
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError):
            store.query(7, 0, ids_limit=wrong)
    with pytest.raises(ValueError, match="at least 1"):
        store.batch([7], ids_limit=0)


def test_nulls_are_left_out(url: str) -> None:
    text = "it was a dark and stormy night and the rain fell in torrents except at occasional intervals"
    other = "the quick brown fox jumps over the lazy dog while five boxing wizards jump quickly over sphinx of quartz"
    nulls: list[Any] = [
        [None, text, other],
        [float("nan"), text, other],
        pd.Series([None, text, other], dtype=object),
        pl.Series([None, text, other]),
        pa.array([None, text, other]),
    ]
    for number, given in enumerate(nulls):
        store = hamdex.connect(url, f"s{number}", create={"recipe": "default", "ids": "names", "lookups": True})
        store.insert(given, ["a", "b", "c"])
        assert len(store) == 2 and store.fingerprints_of("b") and not store.fingerprints_of("a")
        outcomes = store.insert_unless_near(given, ["d", "e", "f"], k=0)
        assert [near and near.ids for near in outcomes] == [None, ["b"], ["c"]]
        with pytest.raises(ValueError, match="the text at 0 is blank"):
            store.upsert(given, ["a", "b", "c"])
        with pytest.raises(ValueError):
            store.batch(given)
    texts = hamdex.connect(url, "texts", create={"shingles": True, "lookups": True})
    assert texts.insert_unless_similar([None, text, text], ["a", "b", "c"]) == [None, None, ("b", 1.0)]
    again = texts.insert_unless_similar([None, text + " or so", text], ["a", "b", "c"], replace=True)
    assert again == [None, None, ("b", pytest.approx(12 / 14, abs=0.1))] and texts.has_shingles


def test_blank_texts_are_left_out_as_by_a_store(url: str, tmp_path: Path) -> None:
    words = "it was a dark and stormy night and the rain fell in torrents except at occasional intervals"
    blank = ["", " \n", "\u200b\u00ad", "\u3164"]
    texts = [*blank, words, "\u200b" * 100 + "слово", "!", words, "日本", "\u200b" * 100]
    names = [f"n{number}" for number in range(len(texts))]
    options: dict[str, Any] = {"names": True, "recipe": "default", "shingles": True, "lookups": True}
    with hamdex.Store(tmp_path / "of_its_own", **options) as local:
        remote = hamdex.connect(url, "texts", create={"shingles": True, "lookups": True})
        assert remote.insert_unless_similar("", "b") is None is local.insert_unless_similar("", "b")
        assert remote.insert_unless_similar([""], ["b"]) == [None] == local.insert_unless_similar([""], ["b"])
        assert remote.insert_unless_similar(texts, names) == local.insert_unless_similar(texts, names)
        for store in (local, remote):
            store.insert([*blank, "some more"], [*names[: len(blank)], "more"])
            assert store.insert_unless_near(["", "others"], ["x", "y"], k=0) == [None, None]
            with pytest.raises(ValueError, match="blank"):
                store.insert_unless_similar(["a text", " "], ["e", "f"], replace=True)
            with pytest.raises(ValueError, match="blank"):
                store.upsert(["a text", " "], ["e", "f"])
        stored = [name for name in [*names, "b", "more", "x", "y", "e", "f"] if remote.fingerprints_of(name)]
        assert stored == ["n4", "n5", "n6", "n8", "more", "y"]
        assert stored == [name for name in [*names, "b", "more", "x", "y", "e", "f"] if local.fingerprints_of(name)]
