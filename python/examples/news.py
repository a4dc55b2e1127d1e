"""Near-duplicates among news: clusters of texts, an index of known texts, and a live store.

Run it with ``python examples/news.py``. It makes its own texts.
"""

import random
import tempfile
from pathlib import Path

import hamdex
import numpy as np

# %% Some texts: a thousand different ones, and edited copies of a few.

generator = random.Random(2007)
words = ["".join(generator.choices("aeioubdfklmnprst", k=generator.randint(2, 9))) for _ in range(5000)]
texts = [" ".join(generator.choices(words, k=200)) for _ in range(1000)]
for original in range(20):
    copy = texts[original].split()
    copy[generator.randrange(len(copy))] = "edited"
    texts.append(" ".join(copy))

# %% Which of them say the same? Every text that is in a cluster comes with its cluster, and one of each is kept.

clusters = hamdex.dedup(texts)
print(f"{len(texts)} texts, {len(set(clusters['cluster'].tolist()))} clusters")
duplicates = clusters["id"][~clusters["kept"]]
assert duplicates.tolist() == list(range(1000, 1020))

# %% An index of fingerprints, with names, and with the recipe for queries by text.

directory = Path(tempfile.mkdtemp())
fingerprints = hamdex.fingerprint(texts)
names = [f"article {number}" for number in range(len(texts))]
summary = hamdex.build(directory / "news.hamdex", fingerprints, ids=names, distance=3, recipe="default")
print(f"{summary.fingerprints} fingerprints in {summary.bytes} bytes")

with hamdex.Index(directory / "news.hamdex") as index:
    print(index)
    nearest = index.nearest(texts[7])[0]
    assert "article 7" in nearest.ids and nearest.distance == 0

    # Many at once, by all processors, as a table for numpy, Arrow and whatever takes it.
    answers = index.batch(fingerprints, k=3)
    assert (np.bitwise_count(fingerprints[answers["query"]] ^ answers["fingerprint"]) == answers["distance"]).all()

    # Everything near to anything.
    pairs = index.pairs(k=8).read_all()
    print(f"{len(pairs)} pairs within 8 bits")

# %% A store: is this page new? Asked, answered and remembered at once, durably.

with hamdex.Store(directory / "pages.store", distance=3) as store:
    new = [store.insert_unless_near(fingerprint, page, k=6) is None for page, fingerprint in enumerate(fingerprints[:50])]
    assert all(new)
    known = store.insert_unless_near(fingerprints[3], 99, k=6)
    assert known is not None and known.ids == [3]
    print(f"page 99 is page {known.ids[0]} again")
