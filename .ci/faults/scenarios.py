"""Commands that are disturbed, and what they work on."""

import collections
import os
import random
import shutil
import subprocess
import sys

# Long enough for a reliable fingerprint.
TEXT = " ".join(f"word{number}" for number in range(40))

# A command in a directory; what it makes; whether it changes the store or set that it names; whether numbers that it
# prints differ from run to run, as times do.
Scenario = collections.namedtuple("Scenario", "name arguments output changes varies", defaults=(None, False, False))

# The store that only a repair can read.
DAMAGED = "damaged.store"

SCENARIOS = [
    Scenario("build", "build -o out.hamdex fingerprints.txt", "out.hamdex"),
    Scenario("build-ids", "build -o out.hamdex --ids pairs pairs.txt --codec elias-fano", "out.hamdex"),
    Scenario("build-names", "build -o out.hamdex --ids names named.txt", "out.hamdex"),
    Scenario("build-force", "build --force -o a.hamdex other.txt", "a.hamdex"),
    Scenario("build-documents", "build -o out.hamdex --documents documents.jsonl", "out.hamdex"),
    Scenario("build-shingles", "build -o out.hamdex --documents documents.jsonl --shingles", "out.hamdex"),
    Scenario("merge", "merge a.hamdex b.hamdex -o out.hamdex", "out.hamdex"),
    Scenario("query", "query a.hamdex --file fingerprints.txt --json"),
    Scenario("query-text", "query documents.hamdex --text TEXT"),
    Scenario("pairs", "pairs a.hamdex"),
    Scenario("pairs-out", "pairs pairs.hamdex --ids -o out.tsv", "out.tsv"),
    Scenario("verify", "verify documents.hamdex"),
    Scenario("dump", "dump a.hamdex --fingerprints"),
    Scenario("dump-html", "dump a.hamdex --stats --html out.html", "out.html"),
    Scenario("dedup", "dedup documents.jsonl"),
    Scenario("dedup-distance", "dedup -k 3 documents.jsonl --json"),
    Scenario("dedup-unique", "dedup documents.jsonl --unique --out out.jsonl", "out.jsonl"),
    Scenario("dedup-against", "dedup documents.jsonl --against documents.hamdex"),
    Scenario("dedup-against-distance", "dedup documents.jsonl --against documents.hamdex -k 3"),
    Scenario("fingerprint", "fingerprint documents.jsonl"),
    Scenario("idf", "idf -o out.idf documents.jsonl", "out.idf"),
    Scenario("demo", "demo --count 200 --temp-dir .", varies=True),
    Scenario("designs", "designs -k 3"),
    Scenario("completions", "completions bash"),
    Scenario("man", "man"),
    Scenario("man-pages", "man pages", "pages"),
    Scenario("create", "store create new.store", "new.store", varies=True),
    Scenario("insert", "store insert s.store new.txt", None, True),
    Scenario("insert-unless-near", "store insert s.store new.txt --unless-near 3", None, True),
    Scenario("remove", "store remove s.store removed.txt", None, True),
    Scenario("flush", "store flush s.store", None, True),
    Scenario("compact", "store compact s.store", None, True),
    Scenario("purge", "store purge s.store", None, True),
    Scenario("backup", "store backup s.store copy.store", "copy.store"),
    Scenario("ingest", "store ingest s.store new.hamdex", None, True),
    Scenario("repair", f"store repair {DAMAGED}", None, True),
    Scenario("store-query", "query s.store --file fingerprints.txt"),
    Scenario("store-verify", "verify s.store"),
    Scenario("store-stats", "store stats s.store", varies=True),
    Scenario("build-shards", "build --shards 2 -o out.shards fingerprints.txt", "out.shards"),
    Scenario("build-shards-force", "build --shards 1 --force -o replaced.shards other.txt", "replaced.shards"),
    Scenario("shards-create", "shards create new.shards a.hamdex b.hamdex", "new.shards"),
    Scenario("shards-add", "shards add set.shards b.hamdex", None, True),
    Scenario("shards-query", "query set.shards --file fingerprints.txt"),
    Scenario("shards-verify", "verify set.shards"),
]


