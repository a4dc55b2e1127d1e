"""Texts for the benchmarks: random words, and copies of some with edited words and known similarities."""

from __future__ import annotations

import numpy as np

SEED = 2007

# Words of a text, different words of all, words of a shingle.
LENGTH = 120
WORDS = 5000
SHINGLE = 5

# Every tenth text has a copy with at most this many edited words, most of them similar.
SHARE_OF_COPIES = 10
MOST_EDITS = 8

SIMILARITY = 0.7


def shingles(words: list[str]) -> set[str]:
    """Return the runs of five words."""
    return {" ".join(words[start : start + SHINGLE]) for start in range(len(words) - SHINGLE + 1)}


def texts(count: int) -> tuple[list[str], set[tuple[int, int]]]:
    """Return this many texts followed by their copies, and the pairs that are similar by definition."""
    random = np.random.default_rng(SEED)
    words = ["".join(random.choice(list("abcdefghijklmnop"), 6)) for _ in range(WORDS)]
    corpus = [[words[place] for place in random.integers(0, WORDS, LENGTH)] for _ in range(count)]
    similar = set()
    for original in random.permutation(count)[: count // SHARE_OF_COPIES]:
        copy = list(corpus[original])
        for place in random.integers(0, LENGTH, random.integers(0, MOST_EDITS)):
            copy[place] = words[random.integers(0, WORDS)]
        one, other = shingles(corpus[original]), shingles(copy)
        if len(one & other) / len(one | other) >= SIMILARITY:
            similar.add((int(original), len(corpus)))
        corpus.append(copy)
    return [" ".join(text) for text in corpus], similar


def pairs_of(ids: list[int], clusters: list[int], kept: list[bool]) -> set[tuple[int, int]]:
    """Return the kept text of each cluster with each of its duplicates, the smaller number first."""
    centre = {cluster: one for one, cluster, is_kept in zip(ids, clusters, kept) if is_kept}
    members = ((centre[cluster], one) for one, cluster, is_kept in zip(ids, clusters, kept) if not is_kept)
    return {(min(pair), max(pair)) for pair in members}


def shares(found: set[tuple[int, int]], similar: set[tuple[int, int]]) -> tuple[float, float]:
    """Return the share of similar pairs that is found, and the share of found pairs that are not similar."""
    return len(found & similar) / max(1, len(similar)), len(found - similar) / max(1, len(found))
