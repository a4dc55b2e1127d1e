#!/usr/bin/env python3
"""`hamdex dedup --against` on texts of several languages, compared with the definition in docs/dedup.md.

    python languages.py --hamdex ../../target/release/hamdex de=/usr/share/man/de ja=/usr/share/man/ja

Every other text is known, and has a copy among the new ones, edited as in compare.py; the other texts are new. The naive
program of python/tests/test_definition.py compares each new text with each known one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import types
from pathlib import Path

from texts import planted

sys.path.append(str(Path(__file__).parents[2] / "python" / "tests"))
# The naive program needs neither of them.
marks = types.SimpleNamespace(parametrize=lambda *_, **__: lambda function: function)
sys.modules["pytest"] = types.SimpleNamespace(mark=marks, skip=None)
sys.modules["hamdex"] = types.ModuleType("hamdex")
from test_definition import shingles, similarity  # noqa: E402

THRESHOLD = 0.7
WORDS = 5


def measure(name, path, most, program):
    """Print the shares of known texts found, and of those found that are none."""
    documents, pairs = planted(name, path, most, 7, 20, 0)
    texts = dict(documents)
    known = {one: texts[one] for one, *_ in pairs[::2]}
    new = {other: texts[other] for _, other, *_ in pairs}
    known_sets = {one: shingles(text, WORDS) for one, text in known.items()}
    expected = {}
    for one, text in new.items():
        its = shingles(text, WORDS)
        best = max(similarity(its, other) for other in known_sets.values())
        if best >= THRESHOLD:
            expected[one] = best

    with tempfile.TemporaryDirectory() as directory:
        files = {}
        for which, some in (("known", known), ("new", new)):
            files[which] = Path(directory) / f"{which}.jsonl"
            lines = (json.dumps({"id": one, "text": text}) + "\n" for one, text in some.items())
            files[which].write_text("".join(lines), "utf-8")
        index = Path(directory) / "known.hamdex"
        build = [program, "--quiet", "build", "--documents", "--shingles", "-o", index, files["known"]]
        subprocess.run(build, check=True)
        for how, reference, options in (
            ("documents", files["known"], []),
            ("index", index, []),
            ("index, -k 3", index, ["-k", "3"]),
        ):
            command = [program, "--quiet", "dedup", "--json", *options, "--against", reference, files["new"]]
            output = subprocess.run(command, check=True, capture_output=True).stdout
            rows = [row for row in map(json.loads, output.splitlines()) if "known" in row]
            found = {row["id"]: row.get("similarity") for row in rows}
            wrong = [one for one in found if one not in expected]
            same = sum(found.get(one) == best for one, best in expected.items())
            recall = len(found.keys() & expected.keys()) / max(1, len(expected))
            print(
                f"| {name} | {how} | {len(new)} | {len(expected)} | {recall:.3f} | "
                f"{len(wrong) / max(1, len(found)):.3f} | {same} |",
                flush=True,
            )


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("sets", nargs="+", metavar="NAME=PATH")
    options.add_argument("--hamdex", required=True, metavar="PROGRAM")
    options.add_argument("--most", type=int, default=400, help="texts of each set")
    args = options.parse_args()
    print("| texts | against | new | known, by definition | found | found wrongly | similarity as defined |")
    print("|---|---|---|---|---|---|---|")
    for given in args.sets:
        name, path = given.split("=", 1)
        measure(name, path, args.most, args.hamdex)


if __name__ == "__main__":
    main()
