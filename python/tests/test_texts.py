"""Fingerprints of texts, and near-duplicates."""

import json
import subprocess
import sys
from pathlib import Path

import hamdex
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from conftest import bit_counts


def story(number: int, words: int = 80) -> str:
    return " ".join(f"word{number}x{place}" for place in range(words))


TEXTS = [story(number) for number in range(40)]


def test_fingerprints_are_those_of_single_texts() -> None:
    fingerprints = hamdex.fingerprint(TEXTS)
    assert fingerprints.dtype == np.uint64
    assert fingerprints.tolist() == [hamdex.fingerprint(text) for text in TEXTS]
    assert (hamdex.fingerprint(TEXTS, threads=1) == fingerprints).all()
    for column in (
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.chunked_array([TEXTS[:7], TEXTS[7:]]),
        pl.Series(TEXTS),
        (text for text in TEXTS),
    ):
        assert (hamdex.fingerprint(column) == fingerprints).all()


def test_both_widths_have_the_high_word_first() -> None:
    wide = hamdex.fingerprint(TEXTS, width=128)
    assert wide.shape == (len(TEXTS), 2)
    assert [int(high) << 64 | int(low) for high, low in wide] == [hamdex.fingerprint(text, width=128) for text in TEXTS]


def test_short_texts_are_told() -> None:
    fingerprints, reliable = hamdex.fingerprint([TEXTS[0], "too short", ""], return_reliable=True)
    assert reliable.tolist() == [True, False, False] and int(fingerprints[2]) == 0
    assert hamdex.fingerprint("too short", return_reliable=True)[1] is False
    assert len(hamdex.fingerprint([])) == 0


def test_wrong_texts() -> None:
    with pytest.raises(TypeError, match="the text at 1 is not a str but float"):
        hamdex.fingerprint(["a", 1.5])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not int"):
        hamdex.fingerprint(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="texts must be a list of str or an Arrow column, not str"):
        hamdex.dedup("articles.jsonl")
    with pytest.raises(ValueError, match="the text at 0 has half a surrogate pair"):
        hamdex.fingerprint(["\ud800"])
    with pytest.raises(TypeError, match="must be strings"):
        hamdex.fingerprint(pa.array([1]))
    with pytest.raises(ValueError, match="64 or 128"):
        hamdex.fingerprint(TEXTS, width=32)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="idf"):
        hamdex.fingerprint(TEXTS, recipe="default weight=idf:0123456789abcdef")


CORPUS = [TEXTS[0], TEXTS[1], TEXTS[0].replace("x40", "y"), TEXTS[2], TEXTS[1], "short", "short"]


def rows(table: hamdex.Table) -> list[tuple[object, ...]]:
    return list(zip(table["cluster"].tolist(), list(table["id"]), table["kept"].tolist(), strict=True))


def test_near_duplicates_by_similarity() -> None:
    table = hamdex.dedup(CORPUS)
    assert table.column_names == ["cluster", "id", "kept", "distance", "similarity"]
    assert rows(table) == [
        (1, 0, True), (1, 2, False), (2, 1, True), (2, 4, False), (3, 5, True), (3, 6, False),
    ]  # fmt: skip
    assert table["similarity"].tolist()[3] == 1.0 and 0.7 <= table["similarity"][1] < 1
    assert rows(hamdex.dedup(CORPUS, similarity=1.0)) == [(1, 1, True), (1, 4, False), (2, 5, True), (2, 6, False)]


def test_near_duplicates_by_distance() -> None:
    table = hamdex.dedup(CORPUS, k=12)
    assert table.column_names == ["cluster", "id", "kept", "distance"]
    fingerprints = hamdex.fingerprint(CORPUS)
    away = int(bit_counts(fingerprints[0] ^ fingerprints[2]))
    assert away <= 12 and table["distance"].tolist()[1] == away


def test_ids_keep_their_type() -> None:
    names = [f"page{number}" for number in range(len(CORPUS))]
    for ids in (pa.array(names), pa.array(range(len(CORPUS)), pa.int32()), pa.chunked_array([names[:3], names[3:]])):
        table = hamdex.dedup(pa.table({"body": CORPUS, "key": ids}), text="body", id="key")
        result = pa.table(table)
        assert result["id"].type == ids.type
        assert result["id"].to_pylist() == [ids[place].as_py() for place in (0, 2, 1, 4, 5, 6)]
    frame = pl.DataFrame({"text": CORPUS, "id": names})
    assert pl.DataFrame(hamdex.dedup(frame, id="id", keep="longest"))["kept"].sum() == 3


