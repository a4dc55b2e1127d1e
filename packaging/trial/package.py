"""The Python package, in the root: texts to clusters, an index of them, a store, and the command that it brings along."""

import os
import subprocess
import sys
import tempfile

import hamdex

os.chdir(tempfile.mkdtemp())
text = open("/usr/share/common-licenses/GPL-3", encoding="utf-8").read()
texts = [text, "a few words of another text, and that is all", text + " and a line more"]

clusters = hamdex.dedup(texts)
assert list(clusters["kept"]) == [True, False], list(clusters["kept"])

fingerprints = hamdex.fingerprint(texts)
hamdex.build("texts.hamdex", fingerprints, ids=[0, 1, 2], recipe="default")
index = hamdex.Index("texts.hamdex")
assert 0 in index.query(text)[0].ids
index.verify()
with hamdex.Store("texts.store", distance=3) as store:
    assert store.insert_unless_near(fingerprints[0], 7) is None
    assert store.insert_unless_near(fingerprints[0], 8) is not None
command = os.path.join(os.path.dirname(sys.executable), "hamdex")
print(subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout, end="")
print("python: works")
