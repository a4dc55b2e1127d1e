#!/usr/bin/env python3
"""`hamdex dedup --against` compared with an exact program, and with datasketch and rensa.

    python known.py --hamdex ../../target/release/hamdex reference.jsonl new.jsonl
    python known.py --hamdex ../../target/release/hamdex --against reference.hamdex reference.jsonl new.jsonl

The exact program cuts texts at blanks, so the texts are words of letters between blanks, as those of scale.py. It compares
the shingles themselves, not hashes of them: every known text with every new one that shares any.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

THRESHOLD = 0.7
WIDTH = 5
PERMUTATIONS = 128


def documents_in(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            yield document["id"], document["text"]


def shingles_of(text):
    words = text.split(" ")
    return set(zip(*(words[at:] for at in range(WIDTH)))) if len(words) >= WIDTH else {tuple(words)}


def exact(reference, new):
    """Return the most similar known text of each new one that has any, of several the first, and the similarity."""
    sets, holders = {}, {}
    for name, text in documents_in(new):
        sets[name] = len(shingles_of(text))
        for shingle in shingles_of(text):
            holders.setdefault(shingle, []).append(name)
    nearest = {}
    for known, text in documents_in(reference):
        shingles = shingles_of(text)
        shared = Counter(name for shingle in shingles & holders.keys() for name in holders[shingle])
        for name, count in shared.items():
            similarity = count / (sets[name] + len(shingles) - count)
            if similarity >= THRESHOLD and (name not in nearest or similarity > nearest[name][1]):
                nearest[name] = known, similarity
    return nearest


def hamdex(program, against, new, options):
    output = subprocess.run(
        [program, "--quiet", "dedup", "--json", *options, "--against", against, new], check=True, capture_output=True
    )
    rows = map(json.loads, output.stdout.splitlines())
    return {row["id"]: (row["known"][0], row.get("similarity")) for row in rows if "known" in row}


def datasketch(reference, new):
    from datasketch import MinHash, MinHashLSH

    def sketch(text):
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch([" ".join(shingle).encode() for shingle in shingles_of(text)])
        return made

    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    for name, text in documents_in(reference):
        index.insert(name, sketch(text))
    found = {name: index.query(sketch(text)) for name, text in documents_in(new)}
    return {name: (known[0], None) for name, known in found.items() if known}


def rensa(reference, new):
    from rensa import RMinHash, RMinHashLSH

    def sketch(text):
        made = RMinHash(num_perm=PERMUTATIONS, seed=42)
        made.update([" ".join(shingle) for shingle in shingles_of(text)])
        return made

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=16)
    names, sketches, nearest = [], [], {}
    for name, text in documents_in(reference):
        made = sketch(text)
        index.insert(len(names), made)
        names.append(name)
        sketches.append(made)
    for name, text in documents_in(new):
        made = sketch(text)
        found = [key for key in index.query(made) if sketches[key].jaccard(made) >= THRESHOLD]
        if found:
            nearest[name] = names[min(found)], None
    return nearest


def report(name, found, expected, started):
    """Print the shares of known texts that are found, and of those found that are none."""
    seconds = time.process_time() - started[0] + children() - started[1]
    wrong = [new for new in found if new not in expected]
    same = sum(found.get(new) == nearest for new, nearest in expected.items())
    found_share = len(found.keys() & expected.keys()) / max(1, len(expected))
    print(
        f"| {name} | {found_share:.4f} | {len(wrong) / max(1, len(found)):.4f} | {seconds:.1f} | {same} of {len(expected)} |",
        flush=True,
    )


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("reference")
    options.add_argument("new")
    options.add_argument("--hamdex", required=True, metavar="PROGRAM")
    options.add_argument("--against", metavar="PATH", help="an index or a store of the reference")
    options.add_argument("--peers", action="store_true", help="datasketch and rensa as well")
    args = options.parse_args()
    expected = exact(args.reference, args.new)
    print("| | known ones found | found wrongly | processor seconds | the most similar one, and how similar |")
    print("|---|---|---|---|---|")

    def measure(name, work):
        started = time.process_time(), children()
        report(name, work(), expected, started)

    against = args.against or args.reference
    measure("hamdex", lambda: hamdex(args.hamdex, against, args.new, []))
    if args.against:
        measure("hamdex -k 3", lambda: hamdex(args.hamdex, against, args.new, ["-k", "3"]))
    if args.peers:
        with suppress(ImportError):
            measure("datasketch", lambda: datasketch(args.reference, args.new))
        with suppress(ImportError):
            measure("rensa", lambda: rensa(args.reference, args.new))


if __name__ == "__main__":
    sys.exit(main())
