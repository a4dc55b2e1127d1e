"""Indexes and stores of texts that keep shingles, and what is compared with them."""

import gzip
import json
import random
import threading
import warnings
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import pyarrow as pa
import pytest
from conftest import bit_counts


def story(number: int, words: int = 80) -> str:
    return " ".join(f"word{number}x{place}" for place in range(words))


def edited(text: str, places: int, chance: random.Random) -> str:
    words = text.split()
    for _ in range(places):
        words[chance.randrange(len(words))] = f"new{chance.randrange(10_000)}"
    return " ".join(words)


def collection(count: int, seed: int) -> list[str]:
    """Return texts, some of them edited copies of others, equal, short, or blank."""
    chance = random.Random(seed)
    texts = ["", "short", "Short!", story(1)]
    while len(texts) < count:
        copies = chance.random() < 0.5
        texts.append(edited(chance.choice(texts[3:]), chance.randrange(9), chance) if copies else story(len(texts)))
    return texts


def similarity(one: set[int], other: set[int]) -> float:
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def sets_of(texts: list[str], words: int = 5) -> list[set[int]]:
    return [set(one.tolist()) for one in hamdex.shingles(texts, words)["shingles"]]


def test_an_index_of_texts_is_that_of_their_fingerprints(tmp_path: Path) -> None:
    texts = [story(number) for number in range(50)]
    names = [f"page {number}" for number in range(50)]
    for width in (64, 128):
        recipe = f"default width={width}"
        of_texts, of_fingerprints = tmp_path / f"texts{width}", tmp_path / f"fingerprints{width}"
        hamdex.build(of_texts, texts, names, recipe=recipe)
        hamdex.build(of_fingerprints, hamdex.fingerprint(texts, recipe), names, recipe=recipe)
        assert of_texts.read_bytes() == of_fingerprints.read_bytes()
    hamdex.build(tmp_path / "column", pa.array(texts), names, recipe="default")
    assert (tmp_path / "column").read_bytes() == (tmp_path / "texts64").read_bytes()
    with pytest.raises(ValueError, match="the text at 1 is too short"):
        hamdex.build(tmp_path / "short", ["\n".join(texts), "short"], recipe="default")
    with pytest.raises(TypeError, match="expected an integer"):
        hamdex.build(tmp_path / "short", texts)
    assert not (tmp_path / "short").exists()


@pytest.mark.parametrize("words", [True, 2])
def test_stored_shingles_are_those_of_the_texts(tmp_path: Path, words: int) -> None:
    texts = collection(200, 3)
    names = [f"page {number}" for number in range(len(texts))]
    numbers = [7 * number % 1009 for number in range(len(texts))]
    width = 5 if words is True else words
    expected = {name: one for name, one in zip(names, sets_of(texts, width), strict=True) if one}
    hamdex.build(tmp_path / "names", texts, names, recipe="default", shingles=words)
    hamdex.build(tmp_path / "numbers", texts, numbers, recipe="default width=128", shingles=words)
    with hamdex.Store(tmp_path / "store", names=True, recipe="default", shingles=words) as store:
        assert store.has_shingles
        store.insert(texts[:120], names[:120])
        store.flush()
        store.insert(texts[120:], names[120:])
        store.insert(story(999), "one")
        assert len(list(store.snapshot().shingles())) >= 2
    for place in ("names", "store"):
        with hamdex.open(tmp_path / place) as known:
            assert known.has_shingles
            found = {id: set(one.tolist()) for table in known.shingles() for id, one in rows(table)}
        if place == "store":
            assert found.pop("one") == sets_of([story(999)], width)[0]
        assert found == expected
    by_number = {number: one for number, one in zip(numbers, sets_of(texts, width), strict=True) if one}
    index = hamdex.Index(tmp_path / "numbers")
    assert {id: set(one.tolist()) for table in index.shingles() for id, one in rows(table)} == by_number
    index.verify()


def rows(table: hamdex.Table) -> Any:
    return zip(list(table["id"]), table["shingles"], strict=True)


