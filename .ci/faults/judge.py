"""The judge of disturbed commands."""

import re
import shutil
import subprocess
import sys

from faults.scenarios import DAMAGED, contents, dump, files, is_index, make_template

# The standard library ends the process where the system refuses memory for an allocation.
ALLOCATION = re.compile(r"^memory allocation of \d+ bytes failed$", re.MULTILINE)
REFUSES_MEMORY = ("mmap", "mprotect", "as", "memory")

# Panics of the standard library itself, by what refuses: of a thread whose stack for signals cannot be had, and of a
# directory that was read and cannot be closed. It calls these by itself, so no caller can prevent them.
LIBRARY_PANICS = {
    **dict.fromkeys(("mmap", "as", "memory"), "failed to allocate an alternative stack"),
    "mprotect": "failed to set up alternative stack guard page",
    "close": "unexpected error during closedir",
}

# Signals by which the system ends a process that asks for too much.
KILLED_BY = {"fsize-kill": -25, "memory": -9}

# In the place of an exit code: the process was ended, or was not even started.
ENDED = None

# Exit codes that say that all was done.
DONE = (0, 4)

# How a process ends after a panic.
PANICKED = (101, -6)

# Names for the time until an output is whole, and for as long as the demo runs.
TEMPORARY = re.compile(r"\.hamdex-\w+\.tmp(\.old)?|hamdex-demo-[\w.-]+")

# Messages of `verify` about leftover files of a store, which its next writer removes, and of a set.
LEFTOVER = re.compile(r"(.*): left by a crash")
OF_A_CRASH = re.compile(r": left by a crash|: a crash left|: is not part of the set")

# Where it is not known which manifest a crash would bring back, the files of both are kept for the next writer.
NEITHER_MANIFEST = re.compile(r"/manifest: (cannot replace it|an earlier write failed)")


def is_library_panic(fault, text):
    """Whether all panics are the standard library's own, of this fault."""
    message = LIBRARY_PANICS.get(fault.kind)
    own = re.compile(rf"panicked at \S*library/std/src/\S+:\n{message}")
    return message is not None and len(own.findall(text)) == text.count("panicked at")


def was_ended(fault, code, text):
    """Whether the system or the standard library ended the process, as they may for this fault."""
    if "panicked" in text:
        return code in PANICKED and is_library_panic(fault, text)
    if fault.kind in REFUSES_MEMORY and code == -6 and ALLOCATION.search(text):
        return True
    return code == KILLED_BY.get(fault.kind)


def wrong_ending(scenario, wanted, code, output, text):
    """The faults of the exit code, the messages and the output of a command that ended by itself."""
    if "panicked" in text:
        return f"panic: {text.strip()[:300]}"
    if code not in (0, 1, 4):
        return f"exit code {code}: {text.strip()[:300]}"
    if code != 0 and not any(line.startswith("hamdex: ") for line in text.splitlines()):
        return f"exit code {code} without a message: {text[:300]!r}"
    if code == 0 and compared(scenario, output) != compared(scenario, wanted):
        return f"exit code 0, and another output: {output[:200]!r}, {text[:300]!r}"
    return None


def compared(scenario, output):
    """The compared part of an output: without its numbers, and dashes for what cannot be measured, where they vary."""
    return re.sub(r"[ \d.,–]+", " ", output.decode()) if scenario.varies else output


