"""Progress bars: tqdm if it is installed, otherwise a line on standard error."""

import sys
from importlib import import_module
from typing import Any


class Bar:
    """A progress bar: a phase, the units completed in it, and their total."""

    def __init__(self) -> None:
        self._phase: str | None = None
        self._bar: Any = None
        try:
            self._tqdm: Any = import_module("tqdm.auto").tqdm
        except ImportError:
            self._tqdm = None

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if self._tqdm is None:
            self._print(phase, done, total)
            return
        if phase != self._phase or self._bar is None or self._bar.total != total:
            self._end()
            self._bar = self._tqdm(desc=phase, total=total, unit_scale=True)
        self._phase = phase
        self._bar.update(done - self._bar.n)

    def _print(self, phase: str, done: int, total: int | None) -> None:
        if phase != self._phase:
            self._end()
        self._phase = phase
        share = f"{100 * done // total:3} %" if total else f"{done:,}"
        # Standard error may be closed, or not a terminal.
        if sys.stderr is not None:
            sys.stderr.write(f"\r{phase}: {share}")
            sys.stderr.flush()

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self._phase is not None and self._tqdm is None and sys.stderr is not None:
            sys.stderr.write("\n")

    def close(self) -> None:
        """Remove the bar, or end the line."""
        self._end()
        self._phase = None
