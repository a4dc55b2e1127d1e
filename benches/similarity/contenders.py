"""The contenders: each reads the documents and returns (duplicate, kept) pairs of ids.

Run as `python contenders.py NAME DOCUMENTS PROGRAM`, in a separate process each, so that its memory can be measured.
"""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

THRESHOLD = 0.7
PERMUTATIONS = 128


def documents_in(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            yield document["id"], document["text"]


def hamdex(program, path, options):
    output = subprocess.run([program, "--quiet", "dedup", "--json", *options, path], check=True, capture_output=True)
    kept, pairs = {}, []
    rows = [json.loads(line) for line in output.stdout.splitlines()]
    for row in rows:
        if row["kept"]:
            kept[row["cluster"]] = row["id"]
    for row in rows:
        if not row["kept"]:
            pairs.append((row["id"], kept[row["cluster"]]))
    return pairs


def datasketch(path):
    """The usual loop: a document that matches an earlier one is its duplicate; any other is kept."""
    from datasketch import MinHash, MinHashLSH

    from texts import shingles_of

    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    pairs = []
    for name, text in documents_in(path):
        sketch = MinHash(num_perm=PERMUTATIONS)
        sketch.update_batch([shingle.encode() for shingle in shingles_of(text)])
        found = index.query(sketch)
        if found:
            pairs.append((name, found[0]))
        else:
            index.insert(name, sketch)
    return pairs


def rensa(path):
    """The same loop with rensa's index; matches are confirmed by the sketches, as in its own deduplicator."""
    from rensa import RMinHash, RMinHashLSH

    from texts import shingles_of

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=16)
    names, sketches, pairs = [], [], []
    for name, text in documents_in(path):
        sketch = RMinHash(num_perm=PERMUTATIONS, seed=42)
        sketch.update(list(shingles_of(text)))
        found = [key for key in index.query(sketch) if sketches[key].jaccard(sketch) >= THRESHOLD]
        if found:
            pairs.append((name, names[min(found)]))
        else:
            index.insert(len(names), sketch)
            names.append(name)
            sketches.append(sketch)
    return pairs


def memory(of_child):
    """Return the peak memory of this process, or of its child, in MB."""
    if of_child:
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    # `ru_maxrss` of this process would include its parent.
    return int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1000


if __name__ == "__main__":
    which, documents, program = sys.argv[1:]
    is_hamdex = which.startswith("hamdex")
    if is_hamdex:
        pairs = hamdex(program, documents, which.split()[1:])
    else:
        pairs = {"datasketch": datasketch, "rensa": rensa}[which](documents)
    json.dump({"pairs": pairs, "memory": memory(is_hamdex)}, sys.stdout)
