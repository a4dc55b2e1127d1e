#!/usr/bin/env python3
"""hamdex compared with datasketch and rensa: near-duplicates found, and texts removed wrongly.

    python compare.py --hamdex ../../target/release/hamdex en=manpages.deb de=manpages-de.deb

See README.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contenders import THRESHOLD
from texts import SHARES, jaccard, planted, shingles_of

HERE = Path(__file__).parent
CONTENDERS = ["hamdex", "hamdex -k 3", "hamdex -k 8", "datasketch", "rensa"]


def run(contender, documents, program):
    """Return the pairs found, seconds, and peak memory in MB."""
    started = time.monotonic()
    command = [sys.executable, HERE / "contenders.py", contender, documents, program]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    seconds = time.monotonic() - started
    found = json.loads(output)
    return found["pairs"], seconds, found["memory"]


def share(part, whole):
    return f"{len(part) / len(whole):.3f}" if whole else "–"


def report(contender, found, pairs, shingles):
    """Return one row: recall of similar pairs, recall by the share of edited words, wrong removals."""
    leader = dict(found)
    leader.update({kept: kept for kept in leader.values() if kept not in leader})

    def is_found(pair):
        return pair[0] in leader and leader[pair[0]] == leader.get(pair[1])

    recalls = []
    for least in (0.8, 0.7):
        similar = [pair for pair in pairs if pair[3] >= least]
        recalls.append(share([pair for pair in similar if is_found(pair)], similar))
    by_share = []
    for edited in SHARES:
        of_share = [pair for pair in pairs if pair[2] == edited]
        by_share.append(share([pair for pair in of_share if is_found(pair)], of_share))
    wrong = [pair for pair in found if jaccard(shingles[pair[0]], shingles[pair[1]]) < THRESHOLD]
    return recalls, by_share, share(wrong, found)


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sets", nargs="+", metavar="NAME=PATH", help="a .deb package, a directory or a file")
    arguments.add_argument("--hamdex", default="hamdex", help="the command")
    arguments.add_argument("--documents", type=int, default=2000, help="texts per set, each with a copy")
    arguments.add_argument("--least-words", type=int, default=60, help="shorter texts are left out")
    arguments.add_argument("--most-words", type=int, help="paragraphs of up to this many words instead of texts")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", action="append", help="one of: " + ", ".join(CONTENDERS))
    args = arguments.parse_args()

    results = []
    for item in args.sets:
        name, _, path = item.partition("=")
        documents, pairs = planted(name, path, args.documents, args.seed, args.least_words, args.most_words)
        shingles = {document: shingles_of(text) for document, text in documents}
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            for document, text in documents:
                file.write(json.dumps({"id": document, "text": text}, ensure_ascii=False) + "\n")
            file.flush()
            megabytes = os.path.getsize(file.name) / 1e6
            print(f"{name}: {len(documents)} documents, {megabytes:.1f} MB", file=sys.stderr)
            for contender in args.only or CONTENDERS:
                found, seconds, memory = run(contender, file.name, args.hamdex)
                recalls, by_share, wrong = report(contender, found, pairs, shingles)
                label = f"`{contender}`" if contender.startswith("hamdex") else contender
                results.append((name, label, recalls, wrong, f"{seconds:.1f}", f"{memory:.0f}", by_share))

    header = ["texts", "", "found, similarity ≥ 0.8", "≥ 0.7", "removed wrongly", "seconds", "MB"]
    table(header, [[n, c, *recalls, wrong, s, m] for n, c, recalls, wrong, s, m, _ in results])
    header = ["texts", "found, by words edited", *(f"{edited:.0%}" for edited in SHARES)]
    table(header, [[n, c, *by_share] for n, c, *_, by_share in results])


if __name__ == "__main__":
    main()
