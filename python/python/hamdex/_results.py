"""Named tuples of results."""

from typing import NamedTuple


class Match(NamedTuple):
    """A stored fingerprint near a query, its distance in bits, and its ids: numbers or names; empty without ids."""

    fingerprint: int
    distance: int
    ids: list[int] | list[str]


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
