"""Queries by text: the documents that are similar to it, contain it, or that it contains."""

import random
from pathlib import Path
from typing import Any, Literal

import hamdex
import pyarrow as pa
import pytest

Measure = Literal["resemblance", "containing", "contained"]
MEASURES: tuple[Measure, ...] = ("resemblance", "containing", "contained")


def page(chance: random.Random) -> str:
    """Return a text that shares much with some others; one in ten is short, one in twenty blank."""
    story, start = chance.randrange(4), chance.randrange(10)
    words = [f"story{story}word{place}" for place in range(start, start + chance.choice([20, 40, 60]))]
    for _ in range(chance.randrange(3)):
        words[chance.randrange(len(words))] = f"new{chance.randrange(9)}"
    kind = chance.randrange(20)
    return " " if kind == 0 else words[0] if kind < 3 else " ".join(words)


def sets_of(texts: list[str]) -> list[set[int]]:
    return [set(shingles.tolist()) for shingles in hamdex.shingles(texts)["shingles"]]


def share(query: set[int], stored: set[int], measure: Measure) -> float:
    all_of = {"resemblance": query | stored, "containing": query, "contained": stored}[measure]
    return len(query & stored) / len(all_of) if all_of else 0.0


def expected(
    query: set[int], stored: dict[Any, set[int]], threshold: float, measure: Measure
) -> list[tuple[Any, float]]:
    """Return ids and similarities by the definition; ids are in order."""
    found = [(id, share(query, shingles, measure)) for id, shingles in stored.items()]
    return sorted([one for one in found if one[1] >= threshold], key=lambda one: -one[1])


@pytest.mark.parametrize("kind", ["names", "numbers"])
def test_an_index_and_a_store_find_what_the_definition_says(tmp_path: Path, kind: str) -> None:
    chance = random.Random(20)
    texts = [page(chance) for _ in range(300)]
    ids: list[Any] = [f"page {number}" if kind == "names" else 7 * number for number in range(len(texts))]
    sets = sets_of(texts)
    stored = {id: shingles for id, shingles in zip(ids, sets, strict=True) if shingles}
    doors: list[hamdex.Set | hamdex.Store] = []
    given = [(text, id) for text, id in zip(texts, ids, strict=True) if text.strip()]
    hamdex.build(tmp_path / "x", [text for text, _ in given], ids=[id for _, id in given], recipe="default", shingles=True)
    doors.append(hamdex.Index(tmp_path / "x"))
    store: hamdex.Store | None = None
    if kind == "names":
        store = hamdex.Store(tmp_path / "s", names=True, recipe="default", shingles=True, lookups=True, durability="none")
        store.insert(texts[:200], ids[:200])
        store.flush()
        store.insert(texts[200:], ids[200:])
        doors += [store, store.snapshot()]
    queries = [*texts[:20], *(page(chance) for _ in range(20)), ""]
    for measure in MEASURES:
        for threshold in (0.05, 0.5, 0.7, 1):
            wanted = [expected(query, stored, threshold, measure) for query in sets_of(queries)]
            for door in doors:
                assert door.similar(queries, threshold, measure=measure) == wanted
                assert door.similar(queries, threshold, measure=measure, limit=2, threads=1) == [w[:2] for w in wanted]
                assert door.similar(queries[0], threshold, measure=measure) == wanted[0]
    index = doors[0]
    assert index.similar(pa.array(queries)) == index.similar(queries) == index.similar(iter(queries))
    assert index.similar([None, queries[0]], 0.9)[0] == [] and index.similar([]) == [] and index.similar(" ") == []
    found = index.similar(given[0][0])[0]
    assert isinstance(found, hamdex.Similar) and type(found.id) is type(ids[0])
    if store is not None:
        gone = given[0][1]
        assert store.remove_names({gone}) == 1
        left = expected(sets_of([given[0][0]])[0], {id: one for id, one in stored.items() if id != gone}, 0.5, "contained")
        assert store.similar(given[0][0], 0.5, measure="contained") == left
        # A snapshot stays as it was.
        assert doors[2].similar(given[0][0], 0.5, measure="contained") != left
        store.close()


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
    hamdex.build(tmp_path / "x", [text], ids=["whale"], recipe="default", shingles=True)
    index: Any = hamdex.Index(tmp_path / "x")
    for threshold in (0, -1, 1.01, float("nan")):
        with pytest.raises(ValueError, match="threshold must be above 0"):
            index.similar(text, threshold)
    with pytest.raises(ValueError, match='not "jaccard"'):
        index.similar(text, measure="jaccard")
    with pytest.raises(ValueError, match="threads must be at least 1"):
        index.similar(text, threads=0)
    with pytest.raises(ValueError, match="limit must not be negative"):
        index.similar(text, limit=-1)
    for wrong in ([7], {"a": 1}, {"a"}):
        with pytest.raises(TypeError):
            index.similar(wrong)
    index.close()
    with pytest.raises(ValueError, match="closed"):
        index.similar(text)
    hamdex.build(tmp_path / "plain", [text], ids=["whale"], recipe="default")
    with hamdex.Store(tmp_path / "s", names=True, recipe="default") as store:
        for plain in (hamdex.Index(tmp_path / "plain"), store, store.snapshot()):
            with pytest.raises(ValueError, match="shingles=True"):
                plain.similar(text)


def test_damage_is_damage_in_every_container(tmp_path: Path) -> None:
    texts = [f"story {number} " + " ".join(f"word{number}x{place}" for place in range(40)) for number in range(50)]
    hamdex.build(tmp_path / "a.hamdex", texts, ids=range(50), recipe="default", shingles=True)
    with hamdex.Store(tmp_path / "a.store", ids=True, names=True, recipe="default", shingles=True) as store:
        store.insert(texts, [f"page {number}" for number in range(50)])
        store.compact()
    (segment,) = (tmp_path / "a.store" / "segments").glob("*")
    for path, file in ((tmp_path / "a.hamdex", tmp_path / "a.hamdex"), (tmp_path / "a.store", segment)):
        damaged = bytearray(file.read_bytes())
        # All of the lists, which are in the second half; the end is the footer.
        for at in range(len(damaged) // 2, len(damaged) - 4096, 512):
            damaged[at] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(hamdex.DamagedError):
            with hamdex.open(path) as opened:
                opened.similar(texts[7])
