"""What a disturbed command may do, and what not."""

import shutil
import subprocess
import sys

from faults.scenarios import contents, dump, files, make_template

# The allocator of the language ends the process where the system has no memory left.
OUT_OF_MEMORY = ("mmap", "as", "memory")

# Signals by which the system ends a process that asks for too much.
KILLED_BY = {"fsize-kill": -25, "memory": -9}


class Campaign:
    """Scenarios in fresh copies of one directory."""

    def __init__(self, command, scratch):
        self.command = command
        self.scratch = scratch
        self.template = scratch / "template"
        self.template.mkdir()
        make_template(command, self.template)
        self.before = files(self.template)
        self.number = 0

    def copy(self, parent=None):
        """A fresh copy of the directory."""
        self.number += 1
        directory = (parent or self.scratch) / f"run-{self.number}"
        shutil.copytree(self.template, directory)
        return directory

    def expected(self, scenario):
        """What the scenario does when nothing fails."""
        directory = self.copy()
        outcome = self.command.run(scenario.arguments, directory)
        if outcome.returncode != 0:
            sys.exit(f"faults: {scenario.name}: {outcome.stderr.decode()}")
        store = scenario.arguments.split()[2] if scenario.changes else None
        expected = {
            "stdout": outcome.stdout,
            "store": store,
            "held": contents(self.command, self.template, store) if store and store != "damaged.store" else None,
            "holds": contents(self.command, directory, store) if store else None,
            "output": contents(self.command, directory, scenario.output) if scenario.output else None,
            "was": contents(self.command, self.template, scenario.output) if scenario.output in self.before else None,
        }
        shutil.rmtree(directory)
        return expected

    def attempt(self, mode, scenario, expected, fault):
        """Runs a scenario with a fault; returns what is wrong, if anything."""
        directory = mode.directory(fault)
        try:
            outcome = self.command.run(scenario.arguments, directory, *mode.before(fault))
            mode.relieve(fault)
            return self.judge(scenario, expected, fault, directory, outcome)
        except subprocess.TimeoutExpired:
            return "it does not end"
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def judge(self, scenario, expected, fault, directory, outcome):
        code, text = outcome.returncode, outcome.stderr.decode(errors="replace")
        if code == 127 and "error while loading shared libraries" in text:
            return None  # It was not even started.
        if fault.kind in OUT_OF_MEMORY and "failed to allocate an alternative stack" in text:
            return None  # The standard library ends a thread that it cannot start.
        if "panicked" in text:
            return f"panic: {text.strip()[:300]}"
        if code == KILLED_BY.get(fault.kind):
            return self.judge_files(scenario, expected, fault, directory, 1, text, was_killed=True)
        if fault.kind in OUT_OF_MEMORY and ("memory allocation of" in text or code in (-11, 139)):
            return self.judge_files(scenario, expected, fault, directory, 1, text)
        if code not in (0, 1, 4):
            return f"exit code {code}: {text.strip()[:300]}"
        if code != 0 and not any(line.startswith("hamdex: ") for line in text.splitlines()):
            return f"exit code {code} without a message: {text[:300]!r}"
        # What cannot be read is what a repair is about.
        differs = outcome.stdout != expected["stdout"] and not (scenario.name == "repair" and "EIO" in fault.detail)
        if code == 0 and differs and scenario.name not in ("store-stats", "create"):
            return f"exit code 0, and another output: {outcome.stdout[:200]!r}, {text[:300]!r}"
        return self.judge_files(scenario, expected, fault, directory, code, text)

    def judge_files(self, scenario, expected, fault, directory, code, text, was_killed=False):
        after = files(directory)
        names = set(after) - set(self.before) - {scenario.output}
        if was_killed or code == 4:
            # A file can be made without a name, a directory cannot: who is killed leaves it under a temporary one, and
            # what cannot remove the one that was replaced says so.
            names = {name for name in names if after[name] is not None or not name.endswith(".tmp")}
        if names and not fault.kind.startswith("unlink"):
            return f"left behind: {sorted(names)} after exit code {code}"
        for name, was in self.before.items():
            if name != scenario.output and after.get(name) != was:
                return f"{name} has changed"
        wrong = self.judge_output(scenario, expected, directory, code) if scenario.output else None
        if wrong:
            return f"exit code {code}, and {wrong}: {text.strip()[:300]}"
        store = expected["store"]
        if store is None or (store == "damaged.store" and code != 0):
            return None
        verified = self.command.run(f"verify {store}", directory)
        if verified.returncode != 0:
            return f"{store} does not verify: {verified.stderr.decode().strip()[:300]}"
        if store == "damaged.store":
            return None
        holds = self.command.done(dump(store), directory)
        if holds != expected["holds"] and (code == 0 or holds != expected["held"]):
            return f"exit code {code}, and {store} holds something else: {text.strip()[:300]}"
        return None

    def judge_output(self, scenario, expected, directory, code):
        """What is wrong with an output: it is to be new, or as it was."""
        path = directory / scenario.output
        if not path.exists():
            return "there is no output" if code in (0, 4) or scenario.output in self.before else None
        if path.is_dir():
            outcome = self.command.run(dump(scenario.output), directory)
            found = outcome.stdout if outcome.returncode == 0 else None
            # A directory without a manifest is no store yet; a set of shards gets its name when it is whole.
            is_begun = scenario.output.endswith(".store") and not (path / "manifest").exists()
        else:
            found, is_begun = path.read_bytes(), False
        if found == expected["output"] or (code == 1 and (is_begun or found is not None and found == expected["was"])):
            return None
        return "the output is not complete"
