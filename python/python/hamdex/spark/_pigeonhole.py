"""Groups of bits by which near fingerprints are sent to the same task.

By the pigeonhole principle, two fingerprints within k bits agree in one of k + 1 groups of bits. Each group is a *lead*:
fingerprints that agree in it go to one task, which finds the pairs among them. A pair belongs to the first lead in
which it agrees, and other tasks skip it, so each pair is found once. If very many fingerprints agree in a lead, the
other bits are split into groups in the same way: *parts*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._bit_words import Words, masks

# Number of bits of a lead by which fingerprints are counted.
COUNTED_BITS = 16


@dataclass(frozen=True)
class Leads:
    """The leads for a width and a distance."""

    width: int
    k: int
    masks: list[int]
    #: The masks of the parts of each lead, the same number for each.
    parts: list[list[int]]

    @classmethod
    def of(cls, width: int, k: int) -> Leads:
        """Return the leads for fingerprints of this width within ``k`` bits of each other."""
        whole = (1 << width) - 1
        leads = split(whole, k)
        parts = [split(whole & ~lead, k) for lead in leads]
        # The last group of some leads can be a bit too small to be split like the others.
        fewest = min(len(group) for group in parts)
        if fewest < k + 1:
            parts = [[0] for _ in leads]
        return cls(width, k, leads, parts)

    def counted(self) -> list[int]:
        """Return the first bits of each lead."""
        return [first_bits(lead, COUNTED_BITS) for lead in self.masks]

    def belongs(self, difference: Words, lead: int, part: int) -> npt.NDArray[np.bool_]:
        """Return which differences belong to a lead, and to a part of it unless that is -1."""
        mine = is_first(difference, masks(self.masks, self.width), lead)
        if part >= 0:
            mine &= is_first(difference, masks(self.parts[lead], self.width), part)
        return mine


def split(mask: int, k: int) -> list[int]:
    """Return k + 1 groups of the bits of a mask, or one without bits if there are too few."""
    places = [place for place in range(mask.bit_length() - 1, -1, -1) if mask >> place & 1]
    groups = k + 1
    if groups > len(places):
        return [0]
    edges = [group * len(places) // groups for group in range(groups + 1)]
    return [sum(1 << place for place in places[start:end]) for start, end in zip(edges, edges[1:])]


def first_bits(mask: int, count: int) -> int:
    """Return the highest bits of a mask."""
    places = [place for place in range(mask.bit_length() - 1, -1, -1) if mask >> place & 1]
    return sum(1 << place for place in places[:count])


def is_first(difference: Words, groups: Words, number: int) -> npt.NDArray[np.bool_]:
    """Return which differences have no bit in a group, and one in each before it."""
    free: npt.NDArray[np.bool_] = ~np.any(difference & groups[number], axis=1)
    for earlier in groups[:number]:
        free &= np.any(difference & earlier, axis=1)
    return free
