"""What single results are: named tuples."""

from typing import NamedTuple


class Match(NamedTuple):
    """A stored fingerprint near a query, its distance in bits, and its ids: numbers, or names; none where there are none."""

    fingerprint: int
    distance: int
    ids: list[int] | list[str]


class Summary(NamedTuple):
    """What has been built: fingerprints given, distinct fingerprints, ids, the name of the design, bytes of the file."""

    given: int
    fingerprints: int
    ids: int
    design: str
    bytes: int


class Verified(NamedTuple):
    """What has been read and found right: bytes, tables, blocks, fingerprints, ids."""

    bytes: int
    tables: int
    blocks: int
    fingerprints: int
    ids: int