def test_what_is_known_is_left_out(tmp_path: Path) -> None:
    known = [TEXTS[1], TEXTS[5], TEXTS[2]]
    fingerprints = hamdex.fingerprint(known)
    hamdex.build(tmp_path / "known.hamdex", fingerprints, ids=["one", "five", "two"], recipe="default")
    hamdex.build(tmp_path / "bare.hamdex", fingerprints)
    store = hamdex.Store(tmp_path / "known.store", names=True, recipe="default")
    store.insert(known, ["one", "five", "two"])
    index = hamdex.Index(tmp_path / "known.hamdex")
    names = [f"page{number}" for number in range(len(CORPUS))]
    table = pa.table({"text": CORPUS, "id": names})
    references: list[hamdex.Index | hamdex.Store | hamdex.Snapshot | Path | str] = [index, store, store.snapshot()]
    references += [index.path, str(index.path), tmp_path / "known.store"]
    for against in references:
        clusters, seen = hamdex.dedup(table, id="id", against=against, k=3)
        assert rows(clusters) == [(1, "page0", True), (1, "page2", False), (2, "page5", True), (2, "page6", False)]
        assert seen.column_names == ["id", "fingerprint", "distance", "known"]
        assert (seen["id"], seen["known"]) == (["page1", "page3", "page4"], ["one", "two", "one"])
        assert seen["fingerprint"].tolist() == fingerprints[[0, 2, 0]].tolist()
        assert seen["distance"].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="pass it with recipe="):
        hamdex.dedup(CORPUS, against=tmp_path / "bare.hamdex", k=3)
    with pytest.raises(ValueError, match="without shingles.*k="):
        hamdex.dedup(CORPUS, against=index)
    clusters, seen = hamdex.dedup(CORPUS, against=tmp_path / "bare.hamdex", recipe="default", k=0)
    assert seen.column_names == ["id", "fingerprint", "distance"] and seen["id"].tolist() == [1, 3, 4]
    # Results among the texts themselves stay the same.
    assert clusters.column_names == ["cluster", "id", "kept", "distance", "similarity"]
    with pytest.raises(ValueError, match="leave recipe out"):
        hamdex.dedup(CORPUS, against=index, recipe="default min-features=2", k=3)
    with pytest.raises(ValueError, match="the known documents have 64"):
        hamdex.dedup(CORPUS, against=index, recipe="default width=128", k=3)
    with pytest.raises(TypeError, match="against must be .*, not int"):
        hamdex.dedup(CORPUS, against=3)  # type: ignore[call-overload]
    with pytest.raises(FileNotFoundError):
        hamdex.dedup(CORPUS, against=tmp_path / "missing")
    store.close()


def test_known_texts_are_compared_as_the_texts_are(tmp_path: Path) -> None:
    known = [TEXTS[1], TEXTS[5] + " and a little more", TEXTS[2]]
    names = ["one", "five", "two"]
    lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in zip(names, known)]
    (tmp_path / "known.jsonl").write_text("".join(lines))
    command("build", "--documents", "--shingles", "-o", tmp_path / "known.hamdex", tmp_path / "known.jsonl")
    command("store", "create", tmp_path / "known.store", "--documents", "--shingles")
    command("store", "insert", tmp_path / "known.store", "--documents", tmp_path / "known.jsonl")
    table = pa.table({"text": CORPUS, "id": [f"page{number}" for number in range(len(CORPUS))]})
    index = hamdex.Index(tmp_path / "known.hamdex")
    sets = [index, *(tmp_path / name for name in ("known.hamdex", "known.store", "known.jsonl"))]
    of_list = hamdex.dedup(table, id="id", against=known)
    rows_of_list = [names[number] for number in of_list[1]["known"].tolist()]
    for against in [*sets, pa.table({"text": known, "id": names})]:
        clusters, seen = hamdex.dedup(table, id="id", against=against)
        assert seen.column_names == ["id", "similarity", "known"]
        assert rows(clusters) == rows(of_list[0])
        assert (list(seen["id"]), list(seen["known"])) == (list(of_list[1]["id"]), rows_of_list)
        assert seen["similarity"].tolist() == of_list[1]["similarity"].tolist()
    assert (list(of_list[1]["id"]), rows_of_list) == (["page1", "page3", "page4"], ["one", "two", "one"])
    with pytest.raises(ValueError, match="leave k out"):
        hamdex.dedup(CORPUS, against=known, k=3)


def command(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "hamdex._command", *map(str, arguments)], check=True, timeout=120)