def test_what_keeps_no_shingles_says_so(tmp_path: Path) -> None:
    texts, names = [story(1), story(2)], ["a", "b"]
    path = tmp_path / "x"
    wrong: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (texts, {"shingles": True}, ValueError, "pass recipe="),
        (texts, {"shingles": True, "recipe": "default", "ids": None}, ValueError, "pass ids="),
        (texts, {"shingles": 65, "recipe": "default"}, ValueError, "from 1 to 64 words, not 65"),
        (texts, {"shingles": 0, "recipe": "default"}, ValueError, "from 1 to 64 words, not 0"),
        (texts, {"shingles": "5", "recipe": "default"}, TypeError, "not str"),
        (texts, {"shingles": True, "recipe": "default", "ids": [3, 3]}, ValueError, "the id 3 occurs twice"),
        (texts, {"shingles": True, "recipe": "default", "ids": ["a"]}, ValueError, "2 fingerprints but 1 ids"),
        ([1, 2], {"shingles": True, "recipe": "default"}, TypeError, "the text at 0 is not a str but int"),
    ]
    for given, options, error, text in wrong:
        with pytest.raises(error, match=text):
            hamdex.build(path, given, **{"ids": names, **options})
    assert not path.exists()
    hamdex.build(path, texts, names, recipe="default")
    assert not hamdex.Index(path).has_shingles
    with pytest.raises(ValueError, match="shingles=True"):
        hamdex.Index(path).shingles()
    incomplete: list[dict[str, Any]] = [{}, {"names": True}, {"recipe": "default"}]
    for options in incomplete:
        with pytest.raises(ValueError, match="names=True and recipe="):
            hamdex.Store(tmp_path / "s", shingles=True, **options)
    with hamdex.Store(tmp_path / "s", names=True, recipe="default") as store:
        with pytest.raises(ValueError, match="keeps no shingles"):
            store.insert_unless_similar(texts, names)
    with pytest.raises(ValueError, match="shingles=none, not 5"):
        hamdex.Store(tmp_path / "s", shingles=True)
    with hamdex.Store(tmp_path / "t", names=True, recipe="default", shingles=3) as store:
        inserts: list[Any] = [store.insert, store.insert_unless_near, store.insert_unless_similar]
        for insert in inserts:
            with pytest.raises(TypeError, match="give the texts"):
                insert(hamdex.fingerprint(texts), names)
            with pytest.raises(ValueError, match="2 texts but 1 ids"):
                insert(texts, ["a"])
        with pytest.raises(ValueError, match="above 0"):
            store.insert_unless_similar(texts, names, similarity=7)
        store.insert(texts, names)
        assert store.query(texts[1], k=0)[0].ids == ["b"]
        assert [one and one.ids for one in store.insert_unless_near([*texts, " ", story(5)], [*names, "c", "d"])] == [
            ["a"], ["b"], None, None,
        ]  # fmt: skip
        assert len(store.snapshot()) == 3
    with hamdex.Store(tmp_path / "t", shingles=3), pytest.raises(hamdex.StoreError):
        hamdex.Store(tmp_path / "t")


@pytest.mark.parametrize("least", [0.4, 0.7, 1.0])
def test_inserts_unless_similar_are_those_of_comparing_all(tmp_path: Path, least: float) -> None:
    texts = collection(300, 5)
    names = [f"page {number}" for number in range(len(texts))]
    sets = sets_of(texts)
    # One after the other: similar to what is stored, or stored.
    stored: list[int] = []
    expected: list[bool] = []
    for number, one in enumerate(sets):
        similar = any(similarity(one, sets[other]) >= least for other in stored)
        expected.append(similar)
        if one and not similar:
            stored.append(number)
    with hamdex.Store(tmp_path / "s", names=True, recipe="default", shingles=True) as store:
        outcomes: list[hamdex.Similar | None] = []
        for start in range(0, len(texts), 70):
            part = slice(start, start + 70)
            outcomes += store.insert_unless_similar(texts[part], names[part], similarity=least)
        assert [outcome is not None for outcome in outcomes] == expected
        for number, found in enumerate(outcomes):
            if found is not None:
                other = names.index(str(found.id))
                assert other in stored and found.similarity == similarity(sets[number], sets[other]) >= least
        kept = {id for table in store.snapshot().shingles() for id, _ in rows(table)}
        assert kept == {names[number] for number in stored}
        single = store.insert_unless_similar(texts[stored[-1]], "again", similarity=least)
        assert single is not None and single.similarity == 1.0
        assert store.insert_unless_similar(story(10_000), "new", similarity=least) is None


