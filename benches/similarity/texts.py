"""Texts from documentation packages, and copies of them with known edits."""

import gzip
import io
import random
import re
import subprocess
import tarfile
from pathlib import Path

# Han characters and hiragana: scripts without spaces. Each character counts as a word.
UNSPACED = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3041-\u309f"
LETTERS = f"[^\\W{UNSPACED}]+"
# As in Unicode Standard Annex 29, "don't", "foo.c" and "3.14" are a word each.
WORDS = re.compile(f"[{UNSPACED}]|{LETTERS}(?:(?:(?<=[^\\W\\d])['’.:](?=[^\\W\\d])|(?<=\\d)['.,;](?=\\d)){LETTERS})*")

SHINGLE_WORDS = 5

# Shares of the words that are edited.
SHARES = [0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3]


def words_of(text):
    return WORDS.findall(text.lower())


def shingles_of(text):
    words = words_of(text)
    width = min(SHINGLE_WORDS, len(words))
    return {" ".join(words[at : at + width]) for at in range(len(words) - width + 1)} if words else set()


def jaccard(one, other):
    return len(one & other) / len(one | other) if one or other else 0.0


def plain(page):
    """Return the text of a manual page without its macros; any other text unchanged."""
    if not re.search(r"^\.(TH|Dd|SH|\\\")", page, re.MULTILINE):
        return page
    lines = []
    for line in page.splitlines():
        if line.startswith((".\\\"", "'\\\"", ".TH", ".so")):
            continue
        lines.append(re.sub(r"^[.'][A-Za-z]{1,3}\s*", "", line))
    text = re.sub(r"\\f.|\\[&|^%/,]", "", "\n".join(lines))
    return re.sub(r"\\\((\w\w)|\\\[\w+\]", " ", text).replace("\\-", "-").replace('"', "")


def files_of(path):
    """Yield the files of a package, a directory, or a file."""
    if path.suffix == ".deb":
        archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for member in tar:
                if member.isfile() and "/doc/" not in member.name:
                    yield member.name, tar.extractfile(member).read()
    elif path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and not file.is_symlink():
                yield str(file), file.read_bytes()
    else:
        yield str(path), path.read_bytes()


def sources(path, least_words, most_words):
    """Yield texts with little in common: most shingles of each are new."""
    seen = set()
    for name, contents in files_of(Path(path)):
        if contents[:2] == b"\x1f\x8b":
            contents = gzip.decompress(contents)
        try:
            text = plain(contents.decode())
        except UnicodeDecodeError:
            continue
        pieces = [text]
        if most_words:
            lines = [line.strip() for line in re.split(r"\n\s*\n|(?<=[.。])\s*\n", text)]
            pieces = [line for line in lines if len(words_of(line)) <= most_words]
        for number, piece in enumerate(pieces):
            if len(words_of(piece)) < least_words:
                continue
            shingles = shingles_of(piece)
            is_new = len(shingles & seen) < 0.3 * len(shingles)
            seen |= shingles
            if is_new:
                yield f"{name}#{number}", piece


def edited(text, share, vocabulary, chance):
    """Return a copy with about this share of the words replaced, deleted, or preceded by a new word."""
    spans = list(WORDS.finditer(text))
    places = chance.sample(range(len(spans)), round(share * len(spans)))
    parts, end = [], 0
    for place in sorted(places):
        span = spans[place]
        parts.append(text[end : span.start()])
        kind = chance.choice(["replace", "replace", "delete", "insert"])
        if kind != "delete":
            parts.append(chance.choice(vocabulary))
        if kind == "insert":
            parts.append("" if re.match(f"[{UNSPACED}]", span[0]) else " ")
            parts.append(span[0])
        end = span.end()
    return "".join(parts) + text[end:]


def planted(name, path, most, seed, least_words, most_words):
    """Return shuffled documents (id, text), and pairs (id, id, share edited, similarity)."""
    chance = random.Random(seed)
    texts = list(sources(path, least_words, most_words))
    chance.shuffle(texts)
    texts = texts[:most]
    vocabulary = sorted({word for _, text in texts for word in words_of(text)})
    documents, pairs = [], []
    for number, (_, text) in enumerate(texts):
        share = SHARES[number % len(SHARES)]
        copy = edited(text, share, vocabulary, chance)
        ids = f"{name}/{number}", f"{name}/{number}/copy"
        documents += zip(ids, (text, copy))
        pairs.append((*ids, share, jaccard(shingles_of(text), shingles_of(copy))))
    chance.shuffle(documents)
    return documents, pairs
