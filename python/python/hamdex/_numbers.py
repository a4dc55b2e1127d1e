"""Fingerprints and ids that leave for a service: what `Store` refuses is refused here."""

from __future__ import annotations

import operator
from typing import Any, Literal

_WORD = (1 << 64) - 1


def number(value: Any) -> int:
    """Return a number that is whole: no float and no bool. A negative numpy scalar is a bit pattern of 64 bits."""
    is_array = getattr(value, "ndim", 0) != 0
    is_bool = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    if is_bool or is_array or not hasattr(value, "__index__"):
        raise TypeError(f"expected an integer, got {type(value).__name__}")
    whole = operator.index(value)
    return whole & _WORD if whole < 0 and hasattr(value, "dtype") else whole


def is_null(value: Any) -> bool:
    """Whether this is no text: None, or what pandas has for it, NaN and NA."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def one_in(value: Any, width: int) -> int | None:
    """Return the number of a single fingerprint; None if it is several."""
    if hasattr(value, "ndim"):
        if value.ndim == 0:
            return number(value[()])
        is_packed = _is_packed(value) and value.shape == (width // 8,)
        is_wide = width == 128 and value.shape == (2,)
        return fingerprints_in(value.reshape(1, -1), width)[0] if is_packed or is_wide else None
    return number(value) if is_single(value) else None


def is_single(value: Any) -> bool:
    """Whether this is one value: a text, bytes, a scalar, or no container."""
    if hasattr(value, "ndim"):
        return bool(value.ndim == 0)
    return isinstance(value, (str, bytes)) or not (hasattr(value, "__iter__") or hasattr(value, "to_pylist"))


def _is_packed(array: Any) -> bool:
    return bool(array.dtype.kind == "u" and array.dtype.itemsize == 1)


def _is_wide(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) == 16


def fingerprints_in(values: Any, width: int) -> list[int]:
    """Return the numbers of many fingerprints: of an array, an Arrow column, or a sequence."""
    if isinstance(values, (bytes, bytearray, dict)):
        raise TypeError(f"fingerprints must be an array, an Arrow column or a list of numbers, not {type(values).__name__}")
    if not hasattr(values, "dtype") or not hasattr(values, "ndim"):
        listed = values.to_pylist() if hasattr(values, "to_pylist") else values
        # Columns are little-endian, as those of results; hashes in a list begin with the most significant byte.
        is_column = hasattr(values, "to_pylist") or hasattr(values, "__arrow_c_stream__")
        order: Literal["little", "big"] = "little" if is_column else "big"
        return [int.from_bytes(one, order) if width == 128 and _is_wide(one) else number(one) for one in listed]
    if hasattr(values, "mask") and not callable(values.mask):
        raise TypeError("fingerprints must not be a masked array, whose mask would be lost: pass its compressed()")
    if values.ndim == 2 and values.shape[1] == width // 8 and _is_packed(values):
        return [int.from_bytes(row.tobytes(), "big") for row in values]
    if getattr(values.dtype, "kind", "") not in ("u", "i") or values.dtype.itemsize != 8:
        raise TypeError(f"fingerprints of type {values.dtype}: expected uint64 or int64")
    if values.ndim == 1 and width == 64:
        return [number(one) & _WORD for one in values.tolist()]
    if values.ndim == 2 and values.shape[1] == 2 and width == 128:
        return [(high & _WORD) << 64 | low & _WORD for high, low in values.tolist()]
    shape = "(n,)" if width == 64 else "(n, 2)"
    raise ValueError(f"fingerprints of shape {tuple(values.shape)}: those of this set, of {width} bits, have shape {shape}")
