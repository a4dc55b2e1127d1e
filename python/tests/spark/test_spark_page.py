"""The page about Spark is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_blocks_of_the_page_run_in_their_order(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
    assert names["session"] is spark
    assert {tuple(row)[:3] for row in names["clusters"].collect()} == {(7, 7, True), (7, 100, False)}
    assert {(row["id"], row["known"]) for row in names["known"].collect()} == {(100, 7)}
    assert names["unique"].count() == 100 and names["new"].count() == 0
    for name in ("clusters", "by_distance", "new", "known"):
        # As the page says: kept until it is released.
        assert names[name].is_cached
        names[name].unpersist()
    assert not names["fingerprints"].is_cached
