"""The parts of hamdex.spark that need no cluster."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zlib
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hamdex
import numpy as np
import pyarrow as pa
import pytest
from hamdex.spark import _bit_words, _components, _document_features, _grouping, _pigeonhole, _shards
from hamdex.spark._executors import on_executors


@pytest.mark.parametrize(("width", "k"), [(64, 0), (64, 1), (64, 3), (64, 8), (64, 40), (64, 64), (128, 3), (128, 10)])
def test_a_pair_agrees_in_the_one_lead_and_part_it_belongs_to(width: int, k: int) -> None:
    chance = random.Random(k)
    leads = _pigeonhole.Leads.of(width, k)
    masks = [0]
    for _ in range(300):
        bits = chance.sample(range(width), chance.randrange(k + 1))
        masks.append(sum(1 << bit for bit in bits))
    # Crowded differences, too.
    masks += [(1 << chance.randrange(min(k, 20) + 1)) - 1 for _ in range(20)]
    difference = _bit_words.masks(masks, width)
    counts = np.zeros(len(masks), dtype=int)
    for lead in range(len(leads.masks)):
        in_lead = leads.belongs(difference, lead, -1)
        counts += in_lead
        assert all(masks[row] & leads.masks[lead] == 0 for row in np.flatnonzero(in_lead))
        in_parts = np.zeros(len(masks), dtype=int)
        for part in range(len(leads.parts[lead])):
            mine = leads.belongs(difference, lead, part)
            assert all(masks[row] & leads.parts[lead][part] == 0 for row in np.flatnonzero(mine))
            in_parts += mine
        assert np.array_equal(in_parts, in_lead.astype(int))
    assert np.all(counts == 1)


def test_leads_share_no_bit() -> None:
    leads = _pigeonhole.Leads.of(64, 3)
    assert sum(leads.masks) == (1 << 64) - 1
    for lead, parts in zip(leads.masks, leads.parts):
        assert lead & sum(parts) == 0
        assert lead | sum(parts) == (1 << 64) - 1


def test_fingerprints_survive_their_way_through_columns() -> None:
    words = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    assert np.array_equal(_bit_words.to_words(_bit_words.to_column(words))[:, 0], words)
    wide = np.stack([words, words[::-1]], axis=1)
    assert np.array_equal(_bit_words.to_words(_bit_words.to_column(wide)), wide)
    assert np.array_equal(_bit_words.to_words(_bit_words.to_column(wide).slice(1, 2)), wide[1:3])


def components_by_stars(edges: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Run the rounds of stars as Spark does."""
    now = [(max(edge), min(edge), True) for edge in edges]
    for _ in range(60):
        both = sorted([(a, b, c) for a, b, c in now] + [(b, a, c) for a, b, c in now])
        now = list(_components.connect_smaller(sorted(_components.connect_larger(both))))
        assert len(now) <= len(edges)
        if not any(changed for _, _, changed in now):
            found = {node: root for node, root, _ in now}
            return found | {root: root for root in found.values()}
    raise AssertionError("the rounds do not end")


@pytest.mark.parametrize("seed", range(30))
def test_stars_contract_components_to_their_smallest_node(seed: int) -> None:
    chance = random.Random(seed)
    nodes = chance.choice([5, 30, 200])
    edges: list[tuple[Any, Any]] = [
        (a, b) for a, b in (chance.sample(range(nodes), 2) for _ in range(chance.randrange(1, 2 * nodes)))
    ]
    if seed % 3 == 0:
        path = chance.sample(range(nodes), nodes)
        edges = list(zip(path, path[1:]))
    if seed % 5 == 0:
        edges = [(f"{a}", f"{b}") for a, b in edges]
    expected = {node: node for edge in edges for node in edge}
    for _ in range(nodes):
        for a, b in edges:
            expected[a] = expected[b] = min(expected[a], expected[b])
    assert components_by_stars(edges) == expected
    batch = pa.RecordBatch.from_pydict({"one": [a for a, _ in edges], "other": [b for _, b in edges]})
    united = pa.Table.from_batches(_components.unite([batch.slice(0, 3), batch.slice(3)])).to_pylist()
    assert {row["node"]: row["component"] for row in united} == expected


