"""How work gets to executors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import hamdex
import pyarrow as pa


def on_executors(module: str, function: str, **arguments: Any) -> Callable[[Iterable[pa.RecordBatch]], Any]:
    """Return what ``mapInArrow`` calls: ``function`` of a module of this package, with the batches and the arguments.

    The function is named, not sent, so that an executor without the package can say so. For the same reason arguments
    are values of Python, or broadcast.
    """
    version = hamdex.__version__

    # Sent as it is, since it is no module's; so whatever it needs, it imports itself.
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
    """Return how many threads a task may use: ``spark.task.cpus``."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())
