"""Is this text new? hamdex next to SetSimilaritySearch, datasketch and tantivy: one question at a time, one thread.

Texts have 300 words, of which some are phrases that other texts have. A question is a new text, or a copy of a stored one
with five words replaced. Each contender runs in a process of its own. A plain program finds all documents that share at
least 0.7 of the shingles: *missed* counts the ones that a contender does not find, *wrong* the others that it finds.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

THRESHOLD = 0.7
SHINGLE_WORDS = 5
WORDS = 300
PHRASES = 5
PHRASE_WORDS = 14
EDITS = 5


def texts_of(count, seed):
    """Yield the words of texts. Few phrases are frequent, most are rare."""
    chance = random.Random(seed)
    pool = random.Random(1)
    phrases = [[f"p{pool.getrandbits(24):06x}" for _ in range(PHRASE_WORDS)] for _ in range(20_000)]
    for _ in range(count):
        words = []
        for _ in range(PHRASES):
            words += [f"w{chance.getrandbits(20):05x}" for _ in range(WORDS // PHRASES - PHRASE_WORDS)]
            words += phrases[int(len(phrases) ** chance.random()) - 1]
        yield words


def questions_of(args):
    """Return new texts, and edited copies of stored ones."""
    chance = random.Random(3)
    stored = set(chance.sample(range(args.documents), args.questions))
    copies = [words for number, words in enumerate(texts_of(args.documents, 0)) if number in stored]
    for words in copies:
        for _ in range(EDITS):
            words[chance.randrange(len(words))] = f"e{chance.getrandbits(20):05x}"
    return {"new": list(texts_of(args.questions, 2)), "copy": copies}


def set_of(words):
    """Return the shingles of a text, as numbers: the cheapest form for a program in memory."""
    return {hash(" ".join(words[at : at + SHINGLE_WORDS])) for at in range(len(words) - SHINGLE_WORDS + 1)}


def hamdex(args, path):
    import hamdex

    texts = [" ".join(words) for words in texts_of(args.documents, 0)]
    hamdex.build(path / "texts.hamdex", texts, ids=range(len(texts)), recipe="default", shingles=True)
    index = hamdex.Index(path / "texts.hamdex")

    def ask(words):
        return [found.id for found in index.similar(" ".join(words), THRESHOLD, threads=1)]

    return ask, (path / "texts.hamdex").stat().st_size


def setsimilaritysearch(args, path):
    from SetSimilaritySearch import SearchIndex

    sets = [set_of(words) for words in texts_of(args.documents, 0)]
    index = SearchIndex(sets, similarity_func_name="jaccard", similarity_threshold=THRESHOLD)
    return lambda words: [number for number, _ in index.query(set_of(words))], None


def datasketch(args, path):
    from datasketch import MinHash, MinHashLSH

    def sketch_of(words):
        sketch = MinHash(num_perm=128)
        sketch.update_batch([one.to_bytes(8, "little", signed=True) for one in set_of(words)])
        return sketch

    index = MinHashLSH(threshold=THRESHOLD, num_perm=128)
    for number, words in enumerate(texts_of(args.documents, 0)):
        index.insert(number, sketch_of(words))
    return lambda words: index.query(sketch_of(words)), None


def tantivy(args, path):
    """An inverted index of shingles. A similar text shares at least s of n shingles, so it has one of the n - s + 1 rarest.
    The sets of these candidates are compared in memory, which is not counted."""
    import tantivy

    schema = tantivy.SchemaBuilder().add_unsigned_field("shingle", indexed=True)
    schema = schema.add_unsigned_field("number", stored=True, fast=True).build()
    index = tantivy.Index(schema, path=str(path))
    writer = index.writer(heap_size=1 << 29, num_threads=1)
    kept = []
    for number, words in enumerate(texts_of(args.documents, 0)):
        document = tantivy.Document()
        document.add_unsigned("number", number)
        for one in set_of(words):
            document.add_unsigned("shingle", one & (1 << 64) - 1)
        writer.add_document(document)
        kept.append(set_of(words))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(words):
        own = set_of(words)
        least = -(-len(own) * 7 // 10)
        terms = sorted((searcher.doc_freq("shingle", one & (1 << 64) - 1), one & (1 << 64) - 1) for one in own)
        some = [term for count, term in terms[: len(own) - least + 1] if count]
        if not some:
            return []
        clauses = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "shingle", term)) for term in some]
        found = []
        for _, address in searcher.search(tantivy.Query.boolean_query(clauses), limit=args.documents).hits:
            number = searcher.doc(address)["number"][0]
            other = kept[number]
            if len(own & other) >= THRESHOLD * len(own | other):
                found.append(number)
        return found

    return ask, sum(file.stat().st_size for file in path.iterdir())


CONTENDERS = {"hamdex": hamdex, "SetSimilaritySearch": setsimilaritysearch, "datasketch": datasketch, "tantivy": tantivy}


def truth_of(args):
    """Return the documents that are similar to each question, by a plain program."""
    asked = {kind: [set_of(words) for words in texts] for kind, texts in questions_of(args).items()}
    wanted = {}
    for kind, sets in asked.items():
        for number, one in enumerate(sets):
            for shingle in one:
                wanted.setdefault(shingle, []).append((kind, number))
    truth = {kind: [[] for _ in sets] for kind, sets in asked.items()}
    for document, words in enumerate(texts_of(args.documents, 0)):
        own = set_of(words)
        for (kind, number), shared in Counter(one for shingle in own for one in wanted.get(shingle, ())).items():
            if shared >= THRESHOLD * (len(own) + len(asked[kind][number]) - shared):
                truth[kind][number].append(document)
    return truth


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(args):
    """Measure one contender; print its figures as JSON."""
    questions, before = questions_of(args), memory()
    with tempfile.TemporaryDirectory(dir=args.directory) as directory:
        start = time.perf_counter()
        ask, file_bytes = CONTENDERS[args.run](args, Path(directory))
        figures = {"build": time.perf_counter() - start, "found": {}, "micros": {}}
        figures["bytes"] = (file_bytes or memory() - before) / args.documents
        figures["in"] = "file" if file_bytes else "memory"
        for kind, texts in questions.items():
            times = []
            for _ in range(3):
                start = time.perf_counter()
                figures["found"][kind] = [sorted(ask(words)) for words in texts]
                times.append((time.perf_counter() - start) / len(texts) * 1e6)
            figures["micros"][kind] = min(times)
    print(json.dumps(figures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000, help="stored texts [default: 100000]")
    parser.add_argument("--questions", type=int, default=500, help="questions of each kind [default: 500]")
    parser.add_argument("--directory", help="where files are made [default: that of temporary files]")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--run", choices=CONTENDERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        return run(args)
    truth = truth_of(args)
    print("| | a new text, µs | a copy, µs | missed | wrong | bytes per text | build, s |\n|---|---|---|---|---|---|---|")
    for name in args.only:
        command = [sys.executable, __file__, "--run", name, "--documents", args.documents, "--questions", args.questions]
        command += ["--directory", args.directory] if args.directory else []
        # The same numbers for the same words in all processes.
        output = subprocess.run([str(part) for part in command], check=True, capture_output=True, env={"PYTHONHASHSEED": "0"})
        figures = json.loads(output.stdout)
        missed = wrong = 0
        for kind, found in figures["found"].items():
            for expected, answer in zip(truth[kind], found, strict=True):
                missed += len(set(expected) - set(answer))
                wrong += len(set(answer) - set(expected))
        micros = " | ".join(f"{figures['micros'][kind]:,.0f}" for kind in ("new", "copy"))
        size = f"{figures['bytes']:,.0f} ({figures['in']})"
        print(f"| {name} | {micros} | {missed} | {wrong} | {size} | {figures['build']:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
