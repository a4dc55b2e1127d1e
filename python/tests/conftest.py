"""Shared data, and the answers of brute force."""

from collections.abc import Callable
from pathlib import Path

import hamdex
import numpy as np
import numpy.typing as npt
import pytest

Words = npt.NDArray[np.uint64]
Build = Callable[..., hamdex.Index]

SEED = 20_070_508


def uniform(count: int, seed: int = SEED) -> Words:
    """Evenly spread fingerprints."""
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def clustered(count: int, seed: int = SEED) -> Words:
    """Fingerprints a few bits away from a few centres, with repeats and the extremes."""
    random = np.random.default_rng(seed)
    centres = random.integers(0, 2**64, max(1, count // 20), dtype=np.uint64)
    values = centres[random.integers(0, len(centres), count)]
    for _ in range(4):
        flips = random.integers(0, 65, count)
        bits = np.where(flips < 64, np.uint64(1) << np.minimum(flips, 63).astype(np.uint64), np.uint64(0))
        values = values ^ bits
    values[:2] = (0, 2**64 - 1)
    return values


def wide(count: int) -> Words:
    """Clustered fingerprints of 128 bits."""
    return np.stack([clustered(count, 1), clustered(count, 2)], axis=1)


def bit_counts(words: Words) -> npt.NDArray[np.uint8]:
    """Return the number of bits set in each word, as ``np.bitwise_count`` does, which numpy 1 lacks."""
    octets = np.ascontiguousarray(np.asarray(words)[..., None]).view(np.uint8)
    counts: npt.NDArray[np.uint8] = np.unpackbits(octets, axis=-1).sum(axis=-1, dtype=np.uint8)
    return counts


def distances(query: np.uint64, fingerprints: Words) -> npt.NDArray[np.uint8]:
    """Return the distance of each."""
    return bit_counts(query ^ fingerprints)


def near(query: np.uint64, fingerprints: Words, k: int) -> list[tuple[int, int]]:
    """Return the right answer to a query: distances and fingerprints, in order."""
    distinct = np.unique(fingerprints)
    away = distances(query, distinct)
    return sorted((int(d), int(f)) for d, f in zip(away[away <= k], distinct[away <= k], strict=True))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Build an index in a separate directory, and open it."""

    def build(fingerprints: object, ids: object = None, **options: object) -> hamdex.Index:
        path = tmp_path / "test.hamdex"
        hamdex.build(path, fingerprints, ids, overwrite=True, **options)  # type: ignore[arg-type]
        return hamdex.Index(path)

    return build
