"""Functions that run on executors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import hamdex
import pyarrow as pa


def on_executors(module: str, function: str, **arguments: Any) -> Callable[[Iterable[pa.RecordBatch]], Any]:
    """Return a function for ``mapInArrow`` that calls ``function`` of a module of this package.

    The function is sent by name, so that an executor without the package can report that. For the same reason,
    arguments are plain Python values, or broadcast.
    """
    version = hamdex.__version__

    # Pickled by value, since it is not a module's attribute; so it imports what it needs itself.
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import sys

        advice = "give executors an environment with the package, see 'Executors' in the documentation of hamdex.spark"
        try:
            package = importlib.import_module("hamdex")
            work = importlib.import_module(module)
        except ModuleNotFoundError as missing:
            text = f"the Python of an executor, {sys.executable}, has no module {missing.name!r}: {advice}"
            raise RuntimeError(text) from None
        if package.__version__ != version:
            text = f"an executor has hamdex {package.__version__}, and the driver {version}: {advice}"
            raise RuntimeError(text)
        yield from getattr(work, function)(batches, **arguments)

    return run


def threads() -> int:
    """Return the number of threads of a task: ``spark.task.cpus``."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())
