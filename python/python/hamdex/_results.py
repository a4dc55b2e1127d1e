"""Named tuples of results, and the rows of tables."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._hamdex import Table

# Rows that are converted at a time, and rows that a notebook shows.
CONVERTED = 4096
SHOWN = 10


class Match(NamedTuple):
    """A stored fingerprint near a query, its distance in bits, its first ids, numbers or names, empty without ids, and the
    number of all its ids."""

    fingerprint: int
    distance: int
    ids: list[int] | list[str]
    ids_count: int


class Similar(NamedTuple):
    """A stored text that is similar to a given one: its id, a number or a name, and the share of shingles that both have."""

    id: int | str
    similarity: float


class Summary(NamedTuple):
    """The result of a build: fingerprints given, distinct fingerprints, ids, the name of the design, bytes of the file."""

    given: int
    fingerprints: int
    ids: int
    design: str
    bytes: int


class Verified(NamedTuple):
    """The result of a verification: bytes, tables, blocks, fingerprints, ids."""

    bytes: int
    tables: int
    blocks: int
    fingerprints: int
    ids: int


def rows(table: Table) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table, as dicts."""
    for start in range(0, len(table), CONVERTED):
        columns = table[start : start + CONVERTED].to_dict()
        values = [column if isinstance(column, list) else column.tolist() for column in columns.values()]
        for row in zip(*values, strict=True):
            yield dict(zip(columns, row, strict=True))


def preview(table: Table) -> str:
    """Return the first rows as HTML."""

    def line(tag: str, cells: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    first = table[:SHOWN]
    body = "".join(line("td", [str(value) for value in row.values()]) for row in first)
    more = len(table) - len(first)
    caption = f"<p>{more:,} more rows</p>" if more else ""
    return f"<table><thead>{line('th', table.column_names)}</thead><tbody>{body}</tbody></table>{caption}"
