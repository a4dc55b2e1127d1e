"""A data engineer's notebook: a table of pages in, clusters, known pages, an index, a store, shards.

Run it with ``python examples/pipeline.py``, or cell by cell. It makes its own pages. It needs pandas.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import hamdex
import numpy as np
import pandas as pd

directory = Path(tempfile.mkdtemp())

# %% A table comes in: pages of a crawl. Some are copies, with an edited word or another advertisement.

generator = random.Random(2007)
vocabulary = ["".join(generator.choices("aeioubdfklmnprst", k=generator.randint(2, 9))) for _ in range(5000)]


def crawl(day: int, pages: int) -> pd.DataFrame:
    """Return the pages of a day: every tenth is an edited copy of another one of the day."""
    texts = [" ".join(generator.choices(vocabulary, k=150)) for _ in range(pages)]
    for number in range(0, pages, 10):
        copy = texts[number + 1].split()
        copy[generator.randrange(len(copy))] = "edited"
        texts[number] = " ".join(copy)
    urls = [f"https://example.org/{day}/{number}" for number in range(pages)]
    return pd.DataFrame({"url": urls, "body": texts, "site": pd.Categorical(["example.org"] * pages)})


monday = crawl(1, 500)

# %% Clusters. A notebook shows the table; pandas takes it, and it is iterated by row.

clusters = hamdex.dedup(monday, text="body", id="url")
preview = clusters._repr_html_()
assert preview.count("<tr>") == 11 and "90 more rows" in preview
frame = pd.DataFrame(clusters)
kept, similarity = frame["kept"].to_numpy(), frame["similarity"].to_numpy()
assert len(frame) == len(clusters) == 100 and kept.sum() == 50
assert similarity.min() >= 0.7
assert list(clusters[:2]) == frame.head(2).to_dict("records")
copies = [row["id"] for row in clusters if not row["kept"]]
unique: pd.DataFrame = monday.loc[~monday["url"].isin(copies)]
print(f"{len(monday)} pages, {len(unique)} without copies")

# %% The next day: what is known already? By the texts of the day before, as a frame, as files, or in an index.

tuesday = pd.concat([crawl(2, 200), monday.sample(50, random_state=7).assign(url=lambda pages: pages["url"] + "?again")])
new, known = hamdex.dedup(tuesday, text="body", id="url", against=unique)
assert len(known) == 50 and set(known["known"]) <= set(unique["url"]) and len(pd.DataFrame(new)) == 40

lines = [json.dumps({"id": url, "text": body}) for url, body in zip(unique["url"], unique["body"], strict=True)]
(directory / "monday.jsonl").write_text("\n".join(lines))
hamdex.build(directory / "monday.hamdex", unique["body"], ids=unique["url"], recipe="default", shingles=True)
for against in (directory / "monday.jsonl", directory / "monday.hamdex"):
    same, seen = hamdex.dedup(tuesday, text="body", id="url", against=against)
    assert pd.DataFrame(same).equals(pd.DataFrame(new))
    assert pd.DataFrame(seen).equals(pd.DataFrame(known))

# %% An index of fingerprints: single questions, many at once, all against all.

fingerprints = hamdex.fingerprint(unique["body"])
names, texts = unique["url"].tolist(), unique["body"].tolist()
hamdex.build(directory / "all.hamdex", fingerprints, ids=names, distance=3, recipe="default")
with hamdex.open(directory / "all.hamdex") as index:
    assert index.query(texts[7], k=0)[0].ids == [names[7]]
    answers = pd.DataFrame(index.batch(fingerprints, k=3))
    assert (answers["distance"].to_numpy() == np.bitwise_count(fingerprints[answers["query"]] ^ answers["fingerprint"].to_numpy())).all()
    print(f"{len(index.pairs(k=10).read_all())} pairs within 10 bits")

# %% Fingerprints as warehouses have them: signed numbers, and packed bytes.

signed = pd.Series(fingerprints.view("int64"), name="fingerprint")
packed = fingerprints.astype(">u8").view("uint8").reshape(-1, 8)
for given in (signed, packed, signed.tolist()):
    hamdex.build(directory / "same.hamdex", given, ids=names, recipe="default", overwrite=True)
    assert hamdex.Index(directory / "same.hamdex").file_id == hamdex.Index(directory / "all.hamdex").file_id

# %% A store of texts: day by day, is each page new? Asked, answered and remembered at once.

with hamdex.Store(directory / "pages.store", names=True, recipe="default", shingles=True) as store:
    for day in (monday, tuesday):
        similar = store.insert_unless_similar(day["body"], day["url"])
        print(f"{len(day)} pages, {sum(one is None for one in similar)} new")
    assert similar[-1] is not None and similar[-1].similarity >= 0.7
    again = store.insert_unless_similar(tuesday["body"], tuesday["url"])
    assert all(one is not None for one in again)
# Whatever the path names is opened in the same way.
with hamdex.open(directory / "pages.store") as pages:
    assert len(pages) == len(unique) + 180
    assert pages.query(texts[7], k=0)[0].ids == [names[7]]

# %% Shards: many files as one set, also made by the command or by Spark.

command = [sys.executable, "-m", "hamdex._command", "--quiet"]
halves = [directory / f"half{number}.hamdex" for number in range(2)]
for number, half in enumerate(halves):
    hamdex.build(half, fingerprints[number::2], ids=names[number::2], recipe="default")
subprocess.run([*command, "shards", "create", directory / "all.shards", *halves], check=True)
with hamdex.open(directory / "all.shards") as shards:
    found = shards.batch(fingerprints, k=3)
    assert pd.DataFrame(found).equals(answers)
    assert len(shards) == len(fingerprints)
print(f"{len(answers)} matches of {len(fingerprints)} pages, in one file and in shards")