@pytest.mark.parametrize("seed", range(20))
def test_members_of_stars_are_those_of_going_through_all(seed: int) -> None:
    chance = random.Random(seed)
    nodes = 40
    pairs = {tuple(sorted(chance.sample(range(nodes), 2))) for _ in range(chance.randrange(1, 120))}
    centres: list[int] = []
    expected = {}
    for node in range(nodes):
        near = [centre for centre in centres if (centre, node) in pairs]
        if near:
            expected[node] = near[0]
        else:
            centres.append(node)
    rows = sorted((0, later, earlier) for earlier, later in pairs)
    assert dict(_grouping.members(rows)) == expected


def test_equal_texts_without_a_fingerprint_have_one_key() -> None:
    texts = pa.array(["too short", " too short\n", "other", "", " \u2003", "a\x1f", "a"])
    keys = _document_features.keys_of_fingerprints([b"12345678"] * 7, [False] * 7, texts).to_pylist()
    assert keys[0] == keys[1] != keys[2]
    assert keys[3] is None and keys[4] is None
    # A separator is no white space.
    assert keys[5] != keys[6]


def shards(directory: Path) -> _shards.Shards:
    shard = _shards.Shard("a.hamdex", 10, 12, 100, "0123456789abcdef" * 2)
    return _shards.Shards(directory, 64, 3, None, "numbers", (shard,))


