#!/usr/bin/env python3
"""Texts of 300 words made of phrases of real ones, a fifth of them copies with up to 15 words changed, as JSON Lines.

    python scale.py --documents 10000000 manpages.deb /usr/share/doc > texts.jsonl

A text depends on its number alone, so that any stretch can be made by itself (--first) and gives the same. Needs numpy.
"""

import argparse
import re
import sys
from pathlib import Path

import numpy as np
from texts import files_of, plain

WORDS = 300

# The longest phrase that is taken from a real text, in words.
PHRASE = 6

# Every fifth text is a copy of an earlier one that is none.
COPIES = 5
MOST_EDITS = 15

AT_ONCE = 1000


def mixed(numbers):
    """Return 64 well-mixed bits for each number (SplitMix64)."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Words:
    """All words of real texts, in their order."""

    def __init__(self, paths):
        found = []
        for path in paths:
            for _, contents in files_of(Path(path)):
                if contents[:2] == b"\x1f\x8b":
                    import gzip

                    contents = gzip.decompress(contents)
                found += re.findall(r"[a-z]+", plain(contents.decode(errors="ignore")).lower())
        self.text = " ".join(found).encode()
        self.starts = np.cumsum([0, *(len(word) + 1 for word in found)], dtype=np.int64)
        self.count = len(found)

    def texts(self, numbers):
        """Return the texts of some numbers: phrases of the real ones, up to 300 words."""
        with np.errstate(over="ignore"):
            places = numbers[:, None] * np.uint64(WORDS) + np.arange(WORDS, dtype=np.uint64)
            bits = mixed(places)
        lengths = (bits >> np.uint64(60)).astype(np.int64) % PHRASE + 1
        firsts = (bits & np.uint64((1 << 56) - 1)).astype(np.int64) % (self.count - PHRASE)
        ends = np.cumsum(lengths, axis=1)
        text, starts = self.text, self.starts
        for first, length, end in zip(firsts, lengths, ends):
            used = int(np.searchsorted(end, WORDS)) + 1
            length[used - 1] -= end[used - 1] - WORDS
            left, right = starts[first[:used]].tolist(), (starts[first[:used] + length[:used]] - 1).tolist()
            yield b" ".join([text[a:b] for a, b in zip(left, right)])

    def documents(self, first, count, copies):
        """Yield numbers, the numbers of what they are copies of (or their own), and texts."""
        for start in range(first, first + count, AT_ONCE):
            numbers = np.arange(start, min(start + AT_ONCE, first + count), dtype=np.uint64)
            with np.errstate(over="ignore"):
                chance = mixed(numbers + np.uint64(1 << 62))
            is_copy = (numbers % np.uint64(copies) == 0) & (numbers > COPIES)
            origins = chance % np.maximum(numbers, np.uint64(1))
            # A document that is copied is no copy itself.
            origins += origins % np.uint64(COPIES) == 0
            origins = np.where(is_copy, origins, numbers)
            for number, origin, bits, text in zip(
                numbers.tolist(), origins.tolist(), chance.tolist(), self.texts(origins)
            ):
                if number != origin:
                    text = self.edited(text, bits >> 32)
                yield number, origin, text

    def edited(self, text, bits):
        words = text.split(b" ")
        for edit in range(bits % (MOST_EDITS + 1)):
            bits = bits * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            place = (bits >> 33) % (self.count - 1)
            words[(bits >> 20) % len(words)] = self.text[self.starts[place] : self.starts[place + 1] - 1]
        return b" ".join(words)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("source", nargs="+", help="packages, directories or files of real texts")
    options.add_argument("--documents", type=int, default=100_000, metavar="N")
    options.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first text")
    options.add_argument("--copies", type=int, default=COPIES, metavar="N", help="every N-th text is a copy")
    args = options.parse_args()
    words = Words(args.source)
    output = sys.stdout.buffer
    for number, _, text in words.documents(args.first, args.documents, args.copies):
        output.write(b'{"id":"%d","text":"%s"}\n' % (number, text))


if __name__ == "__main__":
    main()