class Command:
    def __init__(self, program):
        self.program = str(program)
        self.environment = {"PATH": os.environ["PATH"], "RAYON_NUM_THREADS": "2", "HOME": "/nonexistent", "TMPDIR": "."}

    def run(self, arguments, directory, *before):
        words = [TEXT if word == "TEXT" else word for word in arguments.split()]
        return subprocess.run(
            [*before, self.program, *words],
            cwd=directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def done(self, arguments, directory):
        outcome = self.run(arguments, directory)
        if outcome.returncode != 0:
            sys.exit(f"faults: hamdex {arguments}: {outcome.stderr.decode()}")
        return outcome.stdout


def make_template(command, directory):
    """Inputs of all scenarios."""
    chance = random.Random(1)
    centres = [chance.getrandbits(64) for _ in range(50)]
    near = [chance.choice(centres) ^ 1 << chance.randrange(64) for _ in range(600)]
    numbers = near + [chance.getrandbits(64) for _ in range(600)]
    write = lambda name, lines: (directory / name).write_text("".join(line + "\n" for line in lines))
    write("fingerprints.txt", [f"{x:016x}" for x in numbers])
    fresh = [x ^ 1 << 20 for x in numbers[:60]] + [chance.getrandbits(64) for _ in range(120)]
    write("other.txt", [f"{x:016x}" for x in numbers[:200] + fresh])
    write("pairs.txt", [f"{x:016x}\t{number % 500}" for number, x in enumerate(numbers)])
    write("more.txt", [f"{x ^ 1 << 40:016x}\t{number}" for number, x in enumerate(numbers[::5])])
    write("new.txt", [f"{x:016x}\t{number}" for number, x in enumerate(fresh)])
    write("removed.txt", [f"{x:016x}\t{number % 500}" for number, x in enumerate(numbers) if number % 3 == 0])
    write("named.txt", [f"{x:016x}\tname {number}" for number, x in enumerate(numbers)])
    words = "storm the rain fell in torrents except at occasional intervals when it was checked by a gust".split()
    text = lambda: " ".join(chance.choice(words) + str(chance.randrange(30)) for _ in range(60))
    texts = [text() for _ in range(60)]
    texts += [text + " more" for text in texts[:10]]
    write("documents.jsonl", [f'{{"id": "d{number}", "text": "{text}"}}' for number, text in enumerate(texts)])
    command.done("build -o a.hamdex fingerprints.txt", directory)
    command.done("build -o b.hamdex other.txt", directory)
    command.done("build -o pairs.hamdex --ids pairs pairs.txt", directory)
    command.done("build -o new.hamdex --ids pairs new.txt", directory)
    command.done("build -o documents.hamdex --documents documents.jsonl --shingles", directory)
    command.done("build --shards 2 --layout hash -o set.shards fingerprints.txt", directory)
    command.done("build --shards 2 -o replaced.shards fingerprints.txt", directory)
    command.done("store create s.store", directory)
    command.done("store insert s.store pairs.txt", directory)
    command.done("store flush s.store", directory)
    command.done("store insert s.store more.txt", directory)
    shutil.copytree(directory / "s.store", directory / DAMAGED)
    command.done(f"store insert {DAMAGED} new.txt", directory)
    # The header of the log is damaged: a repair that nothing disturbs is complete, and says so by its exit code.
    (log,) = (directory / DAMAGED / "log").iterdir()
    contents_of_log = bytearray(log.read_bytes())
    contents_of_log[20] ^= 1
    log.write_bytes(contents_of_log)


def files(directory):
    """The path of each file, with its bytes, and of each directory, with None."""
    return {
        path.relative_to(directory).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in directory.rglob("*")
    }


def dump(name):
    """The command that prints all that a store or a set holds."""
    return f"dump {name} --fingerprints" + (" --ids" if name.endswith(".store") else "")


def is_index(name):
    """Whether a directory of this name is a store or a set of shards."""
    return name.endswith((".store", ".shards"))


def contents(command, directory, name):
    """The contents of a file, a directory, a store or a set."""
    path = directory / name
    if is_index(name):
        command.done(f"verify {name}", directory)
        return command.done(dump(name), directory)
    return files(path) if path.is_dir() else path.read_bytes()