def is_unreadable(scenario, fault):
    """Whether a repair may take what the fault is about for damage: it is about what cannot be read."""
    return scenario.name == "repair" and "EIO" in fault.detail


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
        """The outcome of the scenario when nothing fails."""
        directory = self.copy()
        outcome = self.command.run(scenario.arguments, directory)
        if outcome.returncode != 0:
            sys.exit(f"faults: {scenario.name}: {outcome.stderr.decode()}")
        store = scenario.arguments.split()[2] if scenario.changes else None
        expected = {
            "stdout": outcome.stdout,
            "store": store,
            "held": contents(self.command, self.template, store) if store and store != DAMAGED else None,
            "holds": contents(self.command, directory, store) if store else None,
            "output": contents(self.command, directory, scenario.output) if scenario.output else None,
            "was": contents(self.command, self.template, scenario.output) if scenario.output in self.before else None,
        }
        shutil.rmtree(directory)
        return expected

    def attempt(self, mode, scenario, expected, fault):
        """Runs a scenario with a fault; returns what is wrong, if anything, and whether the fault took effect."""
        directory = mode.directory(fault)
        try:
            outcome = self.command.run(scenario.arguments, directory, *mode.before(fault))
            mode.relieve(fault)
            took_effect = mode.took_effect(outcome)
            code = outcome.returncode if mode.has_begun(outcome) else ENDED
            return self.judge(scenario, expected, fault, directory, code, outcome), took_effect
        except subprocess.TimeoutExpired:
            return "it does not end", True
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def judge(self, scenario, expected, fault, directory, code, outcome):
        text = outcome.stderr.decode(errors="replace")
        has_less = is_unreadable(scenario, fault) and outcome.stdout != expected["stdout"]
        wanted = outcome.stdout if has_less else expected["stdout"]
        if code is ENDED or was_ended(fault, code, text):
            code = ENDED
        elif wrong := wrong_ending(scenario, wanted, code, outcome.stdout, text):
            return wrong
        may_be_left = self.what_may_be_left(fault, code, text)
        wrong = self.wrong_files(scenario, expected, directory, code, text)
        if not wrong and scenario.output:
            wrong = self.wrong_output(scenario, expected, directory, code, may_be_left)
        if not wrong and scenario.changes:
            wrong = self.wrong_store(scenario, expected, directory, code, has_less, may_be_left)
        return wrong and f"{'ended' if code is ENDED else f'exit code {code}'}: {wrong}: {text.strip()[:300]}"

    def wrong_files(self, scenario, expected, directory, code, text):
        """Changes other than the ones that the command is to make, and leftovers in its output."""
        after = files(directory)
        subject = scenario.output or expected["store"]
        changed = [path for path in {**self.before, **after} if after.get(path, 0) != self.before.get(path, 0)]
        wrong = [path for path in changed if self.may_not_change(path, subject, after, code, text)]
        return f"changed or left behind: {sorted(wrong)}" if wrong else None

    def may_not_change(self, path, subject, after, code, text):
        top, name = path.split("/")[0], path.split("/")[-1]
        if top == subject:
            # The next writer of a store removes what a killed one left of the next file.
            return bool(TEMPORARY.fullmatch(name)) or name.endswith(".new") and path in after and code is not ENDED
        if top in self.before or not TEMPORARY.fullmatch(top):
            return True
        # A file can be made without a name, a directory cannot: who is killed leaves it under a temporary one. Who
        # cannot remove what was replaced names it.
        is_excused = after[top] is None if code is ENDED else code == 4 and top in text
        return not is_excused

    def wrong_output(self, scenario, expected, directory, code, may_be_left):
        """The faults of an output: it is to be new, or as it was."""
        path = directory / scenario.output
        if not path.exists():
            return "there is no output" if code in DONE or scenario.output in self.before else None
        # A directory without a manifest is no store yet; a set of shards gets its name when it is whole.
        if scenario.output.endswith(".store") and not (path / "manifest").exists():
            return "the output is not complete" if code in DONE else None
        is_begun, wrong = False, None
        if is_index(scenario.output):
            found, wrong = self.held(directory, scenario.output, may_be_left)
        else:
            found = contents(self.command, directory, scenario.output)
            # Of several files, the ones that are there are whole.
            is_begun = path.is_dir() and found.items() <= expected["output"].items()
        is_old = scenario.output in self.before and found == expected["was"]
        if wrong or found == expected["output"] or code not in DONE and (is_begun or is_old):
            return wrong
        return "the output is not complete"

    def wrong_store(self, scenario, expected, directory, code, has_less, may_be_left):
        """The faults of a store or a set: it is to hold what it was to hold or, after a failure, what it held."""
        store = expected["store"]
        if store == DAMAGED and (lost := self.lost_originals(directory)):
            return f"neither in place nor kept aside: {lost}"
        if store != DAMAGED or code == 0:
            holds, wrong = self.held(directory, store, may_be_left)
            if wrong:
                return wrong
            is_less = has_less and set(holds.splitlines()) <= set(expected["holds"].splitlines())
            if holds != expected["holds"] and not is_less and (code in DONE or holds != expected["held"]):
                return f"{store} holds something else"
        return None if code == 0 else self.wrong_again(scenario, expected, directory)

    def wrong_again(self, scenario, expected, directory):
        """The faults of a second run, undisturbed. A file that has joined a set does not join it again."""
        again = self.command.run(scenario.arguments, directory)
        # A repair of what is whole leaves leftovers to the next writer; all others are that.
        may_be_left = LEFTOVER.match if expected["store"] == DAMAGED else lambda _line: False
        holds, wrong = self.held(directory, expected["store"], may_be_left)
        text = again.stderr.decode(errors="replace").strip()
        if again.returncode != 0 and "is in the set already" not in text:
            return f"once more, exit code {again.returncode}: {text}"
        if wrong or holds != expected["holds"]:
            return f"once more, {wrong or 'it holds something else'}: {text}"
        return None

    def what_may_be_left(self, fault, code, text):
        """Tells which lines of `verify`, on what has no part in a store or a set, are in order."""
        if code is ENDED:
            return OF_A_CRASH.search
        # A file that cannot be removed is removed by the next writer, too.
        if fault.kind == "unlink" or code != 0 and NEITHER_MANIFEST.search(text):
            return LEFTOVER.match
        # After a failure the old output may be there, the new one may not.
        return lambda line: code != 0 and (left := LEFTOVER.match(line)) and left[1] in self.before

    def held(self, directory, name, may_be_left):
        """The contents of a store or a set, or its faults."""
        verified = self.command.run(f"verify {name}", directory)
        if verified.returncode != 0:
            return None, f"{name} does not verify: {verified.stderr.decode().strip()[:300]}"
        # After the first line: what has no part in it.
        left = [line for line in verified.stdout.decode().splitlines()[1:] if not may_be_left(line)]
        if left:
            return None, f"left behind in {name}: {left}"
        return self.command.done(dump(name), directory), None

    def lost_originals(self, directory):
        """Logs and segments of the damaged store of which no file of it is a copy after a repair."""
        kept = {content for path, content in files(directory / DAMAGED).items() if content is not None}
        parts = (f"{DAMAGED}/log/", f"{DAMAGED}/segments/")
        return [path for path, content in self.before.items() if path.startswith(parts) and content not in kept]