def test_what_a_set_of_shards_knows_is_left_out(tmp_path: Path) -> None:
    known = [(f"known{number}", TEXTS[number]) for number in (1, 5, 2)]
    lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in known]
    (tmp_path / "known.jsonl").write_text("".join(lines))
    fingerprints = hamdex.fingerprint([text for _, text in known])
    for layout in ("families", "hash"):
        options = ["--documents", "--shards", "2", "--layout", layout, "-o", tmp_path / layout]
        command("build", *options, tmp_path / "known.jsonl")
        clusters, seen = hamdex.dedup(CORPUS, against=tmp_path / layout, k=3)
        assert rows(clusters) == [(1, 0, True), (1, 2, False), (2, 5, True), (2, 6, False)]
        assert (seen["id"].tolist(), seen["known"]) == ([1, 3, 4], ["known1", "known2", "known1"])
        assert seen["fingerprint"].tolist() == fingerprints[[0, 2, 0]].tolist()
        assert seen["distance"].tolist() == [0, 0, 0]
    # Files that were built apart, with numbers, and with nothing.
    for name, ids in (("numbers", [7, 8, 9]), ("bare", None)):
        for place in range(3):
            own = None if ids is None else ids[place : place + 1]
            hamdex.build(tmp_path / f"{name}{place}", fingerprints[place : place + 1], own, recipe="default")
        command("shards", "create", tmp_path / name, *(tmp_path / f"{name}{place}" for place in range(3)))
        # Further away than the set is made for.
        for k in (3, 12):
            _, seen = hamdex.dedup(CORPUS, against=str(tmp_path / name), k=k)
            assert seen["id"].tolist() == [1, 3, 4]
            assert ("known" in seen) == (ids is not None)
            assert ids is None or seen["known"].tolist() == [7, 9, 7]
    with pytest.raises(ValueError, match="leave recipe out"):
        hamdex.dedup(CORPUS, against=tmp_path / "hash", recipe="default min-features=2", k=3)
    next((tmp_path / "hash").glob("*.hamdex")).unlink()
    with pytest.raises(FileNotFoundError, match="is missing"):
        hamdex.dedup(CORPUS, against=tmp_path / "hash", k=3)


def test_shingles_are_what_texts_are_compared_by() -> None:
    texts = [*CORPUS, "", "  ", "?!", "The CAT sat.", "the cat, sat"]
    table = hamdex.shingles(texts)
    sets = table["shingles"]
    assert table.column_names == ["shingles"] and len(sets) == len(texts) == len(table)
    assert all(one.dtype == np.uint64 and one.tolist() == sorted(set(one.tolist())) for one in sets)
    assert [len(one) for one in sets] == [76, 76, 76, 76, 76, 1, 1, 0, 0, 1, 1, 1]
    assert (sets[-1] == sets[-2]).all()
    column = pa.table(table)["shingles"]
    assert column.type == pa.large_list(pa.field("item", pa.uint64(), nullable=False))
    assert column.to_pylist() == pl.DataFrame(table)["shingles"].to_list() == [one.tolist() for one in sets]
    # The same texts are compared in both.
    for kept, other in ((0, 2), (1, 4)):
        one, copy = set(sets[kept].tolist()), set(sets[other].tolist())
        found = {row["id"]: row["similarity"] for row in pa.table(hamdex.dedup(CORPUS)).to_pylist()}
        assert found[other] == len(one & copy) / len(one | copy)
    assert [len(one) for one in hamdex.shingles(pa.array(TEXTS[:2]), 1)["shingles"]] == [80, 80]
    assert len(hamdex.shingles([])) == 0 and hamdex.shingles([])["shingles"] == []
    many = [story(number % 50) for number in range(5000)]
    expected = [one.tolist() for one in hamdex.shingles(many[:50], 3)["shingles"]]
    for threads in (1, 3):
        found_again = [one.tolist() for one in hamdex.shingles(many, 3, threads=threads)["shingles"]]
        assert found_again == expected * 100
    for wrong in (0, 65):
        with pytest.raises(ValueError, match=f"words must be from 1 to 64, not {wrong}"):
            hamdex.shingles(texts, wrong)


def test_wrong_tables() -> None:
    table = pa.table({"text": ["a", "b"], "id": [1, None]})
    with pytest.raises(ValueError, match="the id of row 1 is null"):
        hamdex.dedup(table, id="id")
    with pytest.raises(KeyError, match="there are: .*text.*id"):
        hamdex.dedup(table, text="body")
    with pytest.raises(TypeError, match="pass an Arrow table"):
        hamdex.dedup(CORPUS, id="id")
    with pytest.raises(ValueError, match="first or longest"):
        hamdex.dedup(CORPUS, keep="last")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="above 0"):
        hamdex.dedup(CORPUS, similarity=80)
    assert len(hamdex.dedup([])) == 0