def test_of_two_threads_one_inserts(tmp_path: Path) -> None:
    originals = [story(number) for number in range(30)]
    with hamdex.Store(tmp_path / "s", names=True, recipe="default", shingles=True, durability="none") as store:
        outcomes: dict[int, list[hamdex.Similar | None]] = {}

        def insert(thread: int) -> None:
            texts = [edited(text, 1, random.Random(thread)) for text in originals]
            # One by one, so that threads take turns.
            outcomes[thread] = [store.insert_unless_similar(text, f"{thread} {n}") for n, text in enumerate(texts)]

        threads = [threading.Thread(target=insert, args=(number,)) for number in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        new = [sum(outcomes[thread][number] is None for thread in outcomes) for number in range(len(originals))]
        assert new == [1] * len(originals)


def test_far_known_fingerprints_are_the_nearest(tmp_path: Path) -> None:
    chance = random.Random(9)
    known = [story(number) for number in range(300)]
    texts = [edited(chance.choice(known), chance.randrange(30), chance) for _ in range(200)]
    fingerprints = hamdex.fingerprint(known)
    hamdex.build(tmp_path / "x", fingerprints, ids=np.arange(300), recipe="default", distance=2)
    own = hamdex.fingerprint(texts)
    # Beyond the index's own distance, too.
    for k in (0, 2, 9, 14):
        _, found = hamdex.dedup(texts, against=tmp_path / "x", k=k)
        away = bit_counts(own[:, None] ^ fingerprints[None, :])
        near = np.flatnonzero(away.min(axis=1) <= k)
        assert found["id"].tolist() == near.tolist()
        assert found["distance"].tolist() == away.min(axis=1)[near].tolist()
        # Of several as near, the least fingerprint.
        least = [min(fingerprints[away[row] == away[row].min()]) for row in near]
        assert found["fingerprint"].tolist() == [int(one) for one in least]


def test_a_file_that_cannot_be_read_is_an_error_or_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / "known"
    folder.mkdir()
    (folder / "good.jsonl").write_text(json.dumps({"id": "g", "text": story(1)}) + "\n")
    whole = gzip.compress((json.dumps({"id": "b", "text": story(2)}) + "\n").encode())
    (folder / "bad.jsonl.gz").write_bytes(whole[:-12])
    texts = [story(1), story(3)]
    with pytest.warns(UserWarning, match="bad.jsonl.gz"), pytest.raises(hamdex.Error, match="skip_unreadable=True"):
        hamdex.dedup(texts, against=folder)
    with pytest.warns(UserWarning, match="bad.jsonl.gz"):
        _, known = hamdex.dedup(texts, against=folder, skip_unreadable=True)
    assert known["known"] == ["g"]
    (folder / "bad.jsonl.gz").write_bytes(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, known = hamdex.dedup([*texts, story(2)], against=folder)
    assert known["known"] == ["g", "b"]


def test_a_text_that_is_crawled_again_is_not_similar_to_itself(tmp_path: Path) -> None:
    options: dict[str, Any] = {"names": True, "recipe": "default", "shingles": True}
    with hamdex.Store(tmp_path / "s", lookups=True, **options) as store:
        store.insert([story(1), story(2)], ["a", "b"])
        given = [story(1), story(2) + " more", story(3), story(3) + " again"]
        outcomes = store.insert_unless_similar(given, ["a", "a", "c", "d"], replace=True)
        assert [similar and similar.id for similar in outcomes] == [None, "b", None, "c"]
        assert store.insert_unless_similar(story(4), "a", replace=True) is None
        fingerprints = [hamdex.fingerprint(text) for text in (story(4), story(2), story(3))]
        assert [store.fingerprints_of(name) for name in "abc"] == [[one] for one in fingerprints]
        assert store.fingerprints_of("d") == [] and len(store.snapshot()) == 3
        with pytest.raises(ValueError, match="the text at 1 is blank"):
            store.insert_unless_similar([story(5), " "], ["e", "f"], replace=True)
        # Texts go in by 65,536 at a time, and none does if a later one is blank.
        many = [f"story {number}" for number in range((1 << 16) + 10)]
        names = [f"many {number}" for number in range(len(many))]
        many[-3] = ""
        with pytest.raises(ValueError, match=f"the text at {len(many) - 3} is blank"):
            store.insert_unless_similar(many, names, replace=True)
        assert store.fingerprints_of("e") == store.fingerprints_of(names[0]) == [] and len(store.snapshot()) == 3
    with hamdex.Store(tmp_path / "plain", **options) as plain:
        with pytest.raises(ValueError, match="no look-ups"):
            plain.insert_unless_similar(story(1), "a", replace=True)