def to_line(fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"


def seal(lines: str) -> str:
    """Append the checksums of lines."""
    return lines + to_line({"crc32": [f"{zlib.crc32(line):08x}" for line in lines.encode().splitlines(keepends=True)]})


def test_a_manifest_is_read_as_written(tmp_path: Path) -> None:
    _shards.write(shards(tmp_path))
    assert _shards.read(tmp_path) == shards(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest"]


def test_the_text_of_a_manifest_is_this(tmp_path: Path) -> None:
    # As the tests of crates/shards have it for a recipe like this.
    named = replace(shards(tmp_path), recipe='a "recipe"\n\x01\x7f\\ü')
    _shards.write(named)
    first, second, last, rest = (tmp_path / "manifest").read_text().split("\n")
    recipe = '"a \\"recipe\\"\\n\\u0001\x7f\\\\ü"'
    fields = f'"layout":"hash","width":64,"distance":3,"recipe":{recipe},"id_type":"numbers"'
    assert first == '{"hamdex_shards":1,' + fields + "}"
    counts = '"fingerprints":10,"ids":12,"bytes":100'
    assert second == '{"file":"a.hamdex",' + counts + ',"file_id":"0123456789abcdef0123456789abcdef"}'
    sums = [f"{zlib.crc32((line + chr(10)).encode()):08x}" for line in (first, second)]
    assert (last, rest) == (f'{{"crc32":["{sums[0]}","{sums[1]}"]}}', "")
    assert _shards.read(tmp_path) == named


def test_a_damaged_manifest_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no manifest of shards"):
        _shards.read(tmp_path)
    _shards.write(shards(tmp_path))
    path = tmp_path / "manifest"
    head, entry = (json.loads(line) for line in path.read_text().splitlines()[:2])

    def refused(lines: list[Any], kind: type[Exception], text: str) -> None:
        # With right checksums.
        path.write_text(seal("".join(to_line(line) for line in lines)))
        with pytest.raises(kind, match=text):
            _shards.read(tmp_path)

    refused([[]], hamdex.FormatError, "not a set of shards")
    refused([{"hamdex_store": 1}], hamdex.FormatError, "not a set of shards")
    refused([head | {"hamdex_shards": 2}, entry], hamdex.FormatError, "version 2")
    refused([head | {"hamdex_shards": 7}, "anything"], hamdex.FormatError, "version 7")
    refused([head | {"hamdex_shards": 0}, entry], hamdex.DamagedError, "not the canonical text")
    refused([head], hamdex.DamagedError, "0 shards")
    refused([head | {"width": 65}, entry], hamdex.DamagedError, "unsupported width")
    refused([head, entry | {"file": "../a"}], hamdex.DamagedError, "not a plain file name")
    refused([head, entry | {"file": "manifest"}], hamdex.DamagedError, "not a plain file name")
    refused([head, entry | {"bytes": -1}], hamdex.DamagedError, "invalid value")
    refused([head, entry | {"ids": 9}], hamdex.DamagedError, "impossible number of ids")
    refused([head, {}], hamdex.DamagedError, "missing field")
    refused([head, [entry]], hamdex.DamagedError, "damaged")
    refused([head, entry | {"more": 1}], hamdex.DamagedError, "unknown field")
    refused([head | {"layout": "rings"}, entry], hamdex.DamagedError, "unknown variant")
    # One shard for four families.
    refused([head | {"layout": "families"}, entry], hamdex.DamagedError, "1 shards for 4 families")
    refused([head, entry, entry], hamdex.DamagedError, "named twice")
    refused([head, entry | {"file_id": "abc"}], hamdex.DamagedError, "file id is not valid")
    refused([head | {"more": 1}, entry], hamdex.DamagedError, "unknown field")
    other = entry | {"file": "b.hamdex", "fingerprints": 9}
    families = head | {"layout": "families", "distance": 1}
    refused([families, entry, other], hamdex.DamagedError, "different contents")
    path.write_text(seal(to_line(head).replace(":64", ": 64") + to_line(entry)))
    with pytest.raises(hamdex.DamagedError, match="not the canonical text"):
        _shards.read(tmp_path)
    path.write_text(seal(to_line(head).replace("null", '"\\ud800"') + to_line(entry)))
    with pytest.raises(hamdex.DamagedError, match="hex escape"):
        _shards.read(tmp_path)
    _shards.write(shards(tmp_path))
    text = path.read_bytes()
    with pytest.raises(hamdex.DamagedError, match="unsupported width"):
        _shards.write(replace(shards(tmp_path), width=65))
    assert path.read_bytes() == text
    for place in range(len(text)):
        path.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        with pytest.raises((hamdex.DamagedError, hamdex.FormatError)):
            _shards.read(tmp_path)
    for place in range(len(text)):
        path.write_bytes(text[:place])
        with pytest.raises((hamdex.DamagedError, hamdex.FormatError)):
            _shards.read(tmp_path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(hamdex.FormatError):
        _shards.read(tmp_path)


def test_directories_that_are_not_mounted_are_refused() -> None:
    for wrong in ("s3://bucket/set", "hdfs://name/set", "file://other/set"):
        with pytest.raises(ValueError, match="mounted"):
            _shards.local(wrong)
    assert _shards.local("file:///a%20b/c") == _shards.local("/a b/c") == Path("/a b/c")


LOADER = """
import pickle, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "hamdex":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
work = pickle.load(sys.stdin.buffer)
try:
    list(work([]))
except RuntimeError as error:
    print(error)
"""


def test_an_executor_without_the_package_says_so() -> None:
    pickler: Any = import_module("pyspark.cloudpickle")
    work = pickler.dumps(on_executors("hamdex.spark._distance_join", "work", width=64, k=3, memory=None))
    found = subprocess.run([sys.executable, "-c", LOADER], input=work, capture_output=True, check=True)
    assert "has no module 'hamdex'" in found.stdout.decode(), found.stderr.decode()


def test_an_executor_with_another_version_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    work = on_executors("hamdex.spark._distance_join", "work", width=64, k=3, memory=None)
    monkeypatch.setitem(sys.modules, "hamdex", SimpleNamespace(__version__="99"))
    with pytest.raises(RuntimeError, match="an executor has hamdex 99"):
        list(work([]))
